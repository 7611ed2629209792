"""The knowledge graph: nodes and edges, ontology, binding of sensors to nodes, patterns, and the loaders."""
