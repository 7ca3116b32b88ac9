(program . (comment) @documentation)

(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.module
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(assignment
  left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_new (#match? @_maker "^(Struct|Class|Data|Module)$")
    (#match? @_new "^(new|define)$"))) @definition.class
(assignment left: (constant) @name) @definition.constant

(singleton_method name: (_) @name) @definition.method
(method name: (_) @name) @definition.function
(call
  method: (identifier) @_alias
  arguments: (argument_list . [(simple_symbol) @name (string (string_content) @name)])
  (#match? @_alias "^(alias_method|define_method)$")) @definition.function
(alias name: (identifier) @name) @definition.function
(call
  method: (identifier) @_attr arguments: (argument_list (simple_symbol) @name @definition.field)
  (#match? @_attr "^attr_(accessor|reader|writer)$"))

(call
  method: (identifier) @_test arguments: (argument_list . (string (string_content) @name)) block: (_)
  (#match? @_test "^(it|test|specify|scenario)$")) @definition.test @test

(method_parameters (identifier) @local)
(method_parameters (_ name: (identifier) @local))
(block_parameters (identifier) @local)
(block_parameters (_ name: (identifier) @local))
(lambda_parameters (identifier) @local)
(lambda_parameters (_ name: (identifier) @local))
(destructured_parameter (identifier) @local)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(destructured_left_assignment (identifier) @local)
(rest_assignment (identifier) @local)
(for pattern: (identifier) @local)
(exception_variable (identifier) @local)
(as_pattern name: (identifier) @local)
(array_pattern (identifier) @local)
(in_clause pattern: (identifier) @local)
(splat_parameter name: (identifier) @local)
(keyword_pattern key: (hash_key_symbol) @local)

(call receiver: (_) @qualifier method: (_) @name) @reference.call
((call !receiver method: (identifier) @name) @reference.call
  (#not-match? @name "^(private|protected|public|module_function|private_constant|private_class_method|include|extend|prepend|attr|attr_reader|attr_writer|attr_accessor|alias_method|define_method|raise|require|require_relative|puts|lambda|proc|loop|block_given[?])$"))
(call method: (identifier) @_mixes arguments: (argument_list (constant) @name)
  (#match? @_mixes "^(include|extend|prepend)$")) @reference.inherit
(class superclass: (superclass [(constant) @name (scope_resolution name: (constant) @name)])) @reference.inherit
(scope_resolution scope: (_) @qualifier name: (constant) @name) @reference.use
(constant) @name @reference.use
; What no assignment and no parameter binds is a call.
((identifier) @name @reference.call
  (#not-match? @name "^(private|protected|public|module_function|raise|__method__|block_given[?])$"))

(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @module))
  (#match? @_require "^(require|require_relative|load|autoload)$")) @import

(assignment
  left: [(identifier) (instance_variable)] @typed
  right: (call receiver: [(constant) (scope_resolution)] @type method: (identifier) @_new (#eq? @_new "new")))
