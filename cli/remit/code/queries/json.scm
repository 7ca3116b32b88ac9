; Keys that lists hold are data: there may be any number of them.
(document (object (pair key: (string) @name) @definition.key))
(document (object (pair value: (object (pair key: (string) @name) @definition.key))))
(document (object (pair value: (object (pair value: (object (pair key: (string) @name) @definition.key))))))

(document (array (object (pair key: (string) @name) @definition.key)))
