"""Aerial: neural rule learning with an autoencoder and an exact, algebraic search.

The modules below work on plain arrays and need only numpy and torch; ``thence.miners.aerial.miner`` joins them to
tables and rule sets.
"""
