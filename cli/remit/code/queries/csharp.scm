(namespace_declaration name: (_) @name) @definition.module
(file_scoped_namespace_declaration name: (_) @name) @definition.module
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(enum_declaration name: (identifier) @name) @definition.enum
(interface_declaration name: (identifier) @name) @definition.interface
(delegate_declaration name: (identifier) @name) @definition.type

(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(destructor_declaration "~" @name name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(operator_declaration "operator" @name operator: _ @name) @definition.method
(conversion_operator_declaration "operator" @name type: (_) @name) @definition.method
(indexer_declaration "this" @name) @definition.method

(field_declaration
  (modifier "const")
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.constant
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(event_declaration name: (identifier) @name) @definition.field
(property_declaration name: (identifier) @name) @definition.field
(enum_member_declaration name: (identifier) @name) @definition.variant
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition.field))

[
  (class_declaration (modifier "public") name: (identifier) @name)
  (record_declaration (modifier "public") name: (identifier) @name)
  (struct_declaration (modifier "public") name: (identifier) @name)
  (enum_declaration (modifier "public") name: (identifier) @name)
  (interface_declaration (modifier "public") name: (identifier) @name)
  (delegate_declaration (modifier "public") name: (identifier) @name)
  (method_declaration (modifier "public") name: (identifier) @name)
  (constructor_declaration (modifier "public") name: (identifier) @name)
  (property_declaration (modifier "public") name: (identifier) @name)
  (field_declaration (modifier "public") (variable_declaration (variable_declarator name: (identifier) @name)))
] @exported

((method_declaration (attribute_list (attribute name: (identifier) @_mark)) name: (identifier) @name) @test
  (#any-of? @_mark
    "Fact" "Theory" "Test" "TestCase" "TestCaseSource" "TestMethod" "DataTestMethod" "Property" "Benchmark"))

(parameter name: (identifier) @local)
(parameter_list name: (identifier) @local)
(implicit_parameter) @local
(variable_declarator name: (identifier) @local)
(foreach_statement left: (identifier) @local)
(catch_declaration name: (identifier) @local)
(declaration_pattern name: (identifier) @local)
(declaration_expression name: (identifier) @local)
(type_parameter name: (identifier) @local)

(invocation_expression function: (identifier) @name) @reference.call
(invocation_expression function: (generic_name . (identifier) @name)) @reference.call
(invocation_expression
  function: (member_access_expression
    expression: _ @qualifier
    name: [(identifier) @name (generic_name . (identifier) @name)])) @reference.call
(invocation_expression
  function: (conditional_access_expression
    condition: _ @qualifier
    (member_binding_expression name: [(identifier) @name (generic_name . (identifier) @name)]))) @reference.call
(object_creation_expression type: (identifier) @name) @reference.call
(object_creation_expression type: (generic_name . (identifier) @name)) @reference.call
(object_creation_expression
  type: (qualified_name qualifier: (_) @qualifier name: (identifier) @name)) @reference.call
(constructor_initializer ["base" "this"] @name) @reference.call

(base_list (identifier) @name) @reference.inherit
(base_list (generic_name . (identifier) @name)) @reference.inherit
(base_list (qualified_name qualifier: (_) @qualifier name: (identifier) @name)) @reference.inherit
(base_list
  (qualified_name qualifier: (_) @qualifier name: (generic_name . (identifier) @name))) @reference.inherit
(base_list (primary_constructor_base_type type: (identifier) @name)) @reference.inherit

(_ type: (identifier) @name) @reference.type
(method_declaration returns: (identifier) @name) @reference.type
(qualified_name qualifier: (_) @qualifier name: (identifier) @name) @reference.type
(generic_name . (identifier) @name) @reference.type
(type_argument_list (identifier) @name) @reference.type
(attribute name: (identifier) @name) @reference.use
(argument (identifier) @name) @reference.use
(assignment_expression right: (identifier) @name) @reference.use
(variable_declarator (identifier) @name .) @reference.use
(return_statement (identifier) @name) @reference.use
(arrow_expression_clause (identifier) @name) @reference.use
(binary_expression (identifier) @name) @reference.use
(constant_pattern (identifier) @name) @reference.use
; Constants, enum members and static properties by their habit of capitals.
((member_access_expression expression: (identifier) @qualifier name: (identifier) @name) @reference.use
  (#match? @qualifier "^[A-Z]"))

(using_directive) @import.text

(parameter type: [(identifier) @type (generic_name . (identifier) @type)] name: (identifier) @typed)
(variable_declaration
  type: [(identifier) @type (generic_name . (identifier) @type)]
  (variable_declarator name: (identifier) @typed))
(variable_declaration
  type: (implicit_type)
  (variable_declarator
    name: (identifier) @typed
    (object_creation_expression type: [(identifier) @type (generic_name . (identifier) @type)])))
(property_declaration
  type: [(identifier) @type (generic_name . (identifier) @type)]
  name: (identifier) @typed)
(foreach_statement type: (identifier) @type left: (identifier) @typed)
(declaration_pattern type: (identifier) @type name: (identifier) @typed)
(catch_declaration type: (identifier) @type name: (identifier) @typed)
