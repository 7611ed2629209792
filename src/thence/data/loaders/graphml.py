"""Graphs from GraphML files; errors name the line.

``key`` elements give names and types to the attributes. The attribute ``labels`` (else ``label``, else ``type``, or the
one named by the caller) holds the labels, all others are properties. Neo4j's ``<node labels=":Pump">`` is supported.
From yEd drawings, the text on a node becomes its ``name`` and the text on an edge its label, unless attributes give
them. Nested graphs (yEd groups), ports and hyperedges are refused, as are attributes that are given twice or hold
other elements, and entities of XML that name another file or entity. ``NaN``, ``n/a`` and the like are missing numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from thence._base.settings.documents import check_xml, parse_xml
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders.draft import MISSING_WORDS, Draft, parse_value
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.propertyjson import LABEL_KEYS, split_labels
from thence.errors import GraphError, quote, reported_as

_CAPTIONS = ("NodeLabel", "EdgeLabel")
_NUMBERS = {"int": "integer", "long": "integer", "float": "number", "double": "number"}
_KINDS = {**_NUMBERS, "boolean": "boolean"}
MOST_DEFAULTS, PER_BYTE = 1_000_000, 4
"""The most values that nodes and edges take from defaults: a million, or four per byte of a larger file."""


@dataclass
class _Key:
    """The declaration of an attribute: its name and type, and the elements that it applies to.

    ``drawn`` if it has no name, as the keys of yEd's drawings.
    """

    name: str
    kind: str
    applies: str
    default: str | None = None
    drawn: bool = False


@dataclass
class _Element:
    """A ``<node>`` or ``<edge>`` with its data, and the texts drawn on it by yEd."""

    tag: str
    line: int
    attributes: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)
    captions: list[str] = field(default_factory=list)


class _GraphmlParser:
    """Collects keys, nodes and edges while expat parses the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[str, _Key] = {}
        self.elements: list[_Element] = []
        self.problems: list[str] = []
        self._open: list[str] = []
        self._data: str | None = None
        self._text: list[str] = []
        self._caption: list[str] = []
        self._order: dict[str, int] = {}
        self._defaults: dict[str, list[str]] = {}
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append

    def parse(self) -> None:
        with reported_as(GraphError, where=str(self.path)):
            raw = self.path.read_bytes()
        check_xml(raw, where=str(self.path), error=GraphError)
        parse_xml(self._parser, raw, where=str(self.path), error=GraphError)
        self._order = {key_id: position for position, key_id in enumerate(self.keys)}
        with_default = [(key_id, key) for key_id, key in self.keys.items() if key.default]
        self._defaults = {
            tag: [key_id for key_id, key in with_default if key.applies in (tag, "all")] for tag in ("node", "edge")
        }
        self._refuse_growth(len(raw))

    def _refuse_growth(self, size: int) -> None:
        """Refuse a small file that would become a large graph, since each node or edge has the default of each key."""
        tags = Counter(element.tag for element in self.elements)
        values = sum(count * len(self._defaults[tag]) for tag, count in tags.items())
        if values > max(MOST_DEFAULTS, PER_BYTE * size):
            keys = len({*self._defaults["node"], *self._defaults["edge"]})
            raise GraphError(
                f"{keys:,} keys have a <default>, which would give {len(self.elements):,} nodes and edges {values:,} "
                "values",
                where=str(self.path),
                hint="remove the <default> of keys that few nodes need, and write the values where they differ",
            )

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        tag = qualified.rpartition(" ")[2]
        line = self._parser.CurrentLineNumber
        if not self._open and tag != "graphml":
            raise GraphError(f"the root element must be <graphml>, got <{tag}>", where=f"{self.path}, line {line}")
        if tag in ("port", "hyperedge") or (tag == "graph" and "graph" in self._open):
            what = "a nested <graph>" if tag == "graph" else f"<{tag}>"
            self.problems.append(f"line {line}: {what} is not supported in a property graph")
        elif tag == "key":
            name = attributes.get("attr.name", attributes.get("id", ""))
            kind, applies = attributes.get("attr.type", "string"), attributes.get("for", "all")
            key_id = attributes.get("id", name)
            if key_id in self.keys:
                self.problems.append(f"line {line}: duplicate <key> {quote(key_id)}")
            self.keys[key_id] = _Key(name, kind, applies, drawn="attr.name" not in attributes)
            self._data = key_id
        elif tag in ("node", "edge"):
            self.elements.append(_Element(tag, line, attributes))
        elif tag == "data" and "data" not in self._open:
            self._data = attributes.get("key", "")
            if self._data not in self.keys:
                self.problems.append(f"line {line}: unknown <key> {quote(self._data)}")
        elif self._open[-1:] == ["data"] and self._open[-2:-1] in (["node"], ["edge"]):
            key = self.keys.get(self._data or "")
            # yEd draws nodes and edges in elements of its own, under keys without a name.
            if key is not None and not key.drawn:
                self.problems.append(f"line {line}: <{tag}> within the value of {quote(key.name)}, which must be text")
        if tag in _CAPTIONS:
            self._caption.clear()
        elif self._open[-1:] and self._open[-1] in _CAPTIONS:
            # yEd puts the geometry of a text inside the text.
            self._caption += self._text
        self._text.clear()
        self._open.append(tag)

    def _end(self, qualified: str) -> None:
        tag = self._open.pop()
        text = "".join(self._text).strip()
        if tag in _CAPTIONS and self.elements:
            self.elements[-1].captions.append(" ".join("".join([*self._caption, *self._text]).split()))
        self._text.clear()
        if tag == "default" and self._open[-1:] == ["key"] and self._data is not None:
            self.keys[self._data].default = text
        elif tag == "data" and self._open[-1:] in (["node"], ["edge"]) and self._data in self.keys:
            element = self.elements[-1]
            if self._data in element.data:
                name, line = quote(self.keys[self._data].name), self._parser.CurrentLineNumber
                self.problems.append(f"line {line}: <{element.tag}> has {name} twice")
            element.data[self._data] = text

    def properties(self, element: _Element, label_keys: tuple[str, ...]) -> dict[str, Any]:
        """Return the typed attributes of an element, labels included."""
        found: dict[str, Any] = {k: v for k, v in element.attributes.items() if k in ("labels", "label")}
        # In the order of the keys, but only those that the element has: there may be thousands of others.
        for key_id in sorted({*element.data, *self._defaults[element.tag]}, key=self._order.__getitem__):
            key = self.keys[key_id]
            raw = element.data.get(key_id, key.default)
            if raw and key.name in found and key_id in element.data:
                self.problems.append(f"line {element.line}: <{element.tag}> has {quote(key.name)} twice")
            elif raw and not (key.kind in _NUMBERS and raw.lower() in MISSING_WORDS):
                value = parse_value(raw, _KINDS[key.kind]) if key.kind in _KINDS else raw
                if value is None:
                    self.problems.append(
                        f"line {element.line}: {quote(key.name)} must be of type {key.kind}, got {quote(raw)}"
                    )
                else:
                    found[key.name] = value
        caption = "; ".join(text for text in element.captions if text)
        if caption and element.tag == "node":
            found.setdefault("name", caption)
        elif caption and not any(key in found for key in label_keys):
            found[label_keys[0]] = caption
        return found


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read a GraphML file; ``options.labels`` is the attribute with the labels."""
    (path,) = paths
    labels = options.labels
    parser = _GraphmlParser(path)
    parser.parse()
    draft = Draft(str(path), problems=parser.problems)
    counts = Counter(e.attributes.get("id") for e in parser.elements if e.tag == "edge")
    for element in parser.elements:
        place = f"line {element.line}"
        needed = ("id",) if element.tag == "node" else ("source", "target")
        missing = [name for name in needed if name not in element.attributes]
        if missing:
            draft.problems.append(f"{place}: <{element.tag}> has no {' and no '.join(missing)}")
            continue
        found, properties = split_labels(
            parser.properties(element, (labels,) if labels else LABEL_KEYS),
            besides=set(),
            key=labels,
            place=f"{path}, {place}",
        )
        if element.tag == "node":
            draft.add_node(element.attributes["id"], labels=found, properties=properties, place=place)
        else:
            source, target = element.attributes["source"], element.attributes["target"]
            name = element.attributes.get("id")
            if name and name.isdigit() and counts[name] > 1:
                # networkx writes the number of a parallel edge as its id, so every first edge has the id 0.
                name = None
            draft.add_edge(name, source, target, labels=found, properties=properties, place=place)
    return draft.graph()


LOADER = Loader(read, suffixes=(".graphml",))
