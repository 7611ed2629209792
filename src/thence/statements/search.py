"""The search by words: one definition for findings, the report and the explorer.

Each word must occur in some text of a statement (``Statement.search_texts``), a place or a sensor (``named_things``).
Of rules, words are looked up among the distinct items, of which there are few, and carried over to the rules with
integer columns: a million rules take milliseconds. The page of a report searches in ``index_texts``, which has the same
texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from thence.data.graph.records import join_values, list_values
from thence.data.graph.system import System
from thence.language.english import format_unit
from thence.statements.rules.ruleset import NAMED, RuleSet
from thence.statements.statement import Kind, SearchTexts, Statement, item_texts

Mask = npt.NDArray[np.bool_]

_JOINING = frozenset({"if", "then", "and", "→", "∧", "⊢"})
"""Words that only join the items of a rule, so that a whole sentence can be searched."""
_WORD = re.compile(r'(?:(?:if|then):)?"[^"]*"?|[^\s"]+')


def split_words(text: str) -> tuple[str, ...]:
    """Split what a person typed into words; a phrase in double quotes is one, and ``if:`` or ``then:`` names a side.

    Args:
        text: What was typed.

    Examples:
        >>> split_words('Flow "lowest fifth" if:pump then:"is on"')
        ('flow', 'lowest fifth', 'if:pump', 'then:is on')
    """
    found = (word.replace('"', "").strip().strip(",;") for word in _WORD.findall(text.casefold()))
    return tuple(dict.fromkeys(word for word in found if word and word not in _JOINING))


def _split_side(word: str) -> tuple[str, str]:
    """The side that a word names, or an empty string, and the rest of it."""
    side, _, rest = word.partition(":")
    return (side, rest) if side in ("if", "then") and rest else ("", word)


def contains(texts: SearchTexts, words: Iterable[str]) -> bool:
    """Return whether each word occurs in some text of a statement.

    Args:
        texts: The texts of the statement.
        words: The words, of ``split_words``.

    Examples:
        >>> contains(SearchTexts.of(["the level rises"], ["Pump 3 closes"]), ["pump", "if:level"])
        True
    """
    left, right, whole = texts
    sides = {"if": left, "then": right, "": (*left, *right, *whole)}
    return all(any(rest in text for text in sides[side]) for side, rest in map(_split_side, words))


@dataclass(frozen=True, eq=False)
class RuleTexts:
    """The texts of rules, a text once however many rules have it.

    Args:
        rules: The rules.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, refine=None, progress="off").rules
        >>> found = RuleTexts(rules).find("if:flow")
        >>> found.tolist() == [contains(rule.search_texts, ["if:flow"]) for rule in rules]
        True
    """

    rules: RuleSet

    @cached_property
    def items(self) -> list[str]:
        """The texts of each item, in lower case."""
        return [item_texts(item).casefold() for item in self.rules.items]

    @cached_property
    def whole(self) -> list[tuple[list[str], npt.NDArray[np.int64]]]:
        """Further texts: the distinct ones, in lower case, and which of them each rule has."""
        rules, out = self.rules, []
        if rules.pattern_of is not None:
            out.append(([*(words.casefold() for _, words in rules.patterns), ""], rules.pattern_of.astype(np.int64)))
        for name in ("name", *NAMED):
            if name in rules.extras:
                numbers: dict[str, int] = {}
                values = np.asarray(rules.extras[name]).tolist()
                own = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
                texts = map(str, numbers)
                out.append((["" if text == "nan" else text.casefold() for text in texts], own))
        return out

    @cached_property
    def _left(self) -> list[npt.NDArray[np.int32]]:
        """The antecedents column by column: reading them is then sequential."""
        return [np.ascontiguousarray(column) for column in self.rules.antecedents.T]

    def __iter__(self) -> Iterator[SearchTexts]:
        """Yield the texts of each rule."""
        for at, (left, right) in enumerate(zip(self.rules.antecedents, self.rules.consequents, strict=True)):
            whole = tuple(text for texts, own in self.whole if (text := texts[own[at]]))
            yield SearchTexts(
                tuple(sorted(self.items[item] for item in left if item >= 0)), (self.items[right],), whole
            )

    def find(self, word: str) -> Mask:
        """Return which rules have a word in some text.

        Args:
            word: A word of ``split_words``.
        """
        side, rest = _split_side(word)
        out = self.carried([rest in text for text in self.items], side=side)
        for texts, own in [] if side else self.whole:
            hits = np.array([rest in text for text in texts], bool)
            if hits.any():
                out |= hits[own]
        return out

    def carried(self, hits: Sequence[bool] | Mask, *, side: str = "") -> Mask:
        """Return which rules have an item that was hit.

        Args:
            hits: Which items.
            side: ``"if"`` or ``"then"`` for items on this side only.
        """
        flags = np.append(np.asarray(hits, bool), False)  # the last one is read for −1
        out = np.zeros(len(self.rules), bool) if side == "if" else flags[self.rules.consequents]
        if side != "then" and flags.any():
            for column in self._left:
                out |= flags[column]
        return out


class Named(NamedTuple):
    """A place or a sensor of a system, which has a name of its own.

    Args:
        kind: ``"place"`` for a node of the graph, or ``"sensor"``.
        id: The id of the node or the sensor.
        name: What people call it, if that is not its id.
        what: What it is: its class, or its kind, unit and place.
        node: The node; of a sensor, the one that it is bound to, or an empty string.
        kinds: Kinds of the sensors there.
        classes: Classes of the node.
        properties: Names of the properties of the node.
    """

    kind: Literal["place", "sensor"]
    id: str
    name: str
    what: str
    node: str
    kinds: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    @property
    def search_texts(self) -> SearchTexts:
        """The texts in which words are looked up."""
        texts = (self.id, self.id.replace("_", " "), self.name, self.what)
        return SearchTexts.of(whole=["\n".join(dict.fromkeys(texts))])


def named_things(system: System) -> list[Named]:
    """Return the nodes of the graph of a system and its sensors, in their order.

    Args:
        system: The system.

    Examples:
        >>> import thence as th
        >>> found = named_things(th.datasets.load("toy"))
        >>> [one.id for one in found if contains(one.search_texts, ["pipe"]) and one.kind == "place"]
        ['Pipe AB', 'Pipe BC']
        >>> next(one for one in found if one.id == "flow_AB").what
        'flow in m³/h at Pipe AB'
    """
    bound = {} if system.binding is None else dict(system.binding)
    sensors = {sensor.id: sensor for sensor in system.sensors.sensors}
    out: list[Named] = []
    for id, place_node in {} if system.graph is None else system.graph.nodes.items():
        here = [sensors[each] for each in system.binding.sensors_at(id) if each in sensors] if system.binding else []
        name = join_values(list_values(place_node.properties.get("name")))
        kinds = tuple(dict.fromkeys(sensor.kind for sensor in here if sensor.kind))
        classes = tuple(sorted(place_node.labels))
        out.append(Named("place", id, name, ", ".join(classes), id, kinds, classes, tuple(place_node.properties)))
    for sensor in sensors.values():
        node_id = bound.get(sensor.id, "")
        kind = sensor.kind.replace("_", " ")
        unit = f" in {format_unit(sensor.unit)}" if sensor.unit else ""
        place = f" at {node_id}" if node_id else ""
        node = None if system.graph is None else system.graph.nodes.get(node_id)
        classes = () if node is None else tuple(sorted(node.labels))
        what = f"{kind or 'sensor'}{unit}{place}"
        out.append(Named("sensor", sensor.id, "", what, node_id, (sensor.kind,), classes))
    return out


def order_named(things: Iterable[Named], text: str) -> list[Named]:
    """Return places and sensors in the order of a search: those of this name first, then those that begin so.

    Args:
        things: Places and sensors.
        text: What was typed.

    Examples:
        >>> things = [Named("place", f"Pump {n}", "", "Pump", f"Pump {n}") for n in (10, 1)]
        >>> [one.id for one in order_named(things, "pump 1")]
        ['Pump 1', 'Pump 10']
    """
    whole = " ".join(text.casefold().split())

    def rank(one: Named) -> int:
        names = (one.id.casefold(), one.name.casefold())
        tests = (lambda name: name == whole, lambda name: name.startswith(whole), lambda name: whole in name)
        return next((at for at, test in enumerate(tests) if any(map(test, names))), len(tests))

    return sorted(things, key=rank)


class IndexedTexts(TypedDict):
    """The texts of one statement, place or sensor, as positions in the texts of a ``SearchIndex``."""

    kind: Kind | Literal["place", "sensor"]
    id: int
    left: list[int]
    right: list[int]
    whole: list[int]


class SearchIndex(TypedDict):
    """The texts of statements for a page that searches by itself."""

    texts: list[str]
    statements: list[IndexedTexts]


def index_texts(
    controls: Sequence[Statement], laws: Sequence[Statement], rules: RuleSet, things: Sequence[Named] = ()
) -> SearchIndex:
    """Return the texts of statements for a page, each text once, in reading order; then those of places and sensors.

    Args:
        controls: The controls.
        laws: The laws.
        rules: The rules.
        things: Places and sensors; their ids are positions.

    Examples:
        >>> index_texts([], [], RuleSet.empty())
        {'texts': [], 'statements': []}
    """
    numbers: dict[str, int] = {}
    found: list[IndexedTexts] = []
    own = ((one.kind, at, one.search_texts) for some in (controls, laws) for at, one in enumerate(some))
    of_rules: Iterator[tuple[Kind, int, SearchTexts]] = (("rule", at, one) for at, one in enumerate(RuleTexts(rules)))
    of_things = ((one.kind, at, one.search_texts) for at, one in enumerate(things))
    for kind, at, texts in chain(own, of_rules, of_things):
        left, right, whole = ([numbers.setdefault(text, len(numbers)) for text in side] for side in texts)
        found.append({"kind": kind, "id": at, "left": left, "right": right, "whole": whole})
    return {"texts": list(numbers), "statements": found}
