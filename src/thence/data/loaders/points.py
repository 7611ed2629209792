"""Graphs from lists of points, entities or devices, and of equipment, as engineers keep them in spreadsheets.

A list of points has a row per point: what it is called in the data, the equipment or room that it belongs to, and its
class, description or unit, in whatever columns. A list of equipment has a row per connection: ``source``, ``relation``,
``target``, or a column such as ``feeds``. Columns are recognised by their heads; every other column with a different
text in each row is a name by which a sensor may be bound. Equipment has the class that a column gives, else the words
of its name (``VAV_3`` is a ``VAV``). This module must not look at readings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.name_rules import plain_spelling
from thence.data.graph.ontology import brick_classes
from thence.data.graph.point_names import class_of_point, is_point, words_of
from thence.data.loaders.csv_tables import CsvTable, parse_head
from thence.data.loaders.draft import Draft
from thence.errors import GraphError

_HEADS: Mapping[str, tuple[str, ...]] = {
    "holder": ("equip", "equipment", "equipment name", "equip ref", "device", "asset", "system", "plant", "machine",
               "room", "area", "zone", "space", "location", "place", "floor", "site"),
    "class": ("class", "brick class", "point class", "point type", "type", "kind", "quantity", "measurement",
              "device class", "brick type", "object class"),
    "description": ("description", "desc", "dis", "display name", "comment", "long name", "label"),
    "unit": ("unit", "units", "uom", "unit of measurement", "engineering unit", "engineering units", "eng units"),
    "source": ("source", "from", "upstream", "subject"),
    "target": ("target", "to", "downstream", "object"),
    "relation": ("relation", "relationship", "predicate", "edge", "label", "labels"),
    "feeds": ("feeds", "serves", "supplies"),
    "fed": ("fed by", "served by", "supplied by"),
    "whole": ("part of", "parent", "parent equipment", "parent equip"),
    "holder class": ("equip class", "equip type", "equipment class", "equipment type", "asset type"),
}  # fmt: skip
_PLACES = {"room": "Room", "area": "Room", "zone": "HVAC_Zone", "space": "Space", "floor": "Floor", "site": "Site",
           "location": "Room", "place": "Room"}  # fmt: skip
_RELATIONS = {"serves": "feeds", "supplies": "feeds", "feed": "feeds", "fed by": "isFedBy", "served by": "isFedBy",
              "part of": "isPartOf", "contains": "hasPart"}  # fmt: skip
_FILE = re.compile(r"\.(?:csv|txt|dat|parquet|json)\Z", re.IGNORECASE)


def is_points_list(table: CsvTable) -> bool:
    """Return whether a table without the column ``id`` has those of a list of points or of equipment."""
    heads = _recognised(table)
    return {"source", "target"} <= heads.keys() or bool(heads.keys() & {"holder", "class", "description", "unit"})


def read_points(tables: Sequence[CsvTable]) -> KnowledgeGraph:
    """Return the graph of lists of points and of equipment.

    Args:
        tables: The tables, in any order.

    Raises:
        GraphError: If a table has no column that names points, or a row is not complete.
    """
    draft = _Tables(Draft(", ".join(str(table.path) for table in tables)))
    for table in tables:
        heads = _recognised(table)
        if {"source", "target"} <= heads.keys():
            draft.add_connections(table, heads)
        elif heads.keys() & {"feeds", "fed", "whole"} and "holder" in heads and "description" not in heads:
            draft.add_equipment(table, heads)
        else:
            draft.add_points(table, heads)
    return draft.draft.graph()


def _recognised(table: CsvTable) -> dict[str, int]:
    """The positions of the columns whose heads are known; of several of a sort the first in the list of heads."""
    names = [" ".join(words_of(parse_head(column)[0])) for column in table.columns]
    found: dict[str, int] = {}
    for sort, heads in _HEADS.items():
        at = next(
            (names.index(head) for head in heads if head in names and names.index(head) not in found.values()), None
        )
        if at is not None:
            found[sort] = at
    return found


@dataclass
class _Tables:
    """A graph under construction from lists."""

    draft: Draft
    holders: dict[str, str] = field(default_factory=dict)
    points: set[str] = field(default_factory=set)
    edges: set[tuple[str, str, str]] = field(default_factory=set)

    def add_connections(self, table: CsvTable, heads: Mapping[str, int]) -> None:
        for line, row in table.rows:
            ends = [row[heads[end]].strip() for end in ("source", "target")]
            if not all(ends):
                self.draft.problems.append(f"{table.place(line)}: source and target must not be empty")
                continue
            said = row[heads["relation"]].strip() if "relation" in heads else "feeds"
            relation = _RELATIONS.get(said.lower().replace("_", " "), said) or "feeds"
            source, target = (self._holder(end, table.place(line)) for end in ends)
            self._connect(source, relation, target, table.place(line))

    def add_equipment(self, table: CsvTable, heads: Mapping[str, int]) -> None:
        for line, row in table.rows:
            name, place = row[heads["holder"]].strip(), table.place(line)
            if not name:
                self.draft.problems.append(f"{place}: the name of the equipment is empty")
                continue
            label = row[heads["class"]].strip() if "class" in heads else ""
            one = self._holder(name, place, label=label)
            for sort, relation in (("feeds", "feeds"), ("fed", "isFedBy"), ("whole", "isPartOf")):
                others = row[heads[sort]] if sort in heads else ""
                for other in filter(None, map(str.strip, re.split(r"[;|,]", others))):
                    self._connect(one, relation, self._holder(other, place), place)

    def add_points(self, table: CsvTable, heads: Mapping[str, int]) -> None:
        names = _name_columns(table, heads)
        if not names:
            raise GraphError(
                "no column names the points: none has a different text in each row",
                where=str(table.path),
                hint="add a column with the names of the sensors in the data",
            )
        head = parse_head(table.columns[heads["holder"]])[0].lower() if "holder" in heads else ""
        for line, row in table.rows:
            place = table.place(line)
            called = [cell for at in names if (cell := row[at].strip())]
            if not called:
                self.draft.problems.append(f"{place}: the point has no name")
                continue
            point = self._new(called[0])
            cells = {sort: row[at].strip() for sort, at in heads.items()}
            label = _point_class(cells.get("class", ""), cells.get("description", ""))
            known = {"name": tuple(dict.fromkeys([*called, *(_FILE.sub("", cell) for cell in called)]))}
            for sort in ("unit", "description"):
                if cells.get(sort):
                    known[sort] = cells[sort]  # type: ignore[assignment]
            self.draft.add_node(point, labels={label}, properties=known, place=place)
            if cells.get("holder"):
                holder = self._holder(cells["holder"], place, label=cells.get("holder class") or _PLACES.get(head, ""))
                self._connect(holder, "hasPoint", point, place)

    def _new(self, name: str) -> str:
        """An id for a point: its name, with a mark if an equipment has it."""
        while name in self.points or name in self.holders.values():
            name += " (point)"
        self.points.add(name)
        return name

    def _holder(self, name: str, place: str, *, label: str = "") -> str:
        """The equipment or place of a name; the same one however it is spelled."""
        key = plain_spelling(name) or name
        if key not in self.holders:
            own = name if name not in self.points else f"{name} (equipment)"
            self.holders[key] = own
            self.draft.add_node(own, labels={label or _holder_class(name)}, properties={}, place=place)
        return self.holders[key]

    def _connect(self, source: str, relation: str, target: str, place: str) -> None:
        if (source, relation, target) not in self.edges:
            self.edges.add((source, relation, target))
            self.draft.add_edge(None, source, target, labels={relation}, properties={}, place=place)


def _name_columns(table: CsvTable, heads: Mapping[str, int]) -> list[int]:
    """The columns by which a row may be called, those with a usual head first."""
    taken = {at for sort, at in heads.items() if sort != "description"}
    found = []
    for at in range(len(table.columns)):
        cells = [cell for _, row in table.rows if (cell := row[at].strip())]
        if at not in taken and cells and len(set(cells)) == len(cells) and 2 * len(cells) > len(table.rows):
            found.append(at)
    return sorted(found, key=lambda at: (at == heads.get("description"), "name" not in table.columns[at].lower()))


def _point_class(given: str, description: str) -> str:
    """The class of a point: the one that is given, if it is a name of a class; else by the words about it."""
    name = given.rpartition("#")[2].rpartition(":")[2]
    if name and not re.search(r"\s", name) and (is_point([name]) or name in brick_classes()):
        return name
    words = [*words_of(name), *(words_of(description) if not name else ())]
    return class_of_point(words) if words else "Point"


def _holder_class(name: str) -> str:
    """The class that the name of an equipment says: its words, as Brick writes them if it knows them."""
    found = re.findall(r"[^\W\d_]+", name)
    words = [word for word in found if len(word) > 1] or found
    joined = "_".join(word if word.isupper() else word.title() for word in words)
    known = {cls.lower(): cls for cls in brick_classes()}
    return known.get(joined.lower()) or joined or "Equipment"
