(class_interface . (identifier) @name) @definition.class @declared
(class_implementation . (identifier) @name) @definition.class
(protocol_declaration . (identifier) @name) @definition.interface

; A method goes by the first part of its selector; its signature tells the rest.
(method_declaration (method_type) . (identifier) @name) @definition.method @declared
(method_definition (method_type) . (identifier) @name) @definition.method

(property_declaration
  (struct_declaration
    (struct_declarator
      [
        (identifier) @name
        (pointer_declarator declarator: (identifier) @name)
        (function_declarator
          declarator: (parenthesized_declarator (block_pointer_declarator declarator: (identifier) @name)))
      ]))) @definition.field
(instance_variable
  (struct_declaration
    (struct_declarator
      [(identifier) @name (pointer_declarator declarator: (identifier) @name)]))) @definition.field
(type_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator
      (block_pointer_declarator declarator: (type_identifier) @name)))) @definition.type

(method_parameter (identifier) @local)

(message_expression receiver: (_) @qualifier . method: (identifier) @name) @reference.call
((message_expression receiver: (identifier) @name) @reference.type (#match? @name "^[A-Z]"))
(class_interface superclass: (identifier) @name) @reference.inherit
(class_interface (parameterized_arguments (type_name (type_identifier) @name))) @reference.inherit
(protocol_reference_list (identifier) @name) @reference.inherit
(class_declaration (identifier) @name) @reference.type

(module_import path: (_) @module) @import

(declaration
  type: (type_identifier) @type
  declarator: [
    (pointer_declarator declarator: (identifier) @typed)
    (init_declarator declarator: (pointer_declarator declarator: (identifier) @typed))
  ])
(method_parameter (method_type (type_name (type_identifier) @type)) (identifier) @typed)
(property_declaration
  (struct_declaration
    (type_identifier) @type
    (struct_declarator (pointer_declarator declarator: (identifier) @typed))))
