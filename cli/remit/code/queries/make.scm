(makefile . (comment) @documentation)

(rule (targets . (_) @name) (#not-match? @name "^[.][A-Z_]+$")) @definition.target
(rule (targets (_) (_) @name @definition.target)) @span
(variable_assignment name: (word) @name) @definition.variable
(define_directive name: (word) @name) @definition.macro

(rule normal: (prerequisites (word) @name)) @reference.use
(include_directive filenames: (list (word) @module)) @import
