(package_clause) @documentation.above

(function_declaration name: (identifier) @name) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      name: (identifier)? @receiver
      type: [
        (type_identifier) @owner
        (generic_type type: (type_identifier) @owner)
        (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)])
      ]))
  name: (field_identifier) @name) @definition.method

(type_declaration (type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct)
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface)
(type_declaration (type_spec name: (type_identifier) @name) @definition.type)
(type_declaration (type_alias name: (type_identifier) @name) @definition.type)
(type_declaration . (type_spec name: (type_identifier) @name) .) @span

(source_file (const_declaration (const_spec (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @definition.variable)))

(field_declaration (field_identifier) @name) @definition.field
(method_elem name: (field_identifier) @name) @definition.method

(parameter_declaration (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(type_parameter_declaration (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
(var_spec (identifier) @local)
(const_spec (identifier) @local)

(call_expression function: (identifier) @name) @reference.call
(call_expression
  function: (selector_expression operand: (_) @qualifier field: (field_identifier) @name)) @reference.call
(call_expression function: (parenthesized_expression (identifier) @name)) @reference.call
; A call with type arguments reads as a conversion.
(type_conversion_expression type: (generic_type type: (type_identifier) @name)) @reference.call
(type_conversion_expression
  type: (generic_type
    type: (qualified_type package: (package_identifier) @qualifier name: (type_identifier) @name))) @reference.call

; What a struct or an interface embeds.
(field_declaration . type: (type_identifier) @name) @reference.inherit
(field_declaration
  . type: (qualified_type package: (package_identifier) @qualifier name: (type_identifier) @name)) @reference.inherit
(field_declaration . type: (generic_type type: (type_identifier) @name)) @reference.inherit
(interface_type (type_elem . (type_identifier) @name .) @reference.inherit)
(interface_type
  (type_elem
    . (qualified_type package: (package_identifier) @qualifier name: (type_identifier) @name) .) @reference.inherit)

(qualified_type package: (package_identifier) @qualifier name: (type_identifier) @name) @reference.type
((type_identifier) @name
  (#not-match? @name
    "^(any|bool|byte|comparable|complex(64|128)|error|float(32|64)|u?int(8|16|32|64)?|rune|string|uintptr)$")) @reference.type

; Functions and methods that are handed on, constants and variables.
(selector_expression
  operand: (parenthesized_expression (unary_expression operand: (identifier) @qualifier))
  field: (field_identifier) @name) @reference.use
(argument_list (identifier) @name) @reference.use
(expression_list (identifier) @name) @reference.use
(literal_element (identifier) @name) @reference.use
(binary_expression (identifier) @name) @reference.use
(unary_expression operand: (identifier) @name) @reference.use
(index_expression (identifier) @name) @reference.use
(send_statement value: (identifier) @name) @reference.use
(range_clause right: (identifier) @name) @reference.use
(argument_list (selector_expression operand: (_) @qualifier field: (field_identifier) @name)) @reference.use
(keyed_element value: (literal_element (identifier) @name)) @reference.use
(keyed_element
  value: (literal_element
    (selector_expression operand: (_) @qualifier field: (field_identifier) @name))) @reference.use

(selector_expression operand: (identifier) @lender field: (field_identifier) @name) @reference.use

(import_spec !name path: (interpreted_string_literal) @module) @import
(import_spec name: (package_identifier) @alias path: (interpreted_string_literal) @module) @import
(import_spec name: (blank_identifier) path: (interpreted_string_literal) @module) @import
(import_spec name: (dot) @all path: (interpreted_string_literal) @module) @import

(parameter_declaration
  name: (identifier) @typed
  type: [(type_identifier) (qualified_type)] @type)
(parameter_declaration
  name: (identifier) @typed
  type: (pointer_type [(type_identifier) (qualified_type)] @type))
(field_declaration name: (field_identifier) @typed type: [(type_identifier) (qualified_type)] @type)
(field_declaration
  name: (field_identifier) @typed
  type: (pointer_type [(type_identifier) (qualified_type)] @type))
(var_spec name: (identifier) @typed type: [(type_identifier) (qualified_type)] @type)
(var_spec name: (identifier) @typed type: (pointer_type [(type_identifier) (qualified_type)] @type))
(short_var_declaration
  left: (expression_list . (identifier) @typed .)
  right: (expression_list . (composite_literal type: [(type_identifier) (qualified_type)] @type)))
(short_var_declaration
  left: (expression_list . (identifier) @typed .)
  right: (expression_list
    . (unary_expression operand: (composite_literal type: [(type_identifier) (qualified_type)] @type))))
; What calls give is told where they are defined.
(short_var_declaration
  left: (expression_list . (identifier) @typed)
  right: (expression_list . (call_expression function: [(identifier) (selector_expression)] @type)))
(function_declaration
  name: (identifier) @name
  result: [(type_identifier) (qualified_type) (pointer_type) (generic_type)] @returns)
(function_declaration
  name: (identifier) @name
  result: (parameter_list . (parameter_declaration type: (_) @returns)))
(method_declaration
  name: (field_identifier) @name
  result: [(type_identifier) (qualified_type) (pointer_type) (generic_type)] @returns)
(method_declaration
  name: (field_identifier) @name
  result: (parameter_list . (parameter_declaration type: (_) @returns)))
