"""Graphs from EPANET networks: junctions, tanks, reservoirs, pipes, pumps and valves all become nodes.

A sensor can be in a pipe, so a pipe is a node; it ``starts_at`` one node and ``ends_at`` another, because flow
readings have a sign. In EPANET a node and a link can have the same name, so an id is the class and the name (``Pipe
12``), and the name is also a property. Units are always metric: metres, m³/h, kilowatts.

WNTR reads the file; this module must not simulate. EPANET looks only at the first four letters of a section name and
accepts any encoding; WNTR needs full names and UTF-8. WNTR also stops at the first mistake, often without a line
number, so all common mistakes are listed here by line.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node, Value
from thence.data.loaders.loader import Loader, LoadOptions
from thence.errors import GraphError, nearest, quote, require

_SECTIONS = (
    *("TITLE", "JUNCTIONS", "RESERVOIRS", "TANKS", "PIPES", "PUMPS", "VALVES", "EMITTERS", "CURVES", "PATTERNS"),
    *("ENERGY", "STATUS", "CONTROLS", "RULES", "DEMANDS", "QUALITY", "REACTIONS", "SOURCES", "MIXING", "TIMES"),
    *("REPORT", "OPTIONS", "COORDINATES", "VERTICES", "LABELS", "BACKDROP", "TAGS", "END"),
)
_BY_FIRST_LETTERS = {name[:4]: name for name in _SECTIONS}
_NODE_SECTIONS = ("JUNCTIONS", "RESERVOIRS", "TANKS")
_LINK_SECTIONS = ("PIPES", "PUMPS", "VALVES")
# The smallest number of fields in a row, and the positions of the fields that must be numbers.
_MIN_FIELDS = {"JUNCTIONS": 1, "RESERVOIRS": 1, "TANKS": 2, "PIPES": 3, "PUMPS": 3, "VALVES": 5}
# The largest number of fields: of a row with more, WNTR takes the status of the row before.
_MAX_FIELDS = {"TANKS": 9, "PIPES": 8}
_PIPE_STATES = ("OPEN", "CLOSED", "CV")
_NUMBERS: dict[str, tuple[int, ...]] = {
    "JUNCTIONS": (1, 2),
    "RESERVOIRS": (1,),
    "TANKS": (1, 2, 3, 4, 5, 6),
    "PIPES": (3, 4, 5, 6),
    "VALVES": (3,),
}


def _read_inp(path: Path) -> str:
    """Read the text of the file at ``path`` in any encoding, with full section names.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "a.inp"
        ...     _ = file.write_bytes(b"[JUNC]\\nM\\xfcnchen 10\\n")
        ...     _read_inp(file)
        '[JUNCTIONS]\\nMünchen 10\\n'
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise GraphError(f"cannot be read ({error.strerror})", where=str(path)) from error
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            # EPANET for Windows writes in the code page of the machine; Latin-1 decodes every byte.
            text = raw.decode("latin-1")
    return "".join(_complete_lines(text.splitlines(keepends=True)))


def _complete_lines(lines: list[str]) -> Iterator[str]:
    """The lines with full section names, and with the loss coefficient of a pipe before its status."""
    section = ""
    for line in lines:
        complete = _complete_section_name(line)
        if complete.lstrip().startswith("["):
            section = complete.strip().strip("[]").upper()
        elif section == "PIPES":
            content, mark, comment = complete.partition(";")
            fields = content.split()
            if len(fields) == 7 and fields[6].upper() in _PIPE_STATES:
                # EPANET allows either; WNTR takes the seventh field for the coefficient.
                complete = f"{' '.join([*fields[:6], '0', fields[6]])} {mark}{comment or _line_end(content)}"
        yield complete


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _complete_section_name(line: str) -> str:
    name, bracket, rest = line.lstrip().removeprefix("[").partition("]")
    known = _BY_FIRST_LETTERS.get(name.strip().upper()[:4])
    return f"[{known}]{rest}" if line.lstrip().startswith("[") and bracket and known else line


def _explain_failure(path: Path, text: str, error: Exception) -> GraphError:
    """Return an error that lists the mistakes in ``text``, or repeats WNTR's ``error`` if none is found."""
    problems = list(_find_problems(text))
    if not problems:
        return GraphError(f"EPANET file cannot be read: {error}", where=str(path), hint="check that EPANET can open it")
    listed = "\n  ".join(problems)
    return GraphError(f"EPANET file cannot be read:\n  {listed}", where=str(path))


def _find_long_rows(rows: list[tuple[int, str, list[str]]]) -> Iterator[str]:
    for number, section, fields in rows:
        if len(fields) > (most := _MAX_FIELDS.get(section, len(fields))):
            name, extra = quote(fields[0]), quote(" ".join(fields[most:]))
            yield (
                f"line {number}: [{section}] row of {name} has {len(fields)} fields, at most {most} are read: "
                f"remove {extra}, or begin a comment with ';'"
            )


def _find_duplicates(rows: list[tuple[int, str, list[str]]]) -> Iterator[str]:
    for sections in (_NODE_SECTIONS, _LINK_SECTIONS):
        known: dict[str, int] = {}
        for number, section, fields in rows:
            if section in sections:
                if fields[0] in known:
                    first = known[fields[0]]
                    yield f"line {number}: [{section}] duplicate name {quote(fields[0])} (first on line {first})"
                known.setdefault(fields[0], number)


