(module . (string) @documentation)

(decorated_definition
  definition: (class_definition
    name: (identifier) @name
    body: (block . (string)? @doc)) @definition.class) @span

(decorated_definition
  definition: (function_definition
    name: (identifier) @name
    body: (block . (string)? @doc)) @definition.function) @span

(class_definition
  name: (identifier) @name
  body: (block . (string)? @doc)) @definition.class

(function_definition
  name: (identifier) @name
  body: (block . (string)? @doc)) @definition.function

(module (assignment left: (identifier) @name) @definition.variable)
(module (type_alias_statement left: (type (identifier) @name)) @definition.type)

(class_definition
  body: (block (assignment left: (identifier) @name) @definition.field))

(parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(default_parameter name: (identifier) @local)
(typed_parameter . (identifier) @local)
(typed_default_parameter name: (identifier) @local)

(call function: (identifier) @name) @reference.call
(call function: (attribute object: (_) @qualifier attribute: (identifier) @name)) @reference.call
(class_definition superclasses: (argument_list (identifier) @name)) @reference.inherit
(class_definition
  superclasses: (argument_list (attribute object: (_) @qualifier attribute: (identifier) @name))) @reference.inherit
(type (identifier) @name) @reference.type
(decorator (identifier) @name) @reference.use

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement
  module_name: (_) @module
  name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @all) @import

(assignment left: (identifier) @typed right: (call function: [(identifier) (attribute)] @type))
(assignment left: (attribute object: (identifier)) @typed right: (call function: [(identifier) (attribute)] @type))
(assignment left: [(identifier) (attribute object: (identifier))] @typed type: (type [(identifier) (attribute)] @type))
(typed_parameter . (identifier) @typed type: (type [(identifier) (attribute)] @type))
(typed_default_parameter name: (identifier) @typed type: (type [(identifier) (attribute)] @type))
(as_pattern
  (call function: [(identifier) (attribute)] @type)
  alias: (as_pattern_target (identifier) @typed))
