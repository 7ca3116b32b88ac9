(source_file . (comment) @documentation)

(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name)) @definition.class
(class_declaration name: (type_identifier) @name) @definition.class
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name @definition.variant)

(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(function_declaration "func" . name: (simple_identifier) @name) @definition.function
(function_declaration "func" . name: _ @name) @definition.function
(init_declaration "init" @name) @definition.method
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method

(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field

(class_declaration (modifiers (visibility_modifier) @exported) name: (type_identifier) @name
  (#match? @exported "^(public|open)"))
(function_declaration (modifiers (visibility_modifier) @exported) name: (simple_identifier) @name
  (#match? @exported "^(public|open)"))

(protocol_declaration (modifiers (visibility_modifier) @exported) name: (type_identifier) @name
  (#match? @exported "^(public|open)"))
(function_declaration (modifiers (attribute (user_type (type_identifier) @test))) name: (simple_identifier) @name
  (#eq? @test "Test"))

(parameter name: (simple_identifier) @local)
(function_body (statements (property_declaration name: (pattern bound_identifier: (simple_identifier) @local))))
(if_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)
(for_statement item: (pattern bound_identifier: (simple_identifier) @local))
(lambda_parameter name: (simple_identifier) @local)

(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression target: (_) @qualifier suffix: (navigation_suffix suffix: (simple_identifier) @name)))
  @reference.call
(value_argument value: (simple_identifier) @name) @reference.use
(property_declaration value: (simple_identifier) @name) @reference.use
(assignment result: (simple_identifier) @name) @reference.use
(control_transfer_statement result: (simple_identifier) @name) @reference.use
(array_literal element: (simple_identifier) @name) @reference.use
(comparison_expression [lhs: (simple_identifier) @name rhs: (simple_identifier) @name]) @reference.use
; Constants and members of enumerations by their habit of capitals.
((navigation_expression
    target: (simple_identifier) @qualifier
    suffix: (navigation_suffix suffix: (simple_identifier) @name)) @reference.use
  (#match? @qualifier "^[A-Z]"))
(value_argument
  value: (navigation_expression target: (_) @qualifier suffix: (navigation_suffix suffix: (simple_identifier) @name)))
  @reference.use
(inheritance_specifier inherits_from: (user_type (type_identifier) @name)) @reference.inherit
(user_type (type_identifier) @name) @reference.type

(import_declaration (identifier) @module) @import

(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @typed)
  (type_annotation [(user_type) @type (optional_type (user_type) @type)]))
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @typed)
  value: (call_expression . (simple_identifier) @type))
(parameter name: (simple_identifier) @typed (user_type) @type)
(parameter name: (simple_identifier) @typed (optional_type (user_type) @type))
(function_declaration "func" . name: (simple_identifier) @name (user_type) @returns)
(function_declaration "func" . name: (simple_identifier) @name (optional_type (user_type) @returns))
