"""Transaction tables: discretization, blocks of columns, and the enrichments that build them.

Nothing here counts rules or searches for them.
"""
