"""Exact counts of rules on tables, and lower bounds on their confidence.

Every count that a user sees comes from here. Proposing rules is the job of the miners, testing and selecting them that
of refinement.
"""
