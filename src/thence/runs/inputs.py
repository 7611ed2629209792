"""What a job reads, as one ``System``: from files, from objects of the caller, or from a data set by name.

Calls readers and loaders and checks that the parts fit together; knows nothing of tables and miners.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence._base.progress import Progress, silent
from thence.data.graph.binding import Binding, bind
from thence.data.graph.common_units import with_common_units
from thence.data.graph.habits import describe_binding, in_one_habit
from thence.data.graph.name_rules import DEFAULT_RULES, references_in
from thence.data.graph.ontology import Ontology
from thence.data.graph.sensor_kinds import with_kinds_of
from thence.data.graph.system import System
from thence.data.loaders import read_binding, read_graph, read_ontology
from thence.data.loaders.bindings import match_table
from thence.data.loaders.csv_tables import parse_head, read_csv_table
from thence.data.readers import read_sensors
from thence.data.readers.kinds import UncheckedUnits, require_units, resolve_kinds
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import ConfigError, nearest
from thence.runs.configuration import Config, InputConfig
from thence.tables.frames import matching_names

if TYPE_CHECKING:
    import polars as pl

    from thence.data.graph.knowledge_graph import KnowledgeGraph

_WATER_ELEMENTS = frozenset({"Junction", "Pipe"})


def read_system(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    labels: pl.DataFrame | None = None,
    name: str = "",
    select: Iterable[str] = (),
    start: str | None = None,
    end: str | None = None,
    sensor_options: Mapping[str, Any] | None = None,
    graph_options: Mapping[str, Any] | None = None,
    binding_options: Mapping[str, Any] | None = None,
    bind_options: Mapping[str, Any] | None = None,
) -> System:
    """Read sensor data, graph, binding and ontology, and check that they fit together.

    Args:
        sensors: Readings: a path, several paths, a data frame, or ``SensorData``.
        graph: The knowledge graph: a path, several paths, a networkx graph, or a ``KnowledgeGraph``.
        binding: Which sensor sits at which node: a path, a mapping, or a ``Binding``. Without it, sensors are bound by
            id or by what the graph says about them.
        ontology: The ontology: a path, several paths, an ``Ontology``, or ``"water"`` for the one of the package.
        labels: Labelled periods; see ``System``.
        name: A short name, for messages and tables of results.
        select: The ids of the sensors to keep; all by default.
        start: Keep readings from this time on.
        end: Keep readings before this time.
        sensor_options: Further keywords of ``read_sensors``.
        graph_options: Further keywords of ``read_graph``.
        binding_options: Further keywords of ``read_binding``.
        bind_options: Further keywords of ``bind``, such as ``{"partial": True}``.

    Returns:
        The system, ready for ``mine``, ``transactions``, ``compare`` and ``generalise``.

    Examples:
        >>> import thence as th
        >>> toy = th.datasets.load("toy")
        >>> th.read_system(toy.sensors, toy.graph, toy.binding, name="mine")
        System 'mine': 5 sensors, 5 nodes, 4 edges, no labels
    """
    given = InputConfig(
        select=tuple(select),
        start=start,
        end=end,
        read_sensors=sensor_options or {},
        read_graph=graph_options or {},
        read_binding=binding_options or {},
        bind=bind_options or {},
    )
    system = _assemble(sensors, graph, binding, ontology, given, partial=False)
    return replace(system, labels=labels, name=name)


def load_system(given: InputConfig, enrich: str = "none", *, progress: Progress = silent) -> System:
    """Read what an ``[input]`` section names, for an enrichment.

    >>> len(load_system(InputConfig(dataset="toy")).sensors)
    5
    """
    if given.dataset is not None:
        from thence.data import datasets

        system = datasets.load(given.dataset, progress=progress, **given.options)
        return _portion(_redescribed(system, given.read_sensors), given)
    if given.sensors is None:
        raise ConfigError("no sensors are given", hint="set [input] sensors or dataset, or --sensors or --dataset")
    return _assemble(given.sensors, given.graph, given.binding, given.ontology, given, partial=enrich == "none")


def load_job(config: Config, *, progress: Progress = silent) -> System:
    """Read what a configuration names: one system, or the several of ``[[system]]``.

    Settings of ``[input]``, such as a period or options of readers, hold for every system that does not set them.

    Args:
        config: The configuration.
        progress: Called with the progress.

    Examples:
        >>> from thence.runs.configuration import Config, SystemConfig
        >>> load_job(Config(system=tuple(SystemConfig(name=name, dataset="toy") for name in ("a", "b"))))
        System of the sites 'a', 'b': 10 sensors, 10 nodes, 8 edges
    """
    mode = config.enrich.mode
    if not config.system:
        return with_common_units(load_system(config.input, mode, progress=progress))
    common = {f.name: getattr(config.input, f.name) for f in fields(InputConfig)}
    units = config.input.read_sensors.get("units")
    if units is not None:
        # Units for all systems may name sensors and kinds that only some of them have.
        common["read_sensors"] = {**config.input.read_sensors, "units": UncheckedUnits(units)}
    systems = []
    for one in config.system:
        own = {name: value for name in common if (value := getattr(one, name)) not in (None, (), {})}
        system = load_system(InputConfig(**{**common, **own}), mode, progress=progress)
        systems.append(replace(system, name=one.name))
    require_units(units or {}, (sensor for system in systems for sensor in system.sensors.sensors))
    return with_common_units(System.of_sites(systems))


def gather_system(
    sensors: Any, graph: Any, binding: Any, ontology: Any, given: InputConfig, enrich: str = "none"
) -> System:
    """Return the system that a caller passes as one object, as objects and paths, or the several of a list.

    The sensors of a kind have one unit.
    """
    return with_common_units(_gathered(sensors, graph, binding, ontology, given, enrich))


def _gathered(sensors: Any, graph: Any, binding: Any, ontology: Any, given: InputConfig, enrich: str) -> System:
    if isinstance(sensors, System) and len(sensors.sites) > 1:
        sensors = sensors.sites
    if isinstance(sensors, (list, tuple)) and sensors and all(isinstance(one, System) for one in sensors):
        return System.of_sites(_gathered(one, graph, binding, ontology, given, enrich) for one in sensors)
    if isinstance(sensors, System):
        for part, name in ((graph, "graph"), (binding, "binding"), (ontology, "ontology")):
            if part is not None:
                raise ConfigError(
                    f"'{name}' is given twice: the system has its own",
                    hint="pass the system alone, or dataclasses.replace the part in it",
                )
        return _portion(_redescribed(_checked(sensors, given, partial=enrich == "none"), given.read_sensors), given)
    if sensors is None:
        raise ConfigError(
            "no sensors are given", hint="the first argument is a System, SensorData, a data frame or a path"
        )
    return _assemble(sensors, graph, binding, ontology, given, partial=enrich == "none")


def _checked(system: System, given: InputConfig, *, partial: bool) -> System:
    """A system of the caller whose binding is total on its sensors."""
    if system.graph is None:
        return system
    bound = _bound(system.sensors, system.graph, system.binding, given, partial)
    return replace(system, binding=bound, sensors=with_kinds_of(system.sensors, system.graph, bound, system.ontology))


def _names_in(options: Mapping[str, Any], option: str) -> list[str]:
    names = options.get(option) or ()
    return [names] if isinstance(names, str) else list(names)


def _without_ignored(system: System, options: Mapping[str, Any]) -> System:
    """A system without the sensors that ``ignore`` names; readers leave out those of files themselves."""
    ids, ignore = system.sensors.ids, _names_in(options, "ignore")
    for pattern in ignore:
        if pattern not in ids and not fnmatch.filter(ids, pattern):
            raise ConfigError(f"ignore names '{pattern}', but no sensor has this name", hint=nearest(pattern, ids))
    ignored = {
        s for pattern in _names_in(options, "ignore") for s in ids if s == pattern or fnmatch.fnmatchcase(s, pattern)
    }
    return system.select([sensor for sensor in ids if sensor not in ignored]) if ignored else system


def _redescribed(system: System, options: Mapping[str, Any]) -> System:
    """A system that is read already, without ignored sensors and with the kinds, units and states that options give.

    Options that say how to read files do not concern it.
    """
    system = _without_ignored(system, options)
    data = system.sensors
    units: Mapping[str, str] = options.get("units") or {}
    described, notes = resolve_kinds(
        {sensor.id: (sensor.kind, sensor.unit) for sensor in data.sensors},
        kinds=options.get("kinds"),
        units=units,
        pattern=options.get("kind_pattern"),
    )
    require_units(units, (Sensor(id, *kind) for id, kind in described.items()))
    changed = {s.id: described[s.id] for s in data.sensors if described[s.id] != (s.kind, s.unit)}
    states, numbers = (
        matching_names(options.get(name) or (), data.ids, option=name) for name in ("categorical", "numeric")
    )
    if not (changed or notes or states or numbers):
        return system
    return replace(
        system, sensors=data.with_kinds(changed, notes=notes).with_states(states, numbers=set(numbers) - set(states))
    )


def _portion(system: System, given: InputConfig) -> System:
    if given.select:
        system = system.select(given.select)
    return system.between(given.start, given.end) if given.start or given.end else system


def _assemble(sensors: Any, graph: Any, binding: Any, ontology: Any, given: InputConfig, *, partial: bool) -> System:
    options = dict(given.read_sensors)
    units = options.get("units") or {}
    if isinstance(units, Mapping):
        # Sensors may get their kinds from the graph: the names of units are checked when these are known.
        options["units"] = UncheckedUnits(units)
    if isinstance(sensors, SensorData):
        whole = _redescribed(System(sensors), options).sensors
    else:
        whole = read_sensors(_listed(sensors), **options)
    readings = _portion(System(whole), given).sensors
    network = None if graph is None else in_one_habit(read_graph(_listed(graph), **given.read_graph))
    known = _known_ontology(ontology, network)
    if network is None and binding is not None:
        hint = "pass the graph too; a list of points with their equipment is one: --graph points.csv"
        raise ConfigError("a binding needs the graph that it binds to", hint=hint)
    if network is None:
        require_units(units, whole.sensors)
        return System(readings, ontology=known)
    # References to series with the same id in other files do not count.
    bound = _bound(readings, references_in(network, _file_names(sensors)), binding, given, partial)
    typed = [name for option in ("categorical", "numeric") for name in _names_in(given.read_sensors, option)]
    described = with_kinds_of(readings, network, bound, known, given=typed, units=units)
    if notes := describe_binding(bound, network):
        described = described.with_kinds({}, notes=notes)
    require_units(units, [*whole.sensors, *described.sensors])
    return System(described, network, bound, known)


def _known_ontology(ontology: Any, graph: KnowledgeGraph | None) -> Ontology | None:
    """The ontology that is given; without one, a graph has those of the package, for water elements or of Brick."""
    if isinstance(ontology, Ontology):
        return ontology
    if ontology is not None:
        return read_ontology(_listed(ontology))
    if graph is None:
        return None
    if _WATER_ELEMENTS & set(graph.labels):
        water = Ontology.water()
        if set(graph.labels) <= set(water.classes):
            return water
    return Ontology.brick(graph)


def _file_names(sensors: Any) -> list[str]:
    """The paths of readings that are files; a folder stands for the files in it."""
    given = list(sensors) if isinstance(sensors, (list, tuple)) else [sensors]
    paths = [Path(one) for one in given if isinstance(one, (str, Path))]
    inside = [str(path) for folder in paths if folder.is_dir() for path in folder.iterdir()]
    return [*map(str, paths), *inside]


def _listed(source: Any) -> Any:
    return list(source) if isinstance(source, tuple) else source


def _bound(sensors: SensorData, graph: KnowledgeGraph, binding: Any, given: InputConfig, partial: bool) -> Binding:
    options = dict(given.bind)
    if isinstance(binding, Binding):
        return _checked_binding(sensors, graph, binding)
    own = options.pop("table", None)
    if binding is not None:
        table = binding if isinstance(binding, Mapping) else _read_table(binding, sensors, graph, given)
        if given.select or _names_in(given.read_sensors, "ignore"):
            table = {sensor: node for sensor, node in table.items() if sensor in sensors.ids}
        options["table"] = {**table, **(own or {})}
    elif own is not None:
        # A table beside the graph settles single sensors; the others are bound by their names.
        options = {"rule": list(DEFAULT_RULES), **options, "table": own}
    if "partial" in options:
        return bind(sensors, graph, **options)
    # Without enrichment the graph only names places, so any number of sensors may stay unnamed.
    named = binding is not None or "rule" in given.bind
    return _bind_nearly_all(sensors, graph, options, any_number=partial and not named)


def _read_table(source: Any, sensors: SensorData, graph: KnowledgeGraph, given: InputConfig) -> Mapping[str, str]:
    """The binding in files; of a CSV file with other heads, by the columns that name sensors and nodes."""
    path = Path(source) if isinstance(source, (str, Path)) and "://" not in str(source) else None
    if path is not None and path.suffix.lower() == ".csv" and not given.read_binding and path.is_file():
        heads = {parse_head(column)[0] for column in read_csv_table(path, needs=()).columns}
        if not {"sensor", "node"} & heads:
            return match_table(path, sensors.ids, graph)
    return read_binding(_listed(source), **given.read_binding)


def _bind_nearly_all(
    sensors: SensorData, graph: KnowledgeGraph, options: Mapping[str, Any], *, any_number: bool
) -> Binding:
    """Bind sensors and leave out the few that belong to no node, such as a label or an operator's flag.

    Many unbound sensors, or a mistake in a table, mean wrong names: that is an error.
    """
    found = bind(sensors, graph, partial=True, **options)
    table = options.get("table") or {}
    lost = [sensor for sensor in found.left_out if sensor not in table]
    misspelt = any(sensor not in sensors.ids for sensor in found.left_out)
    if misspelt or not (any_number or _are_few(len(lost), len(sensors))):
        return bind(sensors, graph, **options)  # raises, and says why for each
    if len(lost) < len(found.left_out):
        bind([sensor for sensor in sensors.ids if sensor not in lost], graph, **options)  # raises for the table only
    return found


def _checked_binding(sensors: SensorData, graph: KnowledgeGraph, binding: Binding) -> Binding:
    """The binding of the caller for these sensors; the few that it does not name are left out."""
    lost = [sensor for sensor in sensors.ids if sensor not in binding and sensor not in binding.left_out]
    few = _are_few(len(lost), len(sensors))
    required = [s for s in sensors.ids if s in binding or (s in lost and not few)]
    binding.check(required, graph, allow_extra=True)
    chosen = binding.select(sensors)
    reasons = dict.fromkeys(lost, "the binding does not name it")
    return Binding(chosen, left_out={**chosen.left_out, **reasons}) if lost else chosen


def _are_few(lost: int, total: int) -> bool:
    """Whether so few sensors lack a node that the others are named right: at most two thirds."""
    return 3 * lost <= 2 * total
