"""Cells of the tables in ``docs/records`` and ``docs/results``: what the scripts of ``benchmarks/`` printed.

A record is a Markdown file that is linked and not part of the site. Pages quote single cells of it; ``findings.py``
fills these in, and the tests compare them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path

RULE = re.compile(r"^\|[ :|-]+\|$")
BOLD = re.compile(r"\*\*([^*]+)\*\*")


def plain(cell: str) -> str:
    """Return the text of a cell without marks of emphasis and code.

    >>> plain(" **98.92** ")
    '98.92'
    """
    return cell.strip().replace("**", "").replace("`", "")


def _cells(line: str) -> list[str]:
    return [plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]


@cache
def read_rows(path: Path) -> tuple[tuple[tuple[str, str], tuple[str, ...], Mapping[str, str]], ...]:
    """Return the rows of all tables of a file: what is above it, the cells, and the cells by column.

    Above is the last heading, and the last bold text that began a line since.

    Of columns with the same head the second is called ``head (2)``, the first ``head (1)``.

    Args:
        path: The file.
    """
    return tuple(_rows(path.read_text(encoding="utf-8").splitlines()))


def _rows(lines: list[str]) -> Iterator[tuple[tuple[str, str], tuple[str, ...], Mapping[str, str]]]:
    heading, bold, heads = "", "", []
    for number, line in enumerate(lines):
        if line.startswith("#"):
            heading, bold = plain(line.lstrip("# ")), ""
        elif number + 1 < len(lines) and RULE.match(lines[number + 1]) and line.startswith("|"):
            heads = _cells(line)
        elif not line.startswith("|"):
            heads = []
            bold = found[1] if (found := BOLD.match(line)) else bold
        elif heads and not RULE.match(line):
            cells = _cells(line)
            yield (heading, bold), tuple(cells), dict(zip(_names(heads), cells, strict=False))


def _names(heads: list[str]) -> list[str]:
    """Names of columns.

    >>> _names(["a", "b", "a"])
    ['a (1)', 'b', 'a (2)']
    """
    return [
        f"{head} ({heads[: at + 1].count(head)})" if heads.count(head) > 1 else head for at, head in enumerate(heads)
    ]


def _fits(cells: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    return len(cells) > len(keys) and all(
        cell.startswith(key[:-1]) if key.endswith("…") else cell == key for cell, key in zip(cells, keys, strict=False)
    )


def find_cell(path: Path, keys: tuple[str, ...], column: str, *, heading: str = "") -> str:
    """Return the one cell of a record that has these keys.

    Args:
        path: The record.
        keys: The first cells of its row; one that ends with "…" is the beginning of a cell.
        column: The head of its column.
        heading: The heading that it is below, or the bold text, where several tables have such a row.

    Raises:
        ValueError: There is no such cell, or there are several.
    """
    found = [
        by_column[column]
        for above, cells, by_column in read_rows(path)
        if _fits(cells, keys) and column in by_column and heading in ("", *above)
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} cells of {path.name} are in the row {' | '.join(keys)} and the column {column}")
    return found[0]


def copy_table(path: Path, columns: tuple[str, ...], *, heading: str = "", keep: tuple[str, ...] = ()) -> str:
    """Return columns of a table of a record as Markdown.

    Args:
        path: The record.
        columns: The heads of the columns, in the order of the copy; ``("*",)`` are all columns of the first table.
        heading: The heading that the table is below.
        keep: First cells of the rows to copy; all rows without it.

    Raises:
        ValueError: There are no such rows, or a row to keep is not there.
    """
    below = [row for row in read_rows(path) if heading in ("", *row[0])]
    if columns == ("*",):
        columns = tuple(below[0][2]) if below else ()
        below = list(takewhile(lambda row: tuple(row[2]) == columns, below))
    rows = [
        [by_column[column] for column in columns]
        for _, cells, by_column in below
        if set(columns) <= by_column.keys() and (not keep or cells[0] in keep)
    ]
    if len(rows) < max(len(keep), 1):
        raise ValueError(f"{len(rows)} rows of {path.name} are below '{heading}' with these columns")
    heads = [re.sub(r" \(\d\)$", "", column) for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def find_said(path: Path, words: str) -> str:
    """Return the number that follows some words in a record.

    Args:
        path: The record.
        words: The words, as they are in the file.

    Raises:
        ValueError: The words are not there exactly once before a number.
    """
    found = re.findall(re.escape(words) + r"\s*\**([\d.,]*\d)", path.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(f"{len(found)} numbers follow '{words}' in {path.name}")
    return str(found[0])
