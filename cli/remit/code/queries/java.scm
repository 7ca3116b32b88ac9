(package_declaration) @documentation.above

(package_declaration (_) @name) @definition.module
(module_declaration name: (_) @name) @definition.module
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface

(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(compact_constructor_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method

(field_declaration
  (modifiers "static" "final")
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(enum_constant name: (identifier) @name) @definition.variant
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition.field))

[
  (class_declaration (modifiers "public") name: (identifier) @name)
  (record_declaration (modifiers "public") name: (identifier) @name)
  (enum_declaration (modifiers "public") name: (identifier) @name)
  (interface_declaration (modifiers "public") name: (identifier) @name)
  (annotation_type_declaration (modifiers "public") name: (identifier) @name)
  (method_declaration (modifiers "public") name: (identifier) @name)
  (constructor_declaration (modifiers "public") name: (identifier) @name)
  (field_declaration (modifiers "public") declarator: (variable_declarator name: (identifier) @name))
] @exported

((method_declaration
    (modifiers [(marker_annotation name: (identifier) @_mark) (annotation name: (identifier) @_mark)])
    name: (identifier) @name) @test
  (#any-of? @_mark "Test" "ParameterizedTest" "RepeatedTest" "TestFactory" "TestTemplate" "Property"))

(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(enhanced_for_statement name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(resource name: (identifier) @local)
(instanceof_expression name: (identifier) @local)
(type_pattern (identifier) @local)
(type_parameter . (type_identifier) @local)

(method_invocation !object name: (identifier) @name) @reference.call
(method_invocation object: (_) @qualifier name: (identifier) @name) @reference.call
(method_reference . (_) @qualifier . (identifier) @name) @reference.use
(object_creation_expression type: (type_identifier) @name) @reference.call
(object_creation_expression type: (generic_type (type_identifier) @name)) @reference.call
(object_creation_expression
  type: (scoped_type_identifier (_) @qualifier (type_identifier) @name .)) @reference.call
(explicit_constructor_invocation constructor: [(super) (this)] @name) @reference.call

(superclass (type_identifier) @name) @reference.inherit
(superclass (generic_type . (type_identifier) @name)) @reference.inherit
(superclass (scoped_type_identifier (_) @qualifier (type_identifier) @name .)) @reference.inherit
(superclass (generic_type . (scoped_type_identifier (_) @qualifier (type_identifier) @name .))) @reference.inherit
(super_interfaces (type_list (type_identifier) @name)) @reference.inherit
(super_interfaces (type_list (generic_type . (type_identifier) @name))) @reference.inherit
(super_interfaces (type_list (scoped_type_identifier (_) @qualifier (type_identifier) @name .))) @reference.inherit
(extends_interfaces (type_list (type_identifier) @name)) @reference.inherit
(extends_interfaces (type_list (generic_type . (type_identifier) @name))) @reference.inherit

(scoped_type_identifier (_) @qualifier (type_identifier) @name .) @reference.type
((type_identifier) @name @reference.type (#not-eq? @name "var"))
(marker_annotation name: (identifier) @name) @reference.use
(annotation name: (identifier) @name) @reference.use
; Constants by their habit of capitals: others are fields, which no graph holds.
((field_access object: (_) @qualifier field: (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((argument_list (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((return_statement (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((binary_expression (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((variable_declarator value: (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((assignment_expression right: (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((array_initializer (identifier) @name) @reference.use (#match? @name "^[A-Z]"))

(import_declaration) @import.text

(formal_parameter
  type: [(type_identifier) @type (generic_type . (type_identifier) @type)]
  name: (identifier) @typed)
((local_variable_declaration
    type: (type_identifier) @type
    declarator: (variable_declarator name: (identifier) @typed))
  (#not-eq? @type "var"))
(local_variable_declaration
  type: (generic_type . (type_identifier) @type)
  declarator: (variable_declarator name: (identifier) @typed))
((local_variable_declaration
    type: (type_identifier) @_var
    declarator: (variable_declarator
      name: (identifier) @typed
      value: (object_creation_expression type: [(type_identifier) @type (generic_type . (type_identifier) @type)])))
  (#eq? @_var "var"))
(field_declaration
  type: [(type_identifier) @type (generic_type . (type_identifier) @type)]
  declarator: (variable_declarator name: (identifier) @typed))
(enhanced_for_statement type: (type_identifier) @type name: (identifier) @typed)
(resource type: (type_identifier) @type name: (identifier) @typed)
(catch_formal_parameter (catch_type . (type_identifier) @type .) name: (identifier) @typed)
