(source_file . [(line_comment) (bracket_comment)] @documentation)

(function_def (function_command (argument_list . (argument) @name))) @definition.function
(macro_def (macro_command (argument_list . (argument) @name))) @definition.macro

(normal_command (identifier) @_what (argument_list . (argument) @name)
  (#match? @_what "^(project|PROJECT)$")) @definition.section
(normal_command (identifier) @_what (argument_list . (argument) @name)
  (#match? @_what "^(add_library|add_executable|add_custom_target|ADD_LIBRARY|ADD_EXECUTABLE|ADD_CUSTOM_TARGET)$"))
  @definition.target
(normal_command (identifier) @_what (argument_list . (argument) . (argument) @name)
  (#match? @_what "^(add_test|ADD_TEST)$")) @definition.test
(normal_command (identifier) @_what (argument_list . (argument) @name)
  (#match? @_what "^(option|set|OPTION|SET)$")) @definition.variable

(normal_command (identifier) @_what (argument_list . (argument) @module)
  (#match? @_what "^(include|add_subdirectory|find_package|INCLUDE|ADD_SUBDIRECTORY|FIND_PACKAGE)$")) @import

(normal_command (identifier) @name) @reference.call
