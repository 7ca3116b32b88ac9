(document . (comment) @documentation)

(table . [(bare_key) (quoted_key) (dotted_key)] @name) @definition.section
(table_array_element . [(bare_key) (quoted_key) (dotted_key)] @name) @definition.section

(document (pair . [(bare_key) (quoted_key) (dotted_key)] @name) @definition.key)
(table (pair . [(bare_key) (quoted_key) (dotted_key)] @name) @definition.key)
(table_array_element (pair . [(bare_key) (quoted_key) (dotted_key)] @name) @definition.key)
