"""A graph as tables: ``nodes.csv``, ``edges.csv`` and, for values that change, ``values.csv``.

``nodes.csv`` has a column ``id``, ``edges.csv`` has ``source`` and ``target`` (and may have ``id``); ``labels`` (or
``label``) holds labels separated by ``;``, every other column is a property. A column head may carry a unit and a type:
``length [m]``, ``zip:text``, ``depth [m]:number`` (types: number, text, truth). Without a type a column is numeric when
all its cells are numbers (``007`` is text), true or false when all are, else text. Numbers may have decimal commas
where commas do not separate the columns; a file has one decimal sign. Cells are trimmed; an empty one is missing.
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

from thence.elements import Value
from thence.errors import GraphError, nearest
from thence.graph import KnowledgeGraph
from thence.loaders.assemble import Draft, as_labels

__all__ = ["Table", "read", "read_table"]

_HEAD = re.compile(r"(?P<name>.*?)\s*(\[(?P<unit>[^\]]*)\])?\s*(:\s*(?P<type>number|text|truth))?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_MARKED = re.compile(r"[+-]?\d[\d.,]*")
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
    columns: list[tuple[str, list[Value | None]]] = []
    marks: dict[str, str] = {}
    for position, (name, unit, kind) in enumerate(heads):
        if position == labels_at or name in keys:
            continue
        cells = [(line, row[position]) for line, row in table.rows]
        columns.append((name, _column(draft, table, _Head(name, unit, kind), cells, marks)))
        if unit:
            draft.property_units[name] = unit
    _check_marks(draft, table, marks)
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
    cells: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    marks: dict[str, str] = {}
    for line, row in table.rows:
        cells.setdefault(row[at["property"]].strip(), []).append((line, row))
    for name, rows in cells.items():
        head = _Head(name, unit, kind)
        typed = _column(draft, table, head, [(line, row[at["value"]]) for line, row in rows], marks)
        for (line, row), value in zip(rows, typed, strict=True):
            draft.add_dated(row[at["subject"]].strip(), name, row[at["from"]], value, place=table.place(line))
        if unit and draft.property_units.setdefault(name, unit) != unit:
            known = draft.property_units[name]
            draft.problems.append(f"{table.path.name}: '{name}' is in {unit}, in the other tables in {known}")
    _check_marks(draft, table, marks)


def _parse_head(column: str) -> tuple[str, str | None, str | None]:
    found = _HEAD.fullmatch(column)
    assert found is not None  # the expression matches any text
    return found["name"].strip(), found["unit"], found["type"]


@dataclass(frozen=True)
class _Head:
    name: str
    unit: str | None
    kind: str | None


def _column(
    draft: Draft, table: Table, head: _Head, cells: list[tuple[int, str]], marks: dict[str, str]
) -> list[Value | None]:
    """The cells of one column (with their lines), all read as the same type; empty cells are missing.

    The decimal sign that the column uses is noted in ``marks``.
    """
    readers: dict[str, Callable[[str], Value | None]] = {"number": _number, "truth": _truth, "text": str}
    trimmed = [(line, cell.strip()) for line, cell in cells]
    filled = [cell for _, cell in trimmed if cell]
    kind = head.kind
    if kind != "text" and table.separator != "," and _has_decimal_commas(filled):
        marks[","] = head.name
        trimmed = [(line, cell.replace(",", ".")) for line, cell in trimmed]
        kind = "number"
    if kind is None:
        fitting = (k for k in ("number", "truth") if filled and all(readers[k](cell) is not None for cell in filled))
        kind = next(fitting, "text")
        if kind == "text" and _look_like_numbers(filled, head.unit, table.separator):
            _complain(draft, table, head.name, trimmed)
    values: list[Value | None] = []
    for line, cell in trimmed:
        value = readers[kind](cell) if cell else None
        if cell and value is None:
            draft.problems.append(f"{table.place(line)}: '{head.name}' is '{cell}', which is no {kind}")
        values.append(value)
    if kind == "number" and any(isinstance(value, float) for value in values):
        if any("." in cell for cell in filled):
            marks["."] = head.name
        return [None if value is None else float(value) for value in values]
    return values


def _has_decimal_commas(cells: list[str]) -> bool:
    """Whether these are numbers, none with a decimal point and some with a decimal comma."""
    return any("," in cell for cell in cells) and all(
        "." not in cell and _number(cell.replace(",", ".")) is not None for cell in cells
    )


def _look_like_numbers(cells: list[str], unit: str | None, separator: str) -> bool:
    """Whether texts are numbers but for their commas: all of a column with a unit, or points and commas mixed."""
    mixed = separator != "," and all(_number(cell.replace(",", ".")) is not None for cell in cells)
    return mixed or (bool(unit) and all(_MARKED.fullmatch(cell) for cell in cells))


def _complain(draft: Draft, table: Table, name: str, cells: list[tuple[int, str]]) -> None:
    """List the cells that are numbers but for their commas: read as text they would be lost to every range."""
    draft.problems += [
        f"{table.place(line)}: '{name}' is '{cell}': write it with a decimal point, or name the type, '{name}:text'"
        for line, cell in cells
        if "," in cell
    ]


def _check_marks(draft: Draft, table: Table, marks: dict[str, str]) -> None:
    if {",", "."} <= marks.keys():
        draft.problems.append(
            f"{table.path.name}: '{marks[',']}' has decimal commas and '{marks['.']}' decimal points; use one of them"
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
