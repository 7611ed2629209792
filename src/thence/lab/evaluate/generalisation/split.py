"""A system in windows, split in time: rules are mined on the earlier part and measured on the later one.

Tables come from ``runs.preparation``; nothing is mined or measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.pooling import cut_sites
from thence.errors import ConfigError, nearest
from thence.language.patterns import Pattern
from thence.runs.configuration import Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.preparation import Prepared, prepare
from thence.search.exact.miner import Exact
from thence.tables.discretization import Discretizer
from thence.tables.transactions import TransactionTable

__all__ = ["SplitSettings", "carriers_of", "sensors_at", "window_sites", "window_system"]


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

    def split_frame(self, data: Prepared) -> int:
        """Return the number of the first frame that ``data`` is measured on."""
        return int(len(data.readings) * self.train_share)

    def split_time(self, data: Prepared) -> tuple[slice, slice]:
        """Return the frames of ``data`` to mine on, and those to measure on."""
        cut = self.split_frame(data)
        return slice(0, cut), slice(cut, None)

    def table(
        self,
        data: Prepared,
        mode: str,
        *,
        bins: Discretizer | None = None,
        patterns: str | Sequence[str | Pattern] = "auto",
        sensors: Iterable[str] | None = None,
        same_system: bool | None = None,
    ) -> TransactionTable:
        """Build a table.

        Args:
            data: The system with its readings in windows.
            mode: The enrichment.
            bins: Bins to use; by default they are fitted on the earlier part.
            patterns: Patterns of lifted rules, or ``"auto"``.
            sensors: Ids of the sensors to use; all by default.
            same_system: Whether ``bins`` were fitted on the same system; by default decided by names and nodes.
        """
        texts = patterns if isinstance(patterns, str) else tuple(map(str, patterns))
        return replace(
            data,
            config=Config(discretize=DiscretizeConfig(bins=self.bins), enrich=EnrichConfig(mode=mode, patterns=texts)),
            readings=data.readings if sensors is None else data.readings.select(sensors),
            bins=bins,
            fit_frames=slice(0, self.split_frame(data)),
            same_system=same_system,
        ).table

    def find_patterns(self, data: Prepared) -> list[Pattern]:
        """Discover the patterns of the whole graph; the places of unseen sensors are known, their readings are not."""
        numbers = [sensor.id for sensor in data.readings.numeric]
        carriers = carriers_of(data)
        found, _ = discover(carriers, hops=self.hops, min_embeddings=self.min_embeddings, nearest=numbers)
        return found


def carriers_of(
    data: Prepared, *, patterns: Sequence[Pattern] | None = None, sensors: Iterable[str] | None = None
) -> Carriers:
    """Return the nodes that carry sensors.

    Args:
        data: The system with its readings in windows.
        patterns: The patterns that are asked for; all by default.
        sensors: Ids of the sensors; all by default.
    """
    graph, binding = data.system.require_graph()
    wanted = None if sensors is None else set(sensors)
    kinds = {sensor.id: sensor.kind for sensor in data.readings.sensors if wanted is None or sensor.id in wanted}
    return Carriers.of(GraphIndex(graph, data.system.ontology), kinds, dict(binding), patterns=patterns)


def sensors_at(data: Prepared, chosen: npt.NDArray[np.bool_]) -> list[str]:
    """Return the ids of the sensors at some places.

    Args:
        data: The system with its readings in windows.
        chosen: Which of its places.
    """
    wanted = {place for place, is_chosen in zip(data.places, chosen.tolist(), strict=True) if is_chosen}
    return [sensor.id for sensor in data.readings.sensors if data.node_of(sensor.id) in wanted]


def window_system(system: System, kinds: Sequence[str] | None, windows: str) -> Prepared:
    """Put the readings of a system into windows.

    Args:
        system: The system; it must have a graph and a binding.
        kinds: Kinds of sensors to use; all by default.
        windows: Length of a window.
    """
    _, binding = system.require_graph()
    if kinds is not None:
        # Keep the whole binding: it also has the places of sensors of other kinds.
        system = replace(system.select_kinds(kinds), binding=binding)
    data = prepare(system, Config(windows=WindowsConfig(every=windows, derive=())))
    return replace(data, readings=data.readings.without_empty())


def window_sites(
    systems: Sequence[System], kinds: Sequence[str] | None, windows: str, train_share: float
) -> tuple[Prepared, Prepared]:
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
    data = prepare(System.of_sites(chosen), Config(windows=WindowsConfig(every=windows, derive=())))
    readings = data.readings
    frames = {name: len(times) for name, times in readings.by_site.items()}
    cuts = {name: int(number * train_share) for name, number in frames.items()}
    earlier = cut_sites(readings, {name: (0, cut) for name, cut in cuts.items()})
    later = cut_sites(readings, {name: (cut, frames[name]) for name, cut in cuts.items()})
    return replace(data, readings=earlier), replace(data, readings=later)
