(translation_unit . (comment) @documentation)

(function_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator
      (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))) @definition.function
(function_definition
  declarator: (function_declarator declarator: (parenthesized_declarator . (identifier) @name .))) @definition.function
(function_definition
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
  ]) @definition.function
(declaration
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator
      declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ]) @definition.function @declared

(struct_specifier name: (_) @name body: (_)) @definition.struct
(union_specifier name: (_) @name body: (_)) @definition.union
(enum_specifier name: (_) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.variant
(type_definition type: (struct_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.struct
(type_definition type: (union_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.union
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.enum
(type_definition
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (type_identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (type_identifier) @name))
    (function_declarator
      declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
    (pointer_declarator
      declarator: (function_declarator
        declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))))
  ]) @definition.type

(field_declaration
  declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
    (array_declarator declarator: (field_identifier) @name)
    (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name))
    (function_declarator
      declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
    (pointer_declarator
      declarator: (function_declarator
        declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name))))
  ]) @definition.field
(declaration
  declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (array_declarator declarator: (identifier) @name)
    (init_declarator
      declarator: [
        (identifier) @name
        (pointer_declarator declarator: (identifier) @name)
        (array_declarator declarator: (identifier) @name)
        (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
        (array_declarator declarator: (array_declarator declarator: (identifier) @name))
      ])
  ]) @definition.variable
(preproc_def name: (identifier) @name value: (_)) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro

(parameter_declaration
  declarator: [
    (identifier) @local
    (pointer_declarator declarator: (identifier) @local)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @local))
    (array_declarator declarator: (identifier) @local)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @local)))
  ])
(declaration
  declarator: [
    (identifier) @local
    (pointer_declarator declarator: (identifier) @local)
    (array_declarator declarator: (identifier) @local)
  ])
(init_declarator
  declarator: [
    (identifier) @local
    (pointer_declarator declarator: (identifier) @local)
    (array_declarator declarator: (identifier) @local)
  ])
(preproc_params (identifier) @local)

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression argument: (_) @qualifier field: (field_identifier) @name)) @reference.call
(call_expression function: (parenthesized_expression (identifier) @name)) @reference.call
(call_expression
  function: (parenthesized_expression (pointer_expression argument: (identifier) @name))) @reference.call

(type_identifier) @name @reference.type
(sizeof_expression value: (parenthesized_expression (identifier) @name)) @reference.type

; Functions that are handed on, and macros and constants.
(argument_list (identifier) @name) @reference.use
(argument_list (pointer_expression argument: (identifier) @name)) @reference.use
(initializer_list (identifier) @name) @reference.use
(initializer_list (cast_expression value: (identifier) @name)) @reference.use
(initializer_pair value: (identifier) @name) @reference.use
(assignment_expression right: (identifier) @name) @reference.use
(assignment_expression right: (pointer_expression argument: (identifier) @name)) @reference.use
(init_declarator value: (identifier) @name) @reference.use
(init_declarator value: (pointer_expression argument: (identifier) @name)) @reference.use
(return_statement (identifier) @name) @reference.use
(binary_expression (identifier) @name) @reference.use
(subscript_expression argument: (identifier) @name) @reference.use
(case_statement value: (identifier) @name) @reference.use
(array_declarator size: (identifier) @name) @reference.use

(preproc_include path: (_) @module) @import
