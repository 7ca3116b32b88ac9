; A node that its place or its fields tell is not named: how long a query takes to make depends on the kinds in it.
(module . (string) @documentation)
(module . (comment)+ . (string) @documentation)

(decorated_definition (decorator)+ @decorator definition: (_ name: (identifier) @name)) @span

(class_definition
  name: (identifier) @name
  body: (_ . (string)? @doc)) @definition.class

(function_definition
  name: (identifier) @name
  body: (_ . (string)? @doc)) @definition.function

(module (assignment left: (identifier) @name right: (lambda)) @definition.function)
(module
  (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition.constant
  (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(module (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition.variable)
; What depends on a platform or a version, or takes the place of what cannot be imported.
(module (if_statement (_ (assignment left: (identifier) @name) @definition.variable)))
(module (if_statement (else_clause (_ (assignment left: (identifier) @name) @definition.variable))))
(module (try_statement (_ (assignment left: (identifier) @name) @definition.variable)))
(module (try_statement (except_clause (_ (assignment left: (identifier) @name) @definition.variable))))
(module (type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @definition.type)

(class_definition
  body: (_ (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition.field))

(parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(default_parameter name: (identifier) @local)
(typed_parameter . (identifier) @local)
(typed_default_parameter name: (identifier) @local)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(assignment left: (identifier) @local)
(pattern_list (identifier) @local)
(tuple_pattern (identifier) @local)
(for_statement left: (identifier) @local)
(for_in_clause left: (identifier) @local)
(as_pattern_target (identifier) @local)
(named_expression name: (identifier) @local)
(case_pattern (dotted_name . (identifier) @local .))
(keyword_pattern (dotted_name . (identifier) @local .))
(splat_pattern (identifier) @local)

(call function: (identifier) @name) @reference.call
(call function: (_ object: (_) @qualifier attribute: (identifier) @name)) @reference.call

(class_definition superclasses: (argument_list (identifier) @name)) @reference.inherit
(class_definition
  superclasses: (argument_list (_ object: (_) @qualifier attribute: (identifier) @name))) @reference.inherit
(class_definition superclasses: (argument_list (_ value: (identifier) @name subscript: (_)))) @reference.inherit
(class_definition
  superclasses: (argument_list
    (_ value: (_ object: (_) @qualifier attribute: (identifier) @name) subscript: (_)))) @reference.inherit

(type (identifier) @name) @reference.type
(type (_ object: (_) @qualifier attribute: (identifier) @name)) @reference.type
(type (generic_type (identifier) @name)) @reference.type
(type (binary_operator (identifier) @name)) @reference.type
(type (binary_operator (_ object: (_) @qualifier attribute: (identifier) @name))) @reference.type
(type (subscript (identifier) @name)) @reference.type
(type
  (_ value: (_ object: (_) @qualifier attribute: (identifier) @name) subscript: (_))) @reference.type
(except_clause value: (identifier) @name) @reference.type
(except_clause value: (tuple (identifier) @name)) @reference.type
(except_clause value: (_ object: (_) @qualifier attribute: (identifier) @name)) @reference.type
(except_clause value: (_ . (identifier) @name alias: (_))) @reference.type
(except_clause value: (_ . (tuple (identifier) @name) alias: (_))) @reference.type
(except_clause
  value: (_ . (_ object: (_) @qualifier attribute: (identifier) @name) alias: (_))) @reference.type
(class_pattern (dotted_name . (identifier) @name .)) @reference.type

(decorator (identifier) @name) @reference.use
(decorator (_ object: (_) @qualifier attribute: (identifier) @name)) @reference.use
; What is handed on, kept or returned without being called.
(argument_list (identifier) @name) @reference.use
(keyword_argument value: (identifier) @name) @reference.use
(argument_list (_ object: (identifier) @qualifier attribute: (identifier) @name)) @reference.use
(keyword_argument value: (_ object: (identifier) @qualifier attribute: (identifier) @name)) @reference.use
(assignment right: (identifier) @name) @reference.use
(return_statement (identifier) @name) @reference.use
(pair value: (identifier) @name) @reference.use
(list (identifier) @name) @reference.use
(raise_statement . (identifier) @name) @reference.use
(default_parameter value: (identifier) @name) @reference.use
(typed_default_parameter value: (identifier) @name) @reference.use
(subscript value: (identifier) @name) @reference.use
(comparison_operator (identifier) @name) @reference.use
(tuple (identifier) @name) @reference.use
(assignment right: (_ object: (identifier) @lender attribute: (identifier) @name)) @reference.use
(return_statement (_ object: (identifier) @lender attribute: (identifier) @name)) @reference.use
(comparison_operator (_ object: (identifier) @lender attribute: (identifier) @name)) @reference.use

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement
  module_name: (_) @module
  name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @all) @import

(assignment left: (identifier) @typed !type right: (_ function: [(identifier) (attribute)] @type))
(assignment left: (_ object: (identifier)) @typed !type right: (_ function: [(identifier) (attribute)] @type))
(assignment left: (_ object: (identifier)) @typed !type right: (identifier) @type)
(assignment left: [(identifier) (_ object: (identifier))] @typed type: (type) @type)
(typed_parameter . (identifier) @typed type: (type) @type)
(typed_default_parameter name: (identifier) @typed type: (type) @type)
(as_pattern
  (_ function: [(identifier) (attribute)] @type)
  alias: (as_pattern_target (identifier) @typed))
(function_definition name: (identifier) @name return_type: (type) @returns)
