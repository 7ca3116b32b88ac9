(source_code . (comment) @documentation)

(binding attrpath: (attrpath) @name expression: (function_expression)) @definition.function
(binding attrpath: (attrpath) @name) @definition.variable

(formal name: (identifier) @local)
(function_expression universal: (identifier) @local)

(apply_expression function: (variable_expression name: (identifier) @name)) @reference.call
(apply_expression function: (select_expression
  expression: (_) @qualifier attrpath: (attrpath attr: (identifier) @name .))) @reference.call
(variable_expression name: (identifier) @name) @reference.use
(inherit_from expression: (_) @qualifier attrs: (inherited_attrs attr: (identifier) @name)) @reference.use
(inherit attrs: (inherited_attrs attr: (identifier) @name)) @reference.use

(apply_expression
  function: (variable_expression name: (identifier) @_import)
  argument: [(path_expression) (spath_expression)] @module
  (#eq? @_import "import")) @import
