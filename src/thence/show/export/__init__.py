"""Formats of rules for people and graph stores; their registry is ``thence.statements.files``."""
