"""What a job reads: sensors, graph, ontology and binding, from files, objects or a data set, checked together.

Part of the wiring (``thence.runs.pipeline``): it calls readers and loaders and knows nothing of tables and miners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.errors import ConfigError
from thence.graph.binding import Binding, bind
from thence.progress import Progress, silent
from thence.readings.sensors import SensorData
from thence.runs.configuration import Config, InputConfig
from thence.runs.sections import BUILT_IN_ONTOLOGY, absolute

if TYPE_CHECKING:
    from thence.graph.knowledge_graph import KnowledgeGraph
    from thence.graph.ontology import Ontology

__all__ = ["Inputs", "gather", "named_inputs", "read_inputs"]


@dataclass(frozen=True)
class Inputs:
    """What the user brings, read and checked against each other."""

    sensors: SensorData
    graph: KnowledgeGraph | None = None
    binding: Binding | None = None
    ontology: Ontology | None = None


def read_inputs(given: InputConfig, enrich: str = "none", *, progress: Progress = silent) -> Inputs:
    """Read what an ``[input]`` section names, and check that the parts fit together.

    >>> len(read_inputs(InputConfig(dataset="toy")).sensors)
    5
    """
    if given.dataset is not None:
        from thence import datasets

        data = datasets.load(given.dataset, progress=progress, **given.options)
        sensors = _portion(data.sensors, given)
        return Inputs(sensors, data.graph, data.binding.select(sensors), data.ontology)
    if given.sensors is None:
        raise ConfigError("no sensors are given", hint="set [input] sensors or dataset, or --sensors or --dataset")
    return _assemble(given.sensors, given.graph, given.binding, given.ontology, given, enrich)


def gather(sensors: Any, graph: Any, binding: Any, ontology: Any, config: Config) -> Inputs:
    """The same from objects and paths that a caller hands over."""
    if sensors is None:
        raise ConfigError("no sensors are given", hint="the first argument is SensorData, a frame or a path")
    return _assemble(sensors, graph, binding, ontology, config.input, config.enrich.mode)


def _assemble(sensors: Any, graph: Any, binding: Any, ontology: Any, given: InputConfig, enrich: str) -> Inputs:
    from thence.graph.loaders import read_graph
    from thence.graph.ontology import Ontology
    from thence.readings.readers import read_sensors

    readings = _portion(read_sensors(_listed(sensors), **given.read_sensors), given)
    network = None if graph is None else read_graph(_listed(graph), **given.read_graph)
    known = ontology if ontology is None or isinstance(ontology, Ontology) else _ontology(ontology)
    bound = None if network is None else _bound(readings, network, binding, given, enrich)
    if network is None and binding is not None:
        raise ConfigError("a binding needs the graph that it binds to", hint="give the graph too")
    return Inputs(readings, network, bound, known)


def _listed(source: Any) -> Any:
    return list(source) if isinstance(source, tuple) else source


def _ontology(source: Any) -> Ontology:
    """The ontology of files, of the package, or of both together."""
    from thence.graph.loaders import read_ontology

    several = list(source) if isinstance(source, (list, tuple)) else [source]
    files = [one for one in several if one != BUILT_IN_ONTOLOGY]
    if len(files) == len(several):
        return read_ontology(_listed(source))
    own = read_ontology(BUILT_IN_ONTOLOGY)
    return own.merged(read_ontology(files)) if files else own


def _bound(sensors: SensorData, graph: KnowledgeGraph, binding: Any, given: InputConfig, enrich: str) -> Binding | None:
    if isinstance(binding, Binding):
        binding.check(sensors, graph, allow_extra=True)
        return binding.select(sensors)
    if binding is not None:
        from thence.graph.loaders import read_binding

        table = binding if isinstance(binding, Mapping) else read_binding(_listed(binding))
        if given.select:
            table = {sensor: node for sensor, node in table.items() if sensor in sensors.ids}
        return bind(sensors, graph, table=table, **given.bind)
    if enrich == "none" and not given.bind:
        # The graph only lends names to places here, so what it cannot name stays unnamed.
        return bind(sensors, graph, partial=True)
    return bind(sensors, graph, **given.bind)


def _portion(sensors: SensorData, given: InputConfig) -> SensorData:
    if given.select:
        sensors = sensors.select(given.select)
    return sensors.between(given.start, given.end) if given.start or given.end else sensors


def named_inputs(base: InputConfig, sensors: Any, graph: Any, binding: Any, ontology: Any) -> InputConfig:
    """The inputs as far as they are files; objects of the caller's memory have no name to record."""

    def name(part: str, source: Any) -> str | tuple[str, ...] | None:
        if isinstance(source, (str, Path)):
            return absolute(part, str(source), Path.cwd())
        if isinstance(source, (list, tuple)) and all(isinstance(one, (str, Path)) for one in source):
            return absolute(part, tuple(map(str, source)), Path.cwd())
        return None

    return replace(
        base,
        sensors=name("sensors", sensors),
        graph=name("graph", graph),
        binding=name("binding", binding),
        ontology=name("ontology", ontology),
        dataset=None,
        options={},
    )
