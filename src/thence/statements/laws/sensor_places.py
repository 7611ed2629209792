"""Places of laws that name their sensors: each place lists the sensor of every term, wherever it is in the graph.

A formula may relate sensors of several nodes (a boiler, the loop that it heats, the weather), and systems without a
graph. So the binding of terms to sensors is part of such a law, and its places are what it was bound to. Everything
else, from blocks of frames to exceptions, is that of ``Places``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex, most_specific_label
from thence.data.readings.windows import WindowedReadings
from thence.language.patterns import NodeVariable, Pattern
from thence.statements.laws.places import Bools, Clock, Ints, Places, Slots
from thence.statements.laws.terms import Condition, Term

if TYPE_CHECKING:
    from thence.statements.laws.law import Law

ANYWHERE = Pattern((NodeVariable("n", ""),), (), ())
"""The pattern of laws that name their sensors."""
_NONE = -1


@dataclass(frozen=True, eq=False)
class SensorPlaces(Places):
    """Places at which a law names its sensors.

    Args:
        names: What each place is called.
        terms: The terms of the law.
        columns: Places × terms: the column of the sensor of each term; negative if the readings do not have it.
        guards: The position among all sensors of the one that the condition is about; negative for none.
    """

    names: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    columns: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    guards: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @staticmethod
    def of_law(law: Law, readings: WindowedReadings, carriers: Carriers, clock: Clock) -> SensorPlaces:
        """Return the places of a law as far as the readings have their sensors.

        Args:
            law: The law.
            readings: The readings.
            carriers: The graph and the nodes that carry sensors.
            clock: The frames.
        """
        named = [(one.place, one.sensors) for one in law.by_place if one.sensors]
        return SensorPlaces.named(law.terms, law.condition, named, readings, carriers, clock)

    @staticmethod
    def named(
        terms: Sequence[Term],
        condition: Condition | None,
        named: Sequence[tuple[str, Sequence[str]]],
        readings: WindowedReadings,
        carriers: Carriers,
        clock: Clock,
    ) -> SensorPlaces:
        """Return the places at which sensors are named.

        Args:
            terms: The terms.
            condition: The condition.
            named: The name of each place, and the sensor of each term there, followed by that of the condition.
            readings: The readings.
            carriers: The graph and the nodes that carry sensors.
            clock: The frames.
        """
        column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        position = {sensor.id: at for at, sensor in enumerate(readings.sensors)}
        width = len(terms)
        columns = [[column.get(id, _NONE) for id in sensors[:width]] for _, sensors in named]
        guards = [position.get(sensors[width], _NONE) if len(sensors) > width else _NONE for _, sensors in named]
        guarded = condition is not None and condition.form in ("state", "above")
        found = [
            at for at in range(len(named)) if min(columns[at], default=_NONE) >= 0 and (guards[at] >= 0 or not guarded)
        ]
        names = tuple(named[at][0] for at in found)
        return SensorPlaces(
            ANYWHERE,
            np.array([carriers.index.number.get(name, _NONE) for name in names], np.int64),
            readings,
            carriers,
            clock,
            names=names,
            terms=tuple(terms),
            columns=np.array([columns[at] for at in found], np.int64).reshape(len(found), width),
            guards=np.array([guards[at] for at in found], np.int64),
        )

    def take(self, chosen: npt.NDArray[np.bool_] | Ints) -> SensorPlaces:
        """Return some of the places.

        Args:
            chosen: A mask or positions.
        """
        at = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        return replace(
            self,
            nodes=self.nodes[at],
            names=tuple(self.names[number] for number in at.tolist()),
            columns=self.columns[at],
            guards=self.guards[at],
        )

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """What each place is called: its node, if there is a graph."""
        return self.names

    @cached_property
    def labels(self) -> npt.NDArray[np.object_]:
        """The most specific class of each place; empty for places that are no nodes."""
        graph, ontology = self.index.graph, self.index.ontology
        known = [
            most_specific_label(graph.node(name).labels, ontology) if node >= 0 else ""
            for name, node in zip(self.names, self.nodes.tolist(), strict=True)
        ]
        return np.array(known, dtype=object)

    @cached_property
    def _node_of(self) -> dict[str, int]:
        at_nodes = self.carriers.own if self.carriers.own is not None else self.carriers.sensors
        return {id: node for nodes in at_nodes.values() for node, ids in nodes.items() for id in ids}

    def _make_slots(self, term: Term) -> Slots:
        columns = self.columns[:, self.terms.index(term)]
        known, constant = columns >= 0, np.zeros(len(self))
        if term.plus:
            ids = [sensor.id for sensor in self.readings.numeric]
            nodes = np.array([self._node_of.get(ids[at], _NONE) for at in columns.tolist()], np.int64)
            values = self._property(term.plus)[np.maximum(nodes, 0)] if len(self.index.ids) else constant * np.nan
            known = known & (nodes >= 0) & np.isfinite(values)
            constant = np.where(known, values, 0.0)
        return Slots(np.where(known, columns, _NONE)[:, None], known, constant)

    def distinct(self, *combinations: object) -> Bools:
        """Return that every place is kept: each was bound to sensors of its own."""
        return np.ones(len(self), bool)

    def meets(self, condition: Condition | None, frames: Ints) -> Bools:
        """Return in which rows a condition is met, frames × places; a missing reading does not meet it.

        Args:
            condition: The condition; ``None`` is met everywhere.
            frames: The frames.
        """
        if condition is None:
            return np.ones((len(frames), len(self)), bool)
        columns = [self._meets_at(condition, at, frames) for at in self.guards.tolist()]
        return np.stack(columns, axis=1) if columns else np.zeros((len(frames), 0), bool)

    def _meets_at(self, condition: Condition, at: int, frames: Ints) -> Bools:
        sensor = self.readings.sensors[at]
        if condition.form == "state":
            codes, known = self.readings.states[sensor.id]
            return np.asarray(codes[frames] == (known.index(condition.value) if condition.value in known else -2))
        values = self.readings.values[frames, self._column_of[sensor.id]]
        return np.asarray(values > float(condition.value))  # a missing value is not above

    @cached_property
    def _column_of(self) -> dict[str, int]:
        return {sensor.id: at for at, sensor in enumerate(self.readings.numeric)}

    def guard_at(self, place: int) -> str:
        """Return the id of the sensor that the condition is about at a place; empty if there is none.

        Args:
            place: The position of the place.
        """
        at = int(self.guards[place])
        return self.readings.sensors[at].id if at >= 0 else ""


def no_carriers() -> Carriers:
    """Return the graph of a system that has none: without nodes and without sensors."""
    from thence.data.graph.knowledge_graph import KnowledgeGraph

    return Carriers.of(GraphIndex(KnowledgeGraph([])), {}, {})
