(module . (expression_statement (string) @documentation))

(function_definition
  name: (identifier) @name
  body: (block . (expression_statement (string) @doc)?)) @definition.function

(module (expression_statement (assignment left: (identifier) @name) @definition.variable))

(module (expression_statement (call
  arguments: (argument_list (keyword_argument
    name: (identifier) @_key value: (string (string_content) @name) (#eq? @_key "name")))) @definition.target))

(parameters (identifier) @local)
(default_parameter name: (identifier) @local)
(lambda_parameters (identifier) @local)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)

(call function: (identifier) @name) @reference.call
(call function: (attribute object: (_) @qualifier attribute: (identifier) @name)) @reference.call
(keyword_argument value: (identifier) @name) @reference.use

(call
  function: (identifier) @_load
  arguments: (argument_list . (string (string_content) @module) (string (string_content) @name))
  (#eq? @_load "load")) @import
(call
  function: (identifier) @_load
  arguments: (argument_list . (string (string_content) @module)
    (keyword_argument name: (identifier) @alias value: (string (string_content) @name)))
  (#eq? @_load "load")) @import
