"""EPANET 2.2 step by step: open a network, set demands and leaks, run it, and read single values.

A thin layer over the shared library that WNTR includes, in metric units only (m, m³/h). Calling the solver step by
step lets a leak grow during the simulation, gives every junction its own demand series without writing it to a text
file, and keeps only the values that are asked for: a year of Hanoi with a leak takes about a second. This module must
not depend on data sets, sensors or graphs, and leaves no file behind.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from thence._base.progress import Progress, silent
from thence.errors import InputError, ThenceError, nearest, require

Quantity = Literal["pressure", "demand", "deficit", "flow", "status"]
Floats = NDArray[np.float64]

# Codes of the EPANET 2.2 toolkit (epanet2_enums.h).
_NODE_COUNT, _LINK_COUNT, _CONTROL_COUNT = 0, 2, 5
_ELEVATION, _EMITTER, _DEMAND, _PRESSURE, _DEFICIT = 0, 3, 9, 11, 27
_DIAMETER, _LENGTH, _ROUGHNESS, _MINOR_LOSS, _FLOW, _STATUS = 0, 1, 2, 3, 8, 11
_DURATION, _HYDRAULIC_STEP, _PATTERN_STEP, _PATTERN_START, _REPORT_STEP = 0, 1, 3, 4, 5
_TRIALS, _ACCURACY = 0, 1
_CUBIC_METRES_PER_HOUR = 8
_PRESSURE_DRIVEN = 1
_TIME_OF_DAY_CONTROL = 3
_PIPE = 1
_UNBALANCED = 1
_STEPS_PER_PROGRESS = 128

_PROBE_CODES: dict[Quantity, tuple[Literal["node", "link"], int]] = {
    "pressure": ("node", _PRESSURE),  # of a tank: its water level
    "demand": ("node", _DEMAND),
    "deficit": ("node", _DEFICIT),
    "flow": ("link", _FLOW),
    "status": ("link", _STATUS),  # 0 is closed, 1 is open
}


class SimulationError(ThenceError):
    """EPANET could not open, change or solve a network."""


@dataclass(frozen=True)
class Probe:
    """One value to read at every step.

    Args:
        quantity: What to read.
        name: The name of the node, or of the link for ``"flow"`` and ``"status"``.
    """

    quantity: Quantity
    name: str


def _as_c(value: Any) -> Any:
    """Return a value as C takes it; what is of C already stays as it is."""
    if isinstance(value, str):
        return value.encode()
    return (
        ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value) if isinstance(value, float) else value
    )


class Network:
    """An open EPANET network, in metres and m³/h whatever the units of its file. Use it in a ``with`` block.

    Args:
        inp: The EPANET file.
    """

    def __init__(self, inp: Path) -> None:
        if not inp.is_file():
            raise InputError("no such EPANET file", where=str(inp))
        self.inp = inp
        self._library: Any = require("wntr.epanet.toolkit", extra="water").ENepanet().ENlib
        self._project = ctypes.c_void_p()
        self._scratch = tempfile.TemporaryDirectory(prefix="thence-epanet-")
        self._own_patterns = 0
        self._pattern_memory: dict[int, Floats] = {}

    def __enter__(self) -> Self:
        report = str(Path(self._scratch.name) / "report.txt")
        self._library.EN_createproject(ctypes.byref(self._project))
        try:
            self._call("EN_open", str(self.inp), report, "")
            self._call("EN_setstatusreport", 0)
            self._call("EN_setflowunits", _CUBIC_METRES_PER_HOUR)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the project and its temporary folder. May be called twice."""
        if self._project:
            self._library.EN_close(self._project)
            self._library.EN_deleteproject(self._project)
            self._project = ctypes.c_void_p()
        self._scratch.cleanup()

    def _call(self, function: str, *arguments: Any) -> int:
        """Call a function of the library; integers, floats and texts become those of C."""
        code = int(getattr(self._library, function)(self._project, *map(_as_c, arguments)))
        if code > 100:  # lower codes are warnings, such as a negative pressure; callers check the readings
            buffer = ctypes.create_string_buffer(256)
            self._library.EN_geterror(ctypes.c_int(code), buffer, ctypes.c_int(255))
            raise SimulationError(f"EPANET: {buffer.value.decode(errors='replace')}", where=str(self.inp))
        return code

    def _get(self, function: str, *arguments: Any, of: Any = ctypes.c_int) -> Any:
        """Return what a function of the library writes into its last argument, which is ``of`` a type of C."""
        value = of()
        self._call(function, *arguments, ctypes.byref(value))
        return value.value

    def _index(self, what: Literal["node", "link"], name: str) -> int:
        index = ctypes.c_int()
        if getattr(self._library, f"EN_get{what}index")(self._project, name.encode(), ctypes.byref(index)):
            known = self.nodes if what == "node" else self.links
            raise InputError(f"no {what} '{name}' in the network", where=str(self.inp), hint=nearest(name, known))
        return index.value

    def _names(self, count_code: int, function: str) -> tuple[str, ...]:
        buffer = ctypes.create_string_buffer(64)
        names = []
        for index in range(1, self._get("EN_getcount", count_code) + 1):
            self._call(function, index, buffer)
            names.append(buffer.value.decode())
        return tuple(names)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all junctions, reservoirs and tanks."""
        return self._names(_NODE_COUNT, "EN_getnodeid")

    @property
    def links(self) -> tuple[str, ...]:
        """Names of all pipes, pumps and valves."""
        return self._names(_LINK_COUNT, "EN_getlinkid")

    def _nodes_of(self, kind: int) -> tuple[str, ...]:
        return tuple(n for i, n in enumerate(self.nodes, start=1) if self._get("EN_getnodetype", i) == kind)

    @property
    def junctions(self) -> tuple[str, ...]:
        """Names of the junctions."""
        return self._nodes_of(0)

    @property
    def reservoirs(self) -> tuple[str, ...]:
        """Names of the reservoirs."""
        return self._nodes_of(1)

    @property
    def tanks(self) -> tuple[str, ...]:
        """Names of the tanks."""
        return self._nodes_of(2)

    @property
    def switched_links(self) -> tuple[str, ...]:
        """Names of the links that can switch: pumps, valves, and pipes that a simple control opens or closes."""
        link = ctypes.c_int()
        parts: list[Any] = [ctypes.c_int(), link, ctypes.c_double(), ctypes.c_int(), ctypes.c_double()]
        controlled = set()
        for control in range(1, self._get("EN_getcount", _CONTROL_COUNT) + 1):
            self._call("EN_getcontrol", control, *map(ctypes.byref, parts))
            controlled.add(link.value)
        return tuple(
            name
            for index, name in enumerate(self.links, start=1)
            if self._get("EN_getlinktype", index) > _PIPE or index in controlled
        )

    @property
    def pattern_step_s(self) -> int:
        """How long a value of a demand pattern holds, in seconds, as the file says."""
        return int(self._get("EN_gettimeparam", _PATTERN_STEP, of=ctypes.c_long))

    def _link_value(self, link: int, code: int) -> float:
        return float(self._get("EN_getlinkvalue", link, code, of=ctypes.c_double))

    def scale_link(self, name: str, *, length: float, diameter: float, roughness: float) -> None:
        """Multiply the length, diameter and roughness of the pipe ``name`` by these factors."""
        link = self._index("link", name)
        for code, factor in ((_LENGTH, length), (_DIAMETER, diameter), (_ROUGHNESS, roughness)):
            self._call("EN_setlinkvalue", link, code, self._link_value(link, code) * factor)

    def demands(self, junction: str) -> list[tuple[float, Floats]]:
        """Return the demand categories of a junction: base demand in m³/h and the multipliers of its pattern."""
        node = self._index("node", junction)
        return [
            (
                self._get("EN_getbasedemand", node, category, of=ctypes.c_double),
                self._pattern_values(self._get("EN_getdemandpattern", node, category)),
            )
            for category in range(1, self._get("EN_getnumdemands", node) + 1)
        ]

    def _pattern_values(self, pattern: int) -> Floats:
        if pattern == 0:  # no pattern: the base demand at every step
            return np.ones(1)
        if pattern not in self._pattern_memory:  # hundreds of junctions share a pattern of thousands of values
            periods = range(1, self._get("EN_getpatternlen", pattern) + 1)
            values = [self._get("EN_getpatternvalue", pattern, period, of=ctypes.c_double) for period in periods]
            self._pattern_memory[pattern] = np.array(values)
        return self._pattern_memory[pattern]

    def replace_demand(self, junction: str) -> int:
        """Replace all demands of a junction by one new series; return its number for ``set_demand``."""
        node = self._index("node", junction)
        for category in range(1, self._get("EN_getnumdemands", node) + 1):
            self._call("EN_setbasedemand", node, category, 1.0 if category == 1 else 0.0)
        self._own_patterns += 1
        name = f"thence{self._own_patterns}"
        self._call("EN_addpattern", name)
        pattern = int(self._get("EN_getpatternindex", name))
        self._call("EN_setdemandpattern", node, 1, pattern)
        return pattern

    def set_demand(self, pattern: int, series_m3h: Floats) -> None:
        """Set the values of a demand series, one per step. EPANET repeats the series after its end.

        Args:
            pattern: The number of the series, from ``replace_demand``.
            series_m3h: The demand in m³/h.
        """
        values = np.ascontiguousarray(series_m3h, dtype=np.float64)
        self._pattern_memory.pop(pattern, None)
        self._call("EN_setpattern", pattern, values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), len(values))

    def use_pressure_driven_demand(self, *, required_m: float) -> None:
        """Deliver less than the demand where the pressure is below ``required_m``, and nothing at zero pressure."""
        self._call("EN_setdemandmodel", _PRESSURE_DRIVEN, 0.0, float(required_m), 0.5)

    def set_accuracy(self, value: float, *, trials: int) -> None:
        """Stop iterating when flows change by less than the fraction ``value``, or after ``trials`` iterations."""
        self._call("EN_setoption", _TRIALS, float(trials))
        self._call("EN_setoption", _ACCURACY, float(value))

    def node_index(self, name: str) -> int:
        """Return EPANET's index of a node, for ``set_emitter``."""
        return self._index("node", name)

    def set_emitter(self, node: int, coefficient: float) -> None:
        """Let the junction with the index ``node`` lose ``coefficient`` · √pressure m³/h from the next step on."""
        self._call("EN_setnodevalue", node, _EMITTER, float(coefficient))

    def add_daily_control(self, link: str, *, hour: float, open_: bool) -> None:
        """Open or close a link at the same hour every day."""
        switched = self._index("link", link), 1.0 if open_ else 0.0
        self._get("EN_addcontrol", _TIME_OF_DAY_CONTROL, *switched, 0, 3600.0 * hour)

    def split_pipe(self, pipe: str, *, junction: str) -> None:
        """Split a pipe in the middle by a new junction without demand; the first half keeps the name of the pipe."""
        link = self._index("link", pipe)
        ends = ctypes.c_int(), ctypes.c_int()
        self._call("EN_getlinknodes", link, *map(ctypes.byref, ends))
        names = [self.nodes[end.value - 1] for end in ends]
        heights = [self._get("EN_getnodevalue", end.value, _ELEVATION, of=ctypes.c_double) for end in ends]
        length, diameter, roughness, minor = (
            self._link_value(link, code) for code in (_LENGTH, _DIAMETER, _ROUGHNESS, _MINOR_LOSS)
        )
        middle = self._get("EN_addnode", junction, 0)
        self._call("EN_setjuncdata", middle, sum(heights) / 2, 0.0, "")
        half = self._get("EN_addlink", f"{pipe}~2", _PIPE, junction, names[1])
        first = self._index("link", pipe)
        self._call("EN_setlinknodes", first, self._index("node", names[0]), self._index("node", junction))
        for part, loss in ((first, minor), (half, 0.0)):
            self._call("EN_setpipedata", part, length / 2, diameter, roughness, loss)

    def simulate(
        self,
        probes: Sequence[Probe],
        *,
        steps: int,
        step_s: int,
        before: Callable[[int], None] | None = None,
        progress: Progress = silent,
    ) -> Floats:
        """Run the simulation and return the values at the start of each step, one column per probe.

        The solver may take shorter steps in between, when a tank fills or a control switches; those are not read.

        Args:
            probes: The values to read.
            steps: The number of steps.
            step_s: The length of a step in seconds.
            before: Called with the number of each step before it is solved.
            progress: Receives the progress.
        """
        for code, seconds in (
            (_DURATION, (steps - 1) * step_s),
            (_HYDRAULIC_STEP, step_s),
            (_REPORT_STEP, step_s),
            (_PATTERN_STEP, step_s),
            (_PATTERN_START, 0),
        ):
            self._call("EN_settimeparam", code, ctypes.c_long(seconds))
        table = np.full((steps, len(probes)), np.nan)
        value = ctypes.c_double()
        reference = ctypes.byref(value)
        getters = self._getters(probes)
        project = self._project
        now, ahead = ctypes.c_long(0), ctypes.c_long(0)
        self._call("EN_openH")
        try:
            self._call("EN_initH", 0)
            while True:
                step, within = divmod(now.value + ahead.value, step_s)
                if before is not None and within == 0:
                    before(step)
                if step % _STEPS_PER_PROGRESS == 0:
                    progress("simulating", step, steps)
                if self._call("EN_runH", ctypes.byref(now)) == _UNBALANCED:
                    raise SimulationError(
                        f"EPANET could not balance the flows in step {step}",
                        where=str(self.inp),
                        hint="check demands and leaks, or allow more trials",
                    )
                if within == 0:
                    row = table[step]
                    for column, (get, index, code) in enumerate(getters):
                        get(project, index, code, reference)
                        row[column] = value.value
                self._call("EN_nextH", ctypes.byref(ahead))
                if ahead.value <= 0:
                    return table
        finally:
            self._call("EN_closeH")

    def _getters(self, probes: Sequence[Probe]) -> list[tuple[Any, Any, Any]]:
        functions = {"node": self._library.EN_getnodevalue, "link": self._library.EN_getlinkvalue}
        getters = []
        for probe in probes:
            what, code = _PROBE_CODES[probe.quantity]
            index = self._index(what, probe.name)
            getters.append((functions[what], ctypes.c_int(index), ctypes.c_int(code)))
        return getters
