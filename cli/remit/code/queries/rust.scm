(source_file . (line_comment (inner_doc_comment_marker)) @documentation)
(source_file . (block_comment (inner_doc_comment_marker)) @documentation)

(impl_item
  type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (scoped_type_identifier name: (type_identifier) @owner)
    (generic_type type: (scoped_type_identifier name: (type_identifier) @owner))
    (reference_type type: (type_identifier) @owner)
    (primitive_type) @owner
  ]
  body: (declaration_list
    [
      (function_item name: (identifier) @name) @definition.method
      (const_item name: (identifier) @name) @definition.constant
      (type_item name: (type_identifier) @name) @definition.type
    ]))

(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(union_item name: (type_identifier) @name) @definition.union
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.variant
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(field_declaration name: (field_identifier) @name) @definition.field

(source_file [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.constant)
(declaration_list [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.constant)

[
  (function_item (visibility_modifier) name: (identifier) @name)
  (struct_item (visibility_modifier) name: (type_identifier) @name)
  (union_item (visibility_modifier) name: (type_identifier) @name)
  (enum_item (visibility_modifier) name: (type_identifier) @name)
  (trait_item (visibility_modifier) name: (type_identifier) @name)
  (type_item (visibility_modifier) name: (type_identifier) @name)
  (mod_item (visibility_modifier) name: (identifier) @name)
  (const_item (visibility_modifier) name: (identifier) @name)
  (static_item (visibility_modifier) name: (identifier) @name)
  (field_declaration (visibility_modifier) name: (field_identifier) @name)
] @exported

; #[test], #[tokio::test], #[bench], #[rstest], #[cfg(test)], with other attributes between it and the function.
((attribute_item
    (attribute [(identifier) @_mark (scoped_identifier name: (identifier) @_mark)])) @test
  . [(attribute_item) (line_comment)]*
  . (function_item name: (identifier) @name)
  (#any-of? @_mark "test" "bench" "rstest" "test_case" "quickcheck" "wasm_bindgen_test"))
((attribute_item (attribute (identifier) @_cfg arguments: (token_tree . (identifier) @_mark .))) @test
  . (attribute_item)*
  . [(mod_item name: (identifier) @name) (function_item name: (identifier) @name)]
  (#eq? @_cfg "cfg") (#eq? @_mark "test"))
(type_parameter name: (type_identifier) @local)
(const_parameter name: (identifier) @local)
(parameter pattern: (identifier) @local)
(parameter pattern: (mut_pattern (identifier) @local))
(parameter pattern: (reference_pattern (identifier) @local))
(parameter pattern: (tuple_pattern (identifier) @local))
(closure_parameters (identifier) @local)
(let_declaration pattern: (identifier) @local)
(let_declaration pattern: (tuple_pattern (identifier) @local))
(for_expression pattern: (identifier) @local)
(for_expression pattern: (tuple_pattern (identifier) @local))

(tuple_struct_pattern type: (_) (identifier) @local)

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (scoped_identifier path: (_)? @qualifier name: (identifier) @name)) @reference.call
(call_expression function: (field_expression value: (_) @qualifier field: (field_identifier) @name)) @reference.call
(generic_function function: (identifier) @name) @reference.call
(generic_function function: (scoped_identifier path: (_)? @qualifier name: (identifier) @name)) @reference.call
(generic_function function: (field_expression value: (_) @qualifier field: (field_identifier) @name)) @reference.call
(macro_invocation macro: (identifier) @name) @reference.call
(macro_invocation macro: (scoped_identifier path: (_)? @qualifier name: (identifier) @name)) @reference.call
; Arguments of macros are tokens; a name right before parentheses is a call.
(token_tree (identifier) @name . (token_tree "(") @next) @reference.call

(impl_item trait: (type_identifier) @name) @reference.inherit
(impl_item trait: (generic_type type: (type_identifier) @name)) @reference.inherit
(impl_item trait: (scoped_type_identifier path: (_)? @qualifier name: (type_identifier) @name)) @reference.inherit
(trait_item bounds: (trait_bounds (type_identifier) @name)) @reference.inherit
(trait_item bounds: (trait_bounds (generic_type type: (type_identifier) @name))) @reference.inherit
(trait_item
  bounds: (trait_bounds (scoped_type_identifier path: (_)? @qualifier name: (type_identifier) @name))) @reference.inherit

(scoped_type_identifier path: (_)? @qualifier name: (type_identifier) @name) @reference.type
(type_identifier) @name @reference.type
; Variants and associated constants, named through their type.
((scoped_identifier path: (_) @qualifier name: (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
(arguments [
  (identifier) @name
  (scoped_identifier path: (_) @qualifier name: (identifier) @name)
]) @reference.use
(let_declaration value: [
  (identifier) @name
  (scoped_identifier path: (_) @qualifier name: (identifier) @name)
]) @reference.use
(field_initializer value: [
  (identifier) @name
  (scoped_identifier path: (_) @qualifier name: (identifier) @name)
]) @reference.use
(array_expression (identifier) @name) @reference.use
(binary_expression (identifier) @name) @reference.use
(reference_expression value: (identifier) @name) @reference.use
(assignment_expression right: (identifier) @name) @reference.use
(return_expression (identifier) @name) @reference.use
(block (identifier) @name .) @reference.use
(match_pattern . (identifier) @name .) @reference.use
; In the tokens of macros what is written as constants and types are.
((token_tree (identifier) @name) @reference.use (#match? @name "^[A-Z]"))
((attribute (identifier) @_derive (token_tree (identifier) @name)) @reference.use (#eq? @_derive "derive"))

(use_declaration) @import.text
(extern_crate_declaration name: (identifier) @module !alias) @import
(extern_crate_declaration name: (identifier) @module alias: (identifier) @alias) @import

(parameter pattern: (identifier) @typed type: [(type_identifier) (scoped_type_identifier)] @type)
(parameter
  pattern: (identifier) @typed
  type: (reference_type type: [(type_identifier) (scoped_type_identifier)] @type))
(field_declaration name: (field_identifier) @typed type: [(type_identifier) (scoped_type_identifier)] @type)
(let_declaration pattern: (identifier) @typed type: [(type_identifier) (scoped_type_identifier)] @type)
(let_declaration pattern: (identifier) @typed value: (struct_expression name: (_) @type))
((let_declaration
    pattern: (identifier) @typed
    value: (call_expression function: (scoped_identifier path: (_) @type name: (identifier) @_made)))
  (#any-of? @_made "new" "default" "from" "with_capacity"))
; What calls give is told where they are defined.
(let_declaration
  pattern: [(identifier) @typed (mut_pattern (identifier) @typed)]
  value: (call_expression function: [(identifier) (scoped_identifier)] @type))
(function_item name: (identifier) @name return_type: (_) @returns)
