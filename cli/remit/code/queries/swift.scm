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
(function_declaration name: (simple_identifier) @name) @definition.function
(function_declaration "func" name: _ @name) @definition.function
(init_declaration "init" @name) @definition.method
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method

(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field

(class_declaration (modifiers (visibility_modifier) @exported) name: (type_identifier) @name
  (#match? @exported "^(public|open)"))
(function_declaration (modifiers (visibility_modifier) @exported) name: (simple_identifier) @name
  (#match? @exported "^(public|open)"))

(parameter name: (simple_identifier) @local)
(lambda_parameter name: (simple_identifier) @local)

(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression target: (_) @qualifier suffix: (navigation_suffix suffix: (simple_identifier) @name)))
  @reference.call
(inheritance_specifier inherits_from: (user_type (type_identifier) @name)) @reference.inherit
(user_type (type_identifier) @name) @reference.type

(import_declaration (identifier) @module) @import
