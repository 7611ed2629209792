"""Rules as features of rows, with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.estimators.rows import check_labels, check_rows, class_values, free_name, labelled_table
from thence.checks.estimators.rule_search import search_rules
from thence.checks.estimators.scikit_learn import (
    BaseEstimator,
    TransformerMixin,
    check_is_fitted,
)
from thence.errors import ConfigError
from thence.language.short_text import short_items
from thence.statements.rules.ruleset import RuleSet


class RuleFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn rows into 0/1 features, one per rule: whether the rule applies; follows the conventions of scikit-learn.

    The rules are given, or mined from rows and their classes as ``RuleClassifier`` does. Needs ``thence[sklearn]``.

    Args:
        rules: The rules to use, such as ``run.rules``; by default they are mined in ``fit``, which then needs ``y``.
        max_antecedents: The largest number of conditions of a rule.
        min_support: The lowest support of a rule, from 0 to 1.
        min_confidence: The lowest confidence of a rule. By default 0.5, or twice the share of its class if that is
            less.
        covers: How many kept rules shall be right about each training row.
        categorical: Names or patterns (with ``*`` and ``?``) of columns that hold states although they are numbers.

    Attributes:
        rules_: The rules, one per feature.
        n_features_in_: Number of columns.
        feature_names_in_: Names of the columns, if rows were a frame.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> features = RuleFeatures(max_antecedents=1).fit(X, y)
        >>> features.get_feature_names_out()[0], features.transform(X)[:2, 0].tolist()
        ('petal length (cm) < 2.45', [1.0, 1.0])
    """

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        max_antecedents: int = 2,
        min_support: float = 0.01,
        min_confidence: float | None = None,
        covers: int = 4,
        categorical: str | Iterable[str] | None = None,
    ) -> None:
        self.rules = rules
        self.max_antecedents = max_antecedents
        self.min_support = min_support
        self.min_confidence = min_confidence
        self.covers = covers
        self.categorical = categorical

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn may expect: missing values are allowed, and classes needed without rules."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.rules is None
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> RuleFeatures:
        """Mine the rules, or check that the given ones can be used.

        Args:
            X: Rows: an array of numbers or strings, or a polars, pandas or Arrow frame.
            y: The class of each row; not needed if rules are given.

        Returns:
            The transformer itself.
        """
        frame = check_rows(self, X, fitting=True)
        if self.rules is not None:
            self.rules_ = _once_each(self.rules)
            self.rules_.applies(frame.head(1))
            return self
        classes, codes = check_labels(y, frame.height)
        if not isinstance(self.covers, int) or self.covers < 1:
            raise ConfigError(f"covers must be at least 1, got {self.covers!r}")
        name = free_name(str(getattr(y, "name", None) or "class"), frame.columns)
        table = labelled_table(frame, codes, class_values(classes), name=name, categorical=self.categorical or ())
        found = search_rules(
            table,
            codes,
            max_antecedents=self.max_antecedents,
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            covers=self.covers,
        )
        self.rules_ = _once_each(found.rules)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return whether each rule applies to each row, as a matrix (rows × rules) of 0 and 1.

        Args:
            X: Rows with the columns of ``fit``.
        """
        check_is_fitted(self)
        frame = check_rows(self, X, fitting=False)
        return self.rules_.applies(frame).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the antecedents of the rules as text, one per feature.

        Args:
            input_features: Names of the columns, as scikit-learn passes them; they must be those of ``fit``.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None and list(input_features) != list(known):
            raise ValueError("input_features is not equal to feature_names_in_")
        texts = short_items(self.rules_.items)
        rows = self.rules_.antecedents.tolist()
        return np.array([" and ".join(texts[at] for at in row if at >= 0) for row in rows], dtype=object)


def _once_each(rules: RuleSet) -> RuleSet:
    """The rules without those whose antecedent an earlier rule has: their features would be equal."""
    first: dict[frozenset[int], int] = {}
    for number, row in enumerate(rules.antecedents.tolist()):
        first.setdefault(frozenset(at for at in row if at >= 0), number)
    return rules.take(np.array(list(first.values()), np.int64))
