; A node that its fields tell is not named: how long a query takes to make depends on the kinds in it.
(program . (comment) @documentation (#match? @documentation "^/\\*"))
(program . (hash_bang_line) . (comment) @documentation)

; Suites and cases: describe("...", () => {}), it.skip("...", ...), Deno.test("...", ...), test.each([...])("...", ...).
((call_expression
    function: (identifier) @_test
    arguments: (arguments
      . [(string) (template_string)] @name
      [(arrow_function) (function_expression)])) @definition.test @test
  (#any-of? @_test "describe" "it" "test" "suite" "context" "specify" "fit" "xit" "fdescribe" "xdescribe"))
((call_expression
    function: (_ property: (property_identifier) @_test)
    arguments: (arguments
      . [(string) (template_string)] @name
      [(arrow_function) (function_expression)])) @definition.test @test
  (#any-of? @_test "describe" "it" "test" "suite" "skip" "only" "todo" "concurrent" "serial" "step"))
((call_expression
    function: (call_expression function: (_ property: (property_identifier) @_test))
    arguments: (arguments
      . [(string) (template_string)] @name
      [(arrow_function) (function_expression)])) @definition.test @test
  (#any-of? @_test "each" "for" "skipIf" "runIf"))

(export_statement "default" @name value: (class) @definition.class) @span @exported @lent
(export_statement "default" @name value: [(arrow_function) (function_expression)] @definition.function) @span @exported @lent
(export_statement "default" declaration: (_ name: (_) @name)) @lent
(export_statement declaration: (_ name: (_) @name)) @span @exported
(export_statement declaration: (lexical_declaration . (variable_declarator name: (_) @name) .)) @span @exported
(export_statement declaration: (_ (variable_declarator name: (_) @name))) @exported
(export_statement (decorator)+ @decorator declaration: (_ name: (_) @name))
(class_declaration (decorator)+ @decorator name: (_) @name)
(lexical_declaration . (variable_declarator name: (identifier) @name) .) @span
(variable_declaration . (variable_declarator name: (identifier) @name) .) @span

(class_declaration name: (_) @name) @definition.class
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method

(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(program (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @definition.constant))
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(export_statement
  declaration: (lexical_declaration
    kind: "const"
    (variable_declarator name: (identifier) @name) @definition.constant))
(export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method

; What is hung onto an object: exports.f = function () {}, Type.prototype.f = function () {}, Type.f = () => {}.
((assignment_expression
    left: (_ object: (_) @_exports property: (property_identifier) @name)
    right: [(arrow_function) (function_expression) (generator_function)]) @definition.function @exported
  (#any-of? @_exports "exports" "module.exports"))
((assignment_expression
    left: (_ object: (_) @_exports property: (property_identifier) @name)
    right: (class)) @definition.class @exported
  (#any-of? @_exports "exports" "module.exports"))
((assignment_expression
    left: (member_expression) @_exports
    right: (function_expression name: (identifier) @name) @definition.function) @exported
  (#eq? @_exports "module.exports"))
((assignment_expression
    left: (member_expression) @_exports
    right: (class name: (_) @name) @definition.class) @exported
  (#eq? @_exports "module.exports"))
((assignment_expression
    left: (member_expression
      object: (_ object: (identifier) @owner property: (property_identifier) @_prototype)
      property: (property_identifier) @name)
    right: [(arrow_function) (function_expression) (generator_function)]) @definition.method
  (#eq? @_prototype "prototype"))
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @owner property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.method
(assignment_expression
  left: (member_expression object: (this) property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.method
(assignment_expression
  left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(assignment_expression left: (identifier) @name right: (class)) @definition.class
(return_statement (function_expression name: (identifier) @name) @definition.function)
(return_statement (class name: (_) @name) @definition.class)
(arguments (function_expression name: (identifier) @name) @definition.function)

(variable_declarator name: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(pair_pattern value: (identifier) @local)
(assignment_pattern left: (identifier) @local)
(rest_pattern (identifier) @local)
(array_pattern (identifier) @local)
(arrow_function parameter: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (super) @name) @reference.call
(call_expression
  function: (member_expression
    object: (_) @qualifier
    property: [(property_identifier) (private_property_identifier)] @name)) @reference.call
(new_expression constructor: (identifier) @name) @reference.call
(new_expression
  constructor: (_ object: (_) @qualifier property: (property_identifier) @name)) @reference.call
(decorator (identifier) @name) @reference.use
(decorator (_ object: (_) @qualifier property: (property_identifier) @name)) @reference.use

; What is handed on without being called.
(arguments [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(arguments (_ object: (this) @qualifier property: (property_identifier) @name)) @reference.use
(array [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(pair value: [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(variable_declarator value: [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(assignment_pattern right: [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(binary_expression [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(ternary_expression [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(template_substitution [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(spread_element [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(shorthand_property_identifier) @name @reference.use
(export_statement value: (identifier) @name) @reference.use
(assignment_expression right: [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use
(return_statement [(identifier) @name (_ object: (identifier) @lender property: (property_identifier) @name)]) @reference.use

(import_statement source: (string) @module) @import
(import_statement (import_clause (identifier) @default @alias) source: (string) @module) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @module) @import
(import_statement
  (import_clause (named_imports (import_specifier name: _ @name !alias)))
  source: (string) @module) @import
(import_statement
  (import_clause (named_imports (import_specifier name: _ @name alias: _ @alias)))
  source: (string) @module) @import
(export_statement (export_clause (export_specifier name: _ @name !alias)) source: (string) @module) @import
(export_statement
  (export_clause (export_specifier name: _ @name alias: _ @alias))
  source: (string) @module) @import
(export_statement (namespace_export (_) @alias) source: (string) @module) @import
; What the file lends under another name, or by default.
(export_statement . "export" . "default" @alias . value: (identifier) @name) @import.own
(export_statement (export_clause (export_specifier name: (_) @name alias: _ @alias)) !source) @import.own
((assignment_expression left: (member_expression) @_exports right: (identifier) @name) @import.own
  (#eq? @_exports "module.exports"))
(export_statement . "export" . "*" @all source: (string) @module) @import
(call_expression function: (import) arguments: (arguments . (string) @module)) @import
(variable_declarator
  name: (identifier) @alias
  value: (await_expression (call_expression function: (import) arguments: (arguments . (string) @module)))) @import
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @name)
  value: (await_expression (call_expression function: (import) arguments: (arguments . (string) @module)))) @import
((call_expression function: (identifier) @_require arguments: (arguments . (string) @module)) @import
  (#eq? @_require "require"))
((variable_declarator
    name: (identifier) @alias
    value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
    name: (object_pattern (shorthand_property_identifier_pattern) @name)
    value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
    name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @alias))
    value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
    name: (identifier) @alias
    value: (member_expression
      object: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))
      property: (property_identifier) @name)) @import
  (#eq? @_require "require"))

(variable_declarator name: (identifier) @typed value: (_ constructor: [(identifier) (member_expression)] @type))
(assignment_expression
  left: (member_expression object: (this)) @typed
  right: (_ constructor: [(identifier) (member_expression)] @type))
; What calls give is told where they are defined.
(variable_declarator
  name: (identifier) @typed
  value: [
    (call_expression function: [(identifier) (member_expression)] @type)
    (await_expression (call_expression function: [(identifier) (member_expression)] @type))
  ])
