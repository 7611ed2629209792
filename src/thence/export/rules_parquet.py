"""Rules as Parquet: one row per rule for any data frame library; can be read back without loss.

Items, facts and notes are in the metadata of the file's schema. Sentences are left out by default: they can be derived
from the items at any time and would be most of the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thence.errors import InputError
from thence.export.columns import Columns, counts_from
from thence.export.format import Format
from thence.rules.items import Item
from thence.rules.ruleset import COUNT_FIELDS, RuleSet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMAT", "read", "write"]

_KEY = b"thence"
_VERSION = 1


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
    table = rules.to_polars(english=english).to_arrow()
    described = {**(table.schema.metadata or {}), _KEY: json.dumps(about, ensure_ascii=False)}
    pq.write_table(table.replace_schema_metadata(described), path, compression="zstd")


def read(path: Path) -> RuleSet:
    """Read a rule set that ``write`` wrote."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file ({error})", where=str(path)) from error
    raw = (table.schema.metadata or {}).get(_KEY)
    if raw is None:
        raise InputError("not a rules file written by Thence: it has no list of items", where=str(path))
    about = json.loads(raw)
    if about["version"] > _VERSION:
        raise InputError(
            f"the file has format version {about['version']}, this version of Thence reads up to {_VERSION}",
            where=str(path),
            hint="update Thence",
        )
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    items = tuple(Item.from_dict(item) for item in about["items"])
    # Items and their texts are in the same order, so the physical codes of this enumeration are item numbers.
    texts = pl.Enum([str(item) for item in items])
    patterns = tuple((text, place) for text, place in about["patterns"])
    return RuleSet(
        items,
        _antecedents(frame, texts),
        frame["consequents"].cast(texts).to_physical().cast(pl.Int32).to_numpy(),
        counts_from({name: frame[name].to_numpy() for name in COUNT_FIELDS}),
        patterns,
        _positions(frame["pattern"], [text for text, _ in patterns]) if patterns else None,
        {name: frame[name].to_numpy() for name in about["extras"]},
        about["facts"],
        tuple(about["notes"]),
    )


def _antecedents(frame: pl.DataFrame, texts: Any) -> np.ndarray[Any, Any]:
    import polars as pl

    lengths = frame["antecedents"].list.len().to_numpy()
    out = np.full((frame.height, max(int(lengths.max()) if frame.height else 1, 1)), -1, np.int32)
    flat = frame["antecedents"].explode().drop_nulls().cast(texts).to_physical().cast(pl.Int32)
    out[np.arange(out.shape[1]) < lengths[:, None]] = flat.to_numpy()
    return out


def _positions(values: pl.Series, known: list[str]) -> np.ndarray[Any, Any]:
    """The position of each value in ``known``; −1 for a value that is not there."""
    order = {text: at for at, text in enumerate(known)}
    return np.array([order.get(value, -1) for value in values.to_list()], np.int32)


FORMAT = Format("parquet", (".parquet",), "a row per rule, for data frames", write, read)
