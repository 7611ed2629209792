"""English sentences of rules, read word by word and evaluated on the raw readings.

A sentence is parsed without the rule that it came from: what a reader would take it to mean is counted. Sentences about
ranks are left out, since a rank is not a number that a reader can compare. So are sentences that name a sensor by its
kind and a node with several sensors of that kind.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.oracle.definitions import changes, classes_of, decimals_of, is_edge, range_of, value_at
from tests.oracle.rules import Counts
from tests.oracle.tables import LENGTH, Readings
from tests.oracle.worlds import World

NUMBER = r"−?(?:∞|[\d,]+(?:\.\d+)?)"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "": lambda a, b: a == b,
    "not ": lambda a, b: a != b,
    "below ": lambda a, b: a < b,
    "at most ": lambda a, b: a <= b,
    "above ": lambda a, b: a > b,
    "at least ": lambda a, b: a >= b,
}

Predicate = Callable[[Any], bool]


class AmbiguousError(Exception):
    """The sentence can be read in several ways."""


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").replace("∞", "inf"))


def read_test(text: str) -> Predicate:
    """A test in words. A range includes its lower end and not its upper one."""
    if ranged := re.fullmatch(rf"(not )?({NUMBER})(?:–| to )({NUMBER})", text):
        low, high = _number(ranged[2]), _number(ranged[3])
        return lambda value: (low <= value < high) is (ranged[1] is None)
    if opened := re.fullmatch(rf"(not )?above ({NUMBER}) but below ({NUMBER})", text):
        low, high = _number(opened[2]), _number(opened[3])
        return lambda value: (low < value < high) is (opened[1] is None)
    if text == "any number":
        return lambda value: isinstance(value, float)
    if compared := re.fullmatch(rf"(not |below |at most |above |at least |)({NUMBER})", text):
        return lambda value: COMPARISONS[compared[1]](value, _number(compared[2]))
    denied, listed = text.startswith("not "), text.removeprefix("not ")
    members = listed.removeprefix("one of ").split(", ") if listed.startswith("one of ") else [listed]

    def is_member(value: Any) -> bool:
        if isinstance(value, float):
            return value in [_number(member) for member in members]
        return str(value) in members

    return lambda value: is_member(value) is not denied


def read_calendar(text: str) -> Predicate:
    """An hour or a day of the week in words."""

    def moment(word: str) -> float:
        return float(DAYS.index(word) if word in DAYS else word.removesuffix(":00"))

    if ranged := re.fullmatch(r"(not )?from (\S+) to before (\S+)", text):
        return lambda value: (moment(ranged[2]) <= value < moment(ranged[3])) is (ranged[1] is None)
    for form, compare in (
        (r"before (\S+)", lambda a, b: a < b),
        (r"(\S+) or before", lambda a, b: a <= b),
        (r"after (\S+)", lambda a, b: a > b),
        (r"from (\S+) on", lambda a, b: a >= b),
    ):
        if found := re.fullmatch(form, text):
            return lambda value, compare=compare, found=found: compare(value, moment(found[1]))  # type: ignore[misc]
    denied = text.startswith("not ")
    members = [moment(word) for word in text.removeprefix("not ").removeprefix("one of ").split(", ")]
    return lambda value: (value in members) is not denied


@dataclass(frozen=True)
class Sentence:
    """The clauses of a sentence: what is said of a place, the conditions, and the conclusion."""

    place: str
    conditions: list[str]
    conclusion: str

    @staticmethod
    def of(text: str) -> Sentence:
        place, _, rest = (
            text.partition(": if ")
            if text.startswith(("for every ", "for one ", "for the "))
            else ("", "", text.removeprefix("if "))
        )
        left, _, right = rest.rpartition(", then ")
        return Sentence(place, left.split(" and "), right)


class Reader:
    """Reads sentences about a world."""

    def __init__(self, world: World, readings: Readings) -> None:
        self.world, self.readings = world, readings
        numeric = [sensor for sensor in readings.values if sensor not in world.states]
        self.changes = {s: changes(readings.values[s], readings.starts, LENGTH) for s in numeric}

    def count(self, text: str, places: set[tuple[str, ...]] | None = None) -> Counts:
        """Count a sentence over the rows in which everything that it speaks of is known.

        Args:
            text: The sentence.
            places: The nodes of a lifted rule's embeddings; the sentence does not say which nodes must have sensors.
        """
        sentence = Sentence.of(text)
        n = x = y = b = 0
        for place in self.places(sentence.place):
            if places is not None and tuple(place.values()) not in places:
                continue
            for frame in range(len(self.readings.starts)):
                truths = [self.clause(clause, place, frame) for clause in sentence.conditions]
                claim = self.clause(sentence.conclusion, place, frame)
                if claim is None or any(truth is None for truth in truths):
                    continue
                n, x, y, b = n + 1, x + all(truths), y + claim, b + (all(truths) and claim)
        return n, x, y, b

    def places(self, text: str) -> Iterator[dict[str, str]]:
        """The nodes for the variables of a place in words; a place without words is the whole system."""
        if not text:
            yield {}
            return
        named, _, related = re.sub("^for (every|one|the) ", "", text).partition(" where ")
        alone = not related and ", " not in named
        # A class without a variable is what "it" and "its" speak of.
        variables = (
            [[named.removesuffix(" (one place)"), "it"]] if alone else [part.split(" ") for part in named.split(", ")]
        )
        links = [self._link(part) for part in related.split(" and ")] if related else []
        for nodes in itertools.permutations(self.world.labels, len(variables)):
            at = {name: node for (_, name), node in zip(variables, nodes, strict=True)}
            if all(label in ("node", *classes_of(self.world, at[name])) for label, name in variables) and all(
                is_edge(self.world, at[source], at[target], relation, either=either)
                for source, target, relation, either in links
            ):
                yield at

    def _link(self, text: str) -> tuple[str, str, str, bool]:
        if found := re.fullmatch(r"(\S+) is linked by is linked to to (\S+)", text):
            return found[1], found[2], "", True
        if found := re.fullmatch(r"(\S+) is linked by (\S+) to (\S+)", text):
            return found[1], found[3], found[2], True
        if found := re.fullmatch(r"(\S+) is linked to (\S+)", text):
            return found[1], found[2], "", False
        source, relation, target = text.split(" ")
        return source, target, relation, False

    def clause(self, text: str, place: dict[str, str], frame: int) -> bool | None:
        """Whether a clause is true in a frame; ``None`` if what it speaks of is not known."""
        start = self.readings.starts[frame]
        if found := re.fullmatch(r"the hour of day is (.+)", text):
            return read_calendar(found[1])(float(start.hour))
        if found := re.fullmatch(r"the day is (.+)", text):
            return read_calendar(found[1])(float(start.weekday()))
        if text.startswith(("some ", "no ")):
            return self._statement(text, frame)
        if found := re.fullmatch(r"(the change of )?the (\S+) sensor in (.+?)(?: \((.+)\))? (?:reads|is) (.+)", text):
            return self._reading(found[3], found[2], bool(found[1]), found[4], found[5], frame)
        if found := re.fullmatch(r"(the change of )?its (\S+)(?: state)? is (.+)", text):
            return self._reading(place["it"], found[2], bool(found[1]), None, found[3], frame)
        if found := re.fullmatch(r"the (change of the )?(\S+)(?: state)? of (\S+)(?: \((.+)\))? is (.+)", text):
            return self._reading(place[found[3]], found[2], bool(found[1]), found[4], found[5], frame)
        found = re.fullmatch(r"(.+) has (\S+) (.+)", text)
        assert found is not None, text
        return self._fact(place.get(found[1], found[1]), found[2], found[3], frame)

    def _reading(self, node: str, kind: str, change: bool, facts: str | None, test: str, frame: int) -> bool | None:
        sensors = [s for s, own in self.world.binding.items() if own == node and self.world.kinds[s] == kind]
        if len(sensors) > 1:
            raise AmbiguousError(f"{node} has {len(sensors)} sensors of the kind {kind}")
        series = self.changes if change else self.readings.values
        value = series[sensors[0]][frame] if sensors and sensors[0] in series else None
        # A kind may have sensors with numbers and others with states: a test speaks of one or the other.
        truths: list[bool | None] = [None]
        if value is not None and isinstance(value, float) == _is_number(test):
            truths = [self._holds(test, value, sensors[0], series)]
        for fact in _split_facts(facts):
            name, _, of = fact.partition(" ")
            truths.append(self._fact(node, name, of, frame))
        return None if any(truth is None for truth in truths) else all(truths)

    def _holds(self, test: str, value: Any, sensor: str, series: dict[str, list[Any]]) -> bool:
        """Whether a test holds; a number alone stands for all that are rounded to it, with the decimals of its bins."""
        alone = re.fullmatch(rf"(not )?({NUMBER})", test)
        if not isinstance(value, float) or not alone:
            return read_test(test)(value)
        setup, kinds = self.readings.setup, self.world.kinds
        pooled = [s for s in series if kinds[s] == kinds[sensor]] if setup.scope == "kind" else [sensor]
        numbers = [v for s in pooled if s not in self.world.states for v in self.readings.fit_part(series[s])]
        low, high = range_of(_number(alone[2]), decimals_of(numbers))
        return (low <= value < high) is (alone[1] is None)

    def _fact(self, node: str, name: str, test: str, frame: int) -> bool | None:
        value = value_at(self.world, node, name, self.readings.starts[frame])
        return None if value is None else read_test(test)(value)

    def _statement(self, text: str, frame: int) -> bool | None:
        form = r"(some|no) (\S+) sensor in an? (\S+)(?: \((.+)\))? (reads|changes by) (.+)"
        found = re.fullmatch(form, text)
        assert found is not None, text
        truths = []
        for sensor, node in self.world.binding.items():
            if self.world.kinds[sensor] != found[2] or found[3] not in classes_of(self.world, node):
                continue
            series = self.changes if found[5] == "changes by" else self.readings.values
            value = series[sensor][frame] if sensor in series else None
            facts = [fact.partition(" ") for fact in _split_facts(found[4])]
            if value is not None and all(self._fact(node, name, test, frame) for name, _, test in facts):
                # A number is never a state, and a state is never in a range.
                same = isinstance(value, float) == _is_number(found[6])
                truths.append(same and self._holds(found[6], value, sensor, series))
        if not truths:
            return None
        return any(truths) is (found[1] == "some")


def _is_number(test: str) -> bool:
    return re.search(r"[\d∞]", test) is not None


def _split_facts(text: str | None) -> list[str]:
    """The facts in brackets: separated by commas, except within "one of A, B"."""
    out: list[str] = []
    for part in (text or "").split(", "):
        if out and not re.match(r"(size|make|old) ", part):
            out[-1] += f", {part}"
        elif part:
            out.append(part)
    return out
