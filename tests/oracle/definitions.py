"""The documented definitions, one plain function each: windows, bins, ranks, classes, values in time, embeddings.

Nothing here is vectorised or clever, and nothing comes from the package. The pages that define what is computed:
``docs/guide/sensor-data.md`` (windows), ``which-enrichment.md`` (bins, statements), ``lifted-rules.md`` (patterns,
ranks, stars), ``knowledge-graph.md`` (classes, relations, values that change over time).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.oracle.worlds import World

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Bin = tuple[float, float]
"""A half-open range of numbers."""


# Windows


def windows(world: World, length: timedelta) -> list[datetime]:
    """The windows, at multiples of their length, in which some sensor reads."""
    moments = [moment for series in world.readings.values() for moment, _ in series]
    return sorted({EPOCH + (moment - EPOCH) // length * length for moment in moments})


def aggregate(values: list[Any], how: str) -> Any:
    """One value of the readings of a window, in the order of time; ``None`` if there are none."""
    if not values:
        return None
    if how == "mode":
        times = Counter(values)
        return next(value for value in reversed(values) if times[value] == max(times.values()))
    if how == "median":
        ordered = sorted(values)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {
        "last": lambda: values[-1],
        "mean": lambda: sum(values) / len(values),
        "sum": lambda: sum(values),
        "min": lambda: min(values),
        "max": lambda: max(values),
        "range": lambda: max(values) - min(values),
    }[how]()


def windowed(
    world: World, length: timedelta, how: str, hold: timedelta | None
) -> tuple[list[datetime], dict[str, list[Any]]]:
    """The windows between the first and the last reading in which some sensor has a value; by sensor, these values."""
    moments = [moment for series in world.readings.values() for moment, _ in series]
    starts = windows(world, length)
    if hold is not None:
        starts = [starts[0] + step * length for step in range((max(moments) - starts[0]) // length + 1)]
    out = {}
    for sensor, series in world.readings.items():
        chosen = how if sensor not in world.states else "last" if how == "last" else "mode"
        ordered = sorted(series, key=lambda pair: pair[0])
        if hold is None or chosen in ("sum", "median"):
            out[sensor] = [
                aggregate([value for moment, value in ordered if start <= moment < start + length], chosen)
                for start in starts
            ]
        else:
            out[sensor] = [aggregate_held(lasting(ordered, hold, start, start + length), chosen) for start in starts]
    seen = [any(values[at] is not None for values in out.values()) for at in range(len(starts))]
    return list(itertools.compress(starts, seen)), {s: list(itertools.compress(own, seen)) for s, own in out.items()}


def lasting(
    ordered: list[tuple[datetime, Any]], hold: timedelta, start: datetime, end: datetime
) -> list[tuple[Any, timedelta]]:
    """What a sensor reads within a window, and for how long: until its next reading, but no longer than ``hold``."""
    out = []
    for at, (moment, value) in enumerate(ordered):
        until = min(moment + hold, ordered[at + 1][0] if at + 1 < len(ordered) else moment + hold)
        lasts = min(until, end) - max(moment, start)
        if start <= moment < end:
            lasts = max(lasts, timedelta(microseconds=1))
        if lasts > timedelta(0):
            out.append((value, lasts))
    return out


def aggregate_held(pieces: list[tuple[Any, timedelta]], how: str) -> Any:
    """One value of what a sensor reads within a window, weighted by time; ``None`` if it reads nothing."""
    values = [value for value, _ in pieces]
    if not values or how not in ("mean", "mode"):
        return aggregate(values, how)
    second = timedelta(seconds=1)
    if how == "mode":
        lasted: Counter[Any] = Counter()
        for value, lasts in pieces:
            lasted[value] += lasts / second
        return next(value for value in reversed(values) if lasted[value] == max(lasted.values()))
    if len(set(values)) == 1:
        return values[0]
    return sum(value * (lasts / second) for value, lasts in pieces) / sum(lasts / second for _, lasts in pieces)


def changes(values: list[Any], starts: list[datetime], length: timedelta) -> list[Any]:
    """The difference from the window just before, missing if either is, or if that window is left out."""
    at = dict(zip(starts, values, strict=True))
    pairs = [(at.get(start - length), value) for start, value in at.items()]
    return [None if a is None or b is None else b - a for a, b in pairs]


# Bins


def decimals_of(values: Iterable[float]) -> int | None:
    """The fewest decimals, up to six, that write 99 % of the different values but for rounding errors."""
    levels = sorted(set(values))
    noise = max((abs(value) for value in levels), default=0.0) * 1e-12
    for decimals in range(7):
        exceptions = sum(abs(round(value, decimals) - value) > noise for value in levels)
        if levels and Fraction(1, 10**decimals) > 1000 * noise and exceptions * 100 <= len(levels):
            return decimals
    return None


def rounded(values: Iterable[float], decimals: int | None) -> list[float]:
    """Values without rounding errors, in order."""
    return sorted(value if decimals is None else round(value, decimals) + 0.0 for value in values)


def frequent(ordered: Sequence[float], bins: int) -> list[float]:
    """The values that make up more than one in ``bins``, in order."""
    return sorted(value for value, times in Counter(ordered).items() if times * bins > len(ordered))


def range_of(value: float, decimals: int | None) -> Bin:
    """The numbers that are rounded to a value; the value alone without decimals, or if it has more of them."""
    if decimals is None or round(value, decimals) != value:
        return value, math.nextafter(value, math.inf)
    half = Fraction(1, 2 * 10**decimals)
    exact = Fraction(repr(value))
    return float(exact - half), float(exact + half)


def bin_edges(values: Iterable[float], method: str, bins: int) -> list[float]:
    """The inner edges of bins, each as the shortest decimal number that separates the same values.

    With equal counts, a frequent value has a bin of its own, and the others are cut into equal counts. So has a value
    that is the only one, with any method.
    """
    given = list(values)
    if not given:
        return []
    if len(set(given)) == 1:
        return sorted(range_of(given[0], decimals_of(given)))
    if method != "frequency":
        ordered = sorted(given)
        return [shorten(edge, ordered) for edge in _raw_edges(ordered, method, bins)]
    decimals = decimals_of(given)
    ordered = rounded(given, decimals)
    heavy = frequent(ordered, bins)
    rest = [value for value in ordered if value not in heavy]
    edges = {end for value in heavy for end in range_of(value, decimals)}
    for edge in _raw_edges(rest, method, bins) if rest else ():
        before = max(value for value in rest if value < edge)
        if not any(before < value < edge for value in heavy):
            edges.add(shorten(edge, rest))
    return sorted(edges)


def shorten(edge: float, values: Sequence[float]) -> float:
    """The coarsest decimal number above the values below an edge and not above the others, the nearest to the edge.

    An edge of up to three digits stays.
    """
    exact = Fraction(repr(edge))
    if len(Decimal(repr(edge)).normalize().as_tuple().digits) <= 3:
        return edge
    low = max(Fraction(repr(value)) for value in values if value < edge)
    high = min(Fraction(repr(value)) for value in values if value >= edge)
    largest = max(Decimal(repr(float(low))).adjusted(), Decimal(repr(float(high))).adjusted())
    for exponent in range(largest, -18, -1):
        unit = Fraction(10) ** exponent
        # The nearest multiple of the unit, or the first or last one inside.
        tried = (math.floor(exact / unit + Fraction(1, 2)), math.floor(low / unit) + 1, math.floor(high / unit))
        inside = [k for k in tried if low < k * unit <= high]
        if inside:
            return float(min(inside, key=lambda k: (abs(k * unit - exact), -k)) * unit) + 0.0
    return edge


def _raw_edges(ordered: list[float], method: str, bins: int) -> list[float]:
    if method == "width":
        step = (ordered[-1] - ordered[0]) / bins
        wanted = sorted({ordered[0] + i * step for i in range(1, bins)}) if step else []
        return [
            edge
            for edge, following in itertools.pairwise([*wanted, math.inf])
            if any(edge <= value < following for value in ordered)
        ]
    assert method == "frequency"
    # Bins of equal count: edge i is the reading at position floor(i · n / bins). A value on which two edges fall, and
    # the smallest value, get a further edge behind them; an edge at the smallest value bounds nothing.
    hits = Counter(ordered[i * len(ordered) // bins] for i in range(1, bins))
    edges = set(hits)
    for value, times in hits.items():
        behind = [other for other in ordered if other > value]
        if behind and (times > 1 or value == ordered[0]):
            edges.add(behind[0])
    return sorted(edge for edge in edges if edge > ordered[0])


def bin_of(value: float, edges: Sequence[float]) -> Bin:
    """The bin of a number; the outer bins are unbounded."""
    bounds = [-math.inf, *edges, math.inf]
    return next((low, high) for low, high in itertools.pairwise(bounds) if low <= value < high)


class Ranks:
    """The ranks of a series in its own history.

    Edge i is the reading at position floor(i · n / bins) of the sorted history, or half a step of its decimals below. A
    value that makes up more than one in ``bins`` readings of this or of another series has no rank and is named by
    itself. A series that has no readings or never changes has no ranks; what never changes is named if others name it.
    """

    def __init__(self, history: Iterable[float | None], bins: int) -> None:
        given = [value for value in history if value is not None]
        self.bins, self.decimals = bins, decimals_of(given)
        ordered = rounded(given, self.decimals)
        self.varies = bool(ordered) and ordered[0] != ordered[-1]
        raw = [ordered[i * len(ordered) // bins] for i in range(1, bins)] if self.varies else []
        self.edges = [edge if self.decimals is None else range_of(edge, self.decimals)[0] for edge in raw]
        self.ties = set(frequent(ordered, bins)) if self.varies else set(ordered[:1])

    def of(self, value: float | None, named: set[float]) -> Bin | str | None:
        """The rank or the name of a value; ``named`` are the values that series which change are named by."""
        if value is None:
            return None
        for tie in sorted(named if self.varies else self.ties & named):
            low, high = range_of(tie, self.decimals)
            if low <= value < high:
                return repr(float(tie) + 0.0).removesuffix(".0")
        if not self.varies:
            return None
        code = sum(edge <= value for edge in self.edges)
        low = -math.inf if code == 0 else code / self.bins
        high = math.inf if code == self.bins - 1 else (code + 1) / self.bins
        return low, high


# The graph


def ancestors(world: World, name: str) -> set[str]:
    """A class and all classes above it."""
    out = {name}
    for parent in world.classes.get(name, ()):
        out |= ancestors(world, parent)
    return out


def classes_of(world: World, node: str) -> set[str]:
    """The classes that a node is in."""
    return set().union(*(ancestors(world, label) for label in world.labels[node]))


def most_specific(world: World, names: Iterable[str]) -> str:
    """The class that is above none of the others; of several, the first by name."""
    ordered = sorted(names)
    return next((a for a in ordered if not any(a in ancestors(world, b) - {b} for b in ordered)), "")


def general_relations(world: World, name: str) -> set[str]:
    """A relation and all more general ones."""
    out = {name}
    for parent in world.relations[name].parents if name in world.relations else ():
        out |= general_relations(world, parent)
    return out


def is_edge(world: World, source: str, target: str, relation: str, *, either: bool = False) -> bool:
    """Whether an edge with the relation, or a more special one, goes from one node to the other."""
    either = either or (relation in world.relations and world.relations[relation].symmetric)
    ends = {(source, target), (target, source)} if either else {(source, target)}
    return any(
        (edge.source, edge.target) in ends and (not relation or relation in general_relations(world, edge.relation))
        for edge in world.edges
    )


def value_at(world: World, node: str, name: str, moment: datetime) -> Any:
    """The value of a property that is valid at a moment, or ``None``."""
    value = world.properties.get(node, {}).get(name)
    for subject, own, start, later in sorted(world.dated, key=lambda entry: entry[2]):
        if (subject, own) == (node, name) and start <= moment:
            value = later
    return value


def properties_of(world: World, node: str) -> list[str]:
    """The names of all properties of a node, dated or not."""
    return sorted({*world.properties.get(node, {}), *(name for subject, name, _, _ in world.dated if subject == node)})


# Embeddings


def node_matches(world: World, pattern: Any) -> Iterator[tuple[str, ...]]:
    """Every choice of a different node for each variable, in every order, that has the classes and the edges."""
    names = [variable.name for variable in pattern.nodes]
    for chosen in itertools.permutations(world.labels, len(names)):
        at = dict(zip(names, chosen, strict=True))
        if all(not v.label or v.label in classes_of(world, at[v.name]) for v in pattern.nodes) and all(
            is_edge(world, at[link.source], at[link.target], link.label, either=not link.directed)
            for link in pattern.links
        ):
            yield chosen


def embeddings(world: World, pattern: Any) -> Iterator[tuple[str, ...]]:
    """Every match of a pattern: the nodes, then a different sensor for each sensor variable.

    A sensor is of the kind and at the node of its variable. An optional variable is "" if no sensor is left for it; a
    node all of whose sensors are optional must have one of them, unless it is the focus of a star.
    """
    for nodes in node_matches(world, pattern):
        at = dict(zip((v.name for v in pattern.nodes), nodes, strict=True))
        options = [
            [s for s, node in world.binding.items() if node == at[v.host] and v.kind in ("", world.kinds[s])]
            for v in pattern.sensors
        ]
        hosts = {v.host for v in pattern.sensors if all(w.optional for w in pattern.sensors if w.host == v.host)}
        own = {h: [o for v, o in zip(pattern.sensors, options, strict=True) if v.host == h] for h in hosts}
        if not pattern.roles and not all(any(group) for group in own.values()):
            continue
        slots = [[*found, ""] if v.optional else found for v, found in zip(pattern.sensors, options, strict=True)]
        for chosen in itertools.product(*slots):
            used = [sensor for sensor in chosen if sensor]
            left = [set(found) - set(used) for found in options]
            if len(set(used)) == len(used) and not any(
                not sensor and rest for sensor, rest in zip(chosen, left, strict=True)
            ):
                yield (*nodes, *chosen)


def role_members(world: World, focus: str, role: Any, carrying: Iterable[str]) -> list[str]:
    """The nodes in a role of a star, without its focus.

    They are all that the path reaches, or the nearest of the nodes that are ``carrying`` a sensor: by the number of
    edges, then by id.
    """
    if role.nearest:
        (step,) = role.steps
        far = _distances(world, focus, step)
        wanted = {node for node in carrying if not step.target or step.target in classes_of(world, node)}
        return sorted((wanted & set(far)) - {focus}, key=lambda node: (far[node], node))[: role.nearest]
    reached = {focus}
    for step in role.steps:
        reached = {
            node
            for node in world.labels
            if (not step.target or step.target in classes_of(world, node))
            and any(_leads(world, origin, node, step) for origin in reached)
        }
    return sorted(reached - {focus})


def _leads(world: World, origin: str, node: str, step: Any) -> bool:
    """Whether an edge leads from one node to the other in the direction of a step; the class does not matter."""
    return (step.direction in ("out", "any") and is_edge(world, origin, node, step.label)) or (
        step.direction in ("in", "any") and is_edge(world, node, origin, step.label)
    )


def _distances(world: World, focus: str, step: Any) -> dict[str, int]:
    """The least number of edges to each node that a repeated step reaches."""
    far = {focus: 0}
    for distance in range(1, len(world.labels)):
        last = [node for node, known in far.items() if known == distance - 1]
        far |= {
            node: distance
            for node in world.labels
            if node not in far and any(_leads(world, origin, node, step) for origin in last)
        }
    return far
