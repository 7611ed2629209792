"""Exact counts of rules on tables, and lower bounds on their confidence. The only place that counts for a user."""
