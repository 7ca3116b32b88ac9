(stylesheet . (comment) @documentation)

(rule_set (selectors) @name) @definition.selector
(keyframes_statement (keyframes_name) @name) @definition.section
(media_statement (feature_query) @name) @definition.section
(media_statement) @definition.section
(supports_statement) @definition.section
(at_rule (at_keyword) (keyword_query) @name) @definition.section
(at_rule (at_keyword) @name) @definition.section

(declaration (property_name) @name (#match? @name "^--")) @definition.variable

(import_statement (string_value (string_content) @module)) @import
(import_statement (call_expression (arguments (string_value (string_content) @module)))) @import
(import_statement (call_expression (arguments (plain_value) @module))) @import
