(package_header (identifier) @name) @definition.module
(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration (type_identifier) @name) @definition.class
(object_declaration (type_identifier) @name) @definition.class
(companion_object (type_identifier)? @name) @definition.class
(type_alias . (type_identifier) @name) @definition.type
(enum_entry (simple_identifier) @name) @definition.variant

(function_declaration receiver: (receiver_type (user_type (type_identifier) @owner)) (simple_identifier) @name)
  @definition.function
(function_declaration (simple_identifier) @name) @definition.function
(secondary_constructor "constructor" @name) @definition.method
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable)
(class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.field)
(class_parameter (binding_pattern_kind) (simple_identifier) @name) @definition.field

(function_declaration
  (modifiers (annotation (user_type (type_identifier) @test)))
  (simple_identifier) @name (#match? @test "Test$"))

(parameter . (simple_identifier) @local)
(lambda_parameters (variable_declaration (simple_identifier) @local))

(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression . (_) @qualifier (navigation_suffix (simple_identifier) @name))) @reference.call
(delegation_specifier (user_type (type_identifier) @name)) @reference.inherit
(delegation_specifier (constructor_invocation (user_type (type_identifier) @name))) @reference.inherit
(user_type (type_identifier) @name) @reference.type
(annotation (user_type (type_identifier) @name)) @reference.use

(import_header) @import.text
