"""Estimators for scikit-learn: a classifier that decides by rules, and rules as features of rows.

Needs the extra ``thence[sklearn]``. Without it the classes can be imported, but creating one raises an error that says
what to install.
"""
