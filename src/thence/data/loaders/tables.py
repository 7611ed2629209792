"""Graphs from CSV tables: ``nodes.csv``, ``edges.csv`` and, for values that change over time, ``values.csv``.

``nodes.csv`` has a column ``id``; ``edges.csv`` has ``source`` and ``target``, and optionally ``id``. ``labels`` (or
``label``) holds labels separated by ``;``. All other columns are properties. A column head may have a unit and a type:
``length [m]``, ``zip:text``, ``depth [m]:number`` (types: number, text, truth). The cells of ``use:text[]``
hold several values separated by ``;``. Without a type, a column is numeric if all its cells are numbers (``007`` is
text), boolean if all are true or false, else text. Numbers may have decimal commas if commas do not separate the
columns. A file has one decimal sign: beside decimal points, ``1,2`` is text. Cells are stripped; an empty cell is a
missing value, and so is ``NaN`` or ``n/a`` among numbers. ``values.csv`` has ``subject``, ``property``, ``from`` and
``value``. Tables without ``id`` are lists of points and equipment (``thence.data.loaders.points``).

This module never guesses a number: ambiguous cells are errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Value, Values
from thence.data.loaders.csv_tables import CsvTable, parse_head, read_csv_table
from thence.data.loaders.draft import MISSING_WORDS, Draft, as_labels
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.points import is_points_list, read_points
from thence.data.readings.frames import detect_decimal_sign, may_be_thousands
from thence.errors import GraphError, quote

_LIST = "[]"
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DIGITS_WITH_SIGNS = re.compile(r"[+-]?\d[\d.,]*")
_BOOLEANS = {"true": True, "false": False}
_MOST_DIGITS = 308


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read the tables of nodes, edges and dated values, in this order; or a folder, or ``nodes.csv`` in its folder.

    Tables of which none has the column ``id`` are read as lists of points and of equipment.
    """
    if all(path.is_file() for path in paths):
        tables = [read_csv_table(path, needs=()) for path in paths]
        heads = [{parse_head(column)[0] for column in table.columns} for table in tables]
        if not any("id" in names for names in heads) and all(map(is_points_list, tables)):
            return read_points(tables)
    nodes, edges, values = _find_tables(paths)
    draft = Draft(str(nodes.parent))
    _add_records(draft, read_csv_table(nodes, needs=("id",)), keys=("id",))
    if edges is not None:
        _add_records(draft, read_csv_table(edges, needs=("source", "target")), keys=("id", "source", "target"))
    if values is not None:
        _add_values(draft, read_csv_table(values, needs=("subject", "property", "from", "value")))
    return draft.graph()


def _find_tables(paths: Sequence[Path]) -> tuple[Path, Path | None, Path | None]:
    """The tables of nodes, edges and dated values; with one path, those beside ``nodes.csv`` if they exist."""
    if len(paths) > 3:
        raise GraphError("a graph has at most three tables", hint="pass nodes.csv, edges.csv and values.csv")
    if len(paths) > 1:
        return paths[0], paths[1], paths[2] if len(paths) == 3 else None
    folder = paths[0] if paths[0].is_dir() else paths[0].parent
    nodes = folder / "nodes.csv" if paths[0].is_dir() else paths[0]
    edges, values = folder / "edges.csv", folder / "values.csv"
    return nodes, edges if edges.is_file() else None, values if values.is_file() else None


def _add_records(draft: Draft, table: CsvTable, *, keys: tuple[str, ...]) -> None:
    """Add the nodes or edges of a table to a draft."""
    heads = [parse_head(column) for column in table.columns]
    names = [name for name, _, _ in heads]
    labels_at = next((names.index(name) for name in ("labels", "label") if name in names), None)
    key_at = {key: names.index(key) for key in keys if key in names}
    unconverted: list[_PropertyCells] = []
    for position, (name, unit, kind) in enumerate(heads):
        if position == labels_at or name in keys:
            continue
        unconverted.append(
            _PropertyCells(name, name, unit, kind, [(line, row[position].strip()) for line, row in table.rows])
        )
        if unit:
            draft.property_units[name] = unit
    decimal = _find_decimal_sign(draft, table, unconverted)
    columns = [(column.name, _convert(draft, table, column, decimal)) for column in unconverted]
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


def _add_values(draft: Draft, table: CsvTable) -> None:
    at = {name: table.position(name) for name in ("subject", "property", "from", "value")}
    _, unit, kind = parse_head(table.columns[at["value"]])
    rows_of: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for line, row in table.rows:
        rows_of.setdefault(row[at["property"]].strip(), []).append((line, row))
    columns = [
        _PropertyCells(name, "value", unit, kind, [(line, row[at["value"]].strip()) for line, row in rows])
        for name, rows in rows_of.items()
    ]
    decimal = _find_decimal_sign(draft, table, columns)
    for column in columns:
        name, converted = column.name, _convert(draft, table, column, decimal)
        for (line, row), value in zip(rows_of[name], converted, strict=True):
            draft.add_dated(row[at["subject"]].strip(), name, row[at["from"]], value, place=table.place(line))
        if unit and draft.property_units.setdefault(name, unit) != unit:
            known = draft.property_units[name]
            draft.problems.append(f"{table.path.name}: the unit of '{name}' is {unit}, in the other tables {known}")


