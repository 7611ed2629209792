"""Stores: databases and graph servers as sources of readings, graphs and bindings, and as places to write rules to.

A source is named by a URL: ``postgresql://…``, ``duckdb:///…``, ``bolt://…`` or ``neo4j://…``, ``sparql+https://…``.
Drivers are optional packages and are imported when they are needed.
"""
