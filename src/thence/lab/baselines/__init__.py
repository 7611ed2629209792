"""The baselines of the paper behind the protocol of all miners."""