@dataclass(frozen=True)
class _PropertyCells:
    """The stripped cells of one property, with their lines; ``head`` is the column whose head would give a type."""

    name: str
    head: str
    unit: str | None
    kind: str | None
    cells: list[tuple[int, str]]

    @property
    def filled(self) -> list[str]:
        return [cell for _, cell in self.cells if cell]

    def with_sign(self, sign: str) -> list[str]:
        """The cells with this decimal sign, if all cells are numbers and none has the other sign."""
        other = "." if sign == "," else ","
        filled = self.filled
        if self.kind not in (None, "number") or any(other in cell for cell in filled):
            return []
        signed = [cell for cell in filled if sign in cell]
        return signed if signed and all(_parse_number(cell.replace(sign, ".")) is not None for cell in filled) else []


def _find_decimal_sign(draft: Draft, table: CsvTable, columns: list[_PropertyCells]) -> str:
    """The decimal sign of a table. Beside decimal points, commas are not decimal: ``1,2`` may list two zones."""
    found = detect_decimal_sign(
        table.separator, lambda sign: (cell for column in columns for cell in column.with_sign(sign))
    )
    if found.point and found.ambiguous:
        name, point = (next(c.name for c in columns if c.with_sign(sign)) for sign in (",", "."))
        draft.problems.append(
            f"{table.path.name}: '{name}' has decimal commas, and '{point}' has decimal points or points between "
            f"thousands ('{found.point}'); use one decimal sign, or give a type: '{name}:text'"
        )
    return found.sign


def _convert(draft: Draft, table: CsvTable, column: _PropertyCells, decimal: str) -> list[Values | None]:
    """The values of one column, all converted to the same type; empty cells are missing values."""
    converters: dict[str, Callable[[str], Value | None]] = {
        "number": _parse_number,
        "truth": _parse_boolean,
        "text": str,
    }
    if column.kind is not None and column.kind.endswith(_LIST):
        return _convert_lists(draft, table, column, converters[column.kind.removesuffix(_LIST)])
    cells, filled, kind = column.cells, column.filled, column.kind
    if decimal == "," and (signed := column.with_sign(",")):
        if may_be_thousands(signed):
            _report_thousands(draft, table, column, signed[0])
        cells = [(line, cell.replace(",", ".")) for line, cell in cells]
        kind = "number"
    known = [cell for cell in filled if cell.lower() not in MISSING_WORDS]
    if kind is None:
        kinds = (k for k in ("number", "truth") if known and all(converters[k](cell) is not None for cell in known))
        kind = next(kinds, "text")
        if kind == "text" and _look_like_numbers(column, table.separator):
            _report_commas(draft, table, column)
        elif kind == "text" and known and all(map(_NUMBER.fullmatch, known)):
            kind = "number"  # some are too large, which is reported below
    if kind != "text" and len(known) < len(filled):
        cells = [(line, "" if cell.lower() in MISSING_WORDS else cell) for line, cell in cells]
    values: list[Values | None] = []
    for line, cell in cells:
        value = converters[kind](cell) if cell else None
        if cell and value is None:
            large = " (too large)" if kind == "number" and _NUMBER.fullmatch(cell) else ""
            place, name = table.place(line), quote(column.name)
            draft.problems.append(f"{place}: {name} must be of type {kind}, got {quote(cell)}{large}")
        values.append(value)
    if kind == "number" and any(isinstance(value, float) for value in values):
        return [float(value) if isinstance(value, int) else value for value in values]
    return values


def _convert_lists(
    draft: Draft, table: CsvTable, column: _PropertyCells, converter: Callable[[str], Value | None]
) -> list[Values | None]:
    """The values of a column whose cells hold several; words for missing values count as such among numbers."""
    out: list[Values | None] = []
    for line, cell in column.cells:
        found: list[Value] = []
        for part in filter(None, map(str.strip, cell.split(";"))):
            value = converter(part)
            if value is not None:
                found.append(value)
            elif part.lower() not in MISSING_WORDS:
                name = quote(column.name)
                draft.problems.append(f"{table.place(line)}: {name} must be of type {column.kind}, got {quote(part)}")
        out.append(tuple(found) or None)
    return out


def _look_like_numbers(column: _PropertyCells, separator: str) -> bool:
    """Whether strings would be numbers without their commas, in a column with a unit or with points and commas."""
    filled = column.filled
    if column.unit and all(_DIGITS_WITH_SIGNS.fullmatch(cell) for cell in filled):
        return True
    mixed = separator != "," and any("." in cell for cell in filled)
    return mixed and all(_parse_number(cell.replace(",", ".")) is not None for cell in filled)


def _report_commas(draft: Draft, table: CsvTable, column: _PropertyCells) -> None:
    """Report cells that would be numbers without their commas: as text, they could not be used in ranges."""
    draft.problems += [
        f"{table.place(line)}: '{column.name}' is '{cell}': use a decimal point, or give a type: '{column.head}:text'"
        for line, cell in column.cells
        if "," in cell
    ]


def _report_thousands(draft: Draft, table: CsvTable, column: _PropertyCells, cell: str) -> None:
    """Report that 12,500 may be 12.5 or 12500, and that no other cell of the column decides it."""
    line = next(line for line, text in column.cells if text == cell)
    draft.problems.append(
        f"{table.place(line)}: '{column.name}' is '{cell}', with a decimal comma or a thousands separator, and no "
        f"other cell decides which: remove thousands separators, or give a type: '{column.head}:text'"
    )


def _parse_number(cell: str) -> int | float | None:
    if not _NUMBER.fullmatch(cell):
        return None
    if cell.lstrip("+-").isdigit():
        return int(cell) if len(cell) <= _MOST_DIGITS else None
    number = float(cell)
    return number if math.isfinite(number) else None


def _parse_boolean(cell: str) -> bool | None:
    return _BOOLEANS.get(cell.lower())


LOADER = Loader(read, suffixes=(".csv",), several=True)
