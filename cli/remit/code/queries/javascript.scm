(field_definition
  property: (_) @name
  value: [(arrow_function) (function_expression)]) @definition.method
(field_definition property: (_) @name) @definition.field

(method_definition (decorator)+ @decorator name: (_) @name)
(field_definition (decorator)+ @decorator property: (_) @name)

(formal_parameters (identifier) @local)

(class_heritage (identifier) @name) @reference.inherit
(class_heritage (_ object: (_) @qualifier property: (property_identifier) @name)) @reference.inherit

(field_definition value: (identifier) @name) @reference.use

(field_definition property: (_) @typed value: (_ constructor: [(identifier) (member_expression)] @type))
