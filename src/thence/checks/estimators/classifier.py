"""A classifier that decides by rules, with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.numbers import MOST_ANTECEDENTS, require_integer, require_share
from thence.checks.estimators.rows import check_labels, check_rows, class_values, free_name, labelled_table
from thence.checks.estimators.rule_search import search_rules
from thence.checks.estimators.scikit_learn import (
    BaseEstimator,
    ClassifierMixin,
    LogisticRegression,
    check_is_fitted,
)
from thence.checks.estimators.weights import repetitions, row_weights
from thence.errors import ConfigError
from thence.statements.rules.prediction import laplace_accuracy

FloatArray = npt.NDArray[np.float64]

COVERS = {"best": 1, "weighted": 4}


class RuleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify rows by association rules; follows the conventions of scikit-learn.

    Numbers are cut where they tell the classes apart, all rules with a class as consequent are mined exactly, and the
    few are kept that cover every row. Frames may hold text and missing values. Needs ``thence[sklearn]``.

    Args:
        vote: ``"weighted"``: all rules that apply vote, with weights learned by logistic regression, which is the more
            accurate. ``"best"``: the one rule with the highest Laplace accuracy decides, so that each decision has one
            reason.
        max_antecedents: The largest number of conditions of a rule.
        min_support: The lowest support of a rule, from 0 to 1.
        min_confidence: The lowest confidence of a rule. By default 0.5, or twice the share of its class if that is
            less.
        covers: How many kept rules shall be right about each training row. By default 4, and 1 if the best rule
            decides.
        penalty: How strongly weights are held back; higher means simpler. Used by ``vote="weighted"``.
        categorical: Names or patterns (with ``*`` and ``?``) of columns that hold states although they are numbers.
        class_weight: Weights by class, or ``"balanced"`` for the inverse of their frequencies; they multiply the
            weights of rows.

    Attributes:
        classes_: The class labels.
        rules_: The rules that decide, as a ``RuleSet``, the most trusted first.
        n_features_in_: Number of columns.
        feature_names_in_: Names of the columns, if rows were a frame.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = RuleClassifier(vote="best").fit(X, y)
        >>> model.score(X, y) > 0.9
        True
        >>> print(model.rules_.rule(0))
        (`petal length (cm)`).value < 2.45 → (target).value = 0.0
    """

    def __init__(
        self,
        *,
        vote: str = "weighted",
        max_antecedents: int = 2,
        min_support: float = 0.01,
        min_confidence: float | None = None,
        covers: int | None = None,
        penalty: float = 3.0,
        categorical: str | Iterable[str] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.vote = vote
        self.max_antecedents = max_antecedents
        self.min_support = min_support
        self.min_confidence = min_confidence
        self.covers = covers
        self.penalty = penalty
        self.categorical = categorical
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn may expect: missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RuleClassifier:
        """Mine and select the rules.

        Args:
            X: Rows: an array of numbers or strings, or a polars, pandas or Arrow frame.
            y: The class of each row.
            sample_weight: The weight of each row: a row of weight 3 counts as three rows. Other weights than integers
                are scaled, and rounded if they have no small common unit.

        Returns:
            The classifier itself.
        """
        self._check_settings()
        frame = check_rows(self, X, fitting=True)
        self.classes_, codes = check_labels(y, frame.height)
        weights = row_weights(sample_weight, self.class_weight, self.classes_, codes)
        times = np.ones(len(codes), np.int64) if weights is None else repetitions(weights)
        kept = np.flatnonzero(times)
        weights = np.ones(len(kept)) if weights is None else weights[kept]
        frame, codes, times = frame[kept], codes[kept], times[kept]
        every = np.repeat(np.arange(len(kept)), times)
        name = free_name(str(getattr(y, "name", None) or "class"), frame.columns)
        values = class_values(self.classes_)
        table = labelled_table(frame[every], codes[every], values, name=name, categorical=self.categorical or ())
        found = search_rules(
            table,
            codes[every],
            max_antecedents=self.max_antecedents,
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            covers=COVERS[self.vote] if self.covers is None else self.covers,
        )
        self.rules_ = found.rules
        self._says = found.says
        reached = found.reached[np.cumsum(times) - times]
        left = weights if reached.all() else np.where(reached, 0.0, weights)
        self._otherwise = _shares(codes, left, weights, len(self.classes_))
        self._weights = None
        if self.vote == "weighted" and len(found.rules) and len(self.classes_) > 1:
            # Equal rows once, with the sum of their weights: the order of rows must not matter.
            rows = np.column_stack([self.rules_.applies(frame), codes]).astype(np.float64)
            rows, place = np.unique(rows, axis=0, return_inverse=True)
            sums = np.bincount(place.reshape(-1), weights=weights)
            model = LogisticRegression(C=1 / self.penalty, max_iter=1000)
            if len(np.unique(rows[:, -1])) > 1:
                self._weights = model.fit(rows[:, :-1], rows[:, -1].astype(np.int64), sample_weight=sums)
        return self

    def _check_settings(self) -> None:
        if self.vote not in COVERS:
            raise ConfigError(f"unknown vote {self.vote!r}", hint="use 'weighted' or 'best'")
        require_integer("max_antecedents", self.max_antecedents, most=MOST_ANTECEDENTS)
        require_share("min_support", self.min_support)
        if self.min_confidence is not None:
            require_share("min_confidence", self.min_confidence)
        if self.covers is not None:
            require_integer("covers", self.covers)
        if not self.penalty > 0:
            raise ConfigError(f"penalty must be above 0, got {self.penalty!r}")

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``.

        With ``vote="best"`` it is the Laplace accuracy of the deciding rule for its class, and the rest is shared among
        the others by their frequency. Rows to which no rule applies get the frequencies of the training rows that no
        rule reaches.

        Args:
            X: Rows with the columns of ``fit``.
        """
        check_is_fitted(self)
        frame = check_rows(self, X, fitting=False)
        if not len(self.rules_):
            return np.tile(self._otherwise, (frame.height, 1))
        applies = self.rules_.applies(frame)
        if self._weights is not None:
            out = np.zeros((frame.height, len(self.classes_)))
            out[:, self._weights.classes_] = self._weights.predict_proba(applies.astype(np.float64))
            return out
        out = np.tile(self._otherwise, (frame.height, 1))
        some = applies.any(axis=1)
        first = applies[some].argmax(axis=1)
        out[some] = self._by_rule()[first]
        return out

    def _by_rule(self) -> FloatArray:
        """The probabilities of the classes (rules × classes) if a rule decides."""
        counts = self.rules_.counts
        accuracy = laplace_accuracy(counts.n_both, counts.n_antecedent, max(len(self.classes_), 2))
        rest = np.tile(self._otherwise, (len(accuracy), 1))
        at = np.arange(len(accuracy))
        rest[at, self._says] = 0.0
        total = rest.sum(axis=1, keepdims=True)
        out = (1 - accuracy)[:, None] * np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
        out[at, self._says] = 1 - out.sum(axis=1)
        return np.asarray(out)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row.

        Args:
            X: Rows with the columns of ``fit``.
        """
        probable = self.predict_proba(X)
        return np.asarray(self.classes_[probable.argmax(axis=1)])


def _shares(codes: npt.NDArray[np.int64], left: FloatArray, weights: FloatArray, classes: int) -> FloatArray:
    """The shares of classes by the weights ``left``, as if there were one more row with the shares of all weights."""
    counts = np.bincount(codes, weights=left, minlength=classes)
    counts += np.bincount(codes, weights=weights, minlength=classes) / weights.sum()
    return np.asarray(counts / counts.sum())
