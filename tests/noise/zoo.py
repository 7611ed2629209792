"""The noise zoo: systems in which nothing is true, so that whatever is found in them is false.

A case is a generator of series on a shape of graph, and a pure function of its seed and size. Sensors of one kind have
one distribution and go to both sides of 0, so that no sensor lies above another or keeps its sign; series are
independent, so that none says anything about another; no series has a time of day, since two daily cycles would truly
move together. What remains of each sensor is its own range. The habits of a system (names, kinds, units, properties,
where sensors are bound) vary with the seed. This module makes data; it neither mines nor judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
Numbers = Callable[[Rng, int, int], Floats]
"""A generator of numbers: random state, number of frames, frames of a day → values of about mean 0 and spread 1."""

START = datetime(2024, 1, 1, tzinfo=UTC)


def _autoregress(rng: Rng, frames: int, memory: float) -> Floats:
    """A stationary series in which each value resembles the one before."""
    noise = rng.normal(size=frames) * np.sqrt(1 - memory**2)
    out = np.empty(frames)
    last = rng.normal()
    for at in range(frames):
        last = memory * last + noise[at]
        out[at] = last
    return out


def autoregressive(rng: Rng, frames: int, per_day: int) -> Floats:
    """Memory from a few minutes to a few hours: AR(1) with .5 to .99."""
    return _autoregress(rng, frames, rng.uniform(0.5, 0.99))


def slow(rng: Rng, frames: int, per_day: int) -> Floats:
    """AR(.98): episodes of a day at steps of half an hour."""
    return _autoregress(rng, frames, 0.98)


def random_walk(rng: Rng, frames: int, per_day: int) -> Floats:
    """A random walk, which has no level of its own."""
    walk = np.cumsum(rng.normal(size=frames))
    return np.asarray((walk - walk.mean()) / max(walk.std(), 1e-9))


def seasonal(rng: Rng, frames: int, per_day: int) -> Floats:
    """A cycle of a length and shape of its own whose phase wanders, with AR noise."""
    period = per_day * rng.uniform(0.3, 2.5)
    phase = 2 * np.pi * (rng.random() + np.cumsum(1 + rng.normal(scale=3.0, size=frames)) / period)
    shape = np.sin(phase) + rng.uniform(0, 0.6) * np.sin(2 * phase + rng.uniform(0, 6))
    return np.asarray((shape + 0.5 * _autoregress(rng, frames, 0.9)) / 0.9)


def fractional(rng: Rng, frames: int, per_day: int) -> Floats:
    """Long memory: fractional noise with d = .2 to .45, whose autocorrelation falls as a power."""
    d = rng.uniform(0.2, 0.45)
    lags = np.arange(1, 2 * frames)
    weights = np.concatenate([[1.0], np.cumprod((lags - 1 + d) / lags)])
    size = 4 * frames
    noise = rng.normal(size=2 * frames)
    series = np.fft.irfft(np.fft.rfft(noise, size) * np.fft.rfft(weights, size), size)[frames : 2 * frames]
    return np.asarray(series / series.std())


def held(rng: Rng, frames: int, per_day: int) -> Floats:
    """Values that are held for an hour, six hours or a day, from a moment of its own on."""
    length = max(1, int(per_day * rng.choice([1 / 24, 1 / 4, 1])))
    steps = _autoregress(rng, frames // length + 2, rng.uniform(0, 0.8))
    start = int(rng.integers(length))
    return np.asarray(np.repeat(steps, length)[start : start + frames])


def regimes(rng: Rng, frames: int, per_day: int) -> Floats:
    """Levels that last for hours to days and change at once, with noise around them."""
    changes = rng.random(frames) < 1 / (per_day * rng.uniform(0.3, 1.5))
    levels = rng.normal(size=int(changes.sum()) + 1)[np.cumsum(changes)]
    return np.asarray(levels + 0.3 * _autoregress(rng, frames, 0.7))


def gappy(rng: Rng, frames: int, per_day: int) -> Floats:
    """AR with bursts of missing values, a tenth to a third of the time."""
    out = _autoregress(rng, frames, rng.uniform(0.7, 0.97))
    length = per_day * rng.uniform(0.1, 0.8)
    for start in rng.integers(frames, size=int(frames * rng.uniform(0.1, 0.33) / length) + 1):
        out[start : start + 1 + int(rng.exponential(length))] = np.nan
    return out


def sticky(rng: Rng, frames: int, per_day: int) -> Floats:
    """Small integers that stay for long: a coarse resolution, or counts."""
    return np.asarray(np.round(_autoregress(rng, frames, rng.uniform(0.9, 0.99)) * rng.uniform(0.8, 2.0)))


def mixed(rng: Rng, frames: int, per_day: int) -> Floats:
    """Any of the others."""
    others = (autoregressive, random_walk, seasonal, fractional, held, regimes, gappy, sticky)
    return others[int(rng.integers(len(others)))](rng, frames, per_day)


GENERATORS: dict[str, Numbers] = {
    "autoregressive": autoregressive,
    "slow": slow,
    "random walk": random_walk,
    "seasonal": seasonal,
    "fractional": fractional,
    "held": held,
    "regimes": regimes,
    "gappy": gappy,
    "sticky": sticky,
    "mixed": mixed,
}


def telegraph(rng: Rng, frames: int, per_day: int) -> npt.NDArray[np.str_]:
    """Two states, each of which lasts for a random time."""
    names = [("off", "on"), ("closed", "open"), ("0", "1"), ("inactive", "active")][int(rng.integers(4))]
    changes = rng.random(frames) < 1 / (per_day * rng.uniform(0.05, 0.7))
    return np.array(names)[(np.cumsum(changes) + rng.integers(2)) % 2]


def pulses(rng: Rng, frames: int, per_day: int) -> npt.NDArray[np.str_]:
    """Events that last one window, such as motion: 1 to 20 a day."""
    return np.where(rng.random(frames) < np.exp(rng.uniform(0, 3)) / per_day, "on", "off")


def several_states(rng: Rng, frames: int, per_day: int) -> npt.NDArray[np.str_]:
    """Three to five states that follow each other at random."""
    names = np.array(["auto", "heat", "cool", "idle", "fault"])[: int(rng.integers(3, 6))]
    changes = rng.random(frames) < 1 / (per_day * rng.uniform(0.05, 0.5))
    return np.asarray(names[rng.integers(len(names), size=int(changes.sum()) + 1)[np.cumsum(changes)]])


STATES = (telegraph, pulses, several_states)


@dataclass(frozen=True)
class Point:
    """A sensor before it has readings.

    Args:
        id: Its id.
        kind: What it measures.
        unit: The unit.
        node: The node that it is bound to; empty without a graph.
        is_state: Whether it reads states.
        events: Of states: events a day that last one window; 0 for any generator of ``STATES``.
    """

    id: str
    kind: str
    unit: str = ""
    node: str = ""
    is_state: bool = False
    events: float = 0.0


@dataclass(frozen=True)
class Layout:
    """A system before it has readings.

    Args:
        points: The sensors.
        nodes: The nodes of the graph.
        edges: The edges as (source, target, label).
    """

    points: list[Point] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[str, str, str]] = field(default_factory=list)

    def graph(self) -> KnowledgeGraph | None:
        """Return the graph; ``None`` if there is none."""
        made = [Edge(f"e{at}", a, b, frozenset([label])) for at, (a, b, label) in enumerate(self.edges)]
        return KnowledgeGraph(self.nodes, made) if self.nodes else None


QUANTITIES = (("temperature", "degC"), ("flow", "L/s"), ("pressure", "kPa"), ("power", "kW"), ("humidity", "%"))


def _quantity(rng: Rng, states: float) -> tuple[str, str, bool]:
    """A kind with its unit, and whether it is of states."""
    if rng.random() < states:
        return str(rng.choice(["status", "mode", "occupancy"])), "", True
    kind, unit = QUANTITIES[int(rng.integers(len(QUANTITIES)))]
    return kind, unit, False


def bare(rng: Rng, sensors: int) -> Layout:
    """Sensors without a graph, in one of three habits: named by number, by tag, or with kinds and units."""
    habit, out = int(rng.integers(3)), Layout()
    for at in range(sensors):
        kind, unit, is_state = _quantity(rng, states=0.2)
        name = [f"s{at:03d}", f"AHU{at % 4 + 1}.{kind[:2].upper()}-{at}", f"{kind}_{at}"][habit]
        out.points.append(Point(name, kind if habit == 2 else "", unit if habit == 2 else "", is_state=is_state))
    return out


def home(rng: Rng, sensors: int) -> Layout:
    """A home without a graph: motion, doors, switches and modes, many of them rarely, and a few numbers."""
    out = Layout()
    for at in range(sensors):
        kind, unit, is_state = _quantity(rng, states=0.75)
        events = rng.uniform(1, 3) if is_state and rng.random() < 0.7 else 0.0
        out.points.append(Point(f"{kind}.{at}", kind, unit, is_state=is_state, events=events))
    return out


def tangle(rng: Rng, sensors: int) -> Layout:
    """A random graph: nodes of three classes with random properties, random edges, zero to four sensors at each."""
    out, count = Layout(), max(4, sensors // 2)
    classes, labels = ("Unit", "Zone", "Meter"), ("connected", "serves", "near")
    for at in range(count):
        properties: dict[str, Any] = {"size": float(np.round(rng.uniform(1, 90), 1))}
        if rng.random() < 0.6:
            properties["maker"] = str(rng.choice(["A", "B", "C"]))
        out.nodes.append(Node(f"n{at}", frozenset([str(rng.choice(classes))]), properties))
    pairs = {tuple(rng.choice(count, 2, replace=False).tolist()) for _ in range(int(1.5 * count))}
    out.edges.extend((f"n{a}", f"n{b}", str(rng.choice(labels))) for a, b in sorted(pairs))
    for at in range(sensors):
        kind, unit, is_state = _quantity(rng, states=0.2)
        out.points.append(Point(f"x{at}", kind, unit, f"n{int(rng.integers(count))}", is_state))
    return out


def star(rng: Rng, sensors: int) -> Layout:
    """A hub that feeds equal devices; each has the same points."""
    names = ("fan", "pump", "boiler")
    out, thing = Layout([], [Node("hub", frozenset(["Plant"]), {})]), str(rng.choice(names))
    own = [*QUANTITIES[: int(rng.integers(2, 4))], ("status", "")]
    for at in range(max(2, sensors // len(own))):
        node = f"{thing} {at + 1}"
        properties = {"efficiency": float(np.round(rng.uniform(0.6, 0.95), 2)), "power": float(rng.integers(2, 40))}
        out.nodes.append(Node(node, frozenset([thing.title()]), properties))
        out.edges.append(("hub", node, "feeds"))
        if rng.random() < 0.5:
            out.edges.append((node, "hub", "isFedBy"))
        out.points.extend(Point(f"{thing}{at + 1}_{kind}", kind, unit, node, not unit) for kind, unit in own)
    return out


def building(rng: Rng, sensors: int) -> Layout:
    """A Brick-like building: air handling units, boxes and rooms; feeds and isFedBy, points as nodes or not."""
    out, with_points, both_ways = Layout(), rng.random() < 0.5, rng.random() < 0.7
    own = (("temperature", "degC"), ("flow", "L/s"), ("damper", "%"), ("occupancy", ""))

    def add(node: str, kind: str, unit: str) -> None:
        id, bound = f"{node.lower().replace(' ', '_')}_{kind}", node
        if with_points:
            bound = f"{id}_point"
            out.nodes.append(Node(bound, frozenset([f"{kind.title()}_Sensor"]), {}))
            out.edges.append((node, bound, "hasPoint"))
            if both_ways:
                out.edges.append((bound, node, "isPointOf"))
        out.points.append(Point(id, kind, unit, bound, not unit))

    def feed(source: str, target: str) -> None:
        out.edges.append((source, target, "feeds"))
        if both_ways:
            out.edges.append((target, source, "isFedBy"))

    out.nodes.append(Node("Building", frozenset(["Building"]), {}))
    boxes = max(2, (sensors - 2) // len(own))
    for unit in range(max(1, boxes // 8)):
        name = f"AHU {unit + 1}"
        out.nodes.append(Node(name, frozenset(["AHU"]), {"capacity": float(rng.integers(5, 60))}))
        add(name, "temperature", "degC")
        add(name, "pressure", "Pa")
    for at in range(boxes):
        box, room = f"VAV {at + 1}", f"Room {at + 1}"
        out.nodes.append(Node(box, frozenset(["VAV"]), {"nominal_flow": float(rng.integers(50, 300))}))
        use = str(rng.choice(["office", "meeting", "store"]))
        area = float(np.round(rng.uniform(10, 60), 1))
        out.nodes.append(Node(room, frozenset(["Room"]), {"area": area, "use": use}))
        out.edges.append(("Building", room, "hasPart"))
        feed(f"AHU {at % max(1, boxes // 8) + 1}", box)
        feed(box, room)
        for kind, one in own:
            add(room if kind in ("temperature", "occupancy") else box, kind, one)
    return out


def water(rng: Rng, sensors: int) -> Layout:
    """A water network: junctions and tanks joined by pipes and pumps, with flow, pressure, demand, level, status."""
    out, count = Layout(), max(4, sensors // 3)
    for at in range(count):
        tank = at % 7 == 3
        properties = {"elevation": float(np.round(rng.uniform(0, 60), 1))}
        out.nodes.append(Node(f"N{at}", frozenset(["Tank" if tank else "Junction", "Node"]), properties))
        out.points.append(
            Point(f"{'level' if tank else 'pressure'}_N{at}", "level" if tank else "pressure", "m", f"N{at}")
        )
        if not tank:
            out.points.append(Point(f"demand_N{at}", "demand", "m3/h", f"N{at}"))
    for at in range(count):
        name, pump = f"L{at}", at % 5 == 2
        length = {} if pump else {"length": float(np.round(rng.uniform(50, 900), 0))}
        out.nodes.append(Node(name, frozenset(["Pump" if pump else "Pipe", "Link"]), length))
        target = (at + 1 + int(rng.integers(count - 1))) % count
        out.edges.extend([(name, f"N{at}", "starts_at"), (name, f"N{target}", "ends_at")])
        out.points.append(Point(f"flow_{name}", "flow", "m3/h", name))
        if pump:
            out.points.append(Point(f"status_{name}", "status", "", name, is_state=True))
    return replace(out, points=out.points[:sensors])


SHAPES: dict[str, Callable[[Rng, int], Layout]] = {
    "no graph": bare,
    "home": home,
    "random graph": tangle,
    "star": star,
    "building": building,
    "water": water,
}
_SCALES = {"temperature": 2.0, "flow": 40.0, "pressure": 15.0, "power": 6.0, "humidity": 8.0, "damper": 20.0}


def make_times(frames: int, minutes: int) -> pl.Series:
    return pl.datetime_range(
        START, START + timedelta(minutes=minutes * (frames - 1)), f"{minutes}m", time_unit="us", eager=True
    )


def make_noise(generator: str, shape: str, *, seed: int, sensors: int, weeks: int, minutes: int) -> th.System:
    """Return a system in which nothing is true.

    Args:
        generator: The name of a generator of ``GENERATORS``, for the numbers.
        shape: The name of a shape of ``SHAPES``.
        seed: Random seed.
        sensors: About how many sensors.
        weeks: How many weeks of readings.
        minutes: Minutes from reading to reading.
    """
    rng = np.random.default_rng([seed, sensors, weeks, minutes])
    layout = SHAPES[shape](rng, sensors)
    frames, per_day = weeks * 7 * 1440 // minutes, 1440 // minutes
    columns: dict[str, Any] = {}
    for point in layout.points:
        if point.events:
            columns[point.id] = np.where(rng.random(frames) < point.events / per_day, "on", "off").tolist()
        elif point.is_state:
            columns[point.id] = STATES[int(rng.integers(len(STATES)))](rng, frames, per_day).tolist()
        else:
            values = GENERATORS[generator](rng, frames, per_day) * _SCALES.get(point.kind, 1.0)
            columns[point.id] = pl.Series(np.round(values, 0 if generator == "sticky" else 3), nan_to_null=True)
    sensor_list = [Sensor(one.id, one.kind, one.unit, categorical=one.is_state) for one in layout.points]
    data = SensorData.from_wide(pl.DataFrame({"time": make_times(frames, minutes), **columns}), sensors=sensor_list)
    graph = layout.graph()
    binding = None if graph is None else Binding({one.id: one.node for one in layout.points})
    return th.System(data, graph, binding, name=f"{generator}, {shape}, seed {seed}")


def shuffle_system(system: th.System, *, seed: int) -> th.System:
    """Return a system with its graph, and each sensor's series put together anew from blocks of sensors of its kind.

    Blocks of six hours to three days are drawn from random sensors of the kind at random moments, and numbers are
    centred: steps and memory stay; times of day, levels of places, signs, and whatever sensors had to do with each
    other are lost. (A circular shift would not do: two daily cycles stay related, and so do two levels.)

    Args:
        system: A system in which much is true.
        seed: Random seed.
    """
    rng = np.random.default_rng(seed)
    frame = system.sensors.to_polars()
    per_hour = max(1, round(3600 / (frame["time"][1] - frame["time"][0]).total_seconds()))
    longest = min(72 * per_hour, frame.height)
    columns = [frame["time"]]
    for sensor in system.sensors.sensors:
        alike = [one.id for one in system.sensors.sensors if replace(one, id="") == replace(sensor, id="")]
        pieces: list[pl.Series] = []
        while sum(map(len, pieces)) < frame.height:
            length = int(rng.integers(min(6 * per_hour, longest // 2), longest))
            rows = (int(rng.integers(frame.height)) + np.arange(length)) % frame.height
            pieces.append(frame[str(rng.choice(alike))].gather(rows))
        made = pl.concat(pieces)[: frame.height].alias(sensor.id)
        if not sensor.categorical:
            made = made - pl.concat([frame[id] for id in alike]).median()
        columns.append(made)
    data = SensorData.from_wide(pl.DataFrame(columns), sensors=system.sensors.sensors)
    return th.System(data, system.graph, system.binding, system.ontology, name=f"{system.name}, shuffled {seed}")


@dataclass(frozen=True)
class Case:
    """One animal of the zoo.

    Args:
        generator: The generator of numbers; for a shuffled system ``"shuffled"``.
        shape: The shape of graph, or the name of the data set that is shuffled.
        seed: Random seed.
        sensors: About how many sensors; of a shuffled system at most as many.
        weeks: How many weeks of readings.
        minutes: Minutes from reading to reading.
    """

    generator: str
    shape: str
    seed: int
    sensors: int = 12
    weeks: int = 2
    minutes: int = 30

    def system(self) -> th.System:
        """Make its data."""
        if self.generator != "shuffled":
            return make_noise(
                self.generator,
                self.shape,
                seed=self.seed,
                sensors=self.sensors,
                weeks=self.weeks,
                minutes=self.minutes,
            )
        options = {} if self.shape == "toy" else {"days": 7 * self.weeks, "step_minutes": self.minutes}
        real = th.datasets.load(self.shape, **options)
        chosen = np.random.default_rng(self.seed).permutation(len(real.sensors.ids))[: self.sensors]
        return shuffle_system(real.select([real.sensors.ids[at] for at in sorted(chosen)]), seed=self.seed)

    def __str__(self) -> str:
        return f"{self.generator}, {self.shape}, seed {self.seed}: {self.sensors} sensors, {self.weeks} weeks"


_SIZES = ((10, 2, 30), (16, 4, 30), (30, 2, 15), (24, 8, 60), (12, 12, 60), (60, 4, 30), (20, 4, 15), (14, 8, 30))
"""Sensors, weeks and minutes, in the order in which seeds take them."""


def walk_zoo(seeds: Sequence[int], *, most_sensors: int = 200, most_weeks: int = 12) -> Iterator[Case]:
    """Yield one case per generator, shape and seed, of varied sizes, and shuffled networks.

    Args:
        seeds: Random seeds.
        most_sensors: Leave out larger sizes.
        most_weeks: Leave out longer ones.
    """
    sizes = [size for size in _SIZES if size[0] <= most_sensors and size[1] <= most_weeks]
    for seed in seeds:
        for row, generator in enumerate(GENERATORS):
            for column, shape in enumerate(SHAPES):
                sensors, weeks, minutes = sizes[(seed + 3 * row + column) % len(sizes)]
                yield Case(generator, shape, seed, sensors, weeks, minutes)
        yield Case("shuffled", "net1", seed, 33, 4, 30)
        yield Case("shuffled", "net3", seed, 60, 4, 30)


RARE = tuple(Case("slow", "home", seed, 10, 12, 60) for seed in range(20))
"""Homes for three months, in which an hour of the day has an event on a few days by chance."""
WIDE = tuple(
    Case(generator, shape, seed, sensors, weeks, 60)
    for seed, (generator, shape, sensors, weeks) in enumerate(
        (
            ("slow", "no graph", 100, 6),
            ("mixed", "building", 120, 8),
            ("regimes", "random graph", 150, 4),
            ("held", "star", 100, 12),
            ("mixed", "water", 200, 4),
            ("random walk", "building", 200, 12),
        )
    )
)
"""Wide systems, a few of each habit."""


def load_noise_building(folder: Path) -> th.System:
    """Return the published building in which nothing is true.

    Args:
        folder: The folder that holds ``readings.csv`` and ``model.ttl``.
    """
    return th.read_system(str(folder / "readings.csv"), str(folder / "model.ttl"))
