(create_table (object_reference) @name) @definition.table
(create_view (object_reference) @name) @definition.table
(create_materialized_view (object_reference) @name) @definition.table
(create_index column: (identifier) @name) @definition.key
(create_function (object_reference) @name) @definition.function
(create_trigger . (keyword_create) (keyword_trigger) . (object_reference) @name) @definition.function
(create_type (object_reference) @name) @definition.type
(create_sequence (object_reference) @name) @definition.key
(create_schema (identifier) @name) @definition.section
(create_database (identifier) @name) @definition.section
(create_role (identifier) @name) @definition.key
(create_extension (identifier) @name) @definition.key

(create_table (column_definitions (column_definition name: (identifier) @name) @definition.field))
(alter_table (object_reference) @owner (add_column (column_definition name: (identifier) @name) @definition.field))
(create_type (enum_elements enum_element: (literal) @name @definition.variant))

(column_definition (object_reference) @name) @reference.type
(relation (object_reference) @name) @reference.use
(insert (object_reference) @name) @reference.use
(alter_table (object_reference) @name) @reference.use
