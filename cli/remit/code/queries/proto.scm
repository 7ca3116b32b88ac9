(source_file . (comment) @documentation)

(package (full_ident) @name) @definition.section
(message (message_name) @name) @definition.message
(enum (enum_name) @name) @definition.enum
(service (service_name) @name) @definition.service
(rpc (rpc_name) @name) @definition.method
(extend (full_ident) @name) @definition.section

(field (type) . (identifier) @name) @definition.field
(map_field (identifier) @name) @definition.field
(oneof . (identifier) @name) @definition.field
(oneof_field (type) . (identifier) @name) @definition.field
(enum_field . (identifier) @name) @definition.variant

(message_or_enum_type) @name @reference.type
(import path: (string) @module) @import
