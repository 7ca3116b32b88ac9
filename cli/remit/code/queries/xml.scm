(document (prolog (Comment) @documentation))

(document root: (element [(STag . (Name) @name) (EmptyElemTag . (Name) @name)]) @definition.element)
(document root: (element (content
  (element [(STag . (Name) @name) (EmptyElemTag . (Name) @name)]) @definition.element)))
(document root: (element (content (element (content
  (element [(STag . (Name) @name) (EmptyElemTag . (Name) @name)]) @definition.element)))))
