"""Matching: which rows of a frame satisfy the items and the antecedents of rules.

Items hold their own ranges and states, so they are evaluated on the columns as they are: in any order, beside any other
columns, and however states are written. A missing value satisfies no item. Nothing here counts or ranks rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.frames import to_polars_frame
from thence.errors import ConfigError, InputError, nearest
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.language.states import state_key, state_number

if TYPE_CHECKING:
    import polars as pl

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


def column_of(feature: Feature) -> str | None:
    """Return the name of the column that a feature reads, or ``None`` if no single column holds its values.

    Examples:
        >>> column_of(Feature("shape")), column_of(Feature("p", role=Role.VARIABLE))
        ('shape', None)
    """
    is_column = feature.aspect is Aspect.MEASUREMENT and feature.role is Role.SENSOR
    return feature.subject if is_column and not (feature.name or feature.relative or feature.where) else None


def item_mask(item: Item, series: pl.Series) -> BoolArray:
    """Return which values of a column satisfy an item.

    Args:
        item: The item.
        series: The column. Null, NaN and empty text are missing and satisfy no item.

    Raises:
        InputError: If the item is about a range and the column holds text that is not a number.

    Examples:
        >>> import polars as pl
        >>> item_mask(Item.is_(Feature("door"), True), pl.Series("door", ["1", "0", "true", None])).tolist()
        [True, False, True, False]
    """
    import polars as pl

    if item.operator in (Operator.NE, Operator.NOT_IN):
        return ~item_mask(item.negated(), series) & ~_missing(series)
    if item.interval is not None:
        return item.interval.mask(to_numbers(series))
    members = item.value if isinstance(item.value, frozenset) else (item.value,)
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        numbers = [number for member in members if (number := state_number(member)) is not None]
        return np.asarray(np.isin(to_numbers(series), numbers))
    return _state_mask({state_key(member) for member in members}, series)


def _state_mask(wanted: set[str], series: pl.Series) -> BoolArray:
    """Compare each distinct value once."""
    texts = _texts(series)
    hits = [text for text in texts.unique().drop_nulls().to_list() if text.strip() and state_key(text) in wanted]
    return np.asarray(texts.is_in(hits).fill_null(False).to_numpy(), dtype=bool)


def _texts(series: pl.Series) -> pl.Series:
    import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"column '{series.name}' must hold numbers or categories, got {series.dtype}", where="frame"
        ) from error


def _missing(series: pl.Series) -> BoolArray:
    import polars as pl

    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return np.isnan(to_numbers(series))
    texts = _texts(series).str.strip_chars()
    return np.asarray((texts.is_null() | (texts == "")).fill_null(True).to_numpy(), dtype=bool)


def to_numbers(series: pl.Series) -> FloatArray:
    """Return a column as numbers, NaN for missing and infinite values.

    Args:
        series: A column of numbers, truth values, or text that is numbers.

    Raises:
        InputError: If a value is text that is not a number; it names the first.

    Examples:
        >>> import polars as pl
        >>> to_numbers(pl.Series("x", ["1.5", "", None])).tolist()
        [1.5, nan, nan]
    """
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        texts = _texts(series).str.strip_chars().replace("", None)
        series = texts.cast(pl.Float64, strict=False).alias(series.name)
        wrong = series.is_null() & texts.is_not_null()
        if wrong.any():
            raise InputError(
                f"column '{series.name}' must hold numbers, got {texts.filter(wrong)[0]!r}",
                where=f"frame, row {int(wrong.arg_max() or 0)}",
                hint="the rules were mined from a column of numbers",
            )
    numbers = series.cast(pl.Float64).to_numpy().copy()
    numbers[~np.isfinite(numbers)] = math.nan
    return np.asarray(numbers, dtype=np.float64)


class Matcher:
    """The items of rules on one frame; the mask of an item is made once, when it is first asked for.

    Args:
        items: The items of the rules.
        frame: A polars, pandas or Arrow frame.
        used: Positions of the items that will be asked for.

    Raises:
        ConfigError: If an item is not about a column.
        InputError: If the frame lacks a column.
    """

    def __init__(self, items: Sequence[Item], frame: Any, *, used: Iterable[int]) -> None:
        self._items = items
        self._frame = to_polars_frame(frame)
        self._masks: dict[int, BoolArray] = {}
        _require_columns([items[i] for i in used], self._frame.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows of the frame."""
        return int(self._frame.height)

    def mask(self, number: int) -> BoolArray:
        """Return the rows that satisfy the item at a position."""
        if number not in self._masks:
            item = self._items[number]
            self._masks[number] = item_mask(item, self._frame[item.feature.subject])
        return self._masks[number]

    def antecedent(self, numbers: Iterable[int]) -> BoolArray:
        """Return the rows that satisfy all items at some positions; −1 is no item."""
        out = np.ones(self.n_rows, bool)
        for number in numbers:
            if number >= 0:
                out &= self.mask(int(number))
        return out


def _require_columns(items: Sequence[Item], columns: Sequence[str]) -> None:
    names: dict[str, None] = {}
    for item in items:
        name = column_of(item.feature)
        if name is None:
            raise ConfigError(
                f"'{item}' is not about a column of a frame",
                hint="count the rules on a table: th.evaluate.count_rules(rules, th.transactions(…, like=run))",
            )
        names[name] = None
    known = set(columns)
    missing = [name for name in names if name not in known]
    if missing:
        shown = ", ".join(f"'{name}'" for name in missing[:5]) + (" …" if len(missing) > 5 else "")
        noun = "a column" if len(missing) == 1 else f"{len(missing)} columns"
        raise InputError(
            f"the frame lacks {noun} that the rules test: {shown}",
            where="frame",
            hint=nearest(missing[0], columns) or "pass a frame with the columns that the rules were mined from",
        )


def plain_value(item: Item) -> Any:
    """Return the value that an item says its feature has: a state, a set of states, or a range."""
    interval: Interval | None = item.interval
    return item.value if interval is None else interval
