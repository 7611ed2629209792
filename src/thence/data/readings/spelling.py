"""States as text, in one spelling: ``1``, ``1.0``, ``"1.00"``, ``True`` and ``"true"`` are the state ``1``.

The expressions here spell columns as ``thence.language.states.state_key`` spells single values, without reading them.
"""

from __future__ import annotations

import polars as pl

from thence.data.readings.frames import is_text
from thence.language.states import LARGEST_WHOLE

__all__ = ["spell_numbers", "spell_states", "spell_texts"]

_NUMERAL = r"^[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?$"
"""Text that is a number; a code such as ``007`` is not."""


def spell_states(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column of any type as states.

    Args:
        name: The column.
        dtype: Its type: text, truth values or numbers.

    Examples:
        >>> frame = pl.DataFrame({"a": [1.0, 0.5], "b": [True, False], "c": ["TRUE", "1.00"]})
        >>> frame.select(spell_states(name, dtype) for name, dtype in frame.schema.items()).rows()
        [('1', '1', '1'), ('0.5', '0', '1')]
    """
    if is_text(dtype):
        return spell_texts(pl.col(name).cast(pl.String)).alias(name)
    if dtype == pl.Boolean:
        return pl.col(name).cast(pl.Int8).cast(pl.String)
    if dtype.is_integer():
        return pl.col(name).cast(pl.String)
    return spell_numbers(pl.col(name).cast(pl.Float64)).alias(name)


def spell_numbers(number: pl.Expr) -> pl.Expr:
    """Return floats as states: whole numbers without a decimal point; NaN and infinite values are missing.

    Args:
        number: An expression of floats.
    """
    finite = pl.when(number.is_finite()).then(number)
    whole = (finite.round() == finite) & (finite.abs() < LARGEST_WHOLE)
    return pl.when(whole).then(finite.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(finite.cast(pl.String))


def spell_texts(text: pl.Expr, *, decimal: str = ".") -> pl.Expr:
    """Return texts as states: numbers and truth values in one spelling, other texts as they are.

    Args:
        text: An expression of strings.
        decimal: The decimal sign of numbers in them.

    Examples:
        >>> words = pl.Series("s", ["1.0", "+2", "0,5", "False", "007", "open", None])
        >>> words.to_frame().select(spell_texts(pl.col("s"), decimal=",")).to_series().to_list()
        ['1.0', '2', '0.5', '0', '007', 'open', None]
    """
    stripped = text.str.strip_chars()
    numeral = stripped
    if decimal == ",":
        numeral = pl.when(~stripped.str.contains(".", literal=True)).then(stripped.str.replace(",", ".", literal=True))
    lower = stripped.str.to_lowercase()
    number = pl.when(numeral.str.contains(_NUMERAL)).then(numeral.cast(pl.Float64, strict=False))
    return (
        pl.when(lower == "true")
        .then(pl.lit("1"))
        .when(lower == "false")
        .then(pl.lit("0"))
        .when(number.is_not_null())
        .then(spell_numbers(number))
        .otherwise(stripped)
    )
