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
  method: (identifier) @_alias arguments: (argument_list . (simple_symbol) @name)
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
(assignment left: (identifier) @local)

(call receiver: (_) @qualifier method: (_) @name) @reference.call
(call !receiver method: (identifier) @name) @reference.call
(call method: (identifier) @_mixes arguments: (argument_list (constant) @name)
  (#match? @_mixes "^(include|extend|prepend)$")) @reference.inherit
(class superclass: (superclass [(constant) @name (scope_resolution name: (constant) @name)])) @reference.inherit
(scope_resolution scope: (_) @qualifier name: (constant) @name) @reference.use
(argument_list (constant) @name) @reference.use
(body_statement (identifier) @name) @reference.call

(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @module))
  (#match? @_require "^(require|require_relative|load|autoload)$")) @import
