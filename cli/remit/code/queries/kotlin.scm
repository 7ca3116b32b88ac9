(package_header (identifier) @name) @definition.module
(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration (type_identifier) @name) @definition.class
(object_declaration (type_identifier) @name) @definition.class
; What a companion without a name holds is known by the name of the class.
(companion_object (type_identifier) @name) @definition.class
(type_alias . (type_identifier) @name) @definition.type
(enum_entry (simple_identifier) @name) @definition.variant

(function_declaration receiver: (receiver_type (user_type (type_identifier) @owner)) (simple_identifier) @name)
  @definition.function
(function_declaration (simple_identifier) @name) @definition.function
(secondary_constructor "constructor" @name) @definition.method
(property_declaration
  (modifiers (property_modifier) @_const) (variable_declaration (simple_identifier) @name)
  (#eq? @_const "const")) @definition.constant
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable)
(class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.field)
(class_body (companion_object (class_body
  (property_declaration (variable_declaration (simple_identifier) @name)) @definition.field)))
(class_parameter (binding_pattern_kind) . (simple_identifier) @name) @definition.field

(function_declaration
  (modifiers (annotation (user_type (type_identifier) @test)))
  (simple_identifier) @name (#match? @test "Test$"))

(parameter . (simple_identifier) @local)
(function_body (statements (property_declaration (variable_declaration (simple_identifier) @local))))
(for_statement (variable_declaration (simple_identifier) @local))
(lambda_parameters (variable_declaration (simple_identifier) @local))

(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression . (_) @qualifier (navigation_suffix (simple_identifier) @name))) @reference.call
(value_argument (simple_identifier) @name) @reference.use
(value_argument (navigation_expression . (_) @qualifier (navigation_suffix (simple_identifier) @name))) @reference.use
(property_declaration (variable_declaration) . (simple_identifier) @name) @reference.use
(jump_expression (simple_identifier) @name) @reference.use
(function_body . (simple_identifier) @name .) @reference.use
(additive_expression (simple_identifier) @name) @reference.use
(comparison_expression (simple_identifier) @name) @reference.use
(equality_expression (simple_identifier) @name) @reference.use
; Constants and objects by their habit of capitals.
((navigation_expression . (simple_identifier) @qualifier (navigation_suffix (simple_identifier) @name)) @reference.use
  (#match? @qualifier "^[A-Z]"))
(callable_reference (simple_identifier) @name .) @reference.use
(delegation_specifier (user_type (type_identifier) @name)) @reference.inherit
(delegation_specifier (constructor_invocation (user_type (type_identifier) @name))) @reference.inherit
(user_type (type_identifier) @name) @reference.type
(annotation (user_type (type_identifier) @name)) @reference.use

(import_header) @import.text

(variable_declaration (simple_identifier) @typed [(user_type) @type (nullable_type (user_type) @type)])
(class_parameter (simple_identifier) @typed [(user_type) @type (nullable_type (user_type) @type)])
(parameter (simple_identifier) @typed [(user_type) @type (nullable_type (user_type) @type)])
(property_declaration (variable_declaration . (simple_identifier) @typed .) (call_expression . (simple_identifier) @type))
(property_declaration
  (variable_declaration . (simple_identifier) @typed .) (call_expression . (navigation_expression) @type))
(function_declaration
  (simple_identifier) @name . (function_value_parameters) . [(user_type) @returns (nullable_type (user_type) @returns)])
