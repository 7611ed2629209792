"""Random small systems as plain Python values, their files, and the same system in another order.

A ``World`` is what a user brings: readings, nodes, edges, dated values, classes, relations and a binding. Numbers are
multiples of 1/4, so that sums of readings are exact and every comparison with the package can be one of equality.
"""

from __future__ import annotations

import glob
import json
import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import thence as th

START = datetime(2024, 2, 28, 22, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

Reading = float | str
Value = float | str | bool


@dataclass(frozen=True)
class Relation:
    """A relation: its more general relations, and whether its direction means nothing."""

    parents: tuple[str, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True)
class Edge:
    """An edge from one node to another with one relation."""

    id: str
    source: str
    target: str
    relation: str


@dataclass(frozen=True)
class World:
    """A system.

    Args:
        readings: By sensor, moments and readings.
        kinds: By sensor, its kind.
        labels: By node, its classes.
        properties: By node, its undated property values.
        dated: Node, property, first moment and value; ``None`` ends the property.
        edges: The edges.
        classes: By class, its parents.
        relations: By relation, its declaration.
        binding: By sensor, its node.
        states: The sensors that read states instead of numbers.
        wide: Whether the files of readings have a column per sensor.
        order: A seed for the order in which everything is written to files; 0 for the order given here.
    """

    readings: dict[str, list[tuple[datetime, Reading]]]
    kinds: dict[str, str]
    labels: dict[str, tuple[str, ...]]
    properties: dict[str, dict[str, Value]]
    dated: list[tuple[str, str, datetime, Value | None]]
    edges: list[Edge]
    classes: dict[str, tuple[str, ...]]
    relations: dict[str, Relation]
    binding: dict[str, str]
    states: frozenset[str] = frozenset()
    wide: bool = False
    order: int = 0

    def permuted(self, seed: int) -> World:
        """The same system, whose files list nodes, edges, sensors and rows in another order."""
        return replace(self, order=seed)

    def write(self, folder: Path) -> None:
        """Write the files: readings, kinds, graph, ontology and binding."""
        rng = random.Random(self.order)

        def mixed(values: Any) -> list[Any]:
            listed = list(values)
            if self.order:
                rng.shuffle(listed)
            return listed

        for name, chosen in (("numbers.csv", self.kinds.keys() - self.states), ("states.csv", self.states)):
            sensors = mixed(sensor for sensor in self.kinds if sensor in chosen)
            rows = [(moment, sensor, reading) for sensor in sensors for moment, reading in self.readings[sensor]]
            if not rows:
                continue
            lines = ["time,sensor,value", *mixed(f"{moment.isoformat()},{s},{r}" for moment, s, r in rows)]
            if self.wide:
                held = {(moment, sensor): str(reading) for moment, sensor, reading in rows}
                moments = mixed(sorted({moment for moment, _, _ in rows}))
                table = [[moment.isoformat(), *(held.get((moment, s), "") for s in sensors)] for moment in moments]
                lines = [",".join(["time", *sensors]), *(",".join(row) for row in table)]
            (folder / name).write_text("\n".join(lines), "utf-8")
        (folder / "kinds.csv").write_text(
            "\n".join(["sensor,kind,unit", *mixed(f"{s},{kind}," for s, kind in self.kinds.items())]), "utf-8"
        )
        nodes = [
            {"id": node, "labels": mixed(labels), "properties": self._properties(node, mixed)}
            for node, labels in mixed(self.labels.items())
        ]
        edges = [
            {"id": e.id, "source": e.source, "target": e.target, "labels": [e.relation]} for e in mixed(self.edges)
        ]
        (folder / "graph.json").write_text(json.dumps({"nodes": nodes, "edges": edges}), "utf-8")
        schema = {
            "classes": {name: {"parents": mixed(parents)} for name, parents in mixed(self.classes.items())},
            "relations": {
                name: {"parents": mixed(each.parents), "symmetric": each.symmetric}
                for name, each in mixed(self.relations.items())
            },
        }
        (folder / "schema.json").write_text(json.dumps(schema), "utf-8")
        (folder / "binding.json").write_text(json.dumps(dict(mixed(self.binding.items()))), "utf-8")

    def _properties(self, node: str, mixed: Any) -> dict[str, Any]:
        out: dict[str, Any] = dict(self.properties.get(node, {}))
        for subject, name, start, value in self.dated:
            if subject == node:
                if not isinstance(out.get(name), list):
                    out[name] = [{"from": None, "value": out[name]}] if name in out else []
                out[name].append({"from": start.isoformat(), "value": value})
        return {name: mixed(value) if isinstance(value, list) else value for name, value in mixed(out.items())}

    def load(self, folder: Path) -> th.System:
        """Read the files with the package."""
        self.write(folder)
        sources = [str(folder / name) for name in ("numbers.csv", "states.csv") if (folder / name).exists()]
        if self.order % 2:
            sources.reverse()
        # Which whole numbers are taken for states is a matter of reading, with tests of its own.
        numbers = [glob.escape(sensor) for sensor in self.readings if sensor not in self.states]
        sensors = th.read_sensors(sources, kinds=str(folder / "kinds.csv"), numeric=numbers)
        return th.System(
            sensors=sensors,
            graph=th.read_graph(folder / "graph.json"),
            binding=th.read_binding(folder / "binding.json"),
            ontology=th.read_ontology(folder / "schema.json"),
        )


CLASSES: dict[str, tuple[str, ...]] = {
    "Space": (),
    "Room": ("Space",),
    "Office": ("Room",),
    "Device": (),
    "Fan": ("Device",),
}
RELATIONS = {
    "touches": Relation(symmetric=True),
    "linked": Relation(),
    "feeds": Relation(parents=("linked",)),
    "leads": Relation(parents=("linked",)),
}


def make_world(seed: int) -> World:
    """Make a system of 2 to 8 nodes, with up to 7 sensors and 14 windows."""
    rng = random.Random(seed)
    nodes = [f"n{k}" if rng.random() < 0.8 else f"Node {k}" for k in range(rng.randint(2, 8))]
    rng.shuffle(nodes)
    offered = rng.sample(sorted(CLASSES), rng.randint(1, 3))
    labels = {node: tuple(sorted(set(rng.choices(offered, k=1 if rng.random() < 0.9 else 2)))) for node in nodes}
    used = rng.sample(sorted(RELATIONS), rng.randint(1, 3))
    edges: dict[tuple[str, str, str], Edge] = {}
    for _ in range(rng.randint(1, 2 * len(nodes))):
        source, target, relation = rng.choice(nodes), rng.choice(nodes), rng.choice(used)
        edges.setdefault((source, target, relation), Edge(f"e{len(edges)}", source, target, relation))
    kinds, binding = _place_sensors(rng, nodes)
    frames = rng.randint(4, 14)
    readings, states = _read(rng, kinds, frames)
    kinds = {sensor: kind for sensor, kind in kinds.items() if sensor in readings}
    binding = {sensor: binding[sensor] for sensor in kinds}
    properties, dated = _describe(rng, nodes, frames)
    return World(
        readings, kinds, labels, properties, dated, list(edges.values()), dict(CLASSES), dict(RELATIONS), binding,
        frozenset(states), wide=rng.random() < 0.5,
    )  # fmt: skip


def _place_sensors(rng: random.Random, nodes: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    offered = rng.sample(["flow", "heat", "valve"], rng.randint(1, 3))
    kinds: dict[str, str] = {}
    binding: dict[str, str] = {}
    for node in nodes:
        for kind in offered:
            for _ in range(rng.choice([0, 1, 1, 1, 2])):
                sensor = f"s{len(kinds)}" if rng.random() < 0.8 else f"{kind} {len(kinds)}"
                kinds[sensor], binding[sensor] = kind, node
    if not kinds:
        kinds["s0"], binding["s0"] = offered[0], nodes[0]
    while len(kinds) > 7:
        gone = rng.choice(sorted(kinds))
        del kinds[gone], binding[gone]
    return kinds, binding


def _read(
    rng: random.Random, kinds: dict[str, str], frames: int
) -> tuple[dict[str, list[tuple[datetime, Reading]]], set[str]]:
    """Readings with gaps, ties and states. A window is half an hour."""
    readings: dict[str, list[tuple[datetime, Reading]]] = {}
    states: set[str] = set()
    # The sensors of "valve" have states; sometimes those of "heat" have both numbers and states.
    mixed = rng.random() < 0.2
    for sensor, kind in kinds.items():
        is_state = kind == "valve" or (mixed and kind == "heat" and rng.random() < 0.5)
        style = rng.choice(["spread", "spread", "few", "mostly", "constant"])
        level, gap = rng.randint(-3, 40), rng.choice([0.0, 0.1, 0.4])
        series: list[tuple[datetime, Reading]] = []
        for frame in range(frames):
            for part in range(rng.choice([1, 1, 2, 3])):
                if rng.random() < gap:
                    continue
                moment = START + frame * 30 * MINUTE + (7 * part + rng.randint(0, 6)) * MINUTE
                if is_state:
                    series.append((moment, rng.choice(["open", "shut", "half"][: 2 if style == "few" else 3])))
                elif style == "constant":
                    series.append((moment, float(level)))
                elif style == "mostly":
                    series.append((moment, 0.0 if rng.random() < 0.7 else level + rng.randint(0, 20) / 4))
                elif style == "few":
                    series.append((moment, float(level + rng.randint(0, 2))))
                else:
                    series.append((moment, level + rng.randint(0, 80) / 4))
        if series:
            readings[sensor] = series
            if is_state:
                states.add(sensor)
    if not readings:
        sensor = next(iter(kinds))
        readings[sensor] = [(START, 1.0), (START + 90 * MINUTE, 2.0)]
    return readings, states


def _describe(
    rng: random.Random, nodes: list[str], frames: int
) -> tuple[dict[str, dict[str, Value]], list[tuple[str, str, datetime, Value | None]]]:
    """Properties of nodes: a number, a string and a boolean, some of them dated."""
    properties: dict[str, dict[str, Value]] = {node: {} for node in nodes}
    dated: list[tuple[str, str, datetime, Value | None]] = []
    offered = rng.sample(["size", "make", "old"], rng.randint(0, 3))
    for node in nodes:
        for name in offered:
            if rng.random() < 0.25:
                continue
            choices: list[Value] = {"size": [1.0, 2.5, 4.0, 7.25, 9.0], "make": ["A", "B"], "old": [True, False]}[name]  # type: ignore[assignment]
            values = rng.sample(choices, 2)
            if rng.random() < 0.75:
                properties[node][name] = values[0]
            if rng.random() < 0.25:
                moment = START + rng.randint(-2, frames + 2) * 15 * MINUTE
                dated.append((node, name, moment, None if rng.random() < 0.2 else values[1]))
    return properties, dated
