(source_file . (module_comment) @documentation)

(type_definition (type_name name: (type_identifier) @name)) @definition.type
(type_alias (type_name name: (type_identifier) @name)) @definition.type
(data_constructor name: (constructor_name) @name) @definition.variant
(constant name: (identifier) @name) @definition.constant
(function name: (identifier) @name) @definition.function

(function (visibility_modifier) @exported name: (identifier) @name)
(constant (visibility_modifier) @exported name: (identifier) @name)
(type_definition (visibility_modifier) @exported (type_name name: (type_identifier) @name))
(type_alias (visibility_modifier) @exported (type_name name: (type_identifier) @name))

(function_parameter name: (identifier) @local)
(use_assignment (identifier) @local)
(let pattern: (identifier) @local)
(case_clause_pattern (identifier) @local)
(list_pattern (identifier) @local)
(list_pattern_tail (identifier) @local)
(record_pattern_argument pattern: (identifier) @local)
(tuple_pattern (identifier) @local)

(function_call function: (identifier) @name) @reference.call
(function_call function: (field_access record: (identifier) @qualifier field: (label) @name)) @reference.call
(binary_expression operator: "|>" right: (identifier) @name) @reference.call
(binary_expression operator: "|>" right: (field_access record: (identifier) @qualifier field: (label) @name))
  @reference.call
(argument value: (identifier) @name) @reference.use
(record name: (constructor_name) @name) @reference.use
(record_pattern name: (constructor_name) @name) @reference.use
(type name: (type_identifier) @name) @reference.type

(import module: (module) @module alias: (identifier) @alias) @import
(import module: (module) @module !alias !imports) @import
(import module: (module) @module
  imports: (unqualified_imports (unqualified_import name: (_) @name alias: (_) @alias))) @import
(import module: (module) @module
  imports: (unqualified_imports (unqualified_import name: (_) @name !alias))) @import
