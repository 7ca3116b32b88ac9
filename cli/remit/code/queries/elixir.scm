(source . (comment) @documentation)

(call target: (identifier) @_def (arguments . (alias) @name) (do_block
    . (unary_operator operand: (call target: (identifier) @_doc (arguments [(string) (sigil)] @doc)
      (#eq? @_doc "moduledoc")))?)
  (#match? @_def "^defmodule$")) @definition.module
(call target: (identifier) @_def (arguments . (alias) @name) (do_block)
  (#match? @_def "^defprotocol$")) @definition.interface
(call target: (identifier) @_def (arguments . (alias) @name (keywords (pair value: (alias) @owner))) (do_block)
  (#match? @_def "^defimpl$")) @definition.class

(call target: (identifier) @_def (arguments . (call target: (identifier) @name))
  (#match? @_def "^(def|defp|defdelegate)$")) @definition.function
(call target: (identifier) @_def (arguments . (identifier) @name)
  (#match? @_def "^(def|defp|defdelegate)$")) @definition.function
(call target: (identifier) @_def (arguments . (binary_operator left: (call target: (identifier) @name) operator: "when"))
  (#match? @_def "^(def|defp)$")) @definition.function
(call target: (identifier) @_def (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (#match? @_def "^(defmacro|defmacrop|defguard|defguardp)$")) @definition.macro
(unary_operator operand: (call target: (identifier) @_type
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))
  (#match? @_type "^(type|typep|opaque)$")) @definition.type
(unary_operator operand: (call target: (identifier) @_callback
  (arguments (binary_operator left: (call target: (identifier) @name))))
  (#match? @_callback "^(callback|macrocallback)$")) @definition.method
(unary_operator operator: "@" operand: (call target: (identifier) @name (arguments))
  (#not-match? @name "^(doc|moduledoc|typedoc|spec|type|typep|opaque|callback|macrocallback|optional_callbacks|behaviour|impl|derive|tag|describetag|moduletag|deprecated|since|compile|dialyzer|external_resource|enforce_keys|before_compile|after_compile|on_load|on_definition)$"))
  @definition.constant

(call target: (identifier) @_test (arguments . (string (quoted_content) @name)) (do_block)
  (#match? @_test "^(test|property)$")) @definition.test @test

(call target: (identifier) @_def (arguments . (call (arguments (identifier) @local)))
  (#match? @_def "^(def|defp|defmacro|defmacrop)$"))
(stab_clause left: (arguments (identifier) @local))

(call target: (dot left: (_) @qualifier right: (identifier) @name)) @reference.call
(call target: (identifier) @name
  (#not-match? @name "^(def|defp|defmodule|defmacro|defmacrop|defguard|defguardp|defprotocol|defimpl|defdelegate|defstruct|alias|import|require|use|if|unless|case|cond|with|for|quote|unquote|test|describe|doc|moduledoc|spec|type|typep|opaque|callback|behaviour|typedoc|macrocallback|optional_callbacks|impl|derive|tag|describetag|moduletag|deprecated|since|compile|dialyzer|external_resource|enforce_keys|defexception|raise)$"))
  @reference.call
(unary_operator operator: "@" operand: (identifier) @name) @reference.use
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @name operator: "/")) @reference.use
(binary_operator operator: "|>" right: (identifier) @name) @reference.call
(struct (alias) @name) @reference.type
(unary_operator operand: (call target: (identifier) @_behaviour (arguments (alias) @name)
  (#eq? @_behaviour "behaviour"))) @reference.inherit

(call target: (identifier) @_import (arguments . (alias) @module (keywords (pair key: (keyword) @_as value: (alias) @alias)))
  (#match? @_import "^alias$") (#match? @_as "^as:")) @import
(call target: (identifier) @_import (arguments . (dot left: (alias) @module right: (tuple (alias) @name)))
  (#match? @_import "^(alias|import|require|use)$")) @import
(call target: (identifier) @_import @all (arguments . (alias) @module) (#eq? @_import "import")) @import
(call target: (identifier) @_import (arguments . (alias) @module)
  (#match? @_import "^(alias|require|use)$")) @import

(arguments (alias) @name) @reference.use

((unary_operator operand: (call target: (identifier) @_doc (arguments [(string) (sigil)] @doc)))
  . (unary_operator)*
  . (call target: (identifier) @_def (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")]))
  (#eq? @_doc "doc")
  (#match? @_def "^(def|defmacro|defguard|defdelegate)$"))
