"""Evaluation of miners and rules: comparison, fidelity, generalisation, and conformance checks.

Nothing in this package mines by itself: miners and tables come from ``thence.search`` and ``thence.runs.preparation``.
"""
