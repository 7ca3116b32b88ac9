(element (start_tag (tag_name) @_tag) (text) @name (#match? @_tag "^[hH][1-6]$")) @definition.section
(element (start_tag (tag_name) @_tag) (text) @name (#match? @_tag "^(title|TITLE|caption|legend)$")) @definition.section

(element (start_tag (tag_name)
  (attribute (attribute_name) @_id
    [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)])
  (#match? @_id "^(id|ID)$"))) @definition.element
(element (self_closing_tag (tag_name)
  (attribute (attribute_name) @_id
    [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)])
  (#match? @_id "^(id|ID)$"))) @definition.element

(element (start_tag (tag_name) @name)
  (#match? @name "^(head|body|header|nav|main|section|article|aside|footer|form|table|dialog|template)$"))
  @definition.element
(script_element (start_tag (tag_name) @name)) @definition.element
(style_element (start_tag (tag_name) @name)) @definition.element

(script_element (start_tag
  (attribute (attribute_name) @_src (quoted_attribute_value (attribute_value) @module)) @import
  (#eq? @_src "src")))
