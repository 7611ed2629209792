"""Significance tests of rules: the null model, test statistics, the family of competing rules, p-values."""
