(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: (_) @name @definition.variant)
(enum_assignment name: (_) @name) @definition.variant
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module

(abstract_class_declaration (decorator)+ @decorator name: (_) @name)
(class_body (decorator)+ @decorator . [(method_definition name: (_) @name) (abstract_method_signature name: (_) @name)])
(public_field_definition (decorator)+ @decorator name: (_) @name)

(function_signature name: (identifier) @name) @definition.function
(method_signature name: (_) @name) @definition.method
(abstract_method_signature name: (_) @name) @definition.method
(public_field_definition
  name: (_) @name
  value: [(arrow_function) (function_expression)]) @definition.method
(public_field_definition name: (_) @name) @definition.field
(interface_body (property_signature name: (_) @name) @definition.field)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @definition.field))
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition.field
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(ambient_declaration (_ name: (_) @name)) @span

(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(type_parameter name: (type_identifier) @local)

(extends_clause value: (identifier) @name) @reference.inherit
(extends_clause value: (_ object: (_) @qualifier property: (property_identifier) @name)) @reference.inherit
(implements_clause (type_identifier) @name) @reference.inherit
(implements_clause (generic_type name: (type_identifier) @name)) @reference.inherit
(implements_clause (nested_type_identifier module: (_) @qualifier name: (type_identifier) @name)) @reference.inherit
(extends_type_clause type: (type_identifier) @name) @reference.inherit
(extends_type_clause type: (generic_type name: (type_identifier) @name)) @reference.inherit
(extends_type_clause type: (nested_type_identifier module: (_) @qualifier name: (type_identifier) @name)) @reference.inherit

(nested_type_identifier module: (_) @qualifier name: (type_identifier) @name) @reference.type
(type_identifier) @name @reference.type
(type_query (identifier) @name) @reference.type
(required_parameter value: (identifier) @name) @reference.use
(optional_parameter value: (identifier) @name) @reference.use
(public_field_definition value: (identifier) @name) @reference.use
(as_expression . (identifier) @name) @reference.use
(satisfies_expression . (identifier) @name) @reference.use

(import_statement (import_require_clause (identifier) @alias source: (string) @module)) @import

(required_parameter
  pattern: (identifier) @typed
  type: (type_annotation [(type_identifier) (nested_type_identifier)] @type))
(optional_parameter
  pattern: (identifier) @typed
  type: (type_annotation [(type_identifier) (nested_type_identifier)] @type))
(variable_declarator
  name: (identifier) @typed
  type: (type_annotation [(type_identifier) (nested_type_identifier)] @type))
(public_field_definition
  name: (property_identifier) @typed
  type: (type_annotation [(type_identifier) (nested_type_identifier)] @type))
(public_field_definition
  name: (property_identifier) @typed
  value: (_ constructor: [(identifier) (member_expression)] @type))
(property_signature
  name: (property_identifier) @typed
  type: (type_annotation [(type_identifier) (nested_type_identifier)] @type))
(function_declaration name: (identifier) @name return_type: (type_annotation (_) @returns))
(method_definition name: (_) @name return_type: (type_annotation (_) @returns))
(method_signature name: (_) @name return_type: (type_annotation (_) @returns))
