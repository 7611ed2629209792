"""Plants with known formulas: a heating loop, an air handler, a heat pump, a tank farm, a network and a chiller.

Each is a pure function of its seed, and says which formulas it obeys with which constants. Noise multiplies readings
(not set points and states); missing readings and held ones come on top. ``shifted`` reads every sensor at another time,
whole weeks apart, so that nothing is true any more but what hours and seasons have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData
from thence.statements.laws.law import Law

Floats = np.ndarray[Any, np.dtype[np.float64]]
START = datetime(2023, 10, 2, tzinfo=UTC)
WEEKS, STEP_MINUTES = 26, 30
PER_DAY = 24 * 60 // STEP_MINUTES


@dataclass(frozen=True)
class Expected:
    """A formula that a plant obeys.

    Args:
        forms: The forms that say it.
        left: The sensor on the left side.
        parameters: The true value of the parameters that count, by name.
    """

    forms: tuple[str, ...]
    left: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def distances(self, law: Law) -> list[float]:
        """Return how far each parameter of a law is from the true one, as a share of it.

        A season may show one knee of two; then the slope of the hinge is that of the clipped line.

        Args:
            law: The law.
        """
        out = []
        for name, true in self.parameters.items():
            names = (name,) if name in law.parameters else ("slope_below", "slope_above")
            out.append(abs(sum(law.values(one)[0] for one in names) / true - 1))
        return out


@dataclass(frozen=True)
class Plant:
    """A plant.

    Args:
        name: Its name.
        series: The readings of each sensor.
        kinds: Kind and unit of each sensor.
        expected: What it obeys.
        fixed: Sensors without noise: set points, states and meters.
        graph: Its graph, if it has one; sensors are at nodes of their own names.
        node_of: The node of each sensor in the graph.
    """

    name: str
    series: Mapping[str, Floats]
    kinds: Mapping[str, tuple[str, str]]
    expected: tuple[Expected, ...]
    fixed: frozenset[str] = frozenset()
    graph: KnowledgeGraph | None = None
    node_of: Mapping[str, str] = field(default_factory=dict)

    def system(
        self, seed: int = 0, *, noise: float = 0.0, missing: float = 0.0, held: float = 0.0, shifted: bool = False
    ) -> System:
        """Return the plant as a system.

        Args:
            seed: Of noise, missing and held readings, and shifts.
            noise: Standard deviation of a factor of each reading.
            missing: Share of missing readings.
            held: Share of readings that repeat the last one.
            shifted: Whether each sensor is read at another time.
        """
        rng = np.random.default_rng(seed)
        weeks = rng.permutation(np.arange(2, WEEKS - 1))
        columns: dict[str, Any] = {}
        for number, (name, values) in enumerate(self.series.items()):
            out = values.astype(np.float64).copy()
            if shifted:
                out = np.roll(out, 7 * PER_DAY * int(weeks[number % len(weeks)]))
            if name not in self.fixed:
                out *= 1 + noise * rng.standard_normal(len(out))
            repeats = rng.random(len(out)) < held
            repeats[0] = False
            source = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(out))))
            out = out[source]
            out[rng.random(len(out)) < missing] = np.nan
            columns[name] = out
        size = len(next(iter(columns.values())))
        times = [START + timedelta(minutes=STEP_MINUTES * at) for at in range(size)]
        sensors = [Sensor(name, *self.kinds[name]) for name in columns]
        frame = pl.DataFrame({"time": times, **columns}).with_columns(pl.all().exclude("time").fill_nan(None))
        data = SensorData.from_wide(frame, sensors=sensors)
        binding = Binding(dict(self.node_of)) if self.graph is not None else None
        return System(data, self.graph, binding, name=self.name)


def _calendar() -> tuple[Floats, Floats, Floats]:
    """Days since the start, the hour of each row, and whether it is a working hour."""
    rows = np.arange(WEEKS * 7 * PER_DAY)
    days, hour = rows / PER_DAY, rows % PER_DAY * STEP_MINUTES / 60
    weekday = (rows // PER_DAY) % 7
    return days, hour, ((hour >= 6) & (hour < 19) & (weekday < 6)).astype(np.float64)


def _smooth(rng: np.random.Generator, size: int, memory: float, spread: float) -> Floats:
    noise = rng.standard_normal(size) * np.sqrt(1 - memory**2)
    out = np.empty(size)
    last = rng.standard_normal()
    for at in range(size):
        last = memory * last + noise[at]
        out[at] = last
    return spread * out


def _weather(rng: np.random.Generator, mean: float = 7.0, season: float = 6.0) -> Floats:
    days, hour, _ = _calendar()
    daily = 3.5 * np.sin(2 * np.pi * (hour - 9) / 24)
    return np.asarray(mean + season * np.cos(2 * np.pi * days / 182) + daily + _smooth(rng, len(days), 0.997, 4.0))


def _lag(target: Floats, share: float) -> Floats:
    out = np.empty(len(target))
    last = target[0]
    for at, value in enumerate(target):
        last += share * (value - last)
        out[at] = last
    return out


def heating_loop(seed: int = 0) -> Plant:
    """A hot-water loop: a reset curve, its tracking, a product, and the order of its temperatures."""
    rng = np.random.default_rng(seed)
    days, _, on = _calendar()
    on = on * (rng.random(WEEKS * 7) > 0.2)[days.astype(np.int64)]  # nothing runs on some days
    oat = _weather(rng)
    setpoint = np.clip(62.0 - 1.2 * oat, 42.0, 68.0)
    supply = np.where(on > 0, setpoint + _smooth(rng, len(oat), 0.7, 0.3), _lag(np.where(on > 0, setpoint, 22.0), 0.15))
    flow = np.where(on > 0, 3.0 + _smooth(rng, len(oat), 0.95, 0.9).clip(-2, 2), 0.0)
    drop = np.where(on > 0, 8 + 0.35 * (18 - oat) + _smooth(rng, len(oat), 0.9, 2.0), -0.4)
    back = supply - np.where(on > 0, np.maximum(drop, 2.0), drop)
    series = {
        "oat": oat,
        "supply": supply,
        "return": back,
        "setpoint": setpoint,
        "flow": flow,
        "power": 4.186 * flow * (supply - back),
        "pump": on,
    }
    kinds = {
        "oat": ("outdoor air temperature", "°C"),
        "supply": ("hot water supply temperature", "°C"),
        "return": ("hot water return temperature", "°C"),
        "setpoint": ("hot water supply temperature setpoint", "°C"),
        "flow": ("hot water flow", "L/s"),
        "power": ("thermal power", "kW"),
        "pump": ("pump status", ""),
    }
    expected = (
        Expected(("clipped", "hinge"), "setpoint", {"slope": -1.2}),
        Expected(("follows",), "supply"),
        Expected(("product",), "power", {"k": 4.186}),
        Expected(("above",), "supply"),
    )
    return Plant("heating loop", series, kinds, expected, frozenset({"setpoint", "pump"}))


def air_handler(seed: int = 0) -> Plant:
    """An air handler: mixing by a damper, a reset curve, and its tracking while the fan is on."""
    rng = np.random.default_rng(seed)
    _, _, on = _calendar()
    oat = _weather(rng, 11.0)
    back = 22.0 + _smooth(rng, len(oat), 0.97, 0.8)
    damper = np.clip(20 + 60 * np.clip((oat - 2) / 16, 0, 1) + _smooth(rng, len(oat), 0.9, 14.0), 10, 100)
    mixed = back + damper / 100 * (oat - back)
    setpoint = np.clip(20.0 - 0.4 * oat, 12.0, 18.0)
    supply = np.where(on > 0, setpoint + _smooth(rng, len(oat), 0.5, 0.15), _lag(back, 0.2))
    series = {"oat": oat, "rat": back, "mat": mixed, "sat": supply, "satsp": setpoint, "damper": damper, "fan": on}
    kinds = {
        "oat": ("outdoor air temperature", "°C"),
        "rat": ("return air temperature", "°C"),
        "mat": ("mixed air temperature", "°C"),
        "sat": ("supply air temperature", "°C"),
        "satsp": ("supply air temperature setpoint", "°C"),
        "damper": ("outdoor air damper position", "%"),
        "fan": ("fan status", ""),
    }
    expected = (
        Expected(("mixing",), "mat", {"share": 0.01}),
        Expected(("clipped", "hinge"), "satsp", {"slope": -0.4}),
        Expected(("follows",), "sat"),
    )
    return Plant("air handler", series, kinds, expected, frozenset({"satsp", "fan"}))


def heat_pump(seed: int = 0) -> Plant:
    """A heat pump: a heating curve with one knee, a product, and a meter of its electric power."""
    rng = np.random.default_rng(seed)
    oat = _weather(rng, 6.0)
    setpoint = 35.0 - 0.8 * np.minimum(oat - 15.0, 0.0)
    running = (_smooth(rng, len(oat), 0.8, 1.0) < 1.2 - 0.05 * oat).astype(np.float64)
    supply = np.where(running > 0, setpoint + _smooth(rng, len(oat), 0.6, 0.4), _lag(np.full(len(oat), 30.0), 0.1))
    flow = np.where(running > 0, 20 + _smooth(rng, len(oat), 0.9, 4.0).clip(-10, 10), 0.0)
    back = supply - np.where(running > 0, np.maximum(5 + _smooth(rng, len(oat), 0.9, 1.5), 1.5), 0.2)
    heat = 4.186 / 60 * flow * (supply - back)
    power = running * (0.8 + 0.25 * heat) + 0.06
    series = {
        "oat": oat,
        "supply": supply,
        "return": back,
        "setpoint": setpoint,
        "flow": flow,
        "heat": heat,
        "power": power,
        "meter": np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * STEP_MINUTES / 60)]) + 1200.0,
        "status": running,
    }
    kinds = {
        "oat": ("outdoor temperature", "°C"),
        "supply": ("heating water supply temperature", "°C"),
        "return": ("heating water return temperature", "°C"),
        "setpoint": ("heating water supply temperature setpoint", "°C"),
        "flow": ("heating water flow", "L/min"),
        "heat": ("thermal power", "kW"),
        "power": ("electric power", "kW"),
        "meter": ("electric energy", "kWh"),
        "status": ("compressor status", ""),
    }
    expected = (
        Expected(("hinge",), "setpoint", {"level": 35.0, "slope_below": -0.8, "knee": 15.0}),
        Expected(("product",), "heat", {"k": 4.186 / 60}),
        Expected(("counter",), "meter", {"factor": 1.0}),
        Expected(("follows",), "supply"),
    )
    return Plant("heat pump", series, kinds, expected, frozenset({"setpoint", "status", "meter"}))


def tank_farm(seed: int = 0) -> Plant:
    """A tank: two thermometers with an offset, a flow and its meter, and a command that a flow is proportional to."""
    rng = np.random.default_rng(seed)
    days, hour, _ = _calendar()
    first = 55 + 6 * np.sin(2 * np.pi * hour / 24) + _smooth(rng, len(days), 0.995, 5.0)
    valve = np.clip(45 + 25 * np.sin(2 * np.pi * (hour - 4) / 24) + _smooth(rng, len(days), 0.9, 18.0), 0, 100)
    flow = 0.12 * valve
    series = {
        "T_A": first,
        "T_B": first + 0.8,
        "flow": flow,
        "valve": valve,
        "volume": np.concatenate([[0.0], np.cumsum((flow[1:] + flow[:-1]) / 2 * STEP_MINUTES / 60)]),
    }
    kinds = {
        "T_A": ("water temperature", "°C"),
        "T_B": ("water temperature", "°C"),
        "flow": ("water flow", "m3/h"),
        "valve": ("valve position", "%"),
        "volume": ("water volume", "m3"),
    }
    expected = (
        Expected(("offset",), "T_B", {"offset": 0.8}),
        Expected(("ratio",), "flow", {"factor": 0.12}),
        Expected(("counter",), "volume", {"factor": 1.0}),
    )
    return Plant("tank farm", series, kinds, expected, frozenset({"valve", "volume"}))


def network(seed: int = 0) -> Plant:
    """A tree of twelve pipes whose heads fall by a power of their flows (Hazen and Williams)."""
    rng = np.random.default_rng(seed)
    days, hour, _ = _calendar()
    pipes = 12
    demand = [
        10 + 6 * np.sin(2 * np.pi * (hour - 6 - rng.uniform(0, 3)) / 24).clip(-0.6) + _smooth(rng, len(days), 0.9, 1.5)
        for _ in range(pipes)
    ]
    parent = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6]
    flows = [one.clip(2) for one in demand]
    for at in range(pipes - 1, 0, -1):
        flows[parent[at]] = flows[parent[at]] + flows[at]
    length, rough = rng.uniform(200, 2000, pipes), rng.uniform(80, 140, pipes)
    width = np.array([np.sqrt(float(flow.mean()) / 3600) * rng.uniform(0.9, 1.1) for flow in flows])
    heads = {-1: np.full(len(days), 160.0) + _smooth(rng, len(days), 0.99, 1.0)}
    nodes, edges = [Node("Source", frozenset({"Reservoir"}))], []
    series, kinds, node_of = {}, {}, {}
    for at in range(pipes):
        factor = 10.667 * length[at] / (rough[at] ** 1.852 * width[at] ** 4.871) / 3600**1.852
        heads[at] = heads[parent[at]] - factor * flows[at] ** 1.852
        sizes = {"length": float(length[at]), "diameter": float(width[at]), "roughness": float(rough[at])}
        start = "Source" if parent[at] < 0 else f"Junction {parent[at]}"
        nodes += [Node(f"Pipe {at}", frozenset({"Pipe"}), sizes), Node(f"Junction {at}", frozenset({"Junction"}))]
        edges += [Edge(f"in {at}", start, f"Pipe {at}", frozenset({"to"})),
                  Edge(f"out {at}", f"Pipe {at}", f"Junction {at}", frozenset({"to"}))]  # fmt: skip
        series |= {f"flow_{at}": flows[at], f"head_{at}": heads[at]}
        node_of |= {f"flow_{at}": f"Pipe {at}", f"head_{at}": f"Junction {at}"}
    series["head_s"], node_of["head_s"] = heads[-1], "Source"
    for name in series:
        kinds[name] = ("flow", "m3/h") if name.startswith("flow") else ("head", "m")
    expected = (Expected(("head_loss",), "flow_1", {"exponent": 1.852}),)
    return Plant("network", series, kinds, expected, frozenset(), KnowledgeGraph(nodes, edges), node_of)


def chiller(seed: int = 0) -> Plant:
    """A chiller in American units: a product, water that is held while it runs, and the order of its temperatures."""
    rng = np.random.default_rng(seed)
    oat = 78 + 1.8 * (_weather(rng, 0.0, 8.0))
    running = (_calendar()[2] > 0) & (oat > 74)
    supply = np.where(running, 44.0 + _smooth(rng, len(oat), 0.3, 0.12), _lag(np.where(running, 44.0, 68.0), 0.2))
    flow = np.where(running, 300 + _smooth(rng, len(oat), 0.95, 70.0).clip(-180, 180), 0.0)
    rise = np.where(running, np.maximum(9 + _smooth(rng, len(oat), 0.95, 2.5), 2), -0.5)
    series = {
        "oat": oat,
        "chws": supply,
        "chwr": supply + rise,
        "flow": flow,
        "load": 4.186e6 * 3.785411784e-3 / 60 * 5 / 9 * 1e-3 * flow * rise,
        "status": running.astype(np.float64),
    }
    kinds = {
        "oat": ("outdoor air temperature", "°F"),
        "chws": ("chilled water supply temperature", "°F"),
        "chwr": ("chilled water return temperature", "°F"),
        "flow": ("chilled water flow", "gpm"),
        "load": ("thermal power", "kW"),
        "status": ("chiller status", ""),
    }
    expected = (
        Expected(("product",), "load", {"k": 4.186e3 * 3.785411784e-3 / 60 * 5 / 9}),
        Expected(("held",), "chws", {"level": 44.0}),
        Expected(("above",), "chwr"),
    )
    return Plant("chiller", series, kinds, expected, frozenset({"status"}))


PLANTS: tuple[Callable[[int], Plant], ...] = (heating_loop, air_handler, heat_pump, tank_farm, network, chiller)


def rounded(plant: Plant, digits: int = 2) -> Plant:
    """Return a plant whose sensors have a resolution.

    Args:
        plant: The plant.
        digits: Digits after the point.
    """
    return replace(plant, series={name: np.round(values, digits) for name, values in plant.series.items()})
