(package_clause name: (package_identifier) @name) @definition.module
(trait_definition name: (identifier) @name) @definition.trait
(class_definition name: (identifier) @name) @definition.class
(object_definition name: (identifier) @name) @definition.class
(package_object name: (identifier) @name) @definition.module
(enum_definition name: (identifier) @name) @definition.enum
(simple_enum_case name: (identifier) @name) @definition.variant
(full_enum_case name: (identifier) @name) @definition.variant
(type_definition name: (type_identifier) @name) @definition.type
(given_definition name: (identifier) @name) @definition.variable

(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(template_body (val_definition pattern: (identifier) @name) @definition.field)
(template_body (var_definition pattern: (identifier) @name) @definition.field)
(template_body (val_declaration name: (identifier) @name) @definition.field)
(compilation_unit (val_definition pattern: (identifier) @name) @definition.variable)
(class_parameter name: (identifier) @name) @definition.field

(parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(block (val_definition pattern: (identifier) @local))
(block (var_definition pattern: (identifier) @local))
(enumerator . (identifier) @local)
(case_class_pattern pattern: (identifier) @local)
(bindings (binding name: (identifier) @local))

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression value: (_) @qualifier field: (identifier) @name)) @reference.call
(call_expression function: (generic_function function: (identifier) @name)) @reference.call
(call_expression
  function: (generic_function function: (field_expression value: (_) @qualifier field: (identifier) @name)))
  @reference.call
(arguments (identifier) @name) @reference.use
(instance_expression (type_identifier) @name) @reference.call
(extends_clause (type_identifier) @name) @reference.inherit
(extends_clause (generic_type (type_identifier) @name)) @reference.inherit
(field_expression value: (_) @qualifier field: (identifier) @name) @reference.use
(type_identifier) @name @reference.type
(infix_expression left: (_) @qualifier operator: (identifier) @name) @reference.call

(import_declaration) @import.text

(val_definition pattern: (identifier) @typed type: (_) @type)
(var_definition pattern: (identifier) @typed type: (_) @type)
(val_definition pattern: (identifier) @typed value: (instance_expression (type_identifier) @type))
(var_definition pattern: (identifier) @typed value: (instance_expression (type_identifier) @type))
(val_definition
  pattern: (identifier) @typed value: (call_expression function: [(identifier) (field_expression)] @type))
(class_parameter name: (identifier) @typed type: (_) @type)
(parameter name: (identifier) @typed type: (_) @type)
(function_definition name: (identifier) @name return_type: (_) @returns)
(function_declaration name: (identifier) @name return_type: (_) @returns)
