(namespace_definition name: (namespace_name) @name) @definition.module
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(class_declaration name: (name) @name) @definition.class
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(enum_case name: (name) @name) @definition.variant
(program (const_declaration (const_element . (name) @name)) @definition.constant)
(declaration_list (const_declaration (const_element . (name) @name)) @definition.constant)
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
(property_promotion_parameter name: (variable_name (name) @name)) @definition.field
(expression_statement (function_call_expression
  function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))
  (#eq? @_define "define"))) @definition.constant

(method_declaration (visibility_modifier) @exported name: (name) @name (#eq? @exported "public"))

(function_call_expression function: (name) @name) @reference.call
(function_call_expression function: (qualified_name (namespace_name) @qualifier (name) @name)) @reference.call
(member_call_expression object: (variable_name) @qualifier name: (name) @name) @reference.call
(member_call_expression object: (_) @qualifier name: (name) @name) @reference.call
(nullsafe_member_call_expression object: (_) @qualifier name: (name) @name) @reference.call
(scoped_call_expression scope: (_) @qualifier name: (name) @name) @reference.call
(scoped_call_expression scope: (name) @name) @reference.use
(object_creation_expression (name) @name) @reference.call
(object_creation_expression (qualified_name (name) @name)) @reference.call
(class_constant_access_expression . (name) @name) @reference.use
(base_clause [(name) @name (qualified_name (name) @name)]) @reference.inherit
(class_interface_clause [(name) @name (qualified_name (name) @name)]) @reference.inherit
(use_declaration (name) @name) @reference.inherit
(named_type (name) @name) @reference.type
(attribute (name) @name) @reference.use

(namespace_use_clause (qualified_name prefix: (namespace_name) @module (name) @name) alias: (name) @alias) @import
(namespace_use_clause (qualified_name prefix: (namespace_name) @module (name) @name) !alias) @import
(namespace_use_clause . (name) @module !alias) @import
(namespace_use_declaration
  (namespace_name) @module
  body: (namespace_use_group (namespace_use_clause (name) @name alias: (name) @alias))) @import
(namespace_use_declaration
  (namespace_name) @module
  body: (namespace_use_group (namespace_use_clause (name) @name !alias))) @import
(require_once_expression (string (string_content) @module)) @import
(require_expression (string (string_content) @module)) @import
(include_expression (string (string_content) @module)) @import
(include_once_expression (string (string_content) @module)) @import
