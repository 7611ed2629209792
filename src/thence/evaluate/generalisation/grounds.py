"""What rules are mined on and measured on: systems with their readings in windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.errors import ConfigError, nearest
from thence.graph.binding import Binding
from thence.graph.discovery import Carriers, discover
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import GraphIndex
from thence.graph.ontology import Ontology
from thence.graph.patterns import Pattern
from thence.miners.exact.miner import Exact
from thence.readings.sensors import SensorData
from thence.readings.windows import WindowedReadings, window
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable

__all__ = ["Ground", "Settings", "System", "make_ground"]


@dataclass(frozen=True)
class System:
    """What a data set has of the world: readings, graph, binding, ontology."""

    sensors: SensorData
    graph: KnowledgeGraph
    binding: Binding
    ontology: Ontology | None = None


@dataclass(frozen=True)
class Settings:
    miner: Exact
    bins: int
    max_rules: int
    hops: int
    min_embeddings: int
    train_share: float

    def cut(self, ground: Ground) -> int:
        """The first frame of the later part."""
        return int(len(ground.readings) * self.train_share)

    def discretizer(self, mode: str) -> Discretizer:
        return Discretizer(bins=self.bins, scope="sensor" if mode in ("none", "lifted") else "kind")


@dataclass(frozen=True)
class Ground:
    """A system with its readings in windows, without windows in which nothing reads."""

    system: System
    readings: WindowedReadings
    places: list[str]

    def table(
        self,
        mode: str,
        discretizer: Discretizer,
        cut: int,
        *,
        patterns: Any = "auto",
        sensors: Iterable[str] | None = None,
    ) -> TransactionTable:
        """The table of some sensors (all by default), bins fitted on the first part."""
        return build(
            self.readings if sensors is None else _select(self.readings, sensors),
            mode=mode,
            graph=self.system.graph,
            binding=self.system.binding,
            ontology=self.system.ontology,
            discretizer=discretizer,
            fit_frames=slice(0, cut),
            patterns=patterns,
        )

    def patterns(self, settings: Settings) -> list[Pattern]:
        """The patterns of the whole graph: where sensors sit is known of unseen ones too, their readings are not."""
        index = GraphIndex(self.system.graph, self.system.ontology)
        kinds = {sensor.id: sensor.kind for sensor in self.readings.sensors}
        carriers = Carriers.of(index, kinds, dict(self.system.binding))
        found, _ = discover(carriers, hops=settings.hops, min_embeddings=settings.min_embeddings)
        return found


def make_ground(system: Any, kinds: Sequence[str] | None, windows: str) -> Ground:
    system = System(system.sensors, system.graph, system.binding, getattr(system, "ontology", None))
    if kinds is not None:
        known = {sensor.kind for sensor in system.sensors.sensors}
        for kind in kinds:
            if kind not in known:
                raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
        chosen = [s.id for s in system.sensors.sensors if s.kind in kinds]
        system = System(system.sensors.select(chosen), system.graph, system.binding, system.ontology)
    readings = _reading_frames(window(system.sensors, windows))
    return Ground(system, readings, _places(readings, system.binding))


def _places(readings: WindowedReadings, binding: Binding) -> list[str]:
    """The nodes that carry a sensor, in order."""
    return sorted({binding[s.id] for s in readings.sensors if s.id in binding})


def _reading_frames(readings: WindowedReadings) -> WindowedReadings:
    """Without the windows in which no sensor reads: data of separate days have long gaps between them."""
    held = ~np.isnan(readings.values).all(axis=1) if readings.values.shape[1] else np.zeros(len(readings), bool)
    for codes, _ in readings.states.values():
        held |= codes >= 0
    return WindowedReadings(
        times=readings.times[held],
        sensors=readings.sensors,
        values=readings.values[held],
        states={name: (codes[held], known) for name, (codes, known) in readings.states.items()},
        derived={name: values[held] for name, values in readings.derived.items()},
        every=readings.every,
        aggregates=readings.aggregates,
        report=readings.report,
    )


def _select(readings: WindowedReadings, ids: Iterable[str]) -> WindowedReadings:
    """The same windows with some of the sensors only."""
    wanted = set(ids)
    columns = [i for i, s in enumerate(readings.numeric) if s.id in wanted]
    return WindowedReadings(
        times=readings.times,
        sensors=tuple(s for s in readings.sensors if s.id in wanted),
        values=readings.values[:, columns],
        states={name: state for name, state in readings.states.items() if name in wanted},
        derived={k: v[:, columns] if v.ndim == 2 else v for k, v in readings.derived.items()},
        every=readings.every,
        aggregates=readings.aggregates,
        report=readings.report,
    )
