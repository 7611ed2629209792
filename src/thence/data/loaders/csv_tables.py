"""CSV files as tables of strings, with the place of each row, for the loaders of graphs and bindings.

This module gives cells no meaning.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from thence._base.settings.documents import read_text
from thence.errors import GraphError, nearest, quote

_TYPE = re.compile(r":\s*((?:number|text|truth)(?:\[\])?)\Z")
_MOST_NAMED = 20


@dataclass(frozen=True)
class CsvTable:
    """The rows of a CSV file as strings.

    Args:
        path: The file.
        columns: The column heads.
        rows: The line number and cells of each row.
        separator: The separator of the columns.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    separator: str = ","

    def place(self, line: int) -> str:
        """Return the name of the file and a ``line``, for messages."""
        return f"{self.path.name}, line {line}"

    def position(self, name: str) -> int:
        """Return the position of the column ``name``, ignoring unit and type in its head."""
        return [parse_head(column)[0] for column in self.columns].index(name)


def read_csv_table(path: Path, *, needs: tuple[str, ...]) -> CsvTable:
    """Read a CSV file, separated by commas, semicolons or tabs.

    Args:
        path: The file.
        needs: The columns that it must have.

    Raises:
        GraphError: If the file cannot be read, or has missing or duplicate columns or rows of the wrong length.
    """
    text = read_text(path, error=GraphError)
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    columns = tuple(cell.strip() for cell in next(reader, []))
    names = [parse_head(column)[0] for column in columns]
    duplicate = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicate:
        raise GraphError(f"duplicate column {quote(duplicate[0])}", where=f"{path}, line 1", hint="rename one of them")
    for need in needs:
        if need not in names:
            raise GraphError(
                f"missing column '{need}'",
                where=f"{path}, line 1",
                hint=nearest(need, names) or f"the file has {', '.join(names[:_MOST_NAMED]) or 'no columns'}",
            )
    rows = []
    line = reader.line_num
    for cells in reader:
        # A row with line ends in quotes begins lines before the one that the reader is at.
        first, line = line + 1, reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            raise GraphError(
                f"the row has {len(cells)} cells, the header has {len(columns)}",
                where=f"{path}, line {first}",
                hint="quote cells that contain the separator",
            )
        rows.append((first, tuple(cells)))
    return CsvTable(path, columns, tuple(rows), separator)


def parse_head(column: str) -> tuple[str, str | None, str | None]:
    """Return the name, unit and type in a column head.

    >>> parse_head("depth [m]:number")
    ('depth', 'm', 'number')
    """
    found = _TYPE.search(column)
    bare = (column[: found.start()] if found else column).rstrip()
    kind = found[1] if found else None
    # A unit begins with the first bracket after whatever bracket was closed before: it cannot hold a closed one.
    begin = bare.find("[", bare.rfind("]", 0, -1) + 1) if bare.endswith("]") else -1
    if begin < 0:
        return bare.strip(), None, kind
    return bare[:begin].strip(), bare[begin + 1 : -1], kind
