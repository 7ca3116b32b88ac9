(source_file . (comment) @documentation)

(from_instruction as: (image_alias) @name) @definition.stage
(from_instruction (image_spec) @name) @definition.stage
(arg_instruction name: (_) @name) @definition.variable
(env_instruction (env_pair name: (_) @name)) @definition.variable
(entrypoint_instruction) @definition.target
(cmd_instruction) @definition.target
(expose_instruction) @definition.key
