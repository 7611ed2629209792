"""Systems in which some things are known to be true, amid noise of the zoo: what must be found.

Each has a rule with variables, a balance law, a control by a level, and a schedule. The truths are in parts of their
own, so that a part can be made alone. This module makes data; it neither mines nor judges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import thence as th
from tests.noise.zoo import GENERATORS, Rng, make_times
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData

TRUTHS = ("rule", "law", "control", "schedule")
LOW, HIGH = 2.0, 5.0
"""Levels at which the pump of the tank starts and stops."""
ON, OFF = 7, 19
"""Hours at which the lights go on and off."""


@dataclass
class _Parts:
    """What the parts of a system add to it."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    binding: dict[str, str] = field(default_factory=dict)

    def add(self, id: str, kind: str, unit: str, node: str, values: Any) -> None:
        """Add a sensor at a node; strings are states."""
        is_state = np.asarray(values).dtype.kind == "U"
        self.sensors.append(Sensor(id, kind, unit, categorical=is_state))
        kept = np.asarray(values).tolist() if is_state else pl.Series(np.round(values, 3), nan_to_null=True)
        self.columns[id], self.binding[id] = kept, node


def _spells(rng: Rng, frames: int, mean: float) -> npt.NDArray[np.bool_]:
    """On and off by turns, for random times."""
    return np.asarray(np.cumsum(rng.random(frames) < 1 / mean) % 2 == 1)


def _add_fans(parts: _Parts, rng: Rng, frames: int, per_day: int) -> None:
    """The rule: while a fan runs, the humidity of the hall that it serves is low."""
    for at in range(5):
        fan, hall = f"Fan {at + 1}", f"Hall {at + 1}"
        parts.nodes.append(Node(fan, frozenset(["Fan"]), {"year": int(rng.integers(1990, 2020))}))
        parts.nodes.append(Node(hall, frozenset(["Hall"]), {}))
        parts.edges.append((fan, hall, "serves"))
        runs = _spells(rng, frames, per_day / 8)
        humidity = np.where(runs, rng.uniform(30, 45, frames), rng.uniform(50, 70, frames))
        parts.add(f"fan{at + 1}_status", "status", "", fan, np.where(runs, "on", "off"))
        parts.add(f"hall{at + 1}_humidity", "humidity", "%", hall, humidity)


def _add_panels(parts: _Parts, rng: Rng, frames: int, per_day: int) -> None:
    """The law: the current of a panel is the total of its circuits."""
    for at in range(4):
        panel = f"Panel {at + 1}"
        parts.nodes.append(Node(panel, frozenset(["Panel"]), {}))
        total = np.zeros(frames)
        for own in range(3):
            circuit = f"Circuit {at + 1}.{own + 1}"
            parts.nodes.append(Node(circuit, frozenset(["Circuit"]), {}))
            parts.edges.append((panel, circuit, "supplies"))
            current = np.round(np.abs(GENERATORS["autoregressive"](rng, frames, per_day)) * 10, 3)
            parts.add(f"current_{at + 1}_{own + 1}", "current", "A", circuit, current)
            total += current
        parts.add(f"current_{at + 1}", "current", "A", panel, total)


def _add_tank(parts: _Parts, rng: Rng, frames: int, per_day: int) -> None:
    """The control: a pump starts when the level of a tank falls below ``LOW``, and stops above ``HIGH``."""
    parts.nodes += [Node("Tank 1", frozenset(["Tank"]), {}), Node("Pump 1", frozenset(["Pump"]), {})]
    parts.edges.append(("Pump 1", "Tank 1", "fills"))
    use = (1 + 0.4 * GENERATORS["autoregressive"](rng, frames, per_day)).clip(0.2, 2) * 10 / per_day
    level, runs = np.empty(frames), np.zeros(frames, bool)
    now, on = 4.0, False
    for at in range(frames):
        on = (now < LOW) or (on and now <= HIGH)
        level[at], runs[at] = now, on
        now += (25 / per_day if on else 0.0) - use[at]
    parts.add("tank1_level", "level", "m", "Tank 1", level)
    parts.add("pump1_status", "status", "", "Pump 1", np.where(runs, "open", "closed"))


def _add_lights(parts: _Parts, rng: Rng, frames: int, per_day: int) -> None:
    """The schedule: lights are on from ``ON`` to ``OFF`` o'clock, every day."""
    parts.nodes.append(Node("Light 1", frozenset(["Light"]), {}))
    hours = np.arange(frames) % per_day * 24 / per_day
    parts.add("light1_status", "status", "", "Light 1", np.where((hours >= ON) & (hours < OFF), "on", "off"))


def _add_noise(parts: _Parts, rng: Rng, frames: int, per_day: int, generator: str, sensors: int) -> None:
    for at in range(sensors):
        room = f"Room {at + 1}"
        area = float(np.round(rng.uniform(10, 60), 1))
        parts.nodes.append(Node(room, frozenset(["Room"]), {"area": area}))
        if at:
            parts.edges.append((room, f"Room {int(rng.integers(at)) + 1}", "adjacent"))
        values = 21 + 2 * GENERATORS[generator](rng, frames, per_day)
        parts.add(f"room{at + 1}_temperature", "temperature", "degC", room, values)


_ADD = {"rule": _add_fans, "law": _add_panels, "control": _add_tank, "schedule": _add_lights}


def make_plant(
    truths: Collection[str] = TRUTHS,
    *,
    seed: int,
    generator: str = "autoregressive",
    noise: int = 6,
    weeks: int = 4,
    minutes: int = 30,
) -> th.System:
    """Return a system in which some statements are true and all others are not.

    Args:
        truths: Which of ``TRUTHS`` are in it.
        seed: Random seed.
        generator: The generator of the noise, of ``GENERATORS``.
        noise: How many sensors are noise.
        weeks: How many weeks of readings.
        minutes: Minutes from reading to reading.
    """
    parts, frames, per_day = _Parts(), weeks * 7 * 1440 // minutes, 1440 // minutes
    for number, name in enumerate(TRUTHS):
        if name in truths:
            _ADD[name](parts, np.random.default_rng([seed, number]), frames, per_day)
    _add_noise(parts, np.random.default_rng([seed, len(TRUTHS)]), frames, per_day, generator, noise)
    edges = [Edge(f"e{at}", a, b, frozenset([label])) for at, (a, b, label) in enumerate(parts.edges)]
    frame = pl.DataFrame({"time": make_times(frames, minutes), **parts.columns})
    data = SensorData.from_wide(frame, sensors=parts.sensors)
    return th.System(data, KnowledgeGraph(parts.nodes, edges), Binding(parts.binding), name="plant")


def find_truths(run: th.Run) -> Mapping[str, list[str]]:
    """Return the sentences of a run that say each of the truths, whatever else they say.

    Args:
        run: The run of a plant.
    """
    out: dict[str, list[str]] = {name: [] for name in TRUTHS}
    for one in run.findings:
        kinds, sensors, sentence = {*one.about.kinds}, {*one.about.sensors}, one.sentence()
        pair = {name.partition("_")[0].lstrip("fanhl") for name in sensors}
        if one.kind == "rule" and kinds == {"status", "humidity"} and len(pair) < 2:
            out["rule"].append(sentence)
        if one.kind == "law" and kinds == {"current"} and "Circuits" in sentence:
            out["law"].append(sentence)
        if one.kind == "control" and {"tank1_level", "pump1_status"} <= sensors:
            out["control"].append(sentence)
        if one.kind == "control" and sensors == {"light1_status"}:
            out["schedule"].append(sentence)
    return out
