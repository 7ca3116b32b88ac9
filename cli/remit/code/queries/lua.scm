(chunk . (comment) @documentation)

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @definition.method

(assignment_statement
  (variable_list . name: (identifier) @name) (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name))
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (_) @owner field: (string content: (string_content) @name)))
  (expression_list . value: (function_definition))) @definition.function
(table_constructor (field name: (identifier) @name value: (function_definition)) @definition.function)

(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name)) @definition.variable))
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement
  (variable_list name: (dot_index_expression table: (_) @owner field: (identifier) @name))) @definition.field)

(function_call name: (identifier) @_test arguments: (arguments . (string content: (string_content) @name) (function_definition))
  (#match? @_test "^(it|test)$")) @definition.test @test

(parameters name: (identifier) @local)
(for_generic_clause (variable_list name: (identifier) @local))
(for_numeric_clause name: (identifier) @local)
(variable_declaration (variable_list name: (identifier) @local))
(variable_declaration (assignment_statement (variable_list name: (identifier) @local)))

(function_call name: (identifier) @name) @reference.call
(function_call name: (dot_index_expression table: (_) @qualifier field: (identifier) @name)) @reference.call
(function_call name: (method_index_expression table: (_) @qualifier method: (identifier) @name)) @reference.call
((arguments (identifier) @name) @reference.use (#not-eq? @name "self"))
((field value: (identifier) @name) @reference.use (#not-eq? @name "self"))
(expression_list value: (identifier) @name) @reference.use
(expression_list value: (dot_index_expression table: (identifier) @qualifier field: (identifier) @name)) @reference.use
(return_statement (expression_list (identifier) @name)) @reference.use

(assignment_statement
  (variable_list . name: (identifier) @alias)
  (expression_list . value: (function_call
    name: (identifier) @_require arguments: (arguments (string content: (string_content) @module))))
  (#eq? @_require "require")) @import
(function_call name: (identifier) @_require arguments: (arguments (string content: (string_content) @module))
  (#match? @_require "^(require|dofile|loadfile)$")) @import
