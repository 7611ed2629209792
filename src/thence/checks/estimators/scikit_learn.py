"""What the estimators use of scikit-learn, or stand-ins that say what to install.

scikit-learn is imported here and nowhere else, when an estimator is first used.
"""

from __future__ import annotations

from typing import Any

from thence.errors import MissingExtraError, require

try:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassifierMixin as ClassifierMixin
    from sklearn.base import TransformerMixin as TransformerMixin
    from sklearn.exceptions import NotFittedError as NotFittedError
    from sklearn.linear_model import LogisticRegression as LogisticRegression
    from sklearn.utils.multiclass import check_classification_targets as check_classification_targets
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import column_or_1d as column_or_1d
    from sklearn.utils.validation import validate_data as validate_data
except ImportError:

    class _Missing:
        """Stands in for a base class of scikit-learn; cannot be created."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            """Raise an error that says what to install."""
            require("sklearn.linear_model", extra="sklearn")
            raise MissingExtraError("scikit-learn could not be imported before", hint="start Python again")

    class BaseEstimator(_Missing):  # type: ignore[no-redef]
        """Stands in for the base class of estimators."""

    class ClassifierMixin:  # type: ignore[no-redef]
        """Stands in for the base class of classifiers."""

    class TransformerMixin:  # type: ignore[no-redef]
        """Stands in for the base class of transformers."""

    LogisticRegression = NotFittedError = _Missing
    check_classification_targets = check_is_fitted = column_or_1d = validate_data = _Missing
