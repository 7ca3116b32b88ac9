(program (php_tag) . (comment) @documentation)
(namespace_definition) @documentation.above

(namespace_definition name: (namespace_name) @name) @definition.module
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(class_declaration name: (name) @name) @definition.class
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(enum_case name: (name) @name) @definition.variant
(program (const_declaration (const_element . (name) @name)) @definition.constant)
(namespace_definition body: (compound_statement
  (const_declaration (const_element . (name) @name)) @definition.constant))
(declaration_list (const_declaration (const_element . (name) @name)) @definition.constant)
(enum_declaration_list (const_declaration (const_element . (name) @name)) @definition.constant)
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
(property_promotion_parameter name: (variable_name (name) @name)) @definition.field
(expression_statement (function_call_expression
  function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))
  (#eq? @_define "define"))) @definition.constant

(expression_statement (assignment_expression
  left: (variable_name) @name right: [(anonymous_function) (arrow_function)])) @definition.function

(method_declaration (visibility_modifier) @exported name: (name) @name (#eq? @exported "public"))

(function_call_expression function: [(name) (variable_name)] @name) @reference.call
(function_call_expression function: (qualified_name (namespace_name) @qualifier (name) @name)) @reference.call
(member_call_expression object: (variable_name) @qualifier name: (name) @name) @reference.call
(member_call_expression object: (_) @qualifier name: (name) @name) @reference.call
(nullsafe_member_call_expression object: (_) @qualifier name: (name) @name) @reference.call
(scoped_call_expression scope: (_) @qualifier name: (name) @name) @reference.call
((scoped_call_expression scope: (name) @name) @reference.use (#not-any-of? @name "self" "static" "parent"))
((object_creation_expression (name) @name) @reference.call (#not-any-of? @name "self" "static" "parent"))
(object_creation_expression (qualified_name prefix: (namespace_name) @qualifier (name) @name)) @reference.call
((class_constant_access_expression . (name) @name) @reference.use (#not-any-of? @name "self" "static" "parent"))
((class_constant_access_expression (_) @qualifier (name) @name .) @reference.use (#not-eq? @name "class"))
((scoped_property_access_expression scope: (name) @name) @reference.use
  (#not-any-of? @name "self" "static" "parent"))
(binary_expression operator: "instanceof" right: (name) @name) @reference.type
(base_clause [(name) @name (qualified_name (name) @name)]) @reference.inherit
(class_interface_clause [(name) @name (qualified_name (name) @name)]) @reference.inherit
(use_declaration (name) @name) @reference.inherit
((named_type (name) @name) @reference.type (#not-any-of? @name "self" "static" "parent"))
(named_type (qualified_name prefix: (namespace_name) @qualifier (name) @name)) @reference.type
(attribute (name) @name) @reference.use

(namespace_use_clause (qualified_name prefix: (namespace_name) @module (name) @name) alias: (name) @alias) @import
(namespace_use_clause (qualified_name prefix: (namespace_name) @module (name) @name) !alias) @import
(namespace_use_declaration (namespace_use_clause . (name) @name alias: (name) @alias)) @import
(namespace_use_declaration (namespace_use_clause . (name) @name !alias)) @import
(namespace_use_declaration
  (namespace_name) @module
  body: (namespace_use_group (namespace_use_clause (name) @name alias: (name) @alias))) @import
(namespace_use_declaration
  (namespace_name) @module
  body: (namespace_use_group (namespace_use_clause (name) @name !alias))) @import
(require_once_expression [
  (string (string_content) @module)
  (encapsed_string (string_content) @module)
  (binary_expression right: [(string (string_content) @module) (encapsed_string (string_content) @module)])]) @import
(require_expression [
  (string (string_content) @module)
  (encapsed_string (string_content) @module)
  (binary_expression right: [(string (string_content) @module) (encapsed_string (string_content) @module)])]) @import
(include_expression [
  (string (string_content) @module)
  (encapsed_string (string_content) @module)
  (binary_expression right: [(string (string_content) @module) (encapsed_string (string_content) @module)])]) @import
(include_once_expression [
  (string (string_content) @module)
  (encapsed_string (string_content) @module)
  (binary_expression right: [(string (string_content) @module) (encapsed_string (string_content) @module)])]) @import

(property_declaration
  type: [(named_type) @type (optional_type (named_type) @type)]
  (property_element name: (variable_name (name) @typed)))
(property_promotion_parameter
  type: [(named_type) @type (optional_type (named_type) @type)]
  name: (variable_name (name) @typed))
(property_promotion_parameter
  type: [(named_type) @type (optional_type (named_type) @type)]
  name: (variable_name) @typed)
(simple_parameter
  type: [(named_type) @type (optional_type (named_type) @type)]
  name: (variable_name) @typed)
(assignment_expression
  left: (variable_name) @typed
  right: (object_creation_expression [(name) (qualified_name)] @type))
(assignment_expression
  left: (member_access_expression object: (variable_name) name: (name)) @typed
  right: (object_creation_expression [(name) (qualified_name)] @type))
(function_definition name: (name) @name return_type: [(named_type) @returns (optional_type (named_type) @returns)])
(method_declaration name: (name) @name return_type: [(named_type) @returns (optional_type (named_type) @returns)])
