"""Rules as Parquet: a row per rule for any data frame tool, with everything needed to read them back exactly.

Items, facts and notes travel in the metadata of the file's schema. Sentences are left out unless asked for: they can
be made from the items at any time and would dominate the size.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thence.errors import InputError
from thence.export.columns import COUNTS, Columns, counts_from
from thence.rules.items import Item
from thence.rules.ruleset import RuleSet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read", "write"]

_KEY = b"thence"
VERSION = 1


def write(rules: RuleSet, path: Path, *, english: bool = False) -> None:
    """Write a rule set."""
    import pyarrow.parquet as pq

    columns = Columns.of(rules)
    about = {
        "version": VERSION,
        "items": [item.to_dict() for item in columns.items],
        "patterns": [list(pattern) for pattern in rules.patterns],
        "facts": {**rules.facts, "data_coverage": rules.data_coverage},
        "notes": list(rules.notes),
        "extras": list(rules.extras),
    }
    table = columns.frame(english=english).to_arrow()
    described = {**(table.schema.metadata or {}), _KEY: json.dumps(about, ensure_ascii=False)}
    pq.write_table(table.replace_schema_metadata(described), path, compression="zstd")


def read(path: Path) -> RuleSet:
    """Read a rule set back."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"this cannot be read as Parquet ({error})", where=str(path)) from error
    raw = (table.schema.metadata or {}).get(_KEY)
    if raw is None:
        raise InputError("these are not rules written by Thence: the file does not describe its items", where=str(path))
    about = json.loads(raw)
    if about["version"] > VERSION:
        raise InputError(
            f"the file has version {about['version']}, this Thence reads up to {VERSION}",
            where=str(path),
            hint="update Thence",
        )
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    items = tuple(Item.from_dict(item) for item in about["items"])
    # The texts in order are the items in order, so an enumeration over them turns texts into item numbers.
    texts = pl.Enum([str(item) for item in items])
    patterns = tuple((text, place) for text, place in about["patterns"])
    return RuleSet(
        items,
        _antecedents(frame, texts),
        frame["consequents"].cast(texts).to_physical().cast(pl.Int32).to_numpy(),
        counts_from({name: frame[name].to_numpy() for name in COUNTS}),
        patterns,
        _numbers(frame["pattern"], [text for text, _ in patterns]) if patterns else None,
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


def _numbers(values: pl.Series, known: list[str]) -> np.ndarray[Any, Any]:
    order = {text: at for at, text in enumerate(known)}
    return np.array([order.get(value, -1) for value in values.to_list()], np.int32)
