"""The tables of the four enrichments, written out row by row from a ``World``.

A column is a list with one ``Cell`` per row: its bin or category, which is what the package's table must hold, and the
number behind it, on which rules are evaluated. ``None`` is a missing value.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.oracle.definitions import (
    Bin,
    Ranks,
    bin_edges,
    bin_of,
    changes,
    classes_of,
    embeddings,
    most_specific,
    properties_of,
    role_members,
    value_at,
    windowed,
)
from tests.oracle.worlds import World

LENGTH = timedelta(minutes=30)
HOLDS = {"none": None, "20min": timedelta(minutes=20), "1h30min": timedelta(minutes=90)}
RESERVED = {"value", "rank", "some", "in", "not", "time", "inf", "nan", "true", "false"}
VERBS = {"have": "has", "are": "is"}


@dataclass(frozen=True)
class Setup:
    """The settings of a table, as ``th.transactions`` takes them."""

    enrich: str
    bins: int = 3
    scope: str = "kind"
    method: str = "frequency"
    aggregate: str = "mean"
    hold: str = "none"
    derive: tuple[str, ...] = ()
    fit_until: datetime | None = None
    hops: int | None = None
    given: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A value in a row: its bin, category or rank, and the number or state itself."""

    code: Bin | str | float | bool
    raw: Any


@dataclass
class Column:
    """A feature in every row.

    Args:
        cells: One per row.
        context: Whether it comes from the graph or the calendar.
        only: The value that is an item, if not all are: a statement is an item where it is true.
        about: What the column is computed from; two columns about the same may be left out of one rule as trivial.
    """

    cells: list[Cell | None]
    context: bool = False
    only: Any = None
    about: frozenset[Any] = frozenset()


@dataclass
class Block:
    """Columns over frames × embeddings, with frames varying fastest."""

    columns: dict[str, Column]
    frames: int
    pattern: str = ""
    places: list[tuple[str, ...]] = field(default_factory=lambda: [()])

    @property
    def rows(self) -> int:
        return self.frames * len(self.places)


