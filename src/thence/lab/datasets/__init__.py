"""The modules of the named data sets; their registry is ``thence.data.datasets``."""
