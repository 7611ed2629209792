"""Rows that estimators are given: arrays and frames, checked as scikit-learn checks them, as one polars frame.

An array has the columns ``x0``, ``x1``, … and holds numbers or strings; a column of strings that are all numbers holds
numbers. A frame keeps its names, and may hold text and truth
values. Missing values are allowed everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.frames import is_frame, to_polars_frame
from thence.checks.estimators.scikit_learn import check_classification_targets, column_or_1d, validate_data
from thence.errors import InputError
from thence.language.items import Feature, Value
from thence.tables.discretization import Discretizer
from thence.tables.entropy_cuts import cut_by_entropy
from thence.tables.frames import matching_names, read_columns
from thence.tables.matching import to_numbers
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    import polars as pl


def check_rows(estimator: Any, rows: Any, *, fitting: bool) -> pl.DataFrame:
    """Check rows as scikit-learn does, and return them as a frame with the names of the fitted columns.

    Args:
        estimator: The estimator; its ``n_features_in_`` and ``feature_names_in_`` are set or compared.
        rows: An array, or a polars, pandas or Arrow frame.
        fitting: Whether the estimator is being fitted.
    """
    import polars as pl

    if is_frame(rows):
        frame = to_polars_frame(rows)
        if not frame.height or not frame.width:
            # The words are those of scikit-learn, whose users search for them.
            short = "sample(s)" if not frame.height else "feature(s)"
            raise ValueError(f"Found array with 0 {short} (shape={frame.shape}) while a minimum of 1 is required.")
        validate_data(estimator, frame if not hasattr(rows, "iloc") else rows, reset=fitting, skip_check_array=True)
        return frame
    as_text = _has_strings(rows)
    cells = validate_data(
        estimator, rows, reset=fitting, dtype=None if as_text else "numeric", ensure_all_finite="allow-nan"
    )
    names = getattr(estimator, "feature_names_in_", None)
    listed = [f"x{at}" for at in range(cells.shape[1])] if names is None or fitting else list(map(str, names))
    column = _text_column if as_text else lambda own: np.asarray(own, np.float64)
    return pl.DataFrame({name: column(cells[:, at]) for at, name in enumerate(listed)})


def _has_strings(rows: Any) -> bool:
    """Whether rows are an array, or lists, with a string among the cells."""
    if hasattr(rows, "tocsr"):
        return False  # refused by scikit-learn, in its words
    try:
        cells = np.asarray(rows)
    except ValueError:
        return False
    if cells.dtype.kind in "US":
        return True
    return cells.dtype == object and any(isinstance(cell, str) for cell in cells.ravel())


def _text_column(cells: npt.NDArray[Any]) -> pl.Series:
    """A column of an array of strings; numbers if all of them are, so that a mixed array means what its list does."""
    import polars as pl

    missing = [cell is None or cell != cell for cell in cells.tolist()]
    text = pl.Series([None if gone else str(cell) for cell, gone in zip(cells.tolist(), missing, strict=True)])
    text = text.cast(pl.String).str.strip_chars().replace("", None)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else text


def check_labels(labels: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Check class labels as scikit-learn does, and return the classes and the position of each row's class.

    Args:
        labels: The class of each row.
        n_rows: Number of rows.

    Raises:
        ValueError: If there are none, or not one per row; the words are those that scikit-learn's users search for.
    """
    if labels is None:
        raise ValueError("requires y to be passed, but the target y is None")
    column = column_or_1d(labels, warn=True)
    check_classification_targets(column)
    if len(column) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_rows, len(column)]}")
    classes, codes = np.unique(column, return_inverse=True)
    return classes, codes.astype(np.int64)


def class_values(classes: npt.NDArray[Any]) -> tuple[Value, ...]:
    """Return class labels as values of items; labels of other types become text.

    Examples:
        >>> class_values(np.array([0, 1])), class_values(np.array(["a", "b"]))
        ((0.0, 1.0), ('a', 'b'))
    """
    if classes.dtype == bool:
        return tuple(bool(label) for label in classes)
    if np.issubdtype(classes.dtype, np.number):
        return tuple(float(label) for label in classes)
    return tuple(str(label) for label in classes)


def labelled_table(
    frame: pl.DataFrame,
    codes: npt.NDArray[np.int64],
    values: tuple[Value, ...],
    *,
    name: str,
    categorical: Any = (),
) -> TransactionTable:
    """Return the rows and their classes as transactions; numbers are cut where they tell classes apart.

    Args:
        frame: The rows.
        codes: The class of each row, as a position in ``values``.
        values: The classes.
        name: The name of the class, which no column has.
        categorical: Names or patterns of columns that hold states.
    """
    read = read_columns(frame, categorical=categorical, numeric=_measured(frame, categorical))
    cuts = {
        feature.subject: cut_by_entropy(read.numbers[:, at], codes).tolist()
        for at, feature in enumerate(read.features)
        if read.categories[at] is None
    }
    table = FeatureTable(
        (*read.features, Feature(name)),
        np.column_stack([read.numbers, codes.astype(np.float64)]),
        (*read.categories, values),
    )
    return table.discretize(Discretizer(scope="sensor", bin_edges=cuts))


def _measured(frame: pl.DataFrame, categorical: Any) -> list[str]:
    """The columns of numbers with more than two values: unlike for mining, their order tells classes apart."""
    states = set(matching_names(categorical or (), frame.columns, option="categorical"))
    numeric = [series for series in frame.get_columns() if series.dtype.is_numeric() and series.name not in states]
    return [series.name for series in numeric if len(np.unique(_present(series))) > 2]


def _present(series: pl.Series) -> npt.NDArray[np.float64]:
    values = to_numbers(series)
    return values[~np.isnan(values)]


def free_name(wanted: str, taken: list[str]) -> str:
    """Return a name that no column has: the wanted one, or with an underscore.

    Examples:
        >>> free_name("class", ["size", "class"])
        'class_'
    """
    while wanted in taken:
        wanted += "_"
    if not wanted:
        raise InputError("the class needs a name")
    return wanted
