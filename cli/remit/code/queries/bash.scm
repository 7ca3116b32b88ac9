(program . (comment) . (comment) @documentation)

(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable)
(command name: (command_name (word) @_test) argument: (string (string_content) @name) (#eq? @_test "@test"))
  @definition.test @test

(command name: (command_name (word) @name)) @reference.call
(command name: (command_name (word) @_takes) . argument: (word) @name
  (#match? @_takes "^(trap|command|exec|time|sudo|xargs|timeout)$")) @reference.call

(command name: (command_name (word) @_source) argument: (_) @module (#match? @_source "^(source|[.])$")) @import
