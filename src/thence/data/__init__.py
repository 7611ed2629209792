"""What the user brings: readings, graph, ontology and binding of a system, and where they are read from."""
