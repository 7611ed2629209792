"""A system in windows, split in time: rules are mined on the earlier part and measured on the later one.

Tables come from ``runs.preparation``; nothing is mined or measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.data.graph.binding import Binding
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.pooling import cut_sites
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, nearest
from thence.language.patterns import Pattern
from thence.runs.configuration import Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.preparation import build_table, window_readings
from thence.search.exact.miner import Exact
from thence.tables.discretization import Discretizer
from thence.tables.transactions import TransactionTable

__all__ = ["SplitSettings", "TimedSystem", "window_sites", "window_system"]


@dataclass(frozen=True)
class SplitSettings:
    """Settings of a measurement of generalisation.

    Args:
        miner: The miner, with its thresholds.
        bins: Number of bins.
        max_rules: Maximum number of rules to select.
        hops: Maximum length of a path in a pattern.
        min_embeddings: Minimum number of embeddings of a pattern.
        train_share: Share of the frames to mine on.
        transductive: Whether unseen places take part in the selection of rules.
    """

    miner: Exact
    bins: int
    max_rules: int
    hops: int
    min_embeddings: int
    train_share: float
    transductive: bool = False

    def split_frame(self, timed: TimedSystem) -> int:
        """Return the number of the first frame that ``timed`` is measured on."""
        return int(len(timed.readings) * self.train_share)

    def split_time(self, timed: TimedSystem) -> tuple[slice, slice]:
        """Return the frames of ``timed`` to mine on, and those to measure on."""
        cut = self.split_frame(timed)
        return slice(0, cut), slice(cut, None)


@dataclass(frozen=True)
class TimedSystem:
    """A system with its readings in windows, without the windows in which all values are missing.

    Args:
        system: The system, with the sensors that take part.
        graph: The graph of the system.
        binding: The binding of the whole system.
        readings: The readings in windows.
        places: Ids of the nodes that carry sensors, sorted.
    """

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
        same_system: bool | None = None,
    ) -> TransactionTable:
        """Build a table.

        Args:
            mode: The enrichment.
            settings: The settings of the measurement.
            discretizer: Bins to use; by default they are fitted on the earlier part.
            patterns: Patterns of lifted rules, or ``"auto"``.
            sensors: Ids of the sensors to use; all by default.
            same_system: Whether ``discretizer`` was fitted on the same system; by default decided by names and nodes.
        """
        texts = patterns if isinstance(patterns, str) else tuple(map(str, patterns))
        return build_table(
            self.readings if sensors is None else self.readings.select(sensors),
            self.system,
            Config(discretize=DiscretizeConfig(bins=settings.bins), enrich=EnrichConfig(mode=mode, patterns=texts)),
            discretizer=discretizer,
            fit_frames=slice(0, settings.split_frame(self)),
            same_system=same_system,
        )

    def sensors_at(self, chosen: npt.NDArray[np.bool_]) -> list[str]:
        """Return the ids of the sensors at some places.

        Args:
            chosen: Which places.
        """
        wanted = {place for place, is_chosen in zip(self.places, chosen.tolist(), strict=True) if is_chosen}
        return [sensor.id for sensor in self.readings.sensors if self.binding.get(sensor.id) in wanted]

    def select_patterns(self, patterns: Sequence[Pattern], sensors: Iterable[str]) -> list[Pattern]:
        """Return the patterns for which some sensors have all kinds.

        Args:
            patterns: The patterns.
            sensors: Ids of the sensors.
        """
        wanted = set(sensors)
        kinds = {sensor.id: sensor.kind for sensor in self.readings.sensors if sensor.id in wanted}
        index = GraphIndex(self.graph, self.system.ontology)
        carriers = Carriers.of(index, kinds, dict(self.binding), patterns=patterns)
        return [pattern for pattern in patterns if not carriers.lacking(pattern)]

    def find_patterns(self, settings: SplitSettings) -> list[Pattern]:
        """Discover the patterns of the whole graph; the places of unseen sensors are known, their readings are not."""
        index = GraphIndex(self.graph, self.system.ontology)
        kinds = {sensor.id: sensor.kind for sensor in self.readings.sensors}
        carriers = Carriers.of(index, kinds, dict(self.binding))
        numbers = [sensor.id for sensor in self.readings.numeric]
        found, _ = discover(carriers, hops=settings.hops, min_embeddings=settings.min_embeddings, nearest=numbers)
        return found


def window_system(system: System, kinds: Sequence[str] | None, windows: str) -> TimedSystem:
    """Put the readings of a system into windows.

    Args:
        system: The system; it must have a graph and a binding.
        kinds: Kinds of sensors to use; all by default.
        windows: Length of a window.
    """
    graph, binding = system.require_graph()
    if kinds is not None:
        # Keep the whole binding: it also has the places of sensors of other kinds.
        system = replace(system.select_kinds(kinds), binding=binding)
    readings = window_readings(system, Config(windows=WindowsConfig(every=windows))).without_empty()
    return TimedSystem(system, graph, binding, readings, _places(readings, binding))


def _places(readings: WindowedReadings, binding: Binding) -> list[str]:
    return sorted({binding[sensor.id] for sensor in readings.sensors if sensor.id in binding})


def window_sites(
    systems: Sequence[System], kinds: Sequence[str] | None, windows: str, train_share: float
) -> tuple[TimedSystem, TimedSystem]:
    """Put the readings of several systems into windows, and split the time of each into an earlier and a later part.

    Args:
        systems: The systems; each must have a name, a graph and a binding.
        kinds: Kinds of sensors to use; all by default.
        windows: Length of a window.
        train_share: Share of the frames of each system in the earlier part.
    """
    known = {sensor.kind for system in systems for sensor in system.sensors.sensors}
    for kind in kinds or ():
        if kind not in known:
            raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
    chosen = []
    for system in systems:
        own = {sensor.kind for sensor in system.sensors.sensors}
        wanted = own if kinds is None else own & set(kinds)
        # Keep the whole binding: it also has the places of sensors of other kinds.
        chosen.append(system if wanted == own else replace(system.select_kinds(wanted), binding=system.binding))
    sites = System.of_sites(chosen)
    readings = window_readings(sites, Config(windows=WindowsConfig(every=windows)))
    frames = {name: len(times) for name, times in readings.by_site.items()}
    cuts = {name: int(number * train_share) for name, number in frames.items()}
    earlier = cut_sites(readings, {name: (0, cut) for name, cut in cuts.items()})
    later = cut_sites(readings, {name: (cut, frames[name]) for name, cut in cuts.items()})
    graph, binding = sites.require_graph()
    places = _places(readings, binding)
    return TimedSystem(sites, graph, binding, earlier, places), TimedSystem(sites, graph, binding, later, places)
