(stream . (comment) @documentation)

; Keys that lists hold are data: there may be any number of them.
(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key))))))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair
    value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key)))))))))

(document (flow_node (flow_mapping (flow_pair key: (_) @name) @definition.key)))
