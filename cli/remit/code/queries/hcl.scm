(config_file . (comment) @documentation)

; resource "type" "name": known by its last label; the first one is what it belongs to.
(config_file (body (block . (identifier) . (string_lit (template_literal) @owner) . (string_lit (template_literal) @name))
  @definition.resource))
(config_file (body (block . (identifier) @_what . (string_lit (template_literal) @name)
  (#match? @_what "^(variable|output)$")) @definition.variable))
(config_file (body (block . (identifier) . (string_lit (template_literal) @name)) @definition.resource))
(config_file (body (block . (identifier) @_what (body (attribute . (identifier) @name) @definition.variable)
  (#eq? @_what "locals"))))
(config_file (body (block . (identifier) @name) @definition.section))
(config_file (body (block . (identifier) (body (block . (identifier) @name) @definition.section))))
(config_file (body (attribute . (identifier) @name) @definition.variable))

(expression (variable_expr (identifier) @_data) . (get_attr (identifier) @qualifier) . (get_attr (identifier) @name)
  (#eq? @_data "data")) @reference.use
; Variables and locals are known by their bare names.
(expression (variable_expr (identifier) @_var) . (get_attr (identifier) @name)
  (#any-of? @_var "var" "local")) @reference.use
(expression (variable_expr (identifier) @qualifier) . (get_attr (identifier) @name)
  (#not-any-of? @qualifier "data" "var" "local")) @reference.use

(config_file (body (block . (identifier) @_what (string_lit)
  (body (attribute . (identifier) @_key (expression (literal_value (string_lit (template_literal) @module)))
    (#eq? @_key "source")) @import)
  (#eq? @_what "module"))))
