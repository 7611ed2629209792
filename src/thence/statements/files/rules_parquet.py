"""Rules as Parquet: one row per rule for any data frame library; can be read back without loss.

Items, facts and notes are in the metadata of the file's schema. Sentences are left out by default: they can be derived
from the items at any time and would be most of the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence.errors import InputError, quote
from thence.language.items import Item
from thence.statements.files.columns import Columns, counts_from, facts_and_notes, item_from, require_places
from thence.statements.files.format import Format
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import COUNT_FIELDS, RuleSet

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_KEY = b"thence"
_VERSION = 1
# Columns with few different texts, of which each is written once; numbers would only be compared in vain.
_TEXTS = ["antecedents.list.element", "consequents", "pattern"]
# Rules are written in groups of this many rows, so that memory does not grow with their number.
_AT_ONCE = 1 << 19

Indices = npt.NDArray[np.int32]


def write(rules: RuleSet, path: Path, *, english: bool = False) -> None:
    """Write a rule set.

    Args:
        rules: The rules to write.
        path: The file to write.
        english: Whether to add a column with the sentence of each rule.
    """
    import pyarrow.parquet as pq

    columns = Columns.of(rules)
    about = {
        "version": _VERSION,
        "items": [item.to_dict() for item in columns.items],
        "patterns": [list(pattern) for pattern in rules.patterns],
        "facts": columns.facts,
        "notes": list(rules.notes),
        "extras": list(rules.extras),
    }
    writer = None
    try:
        for low in range(0, max(len(rules), 1), _AT_ONCE):
            table = _to_arrow(columns, np.arange(low, min(low + _AT_ONCE, len(rules))), english=english)
            if writer is None:
                # Without the Arrow schema, other readers get texts and not dictionaries of them.
                options: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "store_schema": False}
                writer = pq.ParquetWriter(path, table.schema, use_dictionary=_TEXTS, **options)
                writer.add_key_value_metadata({_KEY: json.dumps(about, ensure_ascii=False)})
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _to_arrow(columns: Columns, chosen: npt.NDArray[np.int64], *, english: bool) -> pa.Table:
    """The rules at some positions as a table with a row per rule."""
    import pyarrow as pa

    rules = columns.rules.take(chosen)
    texts = pa.array(columns.texts, pa.string())
    left = columns.antecedents[chosen]
    held = left >= 0
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int32)
    own = np.full(len(rules), -1, np.int32) if rules.pattern_of is None else rules.pattern_of.astype(np.int32)
    patterns = pa.array([text for text, _ in rules.patterns], pa.string())
    out: dict[str, Any] = {
        "antecedents": pa.ListArray.from_arrays(starts, pa.DictionaryArray.from_arrays(left[held], texts)),
        "consequents": pa.DictionaryArray.from_arrays(columns.consequents[chosen], texts),
        "pattern": pa.DictionaryArray.from_arrays(pa.array(own, mask=own < 0), patterns),
    }
    if english:
        out["english"] = pa.array([rule.english for rule in rules], pa.string())
    out |= {name: np.asarray(getattr(rules.counts, name)) for name in COUNT_FIELDS}
    out |= {name: rules.measure(name) for name in MEASURES}
    out |= {name: pa.array(np.asarray(values).tolist()) for name, values in rules.extras.items()}
    return pa.table(out)


def read(path: Path) -> RuleSet:
    """Read a rule set that ``write`` wrote."""
    import polars as pl

    # Panics of polars at damaged files are no ``Exception``.
    foreign = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
    try:
        metadata = pl.read_parquet_metadata(path)
    except foreign as error:
        raise InputError(f"not a readable Parquet file ({quote(error)[1:-1]})", where=str(path)) from error
    raw = metadata.get(_KEY.decode())
    if raw is None:
        raise InputError("not a rules file written by Thence: it has no list of items", where=str(path))
    about = json.loads(raw)
    if about["version"] > _VERSION:
        raise InputError(
            f"the file has format version {about['version']}, this version of Thence reads up to {_VERSION}",
            where=str(path),
            hint="update Thence",
        )
    # Measures follow from the counts, so they need not be read.
    wanted = ["antecedents", "consequents", "pattern", *COUNT_FIELDS, *about["extras"]]
    try:
        table = pl.read_parquet(path, columns=wanted)
    except foreign as error:
        raise InputError(f"not a readable Parquet file ({quote(error)[1:-1]})", where=str(path)) from error
    others = set(pl.read_parquet_schema(path)) - {*wanted, *MEASURES, "english"}
    if others:
        raise ValueError(f"the column {quote(min(others))} is not in the list of columns")
    items = tuple(item_from(item) for item in about["items"])
    number = _numbers(items, table)
    patterns = tuple((text, place) for text, place in about["patterns"])
    if not all(isinstance(text, str) for pattern in patterns for text in pattern):
        raise ValueError("'patterns' must hold strings")
    order = {text: at for at, (text, _) in enumerate(patterns)}
    antecedents, consequents = _antecedents(table["antecedents"], number), _positions(table["consequents"], number)
    if (consequents < 0).any() or ((antecedents >= 0).sum(axis=1) != table["antecedents"].list.len().to_numpy()).any():
        raise InputError("the rules are damaged: an item is not in the list of items", where=str(path))
    rules = RuleSet(
        items,
        antecedents,
        consequents,
        counts_from({name: table[name].to_numpy() for name in COUNT_FIELDS}),
        patterns,
        _positions(table["pattern"], order) if patterns else None,
        {name: _extra_column(table[name]) for name in about["extras"]},
        *facts_and_notes(about),
    )
    return require_places(rules)


def _numbers(items: Sequence[Item], table: pl.DataFrame) -> dict[str, int]:
    """The position of each item by its text; earlier versions wrote some ranges in another form."""
    number = {str(item): at for at, item in enumerate(items)}
    texts = {*table["antecedents"].explode().unique().to_list(), *table["consequents"].unique().to_list()}
    others = {text for text in texts if isinstance(text, str)} - number.keys()
    by_item = {item: at for at, item in enumerate(items)} if others else {}
    for text in others:
        with suppress(InputError):
            number[text] = by_item.get(Item.parse(text), -1)
    return number


def _extra_column(series: pl.Series) -> npt.NDArray[Any]:
    if series.dtype.is_nested() or series.dtype.is_temporal():
        raise ValueError(f"the column '{series.name}' must hold numbers, strings or booleans, got {series.dtype}")
    return series.to_numpy()


def _antecedents(lists: pl.Series, number: dict[str, int]) -> Indices:
    """The items of each list as positions, padded with −1."""
    lengths = lists.list.len().to_numpy()
    out = np.full((len(lists), max(int(lengths.max(initial=1)), 1)), -1, np.int32)
    out[np.arange(out.shape[1]) < lengths[:, None]] = _positions(lists.filter(lists.list.len() > 0).explode(), number)
    return out


def _positions(texts: pl.Series, number: dict[str, int]) -> Indices:
    """The position of each text; −1 for null and for a text that has none."""
    import polars as pl

    found = texts.replace_strict(list(number), list(number.values()), default=-1, return_dtype=pl.Int32)
    return found.fill_null(-1).to_numpy()


FORMAT = Format("parquet", (".parquet",), "a row per rule, for data frames", write, read)
