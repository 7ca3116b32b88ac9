; Google Test: TEST(Suite, Case) { ... } reads as a function of two types.
((function_definition
    declarator: (function_declarator
      declarator: (identifier) @_test
      parameters: (parameter_list
        . (parameter_declaration type: (type_identifier) @owner)
        . (parameter_declaration type: (type_identifier) @name) .))) @definition.test @test
  (#any-of? @_test "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "TYPED_TEST_P"))

(function_definition
  declarator: [
    (reference_declarator (function_declarator declarator: (_) @name))
    (operator_cast) @name
    (qualified_identifier name: (operator_cast)) @name
  ]) @definition.function
(field_declaration
  declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (operator_cast) @name
  ]) @definition.method @declared
(field_declaration declarator: (reference_declarator (field_identifier) @name)) @definition.field
(declaration
  declarator: [
    (function_declarator declarator: [(destructor_name) (operator_name) (qualified_identifier)] @name)
    (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))
    (operator_cast) @name
  ]) @definition.function @declared

(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type

(template_declaration
  [
    (class_specifier name: (_) @name)
    (struct_specifier name: (_) @name)
    (union_specifier name: (_) @name)
    (alias_declaration name: (_) @name)
    (concept_definition name: (_) @name)
    (function_definition
      declarator: [
        (function_declarator declarator: (_) @name)
        (pointer_declarator declarator: (function_declarator declarator: (_) @name))
        (reference_declarator (function_declarator declarator: (_) @name))
      ])
    (declaration
      declarator: [
        (function_declarator declarator: (_) @name)
        (pointer_declarator declarator: (function_declarator declarator: (_) @name))
        (reference_declarator (function_declarator declarator: (_) @name))
      ])
  ]) @span

(parameter_declaration declarator: (reference_declarator (identifier) @local))
(optional_parameter_declaration declarator: [(identifier) @local (_ (identifier) @local)])
(type_parameter_declaration (type_identifier) @local)
(optional_type_parameter_declaration name: (type_identifier) @local)
(init_declarator declarator: (reference_declarator (identifier) @local))
(structured_binding_declarator (identifier) @local)
(for_range_loop declarator: (identifier) @local)
(for_range_loop declarator: (reference_declarator (identifier) @local))

(call_expression
  function: (qualified_identifier
    scope: (_) @qualifier
    name: [(identifier) @name (template_function name: (identifier) @name)])) @reference.call
(call_expression
  function: (qualified_identifier
    name: (qualified_identifier
      scope: (_) @qualifier
      name: [(identifier) @name (template_function name: (identifier) @name)]))) @reference.call
(call_expression
  function: (qualified_identifier
    name: (qualified_identifier
      name: (qualified_identifier
        scope: (_) @qualifier
        name: [(identifier) @name (template_function name: (identifier) @name)])))) @reference.call
(call_expression function: (template_function name: (identifier) @name)) @reference.call
(call_expression
  function: (field_expression
    argument: (_) @qualifier
    field: (template_method name: (field_identifier) @name))) @reference.call
(new_expression type: (type_identifier) @name) @reference.call
(new_expression type: (template_type name: (type_identifier) @name)) @reference.call
(new_expression type: (qualified_identifier scope: (_) @qualifier name: (type_identifier) @name)) @reference.call

(base_class_clause (type_identifier) @name) @reference.inherit
(base_class_clause (template_type name: (type_identifier) @name)) @reference.inherit
(base_class_clause (qualified_identifier scope: (_) @qualifier name: (type_identifier) @name)) @reference.inherit
(base_class_clause
  (qualified_identifier scope: (_) @qualifier name: (template_type name: (type_identifier) @name))) @reference.inherit

(qualified_identifier scope: (_) @qualifier name: (type_identifier) @name) @reference.type
(qualified_identifier
  scope: (_) @qualifier
  name: (template_type name: (type_identifier) @name)) @reference.type
(argument_list
  (pointer_expression
    argument: (qualified_identifier scope: (_) @qualifier name: (identifier) @name))) @reference.use
(qualified_identifier scope: (namespace_identifier) @qualifier name: (identifier) @name) @reference.use

(using_declaration "namespace" @all (_) @module) @import
(using_declaration . "using" . (qualified_identifier scope: (_) @module name: (identifier) @name)) @import

(parameter_declaration
  type: [(type_identifier) (qualified_identifier)] @type
  declarator: [
    (identifier) @typed
    (pointer_declarator declarator: (identifier) @typed)
    (reference_declarator (identifier) @typed)
  ])
(declaration
  type: [(type_identifier) (qualified_identifier)] @type
  declarator: [
    (identifier) @typed
    (pointer_declarator declarator: (identifier) @typed)
    (init_declarator
      declarator: [
        (identifier) @typed
        (pointer_declarator declarator: (identifier) @typed)
        (reference_declarator (identifier) @typed)
      ])
  ])
(field_declaration
  type: [(type_identifier) (qualified_identifier)] @type
  declarator: [
    (field_identifier) @typed
    (pointer_declarator declarator: (field_identifier) @typed)
    (reference_declarator (field_identifier) @typed)
  ])
; auto made = std::make_unique<Type>(...), auto made = new Type(...)
(init_declarator declarator: (identifier) @typed value: (new_expression type: (type_identifier) @type))
(init_declarator
  declarator: (identifier) @typed
  value: (call_expression
    function: (qualified_identifier
      name: (template_function
        arguments: (template_argument_list . (type_descriptor type: (type_identifier) @type) .)))))
