"""Significance under autocorrelation: null models, the family of competing rules, p-values."""