def _rows(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line number, section and fields of each row."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition(";")[0].strip()
        if content.startswith("["):
            section = content.strip("[]").upper()
        elif content:
            yield number, section, content.split()


def _find_problems(text: str) -> Iterator[str]:
    rows = list(_rows(text))
    nodes = {fields[0] for _, section, fields in rows if section in _NODE_SECTIONS}
    if not any(section in _NODE_SECTIONS for _, section, _ in rows):
        yield "no section [JUNCTIONS], [RESERVOIRS] or [TANKS]: this does not look like an EPANET file"
        return
    if not any(section == "OPTIONS" and fields[0].upper() == "UNITS" for _, section, fields in rows):
        yield "missing units in the section [OPTIONS]: add a line such as 'Units  LPS'"
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip().partition("]")[0].removeprefix("[")
        if line.strip().startswith("[") and name.upper() not in _SECTIONS:
            advice = nearest(name.upper(), _SECTIONS)
            yield f"line {number}: unknown section [{name}]" + (f" ({advice})" if advice else "")
    yield from _find_duplicates(rows)
    yield from _find_long_rows(rows)
    for number, section, fields in rows:
        if section not in _MIN_FIELDS:
            continue
        if len(fields) < _MIN_FIELDS[section]:
            yield f"line {number}: [{section}] row has {len(fields)} fields, needs {_MIN_FIELDS[section]}"
        if section == "PIPES" and len(fields) > 7 and fields[7].upper() not in _PIPE_STATES:
            yield f"line {number}: [PIPES] the status of {quote(fields[0])} must be Open, Closed or CV"
        for position in _NUMBERS.get(section, ()):
            if position < len(fields) and not _is_number(fields[position]):
                yield f"line {number}: [{section}] '{fields[position]}' of '{fields[0]}' is not a number"
    for number, section, fields in rows:
        if section in _LINK_SECTIONS and len(fields) >= 3:
            for end in fields[1:3]:
                if end not in nodes:
                    advice = nearest(end, nodes)
                    yield (
                        f"line {number}: [{section}] '{fields[0]}' refers to '{end}', which is not a node"
                        + (f" ({advice})" if advice else "")
                    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


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
    text = _read_inp(path)
    rows = list(_rows(text))
    if long_rows := list(_find_long_rows(rows)):
        raise GraphError("\n  ".join(["EPANET file cannot be read:", *long_rows]), where=str(path))
    try:
        model = _load_model(wntr, path, text)
    except Exception as error:
        # WNTR fails with any type of exception; look for the mistakes in the file that cause it.
        raise _explain_failure(path, text, error) from error
    if duplicates := list(_find_duplicates(rows)):
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
    found: dict[str, Any] = {"name": element.name}
    for name, read in _PROPERTIES[kind].items():
        value = read(element) if callable(read) else getattr(element, read)
        found[name] = _metric(float(value)) if isinstance(value, Real) and not isinstance(value, bool) else value
    # WNTR puts a node without coordinates at the origin.
    if hasattr(element, "coordinates") and any(element.coordinates):
        found |= dict(zip("xy", map(float, element.coordinates), strict=True))
    found["tag"] = element.tag
    return {key: value for key, value in found.items() if value is not None and value != ""}


def _metric(number: float) -> float:
    # Unit conversion leaves noise in the last digits (247.21999999999997 for 247.22): keep twelve digits.
    return float(f"{number:.12g}")


def _demand_pattern(node: Any) -> str | None:
    # A junction may have several categories of demand; the pattern of the largest is kept.
    demands = list(node.demand_timeseries_list)
    return max(demands, key=lambda demand: abs(demand.base_value)).pattern_name if demands else None


def _setting(link: Any) -> float | None:
    # The setting is a head in metres; for a flow control valve a flow, for a throttle valve a coefficient.
    factor = _SECONDS_PER_HOUR if link.valve_type == "FCV" else 1.0
    return None if link.valve_type == "GPV" else link.initial_setting * factor


def _status(link: Any) -> str:
    return str(getattr(link.initial_status, "name", link.initial_status)).lower()


# By class: the name of each property, and the attribute of WNTR or a function of the element.
_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "Junction": {
        "elevation": "elevation",
        "base_demand": lambda node: sum(one.base_value for one in node.demand_timeseries_list) * _SECONDS_PER_HOUR,
        "demand_pattern": _demand_pattern,
        "emitter_coefficient": "emitter_coefficient",
    },
    "Tank": {
        "elevation": "elevation",
        "initial_level": "init_level",
        "min_level": "min_level",
        "max_level": "max_level",
        "diameter": "diameter",
        "min_volume": "min_vol",
        "volume_curve": "vol_curve_name",
    },
    "Reservoir": {"head": "base_head", "head_pattern": "head_pattern_name"},
    "Pipe": {
        "length": "length",
        "diameter": "diameter",
        "roughness": "roughness",
        "minor_loss": "minor_loss",
        "status": _status,
        "check_valve": lambda link: bool(link.check_valve),
    },
    "Pump": {
        "pump_type": lambda link: link.pump_type.lower(),
        "power": lambda link: 0.001 * link.power if link.pump_type == "POWER" else None,
        "curve": lambda link: None if link.pump_type == "POWER" else link.pump_curve_name,
        "speed": "base_speed",
        "speed_pattern": "speed_pattern_name",
        "status": _status,
    },
    "Valve": {
        "valve_type": "valve_type",
        "diameter": "diameter",
        "minor_loss": "minor_loss",
        "curve": lambda link: link.headloss_curve_name if link.valve_type == "GPV" else None,
        "setting": _setting,
        "status": _status,
    },
}

LOADER = Loader(read, suffixes=(".inp",), accepts=is_model, convert=from_model)
