"""Graphs from EPANET networks: junctions, tanks, reservoirs, pipes, pumps and valves all become nodes.

A sensor can be in a pipe, so a pipe is a node; it ``starts_at`` one node and ``ends_at`` another, because flow readings
have a sign. In EPANET a node and a link can have the same name, so an id is the class and the name (``Pipe 12``), and
the name is also a property. Units are always metric: metres, m³/h, kilowatts. WNTR reads the file; this module must not
simulate.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node, Value
from thence.data.loaders.epanet_text import explain_failure, find_duplicates, find_long_rows, read_text
from thence.data.loaders.loader import Loader, LoadOptions
from thence.errors import GraphError, require

__all__ = ["LOADER", "from_model", "is_model", "read"]

_SECONDS_PER_HOUR = 3600.0
_UNITS = {
    "base_demand": "m3/h",
    "diameter": "m",
    "elevation": "m",
    "head": "m",
    "initial_level": "m",
    "length": "m",
    "max_level": "m",
    "min_level": "m",
    "min_volume": "m3",
    "power": "kW",
}


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read an EPANET ``.inp`` file."""
    (path,) = paths
    wntr = require("wntr", extra="water")
    text = read_text(path)
    long_rows = find_long_rows(text)
    if long_rows:
        raise GraphError("\n  ".join(["EPANET file cannot be read:", *long_rows]), where=str(path))
    try:
        model = _load_model(wntr, path, text)
    except Exception as error:
        # WNTR fails with any type of exception; look for the mistakes in the file that cause it.
        raise explain_failure(path, text, error) from error
    duplicates = find_duplicates(text)
    if duplicates:
        raise GraphError("\n  ".join(["duplicate names, of which WNTR keeps the last:", *duplicates]), where=str(path))
    if not model.num_nodes:
        raise GraphError("no junction, reservoir or tank in this EPANET file", where=str(path), hint="check the path")
    try:
        return from_model(model)
    except GraphError as error:
        raise GraphError(error.message, where=str(path), hint=error.hint) from error


def _load_model(wntr: ModuleType, path: Path, text: str) -> Any:
    """The WNTR model of a file, or of a temporary copy with ``text`` if WNTR cannot read the file as it is."""
    with warnings.catch_warnings():
        # WNTR warns about unused curves and patterns, which are not part of the graph.
        warnings.simplefilter("ignore")
        if path.read_bytes() == text.encode("utf-8"):
            return wntr.network.WaterNetworkModel(str(path))
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(text.encode("utf-8"))
            return wntr.network.WaterNetworkModel(str(copy))


def is_model(source: object) -> bool:
    """Whether ``source`` is an object of WNTR."""
    return type(source).__module__.startswith("wntr.")


def from_model(model: Any, options: LoadOptions | None = None) -> KnowledgeGraph:
    """Convert a WNTR ``WaterNetworkModel`` in its present state; there are no ``options``."""
    ids = {name: f"{node.node_type} {name}" for name, node in model.nodes()}
    nodes = [Node(ids[name], frozenset((node.node_type,)), _properties(node)) for name, node in model.nodes()]
    edges: list[Edge] = []
    for name, link in model.links():
        link_id = f"{link.link_type} {name}"
        nodes.append(Node(link_id, frozenset((link.link_type,)), _properties(link)))
        for label, end in (("starts_at", ids[link.start_node_name]), ("ends_at", ids[link.end_node_name])):
            edges.append(Edge(f"{link_id} {label} {end}", link_id, end, frozenset((label,))))
    units = dict(_UNITS)
    if model.options.hydraulic.headloss == "D-W":
        # Only the Darcy-Weisbach roughness is a length; the coefficients of the other formulas have no unit.
        units["roughness"] = "m"
    present = {name for node in nodes for name in node.properties}
    return KnowledgeGraph(nodes, edges, property_units={k: u for k, u in units.items() if k in present})


def _properties(element: Any) -> dict[str, Value]:
    kind = getattr(element, "node_type", None) or element.link_type
    found = {"name": element.name, **dict(_PROPERTIES[kind](element)), "tag": element.tag}
    return {key: value for key, value in found.items() if value is not None and value != ""}


def _coordinates(node: Any) -> Iterator[tuple[str, Value]]:
    x, y = node.coordinates
    # WNTR puts a node without coordinates at the origin.
    if x or y:
        yield "x", float(x)
        yield "y", float(y)


def _metric(number: float, factor: float = 1.0) -> float:
    # Unit conversion leaves noise in the last digits (247.21999999999997 for 247.22): keep twelve digits.
    return float(f"{number * factor:.12g}")


def _junction(node: Any) -> Iterator[tuple[str, Value | None]]:
    yield "elevation", _metric(node.elevation)
    demands = list(node.demand_timeseries_list)
    yield "base_demand", _metric(sum(demand.base_value for demand in demands), _SECONDS_PER_HOUR)
    if demands:
        # A junction may have several categories of demand; the pattern of the largest is kept.
        yield "demand_pattern", max(demands, key=lambda demand: abs(demand.base_value)).pattern_name
    yield "emitter_coefficient", node.emitter_coefficient
    yield from _coordinates(node)


def _tank(node: Any) -> Iterator[tuple[str, Value | None]]:
    yield "elevation", _metric(node.elevation)
    yield "initial_level", _metric(node.init_level)
    yield "min_level", _metric(node.min_level)
    yield "max_level", _metric(node.max_level)
    yield "diameter", _metric(node.diameter)
    yield "min_volume", _metric(node.min_vol)
    yield "volume_curve", node.vol_curve_name
    yield from _coordinates(node)


def _reservoir(node: Any) -> Iterator[tuple[str, Value | None]]:
    yield "head", _metric(node.base_head)
    yield "head_pattern", node.head_pattern_name
    yield from _coordinates(node)


def _pipe(link: Any) -> Iterator[tuple[str, Value | None]]:
    yield "length", _metric(link.length)
    yield "diameter", _metric(link.diameter)
    yield "roughness", _metric(link.roughness)
    yield "minor_loss", _metric(link.minor_loss)
    yield "status", _status(link)
    yield "check_valve", bool(link.check_valve)


def _pump(link: Any) -> Iterator[tuple[str, Value | None]]:
    yield "pump_type", link.pump_type.lower()
    if link.pump_type == "POWER":
        yield "power", _metric(link.power, 0.001)
    else:
        yield "curve", link.pump_curve_name
    yield "speed", _metric(link.base_speed)
    yield "speed_pattern", link.speed_pattern_name
    yield "status", _status(link)


def _valve(link: Any) -> Iterator[tuple[str, Value | None]]:
    yield "valve_type", link.valve_type
    yield "diameter", _metric(link.diameter)
    yield "minor_loss", _metric(link.minor_loss)
    if link.valve_type == "GPV":
        yield "curve", link.headloss_curve_name
    else:
        # The setting is a head in metres; for a flow control valve a flow, for a throttle valve a coefficient.
        yield "setting", _metric(link.initial_setting, _SECONDS_PER_HOUR if link.valve_type == "FCV" else 1.0)
    yield "status", _status(link)


def _status(link: Any) -> str:
    return str(getattr(link.initial_status, "name", link.initial_status)).lower()


_PROPERTIES: Mapping[str, Any] = {
    "Junction": _junction,
    "Tank": _tank,
    "Reservoir": _reservoir,
    "Pipe": _pipe,
    "Pump": _pump,
    "Valve": _valve,
}

LOADER = Loader(read, suffixes=(".inp",), accepts=is_model, convert=from_model)
