"""A graph as tables: ``nodes.csv``, ``edges.csv`` and, for values that change, ``values.csv``.

``nodes.csv`` has a column ``id``, ``edges.csv`` has ``source`` and ``target`` (and may have ``id``); ``labels`` (or
``label``) holds labels separated by ``;``, every other column is a property. A column head may carry a unit and a type:
``length [m]``, ``zip:text``, ``depth [m]:number`` (types: number, text, truth). Without a type a column is numeric when
all its cells are numbers (``007`` is text), true or false when all are, else text. Numbers may have decimal commas
where commas do not separate the columns; a file has one decimal sign, and beside decimal points ``1,2`` is text. Cells
are trimmed; an empty one is missing.
``values.csv`` has ``subject``, ``property``, ``from`` and ``value``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from thence.errors import GraphError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders.assemble import Draft, as_labels
from thence.graph.records import Value

__all__ = ["Table", "read", "read_table"]

_HEAD = re.compile(r"(?P<name>.*?)\s*(\[(?P<unit>[^\]]*)\])?\s*(:\s*(?P<type>number|text|truth))?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_MARKED = re.compile(r"[+-]?\d[\d.,]*")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file as texts, each with its line number."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    separator: str = ","

    def place(self, line: int) -> str:
        return f"{self.path.name}, line {line}"

    def position(self, name: str) -> int:
        """Where a column stands, whatever unit and type its head carries."""
        return [_parse_head(column)[0] for column in self.columns].index(name)


def read_table(path: Path, *, needs: tuple[str, ...]) -> Table:
    """Read a CSV file (comma, semicolon or tab) that has these columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphError(f"this is not UTF-8 text ({error.reason})", where=str(path)) from error
    except OSError as error:
        raise GraphError(f"cannot be read ({error.strerror})", where=str(path)) from error
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    columns = tuple(cell.strip() for cell in next(reader, []))
    names = [_parse_head(column)[0] for column in columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise GraphError(f"column '{repeated[0]}' appears twice", where=f"{path}, line 1", hint="rename one of them")
    for need in needs:
        if need not in names:
            raise GraphError(
                f"there is no column '{need}'",
                where=f"{path}, line 1",
                hint=nearest(need, names) or f"it has {', '.join(names) or 'no columns'}",
            )
    rows = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            raise GraphError(
                f"the row has {len(cells)} cells, the head has {len(columns)}",
                where=f"{path}, line {reader.line_num}",
                hint="quote cells that contain the separator",
            )
        rows.append((reader.line_num, tuple(cells)))
    return Table(path, columns, tuple(rows), separator)


def read(nodes: Path, edges: Path | None = None, values: Path | None = None) -> KnowledgeGraph:
    """Read nodes.csv with, where there are such, edges.csv and values.csv."""
    draft = Draft(str(nodes.parent))
    _add(draft, read_table(nodes, needs=("id",)), keys=("id",))
    if edges is not None:
        _add(draft, read_table(edges, needs=("source", "target")), keys=("id", "source", "target"))
    if values is not None:
        _add_values(draft, read_table(values, needs=("subject", "property", "from", "value")))
    return draft.graph()


def _add(draft: Draft, table: Table, *, keys: tuple[str, ...]) -> None:
    heads = [_parse_head(column) for column in table.columns]
    names = [name for name, _, _ in heads]
    labels_at = next((names.index(name) for name in ("labels", "label") if name in names), None)
    key_at = {key: names.index(key) for key in keys if key in names}
    written: list[_Column] = []
    for position, (name, unit, kind) in enumerate(heads):
        if position == labels_at or name in keys:
            continue
        written.append(_Column(name, name, unit, kind, [(line, row[position].strip()) for line, row in table.rows]))
        if unit:
            draft.property_units[name] = unit
    decimal = _decimal(draft, table, written)
    columns = [(column.name, _typed(draft, table, column, decimal)) for column in written]
    for number, (line, row) in enumerate(table.rows):
        place = table.place(line)
        labels = as_labels(row[labels_at]) if labels_at is not None else frozenset[str]()
        properties = {name: values[number] for name, values in columns if values[number] is not None}
        ids = {key: row[at].strip() for key, at in key_at.items()}
        empty = [key for key in keys if key in ids and not ids[key] and (key != "id" or keys == ("id",))]
        if empty:
            draft.problems.append(f"{place}: '{empty[0]}' is empty")
        elif keys == ("id",):
            draft.add_node(ids["id"], labels=labels, properties=properties, place=place)
        else:
            edge = ids.get("id") or None
            draft.add_edge(edge, ids["source"], ids["target"], labels=labels, properties=properties, place=place)


def _add_values(draft: Draft, table: Table) -> None:
    at = {name: table.position(name) for name in ("subject", "property", "from", "value")}
    _, unit, kind = _parse_head(table.columns[at["value"]])
    rows_of: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for line, row in table.rows:
        rows_of.setdefault(row[at["property"]].strip(), []).append((line, row))
    written = [
        _Column(name, "value", unit, kind, [(line, row[at["value"]].strip()) for line, row in rows])
        for name, rows in rows_of.items()
    ]
    decimal = _decimal(draft, table, written)
    for column in written:
        name, typed = column.name, _typed(draft, table, column, decimal)
        for (line, row), value in zip(rows_of[name], typed, strict=True):
            draft.add_dated(row[at["subject"]].strip(), name, row[at["from"]], value, place=table.place(line))
        if unit and draft.property_units.setdefault(name, unit) != unit:
            known = draft.property_units[name]
            draft.problems.append(f"{table.path.name}: '{name}' is in {unit}, in the other tables in {known}")


def _parse_head(column: str) -> tuple[str, str | None, str | None]:
    found = _HEAD.fullmatch(column)
    assert found is not None  # the expression matches any text
    return found["name"].strip(), found["unit"], found["type"]


@dataclass(frozen=True)
class _Column:
    """The cells of one property, trimmed, with their lines; ``head`` is where its type would be written."""

    name: str
    head: str
    unit: str | None
    kind: str | None
    cells: list[tuple[int, str]]

    @property
    def filled(self) -> list[str]:
        return [cell for _, cell in self.cells if cell]

    def with_sign(self, sign: str) -> list[str]:
        """Its cells with this sign, if it may hold numbers and all its cells are such that have no other sign."""
        other = "." if sign == "," else ","
        filled = self.filled
        if self.kind not in (None, "number") or any(other in cell for cell in filled):
            return []
        signed = [cell for cell in filled if sign in cell]
        return signed if signed and all(_number(cell.replace(sign, ".")) is not None for cell in filled) else []


def _decimal(draft: Draft, table: Table, columns: list[_Column]) -> str:
    """The decimal sign of a table. Beside decimal points a comma is none: ``1,2`` may list two zones."""
    commas = {column.name: cells for column in columns if (cells := column.with_sign(","))}
    if table.separator == "," or not commas:
        return "."
    points = {column.name: cells for column in columns if (cells := column.with_sign("."))}
    if not points:
        return ","
    if all(_GROUPED.fullmatch(cell) for cells in points.values() for cell in cells):
        name, point = next(iter(commas)), next(iter(points))
        draft.problems.append(
            f"{table.path.name}: '{name}' has decimal commas and '{point}' decimal points, or points between "
            f"thousands ('{points[point][0]}'); use one of them, or name the type, '{name}:text'"
        )
    return "."


def _typed(draft: Draft, table: Table, column: _Column, decimal: str) -> list[Value | None]:
    """The values of one column, all read as the same type; empty cells are missing."""
    readers: dict[str, Callable[[str], Value | None]] = {"number": _number, "truth": _truth, "text": str}
    cells, filled, kind = column.cells, column.filled, column.kind
    if decimal == "," and (signed := column.with_sign(",")):
        if all(_GROUPED.fullmatch(cell) for cell in signed):
            _complain_of_thousands(draft, table, column, signed[0])
        cells = [(line, cell.replace(",", ".")) for line, cell in cells]
        kind = "number"
    if kind is None:
        fitting = (k for k in ("number", "truth") if filled and all(readers[k](cell) is not None for cell in filled))
        kind = next(fitting, "text")
        if kind == "text" and _look_like_numbers(column, table.separator):
            _complain(draft, table, column)
    values: list[Value | None] = []
    for line, cell in cells:
        value = readers[kind](cell) if cell else None
        if cell and value is None:
            draft.problems.append(f"{table.place(line)}: '{column.name}' is '{cell}', which is no {kind}")
        values.append(value)
    if kind == "number" and any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return values


def _look_like_numbers(column: _Column, separator: str) -> bool:
    """Whether texts are numbers but for their commas: all of a column with a unit, or points and commas mixed."""
    filled = column.filled
    if column.unit and all(_MARKED.fullmatch(cell) for cell in filled):
        return True
    mixed = separator != "," and any("." in cell for cell in filled)
    return mixed and all(_number(cell.replace(",", ".")) is not None for cell in filled)


def _complain(draft: Draft, table: Table, column: _Column) -> None:
    """List the cells that are numbers but for their commas: read as text they would be lost to every range."""
    draft.problems += [
        f"{table.place(line)}: '{column.name}' is '{cell}': write it with a decimal point, or name the type, "
        f"'{column.head}:text'"
        for line, cell in column.cells
        if "," in cell
    ]


def _complain_of_thousands(draft: Draft, table: Table, column: _Column, cell: str) -> None:
    """Say that 12,500 is twelve and a half or twelve thousand five hundred, and nothing in its column tells which."""
    line = next(line for line, text in column.cells if text == cell)
    draft.problems.append(
        f"{table.place(line)}: '{column.name}' is '{cell}', with a decimal comma or one between thousands, and "
        "no other cell of it tells which: write it without signs between thousands, or name the type, "
        f"'{column.head}:text'"
    )


def _number(cell: str) -> int | float | None:
    if not _NUMBER.fullmatch(cell):
        return None
    if cell.lstrip("+-").isdigit():
        return int(cell)
    number = float(cell)
    return number if math.isfinite(number) else None


def _truth(cell: str) -> bool | None:
    return _TRUTH.get(cell.lower())
