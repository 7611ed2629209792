"""Estimators for scikit-learn: a classifier that decides by rules, and rules as features of rows.

Needs the extra ``thence[sklearn]``. Without it the classes can be imported, but creating one raises an error that says
what to install.

Examples:
    >>> import polars as pl, thence as th
    >>> rows = pl.DataFrame({"colour": ["red", "blue"] * 20})
    >>> kinds = ["rose", "iris"] * 20
    >>> th.estimators.RuleClassifier().fit(rows, kinds).predict(rows[:2]).tolist()
    ['rose', 'iris']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.checks.estimators.classifier import RuleClassifier as RuleClassifier
    from thence.checks.estimators.features import RuleFeatures as RuleFeatures

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "checks.estimators.classifier": ("RuleClassifier",),
        "checks.estimators.features": ("RuleFeatures",),
    },
)