def quote(name: str) -> str:
    """A name in the text form of items."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in RESERVED else f"`{name}`"


class Readings:
    """The windows of a world and the values in them."""

    def __init__(self, world: World, setup: Setup) -> None:
        self.world, self.setup = world, setup
        self.starts, self.values = windowed(world, LENGTH, setup.aggregate, HOLDS[setup.hold])
        until = setup.fit_until
        self.fitting = [until is None or start < until for start in self.starts]

    def fit_part(self, values: Sequence[Any]) -> list[Any]:
        """The values of the fitting period."""
        return [value for value, fits in zip(values, self.fitting, strict=True) if fits and value is not None]

    def series(self) -> list[tuple[str, str, list[Any]]]:
        """Sensor, name of a derived quantity, and values: the readings of numeric sensors and their changes."""
        numeric = [sensor for sensor in self.values if sensor not in self.world.states]
        out = [(sensor, "", self.values[sensor]) for sensor in numeric]
        if "change" in self.setup.derive:
            out += [(sensor, "change", changes(self.values[sensor], self.starts, LENGTH)) for sensor in numeric]
        return out

    def calendar(self) -> dict[str, Column]:
        """Hour of day and day of week, as asked for."""
        out = {}
        for name in ("hour", "weekday"):
            if name in self.setup.derive:
                numbers = [float(s.hour if name == "hour" else s.weekday()) for s in self.starts]
                out[f"(time).value:{name}"] = Column([Cell(n, n) for n in numbers], context=True)
        return out


class Bins:
    """The bins of a group of numbers."""

    def __init__(self, values: Iterable[float], setup: Setup, key: str, *, method: str | None = None) -> None:
        chosen, known = method or setup.method, sorted(values)
        self.categories: set[float] | None = None
        self.varied = key in setup.given or len(set(known)) > 1
        if key in setup.given:
            self.edges = list(setup.given[key])
        elif chosen == "distinct" and known and len(set(known)) <= 20:
            self.categories = set(known)
        else:
            self.edges = bin_edges(known, "frequency" if chosen == "distinct" else chosen, setup.bins)

    def cell(self, value: float | None) -> Cell | None:
        if value is None:
            return None
        if self.categories is not None:
            return Cell(value, value) if value in self.categories else None
        return Cell(bin_of(value, self.edges), value)


def _category(value: Any) -> Cell | None:
    return None if value is None else Cell(value, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and not isinstance(value, bool)


def _binned(readings: Readings, scope: str) -> list[tuple[str, str, list[Cell | None]]]:
    """Sensor, derived quantity and cells: the numeric readings in the bins of their kind or of their own."""
    world, setup = readings.world, readings.setup

    def key(sensor: str, name: str) -> str:
        group = sensor if scope == "sensor" else world.kinds[sensor]
        return f"{group}.{name}" if name else group

    pooled: dict[str, list[float]] = {}
    for sensor, name, values in readings.series():
        pooled.setdefault(key(sensor, name), []).extend(readings.fit_part(values))
    bins = {group: Bins(values, setup, group) for group, values in pooled.items()}
    return [
        (sensor, name, [bins[key(sensor, name)].cell(value) for value in values])
        for sensor, name, values in readings.series()
    ]


def _states(readings: Readings) -> list[tuple[str, list[Cell | None]]]:
    return [
        (sensor, [_category(value) for value in values])
        for sensor, values in readings.values.items()
        if sensor in readings.world.states
    ]


# none and grounded


def plain_table(world: World, setup: Setup) -> list[Block]:
    """A row per frame, a column per sensor, and with ``grounded`` one per property of a node around the sensors."""
    readings = Readings(world, setup)
    columns: dict[str, Column] = {}
    for sensor, name, cells in _binned(readings, setup.scope):
        text = f"({quote(sensor)}:{quote(world.kinds[sensor])}).value" + (f":{name}" if name else "")
        columns[text] = Column(cells)
    for sensor, cells in _states(readings):
        columns[f"({quote(sensor)}:{quote(world.kinds[sensor])}).value"] = Column(cells)
    columns |= readings.calendar()
    if setup.enrich == "grounded":
        columns |= _node_columns(readings)
    return [Block(columns, len(readings.starts))]


def _near(world: World, hops: int) -> list[str]:
    """The nodes with sensors, and those within a number of edges."""
    found = {world.binding[sensor] for sensor in world.readings}
    for _ in range(hops):
        found |= {e.target for e in world.edges if e.source in found} | {
            e.source for e in world.edges if e.target in found
        }
    return sorted(found)


def _node_columns(readings: Readings) -> dict[str, Column]:
    """Properties in the bins of their class; a property is missing where no value of it is valid."""
    world = readings.world
    values: dict[tuple[str, str], list[Any]] = {}
    pooled: dict[str, list[float]] = {}
    for node in _near(world, readings.setup.hops or 0):
        for name in properties_of(world, node):
            own = [value_at(world, node, name, start) for start in readings.starts]
            if any(value is not None for value in own):
                values[node, name] = own
                if _is_number(next(value for value in own if value is not None)):
                    group = f"{most_specific(world, world.labels[node])}.{name}"
                    pooled.setdefault(group, []).extend({value for value in own if value is not None})
    out = {}
    for (node, name), own in values.items():
        label = most_specific(world, world.labels[node])
        group = f"{label}.{name}"
        bins = Bins(pooled[group], readings.setup, group) if group in pooled else None
        cells = [bins.cell(value) if bins else _category(value) for value in own]
        out[f"({quote(node)}:{quote(label)}).{quote(name)}"] = Column(cells, context=True)
    return out


# existential


@dataclass(frozen=True)
class _Statement:
    """Some sensor of a kind in a node of a class, where a property has a value; ``name`` is a derived quantity."""

    kind: str
    name: str
    host: str
    property: str = ""
    value: Any = None


def existential_table(world: World, setup: Setup) -> list[Block]:
    """A row per frame, and a column per statement "some sensor of a kind in such a node reads in this range".

    A statement is true in a frame if one of its sensors reads in the range, false if none does, and missing if none of
    them has a reading. Classes with the same sensors of a kind are one class, the most specific; so are statements with
    the same sensors in the same frames that differ in their class and its bins only.
    """
    readings = Readings(world, setup)
    series = [(s, name, cells) for s, name, cells in _binned(readings, "kind")]
    series += [(s, "", cells) for s, cells in _states(readings)]
    hosts = _hosts(world, [(sensor, name) for sensor, name, _ in series])
    found: dict[_Statement, list[tuple[int, tuple[bool, ...]]]] = {}
    always = tuple([True] * len(readings.starts))
    conditions = _conditions(readings, hosts)
    for at, (sensor, name, _) in enumerate(series):
        for host in hosts[sensor, name]:
            kind = world.kinds[sensor]
            found.setdefault(_Statement(kind, name, host), []).append((at, always))
            for prop, value, there in conditions.get((world.binding[sensor], host), ()):
                found.setdefault(_Statement(kind, name, host, prop, value), []).append((at, there))
    alike: dict[Any, list[_Statement]] = {}
    for statement, witnesses in found.items():
        key = (statement.kind, statement.name, statement.property, tuple(sorted(witnesses)))
        alike.setdefault(key, []).append(statement)
    columns: dict[str, Column] = {}
    for same in alike.values():
        best = most_specific(world, {statement.host for statement in same})
        statement = next(each for each in same if each.host == best)
        witnesses = found[statement]
        for code in {cell.code for at, _ in witnesses for cell in series[at][2] if cell is not None}:
            truths = [
                [
                    cell.code == code
                    for at, there in witnesses
                    if (cell := series[at][2][frame]) is not None and there[frame]
                ]
                for frame in range(len(readings.starts))
            ]
            if any(any(truth) for truth in truths):
                about = frozenset({(statement.kind, statement.name, code)})
                cells = [Cell(any(truth), any(truth)) if truth else None for truth in truths]
                columns[_statement_text(statement, code)] = Column(cells, only=True, about=about)
    columns |= readings.calendar()
    return [Block(columns, len(readings.starts))]


def _hosts(world: World, quantities: list[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """The classes in which statements about a sensor place it: all its classes, without synonyms."""
    out: dict[tuple[str, str], list[str]] = {quantity: [] for quantity in quantities}
    for kind, name in {(world.kinds[sensor], name) for sensor, name in quantities}:
        members: dict[str, set[str]] = {}
        for sensor, own in quantities:
            if (world.kinds[sensor], own) == (kind, name):
                for label in classes_of(world, world.binding[sensor]):
                    members.setdefault(label, set()).add(sensor)
        for label, sensors in members.items():
            if label == most_specific(world, [other for other, own in members.items() if own == sensors]):
                for sensor in sensors:
                    out[sensor, name].append(label)
    return out


def _conditions(
    readings: Readings, hosts: dict[tuple[str, str], list[str]]
) -> dict[tuple[str, str], list[tuple[str, Any, tuple[bool, ...]]]]:
    """By node and class: properties, values or bins of them, and in which frames they are valid.

    Each class has bins of its own, fitted to its nodes with sensors, each distinct value of a node once.
    """
    world = readings.world
    placed = {(world.binding[sensor], host) for (sensor, _), names in hosts.items() for host in names}
    pooled: dict[tuple[str, str], list[float]] = {}
    values: dict[tuple[str, str, str], list[Any]] = {}
    for node, host in placed:
        for name in properties_of(world, node):
            own = [value_at(world, node, name, start) for start in readings.starts]
            values[node, host, name] = own
            known = {value for value in own if value is not None}
            if any(_is_number(value) for value in known):
                pooled.setdefault((host, name), []).extend(known)
    out: dict[tuple[str, str], list[tuple[str, Any, tuple[bool, ...]]]] = {}
    for (node, host, name), own in values.items():
        bins = None
        if (host, name) in pooled:
            bins = Bins(pooled[host, name], readings.setup, f"{host}.{name}")
        cells = [bins.cell(value) if bins else _category(value) for value in own]
        for code in {cell.code for cell in cells if cell is not None}:
            there = tuple(cell is not None and cell.code == code for cell in cells)
            out.setdefault((node, host), []).append((name, code, there))
    return out


def _statement_text(statement: _Statement, code: Any) -> str:
    condition = f"{{{quote(statement.property)} {form_of(statement.value)}}}" if statement.property else ""
    base = "value" + (f":{statement.name}" if statement.name else "")
    host = f" in {quote(statement.host)}" if statement.host else ""
    return f"(some {quote(statement.kind)}{host}{condition}).{base} {form_of(code)}"


def form_of(code: Any) -> str:
    """The test of a bin or category in the text form of items."""
    if isinstance(code, tuple):
        low, high = (bound + 0.0 for bound in code)
        if low == float("-inf") and high != float("inf"):
            return f"< {high!r}"
        if high == float("inf") and low != float("-inf"):
            below = math.nextafter(low, -math.inf)
            return f"≥ {low!r}" if len(repr(low)) <= len(repr(below)) else f"> {below!r}"
        if high == math.nextafter(low, math.inf):
            return f"= {low!r}"
        return f"∈ [{low!r}, {high!r})"
    return f"= {str(code).lower()}" if isinstance(code, bool) else f"= {code!r}"


# lifted


class Lifted:
    """A row per frame of every match of a pattern. Bins of properties are fitted where a pattern first needs them."""

    def __init__(self, world: World, setup: Setup) -> None:
        self.readings = Readings(world, setup)
        self.world, self.setup = world, setup
        self.ranked = setup.scope == "sensor"
        self.property_bins: dict[str, Bins] = {}
        self.pools: dict[str, Bins] = {}
        self.encoded: dict[tuple[str, str], list[Cell | None]] = {}
        if self.ranked:
            groups: dict[tuple[str, str], dict[str, list[Any]]] = {}
            for sensor, name, values in self.readings.series():
                groups.setdefault((world.kinds[sensor], name), {})[sensor] = values
            for (_, name), series in groups.items():
                for sensor, cells in zip(series, self.rank(list(series.values())), strict=True):
                    self.encoded[sensor, name] = cells
        else:
            self.encoded = {(s, name): cells for s, name, cells in _binned(self.readings, "kind")}

    def rank(self, several: list[list[Any]]) -> list[list[Cell | None]]:
        """The ranks of several series of one quantity, which name frequent values alike."""
        ranks = [Ranks(self.readings.fit_part(values), self.setup.bins) for values in several]
        named = {tie for own in ranks if own.varies for tie in own.ties}
        return [
            [None if (code := own.of(value, named)) is None else Cell(code, value) for value in values]
            for own, values in zip(ranks, several, strict=True)
        ]

    def block(self, pattern: Any) -> Block | None:
        """The block of a pattern, which is given as the package's public type."""
        places = sorted(embeddings(self.world, pattern))
        if not places:
            return None
        columns = self._reading_columns(pattern, places)
        columns |= self._star_columns(pattern, places)
        columns |= self._property_columns(pattern, places)
        for name, column in self.readings.calendar().items():
            columns[name] = Column(column.cells * len(places), context=True)
        return Block(columns, len(self.readings.starts), str(pattern), places)

    def _reading_columns(self, pattern: Any, places: list[tuple[str, ...]]) -> dict[str, Column]:
        world, none = self.world, [None] * len(self.readings.starts)
        states = dict(_states(self.readings))
        numeric = {world.kinds[sensor] for sensor, _ in self.encoded}
        base = "rank" if self.ranked else "value"
        out: dict[str, Column] = {}
        for at, variable in enumerate(pattern.sensors, start=len(pattern.nodes)):
            for kind in sorted(set(world.kinds.values())):
                if variable.kind not in ("", kind):
                    continue
                subject = f"(?{quote(variable.name)}:{quote(kind)})"
                options: list[tuple[str, dict[str, list[Cell | None]]]] = [
                    (f"{subject}.{base}" + (f":{name}" if name else ""), {
                        s: cells for (s, own), cells in self.encoded.items() if own == name and world.kinds[s] == kind
                    })
                    for name in ("", *(["change"] if "change" in self.setup.derive else []))
                ]  # fmt: skip
                suffix = ":state" if kind in numeric and not self.ranked else ""
                options.append(
                    (f"{subject}.value{suffix}", {s: c for s, c in states.items() if world.kinds[s] == kind})
                )
                for text, series in options:
                    if any(place[at] in series for place in places):
                        out[text] = Column([cell for place in places for cell in series.get(place[at], none)])
        return out

    def _property_columns(self, pattern: Any, places: list[tuple[str, ...]]) -> dict[str, Column]:
        world, starts = self.world, self.readings.starts
        out: dict[str, Column] = {}
        for at, variable in enumerate(pattern.nodes):
            nodes = sorted({place[at] for place in places})
            for name in sorted({name for node in nodes for name in properties_of(world, node)}):
                values = {node: [value_at(world, node, name, start) for start in starts] for node in nodes}
                known = {value for own in values.values() for value in own if value is not None}
                if not known:
                    continue
                if any(_is_number(value) for value in known):
                    key = f"{variable.label}.{name}"
                    if key not in self.property_bins:
                        pooled = [value for own in values.values() for value in {*own} - {None}]
                        self.property_bins[key] = Bins(pooled, self.setup, key, method="frequency")
                    bins = self.property_bins[key]
                    cells = {node: [bins.cell(value) for value in own] for node, own in values.items()}
                    varied = bins.varied
                else:
                    cells = {node: [_category(value) for value in own] for node, own in values.items()}
                    varied = len(known) > 1
                if varied:
                    label = f":{quote(variable.label)}" if variable.label else ""
                    text = f"(?{quote(variable.name)}{label}).{quote(name)}"
                    out[text] = Column([cell for place in places for cell in cells[place[at]]], context=True)
        return out

    def _star_columns(self, pattern: Any, places: list[tuple[str, ...]]) -> dict[str, Column]:
        """Aggregates of the neighbours of the focus, which is the first variable."""
        if not pattern.roles:
            return {}
        world, frames = self.world, range(len(self.readings.starts))
        numeric = {world.kinds[sensor] for sensor in world.readings if sensor not in world.states}
        gathered: dict[Any, dict[str, list[list[float | None]]]] = {}
        several: dict[Any, bool] = {}
        read: dict[Any, list[set[str]]] = {}
        for role in pattern.roles:
            if role.kind not in numeric:
                continue
            carrying = {world.binding[s] for s in self.readings.values
                        if s not in world.states and world.kinds[s] == role.kind and s in world.binding}  # fmt: skip
            around = [role_members(world, place[0], role, carrying) for place in places]
            several[role] = any(len(members) > 1 for members in around)
            gathered[role] = {name: [] for name in ("total", "mean", "lowest", "highest")}
            read[role] = []
            for members in around:
                sensors = [[s for s in self.readings.values if s not in world.states and world.kinds[s] == role.kind
                            and world.binding[s] == node] for node in members]  # fmt: skip
                read[role].append({s for group in sensors for s in group})
                series = [self.readings.values[s] for group in sensors for s in group]
                for name in gathered[role]:
                    gathered[role][name].append(
                        [_combine(name, [own[f] for own in series], whole=all(sensors)) for f in frames]
                    )
        out: dict[str, Column] = {}
        focus = pattern.nodes[0].name
        # Aggregates are about the same if they read some of the same sensors around most foci that have both.
        about: dict[Any, set[Any]] = {role: {role} for role in gathered}
        for first, second in itertools.combinations(gathered, 2):
            shared = [bool(a & b) for a, b in zip(read[first], read[second], strict=True) if a and b]
            if sum(shared) * 2 > len(shared):
                about[first].add((first, second))
                about[second].add((first, second))

        def add(name: str, kind: str, series: list[list[float | None]], *roles: Any) -> None:
            if all(value is None for own in series for value in own):
                return
            if self.ranked:
                cells = [cell for own in self.rank(series) for cell in own]
            else:
                key = f"{kind}.{name}"
                if key not in self.pools:
                    fit = [value for own in series for value in self.readings.fit_part(own)]
                    self.pools[key] = Bins(fit, self.setup, key)
                cells = [self.pools[key].cell(value) for own in series for value in own]
            base = "rank" if self.ranked else "value"
            out[f"(?{quote(focus)}:{quote(kind)}).{base}:{quote(name)}"] = Column(
                cells, about=frozenset().union(*(about[role] for role in roles))
            )

        def singular(role: Any) -> str:
            target = role.steps[-1].target
            name = role.name.removeprefix(f"{role.nearest} ") if role.nearest else role.name
            one = str(name.replace(f"{target}s", target, 1))
            return re.sub(r" that (\w+)", lambda verb: f" that {VERBS.get(verb[1], verb[1] + 's')}", one, count=1)

        for role, found in gathered.items():
            if not several[role]:
                add(f"value of the {singular(role)}", role.kind, found["mean"], role)
                continue
            for name, series in found.items():
                if name != "total" or (len(role.steps) == 1 and not role.nearest):
                    add(f"{name} of the {role.name}", role.kind, series, role)
        near = [role for role in gathered if len(role.steps) == 1 and not role.nearest]
        for first, second in itertools.combinations(near, 2):
            if first.kind == second.kind:
                pairs = zip(gathered[first]["total"], gathered[second]["total"], strict=True)
                net = [[None if a is None or b is None else a - b for a, b in zip(x, y, strict=True)] for x, y in pairs]
                # Between single neighbours it is a difference, not a balance.
                single = not (several[first] or several[second])
                names = (
                    f"{singular(first)} minus the {singular(second)}"
                    if single
                    else f"{first.name} minus the {second.name}"
                )
                add(f"{'difference' if single else 'net'} of the {names}", first.kind, net, first, second)
        return out


def _combine(name: str, values: list[float | None], *, whole: bool) -> float | None:
    """A total needs a reading of every sensor, and a sensor at every neighbour; the others need one reading."""
    known = [value for value in values if value is not None]
    if name == "total":
        return float(sum(known)) if whole and len(known) == len(values) else None
    if not known:
        return None
    return {"mean": sum(known) / len(known), "lowest": min(known), "highest": max(known)}[name]
