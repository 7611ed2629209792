"""Miners: they read a table and return rules.

``registry`` finds a miner by name, class or instance, those of other packages included (entry points of the group
``thence.miners``). Nothing is imported before it is asked for.
"""
