"""Annotated CSV of InfluxDB: several tables below each other, each with lines of annotations and its own header.

All tables become one, with their columns side by side; cells stay as they are written.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import polars as pl

from thence.data.readers.table import SourceTable

_FIRST = 1 << 16
ANNOTATIONS = ("#datatype", "#group", "#default")


def is_annotated(body: bytes) -> bool:
    """Return whether a text begins with annotations of InfluxDB, with the types of the columns among them.

    Args:
        body: The text.
    """
    first = [line.decode("utf-8", "replace") for line in body[:_FIRST].split(b"\n")[: len(ANNOTATIONS)]]
    return first[0].startswith(ANNOTATIONS) and any(line.startswith("#datatype") for line in first)


def read_annotated(base: SourceTable, body: bytes, skipped: int) -> SourceTable:
    """Return a table with the rows of an annotated text.

    Args:
        base: The table without its columns.
        body: The text, in UTF-8.
        skipped: Number of lines before it.
    """
    columns: dict[str, list[str | None]] = {}
    lines: list[int] = []
    header: list[str] | None = None
    rows = csv.reader(io.StringIO(body.decode("utf-8"), newline=""))
    for cells in rows:
        if not any(cells) or cells[0].startswith(ANNOTATIONS):
            header = None
        elif header is None:
            header = cells
        else:
            given = {name: cell for name, cell in zip(header, cells, strict=False) if name}
            for name in given.keys() - columns.keys():
                columns[name] = [None] * len(lines)
            for name, known in columns.items():
                known.append(given.get(name) or None)
            lines.append(rows.line_num + skipped)
    order = dict.fromkeys(name for name in (header or []) if name in columns) | dict.fromkeys(columns)
    frame = pl.DataFrame({name: pl.Series(columns[name], dtype=pl.String) for name in order})
    return replace(base, frame=frame.lazy(), place=lambda row: f"line {lines[row]}")
