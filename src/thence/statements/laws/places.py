"""Places: the nodes that a pattern matches, and which series make up a term at each of them.

A total is known only where every neighbour in the role has exactly one sensor of the kind: a sum over some of the pipes
of a junction is not its balance. A place without neighbours in the role has the total 0. A reading is known where the
node has exactly one sensor of the kind. Series are computed for the frames that are asked for, so nothing of the size
frames × places is kept. This module fits and counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex, find_embeddings, most_specific_label
from thence.data.readings.sensors import site_of_id
from thence.data.readings.windows import WindowedReadings
from thence.language.patterns import Pattern, StarRole
from thence.statements.laws.terms import Combination, Condition, Term

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NONE, _SEVERAL = -1, -2
_BLOCK = 250_000  # cells of a block of frames × places
_PIECE = 4_000_000  # cells of the places that are counted together if the readings of a sensor lie together
_MOST_FRAMES = 2_000  # frames of a sample
_FEW_FRAMES = 200  # frames that show how much all sensors of a kind vary


@dataclass(frozen=True)
class Slots:
    """Which columns are added up at each place, and what is added to them."""

    columns: Ints  # places × slots; −1 for an empty slot
    known: Bools
    constant: Floats

    @cached_property
    def used(self) -> Ints:
        """All columns, each once."""
        return np.unique(self.columns[self.columns >= 0])

    @cached_property
    def layers(self) -> tuple[tuple[Bools | None, Ints], ...]:
        """For each slot, the places at which it is filled (``None`` for all) and their columns."""
        filled = self.columns >= 0
        return tuple(
            (None if mask.all() else mask, columns[mask])
            for mask, columns in zip(filled.T, self.columns.T, strict=True)
            if mask.any()
        )


@dataclass(frozen=True)
class Clock:
    """The frames of each site: which follow each other, how many there are, and where the later part begins.

    Args:
        names: The names of the sites; one empty string for a single system.
        follows: Sites × frames: whether the next frame begins when this one ends.
        frames: Number of frames of each site.
        begins_later: The first frame of the later part of each site.
        hours: Length of a frame.
    """

    names: tuple[str, ...]
    follows: Bools
    frames: Ints
    begins_later: Ints
    hours: float

    @staticmethod
    def of(readings: WindowedReadings, fit_share: float) -> Clock:
        """Return the clock of windowed readings.

        Args:
            readings: The readings, of one system or of several.
            fit_share: Share of the frames before the later part.
        """
        times = readings.by_site
        follows = np.zeros((len(times), len(readings)), bool)
        every = np.timedelta64(round(readings.every.total_seconds() * 1e6), "us")
        for at, own in enumerate(times.values()):
            follows[at, : max(len(own) - 1, 0)] = np.diff(own.astype("datetime64[us]")) == every
        frames = np.array([len(own) for own in times.values()], np.int64)
        begins = np.round(frames * fit_share).astype(np.int64)
        return Clock(tuple(times), follows, frames, begins, readings.every.total_seconds() / 3600)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a pattern with the readings there.

    Args:
        pattern: A star, or a node with its sensors.
        nodes: Number of the node of each place.
        readings: The readings.
        carriers: The graph and the nodes that carry sensors.
        clock: The frames.
    """

    pattern: Pattern
    nodes: Ints
    readings: WindowedReadings
    carriers: Carriers
    clock: Clock
    _shared: dict[tuple[str, str], npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(pattern: Pattern, readings: WindowedReadings, carriers: Carriers, clock: Clock) -> Places:
        """Find the places of a pattern: the nodes of its class.

        Args:
            pattern: A star, or a node with its sensors.
            readings: The readings.
            carriers: The graph and the nodes that carry sensors.
            clock: The frames.
        """
        alone = replace(pattern, links=(), sensors=(), roles=())
        return Places(pattern, find_embeddings(alone, carriers.index)[:, 0], readings, carriers, clock)

    def __len__(self) -> int:
        return len(self.nodes)

    def take(self, chosen: npt.NDArray[np.bool_] | Ints) -> Places:
        """Return some of the places.

        Args:
            chosen: A mask or positions.
        """
        if chosen.dtype == np.bool_ and chosen.all():
            return self
        return replace(self, nodes=self.nodes[chosen])

    @property
    def index(self) -> GraphIndex:
        """The graph."""
        return self.carriers.index

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The node id of each place."""
        return tuple(self.index.ids[node] for node in self.nodes.tolist())

    @cached_property
    def labels(self) -> npt.NDArray[np.object_]:
        """The most specific class of each place."""
        graph, ontology = self.index.graph, self.index.ontology
        return np.array([most_specific_label(graph.node(id).labels, ontology) for id in self.ids], dtype=object)

    @cached_property
    def site_of(self) -> Ints:
        """The number of the site of each place."""
        if len(self.clock.names) == 1 and not self.clock.names[0]:
            return np.zeros(len(self), np.int64)
        number = {name: at for at, name in enumerate(self.clock.names)}
        return np.array([number[site_of_id(id)] for id in self.ids], np.int64)

    @cached_property
    def unit_of(self) -> Mapping[str, str]:
        """The unit of each numeric kind; kinds whose sensors have different units are left out."""
        role_of = self.carriers.units.role_of if self.pattern.has_points else {}
        units: dict[str, set[str]] = {}
        for sensor in self.readings.numeric:
            units.setdefault(role_of.get(sensor.id, sensor.kind), set()).add(sensor.unit)
        return {kind: next(iter(found)) for kind, found in units.items() if len(found) == 1}

    @cached_property
    def state_kinds(self) -> tuple[str, ...]:
        """The kinds of the categorical sensors at the places."""
        role_of = self.carriers.units.role_of if self.pattern.has_points else {}
        kinds = {role_of.get(sensor.id, sensor.kind) for sensor in self.readings.categorical}
        return tuple(sorted(kind for kind in kinds if (self._state_sensors(kind) >= 0).any()))

    def role(self, name: str) -> StarRole:
        """Return a role of the pattern by its name; several kinds may share the name and the path."""
        return next(role for role in self.pattern.roles if role.name == name)

    def has_one_each(self, role: str) -> bool:
        """Return whether every place has exactly one neighbour in a role.

        Args:
            role: The name of the role.
        """
        origin, _ = self._members[role]
        return bool(len(origin)) and bool((np.bincount(origin, minlength=len(self)) == 1).all())

    def members_key(self, role: str) -> tuple[bytes, bytes]:
        """Return what identifies the neighbours in a role at all places.

        Args:
            role: The name of the role.
        """
        origin, nodes = self._members[role]
        order = np.lexsort((nodes, origin))
        return origin[order].tobytes(), nodes[order].tobytes()

    @cached_property
    def _members(self) -> dict[str, tuple[Ints, Ints]]:
        return {role.name: self.carriers.members_of(role, self.nodes, self.pattern) for role in self.pattern.roles}

    @cached_property
    def _cached_slots(self) -> dict[tuple[str, str, str, str], Slots]:
        return {}

    def _slots(self, term: Term) -> Slots:
        key = (term.form, term.name, term.role, term.plus)
        if key not in self._cached_slots:
            self._cached_slots[key] = self._make_slots(term)
        return self._cached_slots[key]

    def _make_slots(self, term: Term) -> Slots:
        size = len(self)
        if term.form == "total":
            origin, nodes = self._members[term.role]
            columns = self._column_at(term.name)[nodes]
            counts = np.bincount(origin, minlength=size)
            width = int(counts.max(initial=0))
            padded = np.full((size, width), _NONE, np.int64)
            order = np.argsort(origin, kind="stable")
            within = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
            padded[origin[order], within] = columns[order]
            known = np.ones(size, bool)
            known[origin[columns < 0]] = False
            padded[~known] = _NONE
            return Slots(padded, known, np.zeros(size))
        nodes = self._nodes_of(term.role)
        found = nodes >= 0
        constant = np.zeros(size)
        known = found.copy()
        for name in filter(None, (term.name if term.form == "property" else "", term.plus)):
            values = self._property(name)[np.where(found, nodes, 0)]
            known &= np.isfinite(values)
            constant += np.where(known, values, 0.0)
        columns = np.full((size, 0), _NONE, np.int64)
        if term.form == "reading":
            columns = np.where(found, self._column_at(term.name)[np.where(found, nodes, 0)], _NONE)[:, None]
            known &= columns[:, 0] >= 0
        columns = np.where(known[:, None], columns, _NONE)
        return Slots(columns, known, constant)

    def _nodes_of(self, role: str) -> Ints:
        """The node of each place that a term is about: the place itself, or its one neighbour in a role, or −1."""
        if not role:
            return self.nodes
        origin, nodes = self._members[role]
        counts = np.bincount(origin, minlength=len(self))
        out = np.full(len(self), _NONE, np.int64)
        out[origin] = nodes
        return np.where(counts == 1, out, _NONE)

    def _column_at(self, kind: str) -> Ints:
        """The column of the one numeric sensor of a kind at each node; negative for none and for several."""
        if ("column", kind) not in self._shared:
            self._shared["column", kind] = self._find_columns(kind)
        return self._shared["column", kind]

    def _find_columns(self, kind: str) -> Ints:
        column = {sensor.id: at for at, sensor in enumerate(self.readings.numeric)}
        out = np.full(len(self.index.ids), _NONE, np.int64)
        for node, sensors in self.carriers.matched_by(self.pattern).get(kind, {}).items():
            found = [column[s] for s in sensors if s in column]
            if found:
                out[node] = found[0] if len(found) == 1 else _SEVERAL
        return out

    def _property(self, name: str) -> Floats:
        """A numeric property of every node; NaN if a node has none, or one that changes over time."""
        if ("property", name) not in self._shared:
            self._shared["property", name] = self._find_property(name)
        return self._shared["property", name]

    def _find_property(self, name: str) -> Floats:
        graph = self.index.graph
        out = np.full(len(self.index.ids), np.nan)
        for at, node in enumerate(graph.nodes.values()):
            value = node.properties.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                out[at] = float(value)
        for dated in graph.dated:
            if dated.property == name and dated.subject in self.index.number:
                out[self.index.number[dated.subject]] = np.nan
        return out

    def has_all(self, *combinations: Combination) -> Bools:
        """Return at which places every term has its sensors and properties, and at least one sensor is read.

        Args:
            combinations: The terms.
        """
        known, read = np.ones(len(self), bool), np.zeros(len(self), bool)
        for _, term in (part for combination in combinations for part in combination):
            slots = self._slots(term)
            known &= slots.known
            read |= (slots.columns >= 0).any(axis=1)
        return known & read

    def reads_once(self, *combinations: Combination) -> Bools:
        """Return at which places no sensor is read by two terms.

        Where an edge is stored both ways, two roles may be one node: what is compared with itself says nothing.

        Args:
            combinations: The terms.
        """
        out = np.ones(len(self), bool)
        by_kind: dict[str, list[Ints]] = {}
        for _, term in (part for combination in combinations for part in combination):
            if term.form != "property":
                by_kind.setdefault(term.name, []).append(self._slots(term).columns)
        for columns in by_kind.values():
            if len(columns) > 1:
                ordered = np.sort(np.concatenate(columns, axis=1), axis=1)
                out &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        return out

    def distinct(self, *combinations: Combination) -> Bools:
        """Return which places are the first that read their sensors and properties: one meter is one place.

        Args:
            combinations: The terms.
        """
        slots = [self._slots(term) for combination in combinations for _, term in combination]
        if not slots or not len(self):
            return np.ones(len(self), bool)
        parts = [np.column_stack([np.sort(one.columns, axis=1), one.constant]) for one in slots]
        out = np.zeros(len(self), bool)
        out[np.unique(np.concatenate(parts, axis=1), axis=0, return_index=True)[1]] = True
        return out

    def sensors_of(self, *combinations: Combination) -> list[frozenset[tuple[int, str]]]:
        """Return the sensors and properties that make up combinations at each place, each with its sign.

        Args:
            combinations: The combinations.
        """
        ids = [sensor.id for sensor in self.readings.numeric]
        out: list[set[tuple[int, str]]] = [set() for _ in range(len(self))]
        for sign, term in (part for combination in combinations for part in combination):
            facts = {(sign, f"property {term.name}")} if term.form == "property" else set()
            for at, columns in enumerate(self._slots(term).columns.tolist()):
                out[at] |= {(sign, ids[column]) for column in columns if column >= 0} | facts
        return [frozenset(found) for found in out]

    def series(self, term: Term, frames: Ints) -> Floats:
        """Return the values of a term, frames × places; NaN where it is not known.

        Args:
            term: The term.
            frames: The frames.
        """
        slots = self._slots(term)
        now = self._sum(slots, frames, sizes=False)
        if not term.change:
            return now
        ahead = self._sum(slots, self.ahead(frames), sizes=False)
        return np.where(self.has_next(frames), (ahead - now) / self.clock.hours, np.nan)

    def ahead(self, frames: Ints) -> Ints:
        """Return the frame after each frame, or the last one."""
        return np.minimum(frames + 1, max(len(self.readings) - 1, 0))

    def has_next(self, frames: Ints) -> Bools:
        """Return which frames are followed at once by another, frames × places."""
        return np.asarray(self.clock.follows[:, frames][self.site_of].T)

    def sizes(self, term: Term, frames: Ints) -> Floats:
        """Return the sum of the absolute values that make up a term, frames × places.

        Args:
            term: The term.
            frames: The frames.
        """
        if term.change or term.form != "total":
            return np.abs(self.series(term, frames))
        return self._sum(self._slots(term), frames, sizes=True)

    @property
    def _by_sensor(self) -> bool:
        """Whether the readings of a sensor lie together in memory, and not those of a frame."""
        return not self.readings.values.flags.c_contiguous

    def _sum(self, slots: Slots, frames: Ints, *, sizes: bool) -> Floats:
        values, layers = self.readings.values, slots.layers
        straight = len(frames) > 0 and int(frames[-1] - frames[0]) == len(frames) - 1
        chosen = slice(int(frames[0]), int(frames[-1]) + 1) if straight else frames
        if self._by_sensor:
            rows = (values.T[slots.used, chosen] if straight else values.T[np.ix_(slots.used, frames)]).T
            layers = tuple((mask, np.searchsorted(slots.used, columns)) for mask, columns in layers)
        elif straight:
            rows = values[chosen]
        elif 4 * len(slots.used) < values.shape[1]:
            rows = values[np.ix_(frames, slots.used)]
            layers = tuple((mask, np.searchsorted(slots.used, columns)) for mask, columns in layers)
        else:
            rows = values[frames]
        out = np.broadcast_to(slots.constant, (len(frames), len(self))).copy()
        out[:, ~slots.known] = np.nan
        for filled, columns in layers:
            part = np.take(rows, columns, axis=1)
            if sizes:
                np.abs(part, out=part)
            if filled is None:
                out += part
            else:
                out[:, filled] += part
        return out

    def usual_spread(self, kind: str, frames: Ints) -> float:
        """Return the distance between the first and the last decile of all readings of a kind; NaN without any.

        Args:
            kind: The kind.
            frames: The frames to look at.
        """
        key = ("spread", f"{kind} {len(frames)}")
        if key not in self._shared:
            columns = [at for at, sensor in enumerate(self.readings.numeric) if sensor.kind == kind]
            some = frames[:: max(len(frames) // _FEW_FRAMES, 1)]
            known = self.readings.values[some][:, columns].ravel()
            known = known[~np.isnan(known)]
            spread = float(np.quantile(known, 0.9) - np.quantile(known, 0.1)) if len(known) else np.nan
            self._shared[key] = np.array([spread])
        return float(self._shared[key][0])

    def combined(self, combination: Combination, frames: Ints) -> Floats:
        """Return the values of a signed sum, frames × places.

        Args:
            combination: The signed terms; an empty one is 0.
            frames: The frames.
        """
        out = np.zeros((len(frames), len(self)))
        for sign, term in combination:
            out += sign * self.series(term, frames)
        return out

    def within(self, frames: Ints) -> Bools:
        """Return which frames belong to the site of each place, frames × places."""
        return np.asarray(frames[:, None] < self.clock.frames[self.site_of][None, :])

    def is_later(self, frames: Ints) -> Bools:
        """Return which frames are in the later part, frames × places."""
        return np.asarray(frames[:, None] >= self.clock.begins_later[self.site_of][None, :])

    def _state_sensors(self, kind: str) -> Ints:
        """The number of the one categorical sensor of a kind at each place; negative for none and for several."""
        number = {sensor.id: at for at, sensor in enumerate(self.readings.categorical)}
        at_nodes = self.carriers.matched_by(self.pattern).get(kind, {})
        found = [[number[s] for s in at_nodes.get(node, ()) if s in number] for node in self.nodes.tolist()]
        return np.array([one[0] if len(one) == 1 else _NONE for one in found], np.int64)

    def states(self, kind: str) -> tuple[str, ...]:
        """Return the states that sensors of a kind read at the places.

        Args:
            kind: The kind.
        """
        ids = [self.readings.categorical[at].id for at in self._state_sensors(kind).tolist() if at >= 0]
        return tuple(sorted({state for id in ids for state in self.readings.states[id][1]}))

    def meets(self, condition: Condition | None, frames: Ints) -> Bools:
        """Return in which rows a condition is met, frames × places; a missing state does not meet it.

        Args:
            condition: The condition; ``None`` is met everywhere.
            frames: The frames.
        """
        if condition is None:
            return np.ones((len(frames), len(self)), bool)
        if condition.form == "property":
            nodes = self.index.graph.nodes
            held = [_plain(nodes[id].properties.get(condition.name)) == condition.value for id in self.ids]
            return np.broadcast_to(np.array(held, bool), (len(frames), len(self)))
        if condition.form == "without":
            at_nodes = self.carriers.matched_by(self.pattern).get(condition.name, {})
            return np.broadcast_to(~np.isin(self.nodes, list(at_nodes)), (len(frames), len(self)))
        out = np.zeros((len(frames), len(self)), bool)
        sensors = self.readings.categorical
        for place, at in enumerate(self._state_sensors(condition.name).tolist()):
            if at >= 0:
                codes, known = self.readings.states[sensors[at].id]
                if condition.value in known:
                    out[:, place] = codes[frames] == known.index(condition.value)
        return out

    def reads_state(self, kind: str, frames: Ints) -> Bools:
        """Return in which rows a sensor of a kind reads any state, frames × places."""
        out = np.zeros((len(frames), len(self)), bool)
        sensors = self.readings.categorical
        for place, at in enumerate(self._state_sensors(kind).tolist()):
            if at >= 0:
                out[:, place] = self.readings.states[sensors[at].id][0][frames] >= 0
        return out

    def pieces(self) -> Iterator[Ints]:
        """Yield the positions of all places, of some at a time if the readings of a sensor lie together in memory."""
        step = max(1, _PIECE // max(len(self.readings), 1)) if self._by_sensor else max(len(self), 1)
        for start in range(0, max(len(self), 1), step):
            yield np.arange(start, min(start + step, len(self)))

    def blocks(self) -> Iterator[Ints]:
        """Yield all frames in blocks that keep frames × places small."""
        step = max(1, _BLOCK // max(len(self), 1))
        for start in range(0, len(self.readings), step):
            yield np.arange(start, min(start + step, len(self.readings)))

    def sample(self, cells: int) -> Ints:
        """Return evenly spread frames before the later part, so that frames × places stay below a number of cells.

        Args:
            cells: The number of cells.
        """
        end = int(self.clock.begins_later.max(initial=0))
        count = max(min(end, _MOST_FRAMES, max(cells // max(len(self), 1), 50)), 1)
        return np.unique(np.linspace(0, max(end - 1, 0), count).astype(np.int64)) if end else np.zeros(0, np.int64)


def _plain(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
