(program . (documentation_comment) @documentation)

(class_definition name: (identifier) @name) @definition.class
(mixin_declaration (identifier) @name) @definition.trait
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.variant
(extension_declaration name: (identifier) @name) @definition.class
(type_alias (type_identifier) (type_identifier) @name . (formal_parameter_list)) @definition.type
(type_alias . (type_identifier) @name) @definition.type

; A body is a sibling of its signature.
((method_signature (function_signature name: (identifier) @name)) @definition.method . (function_body) @end)
((method_signature (getter_signature name: (identifier) @name)) @definition.method . (function_body) @end)
((method_signature (setter_signature name: (identifier) @name)) @definition.method . (function_body) @end)
((method_signature (operator_signature (binary_operator) @name)) @definition.method . (function_body) @end)
((method_signature (constructor_signature . (identifier) @owner . (identifier) @name)) @definition.method
  . (function_body) @end)
((method_signature (constructor_signature . (identifier) @name)) @definition.method . (function_body) @end)
((method_signature (factory_constructor_signature . (identifier) @owner . (identifier) @name)) @definition.method
  . (function_body) @end)
(program (function_signature name: (identifier) @name) @definition.function . (function_body) @end)
(lambda_expression parameters: (function_signature name: (identifier) @name)) @definition.function

(class_body (method_signature (function_signature name: (identifier) @name)) @definition.method)
(class_body (declaration (function_signature name: (identifier) @name)) @definition.method)
(method_signature (getter_signature name: (identifier) @name)) @definition.method
(declaration (getter_signature name: (identifier) @name)) @definition.method
(method_signature (setter_signature name: (identifier) @name)) @definition.method
(method_signature (operator_signature (binary_operator) @name)) @definition.method
(constructor_signature . (identifier) @owner . (identifier) @name) @definition.method
(constructor_signature . (identifier) @name) @definition.method
(constant_constructor_signature (identifier) @name) @definition.method
(factory_constructor_signature . (identifier) @owner . (identifier) @name) @definition.method
(function_signature name: (identifier) @name) @definition.function

(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @definition.variable))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @definition.variable))
(enum_body (declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @definition.field)
(expression_statement
  . (identifier) @_test
  . (selector (argument_part (arguments . (argument . (string_literal) @name . ) (argument (function_expression)))))
  (#match? @_test "^test(Widgets)?$")) @definition.test @test
(class_body (declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @definition.field)
(class_body (declaration (static_final_declaration_list (static_final_declaration . (identifier) @name)))
  @definition.field)

(formal_parameter name: (identifier) @local)
(initialized_variable_definition name: (identifier) @local)
(for_loop_parts name: (identifier) @local)

((identifier) @name . (selector (argument_part))) @reference.call
([(identifier) (this) (super)] @qualifier
  . (selector (unconditional_assignable_selector (identifier)))* @qualifier
  . (selector (unconditional_assignable_selector (identifier) @name))
  . (selector (argument_part))) @reference.call
((super) @qualifier . (unconditional_assignable_selector (identifier) @name) . (selector (argument_part))) @reference.call
([(identifier) (this)] @qualifier
  . (selector (unconditional_assignable_selector (identifier)))* @qualifier
  . (selector (conditional_assignable_selector (identifier) @name))
  . (selector (argument_part))) @reference.call
((selector) @qualifier
  . (selector [
    (unconditional_assignable_selector (identifier) @name)
    (conditional_assignable_selector (identifier) @name)])
  . (selector (argument_part))) @reference.call
([(identifier) (this)] @qualifier
  . (selector (unconditional_assignable_selector (identifier)))* @qualifier
  . (selector (unconditional_assignable_selector (identifier) @name))) @reference.use
(argument . (identifier) @name .) @reference.use
(initialized_variable_definition value: (identifier) @name .) @reference.use
(assignment_expression right: (identifier) @name .) @reference.use
(return_statement . (identifier) @name .) @reference.use
(cascade_section (cascade_selector (identifier) @name)) @reference.call
(new_expression (type_identifier) @name) @reference.call
(const_object_expression (type_identifier) @name) @reference.call
(superclass (type_identifier) @name) @reference.inherit
(superclass (mixins (type_identifier) @name)) @reference.inherit
(interfaces (type_identifier) @name) @reference.inherit
(type_identifier) @name @reference.type
(annotation name: (identifier) @name) @reference.use

(import_specification [(configurable_uri (uri (string_literal) @module)) (uri (string_literal) @module)]
  (identifier) @alias) @import
(import_specification [(configurable_uri (uri (string_literal) @module)) (uri (string_literal) @module)]
  (combinator "show" (identifier) @name)) @import
(import_specification [(configurable_uri (uri (string_literal) @module)) (uri (string_literal) @module)]) @import
(library_export (configurable_uri (uri (string_literal) @module))) @import
(part_directive (uri (string_literal) @module)) @import

(declaration (type_identifier) @type
  (initialized_identifier_list (initialized_identifier . (identifier) @typed)))
(declaration (type_identifier) @type
  (static_final_declaration_list (static_final_declaration . (identifier) @typed)))
(initialized_variable_definition (type_identifier) @type name: (identifier) @typed)
(initialized_variable_definition
  name: (identifier) @typed . value: (identifier) @type . value: (selector (argument_part)) .)
(formal_parameter . (type_identifier) @type name: (identifier) @typed)
((function_signature . (type_identifier) @returns name: (identifier) @name))
