"""Statements on other data: apply, detect, monitor, and estimators."""
