"""Frames (polars, pandas, Arrow) as the columns of a feature table. No frame of the caller is changed.

A column holds numbers or states. Text and truth values are states, and so are whole numbers with few values; other
numbers are numbers. Spellings of the same state are one state (``thence.language.states``). polars is imported when a
frame is converted, so that tables can be used without it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.frames import to_polars_frame
from thence.errors import ConfigError, InputError, nearest, quote
from thence.language.items import Feature, Value
from thence.language.states import MOST_STATES, are_enough, state_key
from thence.tables.matching import to_numbers

if TYPE_CHECKING:
    import polars as pl

Categories = tuple[tuple[Value, ...] | None, ...]
Known = Mapping[str, tuple[Value, ...] | None]


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """The columns of a frame as parts of a feature table.

    Args:
        features: One measurement per column.
        numbers: Matrix (rows × features) of numbers; codes for states, NaN for missing values.
        categories: The states of each feature, or ``None`` for numbers.
        notes: What was assumed, and what was not used.
    """

    features: tuple[Feature, ...]
    numbers: npt.NDArray[np.float64]
    categories: Categories
    notes: tuple[str, ...] = ()


def raw_columns(
    frame: Any, *, units: Mapping[str, str]
) -> tuple[tuple[Feature, ...], npt.NDArray[np.float64], Categories]:
    """Return the features, numbers and states of a frame, as ``read_columns`` does.

    Args:
        frame: A polars, pandas or Arrow frame.
        units: Unit by column name.
    """
    read = read_columns(frame, units=units)
    return read.features, read.numbers, read.categories


def read_columns(
    frame: Any,
    *,
    units: Mapping[str, str] | None = None,
    categorical: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
    known: Known | None = None,
) -> FrameColumns:
    """Convert a frame to the parts of a feature table, with one measurement per column.

    Missing values are null, NaN, infinite numbers and empty text.

    Args:
        frame: A polars, pandas or Arrow frame.
        units: Unit by column name.
        categorical: Names or patterns (with ``*`` and ``?``) of columns that hold states.
        numeric: Names or patterns of columns that hold numbers.
        known: The states of the columns of an earlier table, or ``None`` for its numbers. Only these columns are read,
            in this order; values that are not among the states are missing, and a note counts them.

    Raises:
        InputError: If the frame has no columns, lacks one that is known, or a column can be neither.
        ConfigError: If a pattern matches no column.

    Examples:
        >>> import polars as pl
        >>> read = read_columns(pl.DataFrame({"size": [1.5, None], "door": ["open", ""]}))
        >>> read.numbers.tolist(), read.categories
        ([[1.5, 0.0], [nan, nan]], (None, ('open',)))
    """
    table = to_polars_frame(frame)
    if not table.width:
        raise InputError("the frame has no columns", hint="pass a frame with one column per feature")
    names = table.columns if known is None else _known_names(known, table.columns)
    states = set(matching_names(categorical, table.columns, option="categorical"))
    plain = set(matching_names(numeric, table.columns, option="numeric"))
    for name in states & plain:
        raise ConfigError(f"column '{name}' is both categorical and numeric", hint="name it in one of them")
    numbers = np.empty((table.height, len(names)), dtype=np.float64)
    categories: list[tuple[Value, ...] | None] = []
    whole: list[str] = []
    unseen: dict[str, int] = {}
    for at, name in enumerate(names):
        series = table[name]
        if known is not None:
            values, found = _as_known(series, known[name])
            categories.append(known[name])
            if found:
                unseen[name] = found
        elif name in plain or (name not in states and _is_number(series)):
            values = to_numbers(series)
            categories.append(None)
        else:
            values, own = _as_states(series)
            categories.append(own)
            if name not in states and series.dtype.is_numeric():
                whole.append(name)
        numbers[:, at] = values
    features = tuple(Feature(name, unit=(units or {}).get(name, "")) for name in names)
    return FrameColumns(features, numbers, tuple(categories), tuple(_notes(whole, unseen)))


def split_times(frame: Any, name: str | None) -> tuple[Any, npt.NDArray[np.datetime64] | None]:
    """Return a frame without its column of times, and the times; as it is and ``None`` without a name.

    Args:
        frame: A polars, pandas or Arrow frame.
        name: The column of times.

    Raises:
        ConfigError: If there is no such column.
        InputError: If it does not hold dates or times, a time is missing, or they do not increase.

    Examples:
        >>> import polars as pl
        >>> from datetime import date
        >>> rest, times = split_times(pl.DataFrame({"day": [date(2024, 1, 1), date(2024, 1, 2)], "a": [1, 2]}), "day")
        >>> rest.columns, len(times)
        (['a'], 2)
    """
    import polars as pl

    if name is None:
        return frame, None
    table = to_polars_frame(frame)
    if name not in table.columns:
        raise ConfigError(f"no column {quote(name)}", where="time", hint=nearest(name, table.columns))
    column = table[name]
    if column.dtype.base_type() not in (pl.Date, pl.Datetime):
        raise InputError(f"{quote(name)} must hold dates or times, got {column.dtype}", where="time")
    if column.null_count():
        raise InputError(
            f"{column.null_count():,} times in {quote(name)} are missing", where="time", hint="drop the rows"
        )
    if not column.is_sorted():
        raise InputError(
            f"the rows are not in the order of {quote(name)}", where="time", hint="sort the frame by this column"
        )
    moments = column.cast(pl.Datetime("us", getattr(column.dtype, "time_zone", None))).to_physical()
    return table.drop(name), moments.to_numpy().astype("datetime64[us]")


def matching_names(patterns: str | Iterable[str], names: Sequence[str], *, option: str) -> list[str]:
    """Return the names that one of several names or patterns matches, in order.

    Args:
        patterns: A name or pattern, or several.
        names: The names to choose from.
        option: The option that the patterns were given for, for the message.

    Raises:
        ConfigError: If a pattern matches no name; it suggests the nearest.

    Examples:
        >>> matching_names(["is_*", "x[0]"], ["is_on", "x", "x[0]"], option="categorical")
        ['is_on', 'x[0]']
    """
    several = [patterns] if isinstance(patterns, str) else list(patterns)
    chosen: set[str] = set()
    for pattern in several:
        found = [name for name in names if name == pattern] or fnmatch.filter(names, str(pattern))
        if not found:
            shown = ", ".join(f"'{name}'" for name in names[:5]) + (" …" if len(names) > 5 else "")
            hint = nearest(str(pattern), names) or f"columns are {shown}"
            raise ConfigError(f"no column matches '{pattern}'", where=option, hint=hint)
        chosen.update(found)
    return [name for name in names if name in chosen]


def _known_names(known: Known, names: Sequence[str]) -> list[str]:
    missing = [name for name in known if name not in names]
    if missing:
        shown = ", ".join(f"'{name}'" for name in missing[:5]) + (" …" if len(missing) > 5 else "")
        raise InputError(
            f"the frame lacks columns of the earlier table: {shown}",
            where="frame",
            hint=nearest(missing[0], names) or "pass a frame with the same columns",
        )
    return list(known)


def _is_number(series: pl.Series) -> bool:
    """Whether a column is read as numbers: it is numeric, and not whole with few values."""
    if not series.dtype.is_numeric():
        return False
    values = to_numbers(series)
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    most = MOST_STATES
    if not series.dtype.is_integer() and len(present) == len(values):
        most = 2  # whole numbers that pandas made floats have gaps; other floats are measurements
    few = are_enough(len(distinct), len(present), most=most)
    return not (few and bool((distinct == np.round(distinct)).all()))


def _as_states(series: pl.Series) -> tuple[npt.NDArray[np.float64], tuple[Value, ...]]:
    """Codes of a column and its states; spellings of the same state are one."""
    import polars as pl

    if series.dtype == pl.Boolean:
        return to_numbers(series), (False, True)
    if series.dtype.is_numeric():
        values = to_numbers(series)
        distinct = np.unique(values[~np.isnan(values)])
        codes = np.searchsorted(distinct, values).astype(np.float64)
        return np.where(np.isnan(values), np.nan, codes), tuple(distinct.tolist())
    text = to_text(series)
    spellings: dict[str, list[str]] = {}
    for spelling in sorted(text.unique().drop_nulls().to_list()):
        if spelling.strip():
            spellings.setdefault(state_key(spelling), []).append(spelling)
    named = {(same[0] if len(same) == 1 else key): same for key, same in spellings.items()}
    states = tuple(sorted(named))
    number = {spelling: float(code) for code, state in enumerate(states) for spelling in named[state]}
    return _encode(text, number), states


def _as_known(series: pl.Series, states: tuple[Value, ...] | None) -> tuple[npt.NDArray[np.float64], int]:
    """Codes of a column among known states, or its numbers; and how many values are not among the states."""
    if states is None:
        return to_numbers(series), 0
    number = {state_key(state): float(code) for code, state in enumerate(states)}
    if series.dtype.is_float():
        series = series.set(~series.is_finite(), None)
    text = to_text(series).str.strip_chars().replace("", None)
    spelled = {one: number.get(state_key(one), np.nan) for one in text.unique().drop_nulls().to_list()}
    codes = _encode(text, spelled)
    return codes, int((np.isnan(codes) & text.is_not_null().to_numpy()).sum())


def _encode(text: pl.Series, number: Mapping[str, float]) -> npt.NDArray[np.float64]:
    import polars as pl

    codes = text.replace_strict(list(number), list(number.values()), return_dtype=pl.Float64, default=None)
    return np.asarray(codes.to_numpy(), dtype=np.float64)


def _notes(whole: Sequence[str], unseen: Mapping[str, int]) -> list[str]:
    notes = []
    if whole:
        shown = ", ".join(f"'{name}'" for name in whole[:10]) + (" …" if len(whole) > 10 else "")
        notes.append(f"read as states, since they are whole numbers with few values: {shown}")
    if unseen:
        shown = ", ".join(f"'{name}' ({count:,})" for name, count in list(unseen.items())[:10])
        more = " …" if len(unseen) > 10 else ""
        notes.append(f"values that the earlier table does not have are missing: {shown}{more}")
    return notes


def to_text(series: pl.Series) -> pl.Series:
    """Return a column as text; a column of lists or structs raises an ``InputError``."""
    import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"column '{series.name}' must hold numbers or categories, got {series.dtype}",
            where="frame",
            hint="drop it, or convert it to numbers or strings",
        ) from error
