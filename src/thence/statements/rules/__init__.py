"""Items, rules and rule sets: their text, their sentences and their measures.

Nothing here reads data or counts; counts come from ``thence.statements.counting``.
"""
