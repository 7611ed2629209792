"""What rules are mined on and measured on: a system in windows, cut into an earlier and a later part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thence.graph.binding import Binding
from thence.graph.discovery import Carriers, discover
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import GraphIndex
from thence.graph.patterns import Pattern
from thence.graph.system import System
from thence.miners.exact.miner import Exact
from thence.readings.windows import WindowedReadings
from thence.runs.configuration import Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.pipeline import build_table, window_readings
from thence.tables.discretization import Discretizer
from thence.tables.transactions import TransactionTable

__all__ = ["SplitSettings", "TimedSystem", "window_system"]


@dataclass(frozen=True)
class SplitSettings:
    """How generalisation is measured: the miner, the tables, and the share of the time to mine on."""

    miner: Exact
    bins: int
    max_rules: int
    hops: int
    min_embeddings: int
    train_share: float

    def cut(self, timed: TimedSystem) -> int:
        """The first frame of the later part."""
        return int(len(timed.readings) * self.train_share)


@dataclass(frozen=True)
class TimedSystem:
    """A system with its readings in windows, without windows in which nothing reads."""

    system: System
    graph: KnowledgeGraph
    binding: Binding
    readings: WindowedReadings
    places: list[str]

    def table(
        self,
        mode: str,
        settings: SplitSettings,
        *,
        discretizer: Discretizer | None = None,
        patterns: str | Sequence[str | Pattern] = "auto",
        sensors: Iterable[str] | None = None,
    ) -> TransactionTable:
        """The table of some sensors (all by default), with bins given or fitted on the earlier part."""
        texts = patterns if isinstance(patterns, str) else tuple(map(str, patterns))
        return build_table(
            self.readings if sensors is None else self.readings.select(sensors),
            self.system,
            Config(discretize=DiscretizeConfig(bins=settings.bins), enrich=EnrichConfig(mode=mode, patterns=texts)),
            discretizer=discretizer,
            fit_frames=slice(0, settings.cut(self)),
        )

    def patterns(self, settings: SplitSettings) -> list[Pattern]:
        """The patterns of the whole graph: where unseen sensors sit is known, their readings are not."""
        index = GraphIndex(self.graph, self.system.ontology)
        kinds = {sensor.id: sensor.kind for sensor in self.readings.sensors}
        carriers = Carriers.of(index, kinds, dict(self.binding))
        found, _ = discover(carriers, hops=settings.hops, min_embeddings=settings.min_embeddings)
        return found


def window_system(system: System, kinds: Sequence[str] | None, windows: str) -> TimedSystem:
    """Put the readings of a system into windows, of some kinds of sensors only if ``kinds`` is given."""
    graph, binding = system.require_graph()
    if kinds is not None:
        # The binding stays whole: it also says where sensors of other kinds sit.
        system = replace(system.select_kinds(kinds), binding=binding)
    readings = window_readings(system, Config(windows=WindowsConfig(every=windows))).without_empty()
    places = sorted({binding[sensor.id] for sensor in readings.sensors if sensor.id in binding})
    return TimedSystem(system, graph, binding, readings, places)
