"""Systems in which nothing is true: every series is drawn by itself, on graphs in several habits.

Series are autoregressive, walks, held values, sticky integers and actuators that rest at 0; flags are random. Graphs
are buildings whose edges are stored both ways, networks of pipes, stars and random graphs with random properties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.statements.laws.plants import system_of
from thence.data.graph.system import System

Rng = np.random.Generator
Series = dict[str, Any]
Nodes = dict[str, tuple[str, dict[str, Any]]]
Edges = list[tuple[str, str, str]]


def autoregressive(rng: Rng, frames: int, memory: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A series with a spread of 1 that forgets at a rate."""
    steps = rng.standard_normal(frames) * np.sqrt(1 - memory**2)
    out = np.empty(frames)
    last = rng.standard_normal()
    for at, step in enumerate(steps.tolist()):
        last = memory * last + step
        out[at] = last
    return out


def flag(rng: Rng, frames: int, mean: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A flag whose phases last a number of frames on average."""
    return np.asarray(np.cumsum(rng.random(frames) < 1 / mean) % 2 == rng.integers(2))


def series(rng: Rng, frames: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A series in some habit: of any level, of one or of both signs."""
    habit = rng.integers(7)
    scale, level = 10.0 ** rng.uniform(-1, 2), rng.choice([0.0, 1.0, 5.0])
    own = autoregressive(rng, frames, rng.choice([0.5, 0.9, 0.98, 0.99]))
    if habit == 1:
        own = np.cumsum(rng.standard_normal(frames)) / 10
    elif habit == 2:
        own = np.repeat(own, 12)[:frames]
    elif habit == 3:
        own, level = np.round(2 * own), 0.0
    elif habit == 4:
        own, level = np.where(flag(rng, frames, rng.choice([30, 200, 600])), np.abs(own) + 0.5, 0.0), 0.0
    elif habit == 5:
        own, level = np.clip(50 + 30 * own, 0, 100), 0.0
    elif habit == 6:
        own, level = np.abs(own), 0.0
    return np.round(scale * (own + level), int(rng.choice([1, 2, 3, 6])))


def words(rng: Rng, frames: int) -> list[str]:
    """A random state of two or three values."""
    names = [["off", "on"], ["0", "1"], ["low", "mid", "high"]][int(rng.integers(3))]
    codes = flag(rng, frames, rng.choice([20, 100, 400])).astype(int)
    if len(names) == 3:
        codes = codes + flag(rng, frames, 100)
    return [names[code] for code in codes.tolist()]


def building(rng: Rng, frames: int) -> tuple[Nodes, Edges, Series]:
    """Air handlers that feed boxes that feed zones, every edge stored both ways."""
    nodes: Nodes = {}
    edges: Edges = []
    found: Series = {}
    boxes = int(rng.integers(3, 9))
    for unit in range(int(rng.integers(1, 4))):
        nodes[f"A{unit}"] = ("AHU", {"rated_flow": 10.0, "area": float(rng.integers(50, 500))})
        for kind in ("temperature", "flow", "damper", "valve"):
            found[f"{kind}_A{unit}"] = series(rng, frames)
        found[f"status_A{unit}"] = words(rng, frames)
        found[f"mode_A{unit}"] = words(rng, frames)
        for box in range(boxes):
            name, zone = f"V{unit}-{box}", f"Z{unit}-{box}"
            nodes[name] = ("VAV", {"setting": float(rng.integers(18, 24)), "efficiency": 0.8, "type": str(box % 2)})
            nodes[zone] = ("Zone", {"area": float(rng.integers(5, 50)), "heated": bool(rng.integers(2))})
            edges += [(f"A{unit}", "feeds", name), (name, "isFedBy", f"A{unit}")]
            edges += [(name, "feeds", zone), (zone, "isFedBy", name)]
            for kind in ("temperature", "flow", "damper"):
                if rng.random() < 0.9:
                    found[f"{kind}_{name}"] = series(rng, frames)
            if rng.random() < 0.8:
                found[f"occupied_{name}"] = words(rng, frames)
            if rng.random() < 0.7:
                found[f"temperature_{zone}"] = series(rng, frames)
    return nodes, edges, found


def pipes(rng: Rng, frames: int) -> tuple[Nodes, Edges, Series]:
    """Junctions and links in a tree with some loops."""
    count = int(rng.integers(3, 15))
    nodes: Nodes = {f"J{k}": ("Junction", {"elevation": float(rng.integers(50))}) for k in range(count)}
    nodes["R"] = ("Reservoir", {"head": 60.0})
    nodes["T"] = ("Tank", {"elevation": 30.0, "min_level": 0.0, "max_level": 9.0, "diameter": 8.0})
    found: Series = {"level_T": series(rng, frames), "demand_R": series(rng, frames)}
    edges: Edges = []
    order = ["R", *(f"J{k}" for k in range(count)), "T"]
    for k in range(1, len(order)):
        label = ["Pipe", "Pipe", "Pipe", "Pump", "Valve"][int(rng.integers(5))]
        link, other = f"L{k}", order[int(rng.integers(max(k - 3, 0), k))]
        facts = {"check_valve": bool(rng.integers(2)), "setting": float(rng.integers(20, 60)), "length": 100.0}
        nodes[link] = (label, facts)
        edges += [(link, "starts_at", other), (link, "ends_at", order[k])]
        found[f"flow_{link}"] = series(rng, frames)
        if rng.random() < 0.4:
            found[f"status_{link}"] = words(rng, frames)
    for k in range(count):
        found[f"demand_J{k}"], found[f"pressure_J{k}"] = series(rng, frames), series(rng, frames)
    return nodes, edges, found


def star(rng: Rng, frames: int) -> tuple[Nodes, Edges, Series]:
    """Meters around one or two hubs."""
    nodes: Nodes = {"H0": ("Hub", {"rated_power": 5.0}), "H1": ("Hub", {"rated_power": 9.0})}
    edges: Edges = []
    found: Series = {f"power_H{k}": series(rng, frames) for k in range(2)}
    for k in range(int(rng.integers(3, 25))):
        nodes[f"M{k}"] = ("Meter", {"nominal_power": float(rng.integers(1, 9)), "floor": str(k % 3)})
        edges.append((f"M{k}", "part_of", f"H{k % 2}"))
        found |= {f"power_M{k}": series(rng, frames), f"speed_M{k}": series(rng, frames)}
        if rng.random() < 0.5:
            found[f"flag_M{k}"] = words(rng, frames)
    return nodes, edges, found


def mesh(rng: Rng, frames: int) -> tuple[Nodes, Edges, Series]:
    """A random graph with random classes, kinds and properties, some edges with their inverse."""
    count = int(rng.integers(6, 20))
    names = [f"N{k}" for k in range(count)]
    nodes: Nodes = {}
    for name in names:
        facts = {f"size_{k}": float(rng.integers(10)) for k in range(2)} | {"maker": str(rng.integers(3))}
        nodes[name] = (f"C{rng.integers(1, 4)}", facts | {"hot": bool(rng.integers(2))})
    edges: Edges = []
    for a in names:
        for b in rng.choice(names, 2, replace=False).tolist():
            if a != b:
                edges.append((a, f"r{rng.integers(3)}", b))
                if rng.random() < 0.5:
                    edges.append((b, f"inverse_r{edges[-1][1][1:]}", a))
    kinds = ["flow", "pressure", "temperature", "k1", "k2"]
    found: Series = {}
    for name in names:
        for kind in rng.choice(kinds, int(rng.integers(1, 4)), replace=False).tolist():
            found[f"{kind}_{name}"] = series(rng, frames)
        if rng.random() < 0.4:
            found[f"flag_{name}"] = words(rng, frames)
    return nodes, edges, found


HABITS: dict[str, Callable[[Rng, int], tuple[Nodes, Edges, Series]]] = {
    "building": building,
    "pipes": pipes,
    "star": star,
    "mesh": mesh,
}


def noise_system(seed: int) -> tuple[str, System]:
    """A system of noise, its habit by its seed, of two to eight weeks in windows of half an hour or an hour."""
    rng = np.random.default_rng([33, seed])
    habit = list(HABITS)[seed % len(HABITS)]
    minutes = int(rng.choice([30, 60]))
    frames = int(rng.integers(14, 57)) * 24 * 60 // minutes
    nodes, edges, found = HABITS[habit](rng, frames)
    return habit, system_of(nodes, edges, found, minutes=minutes, property_units={"elevation": "m", "head": "m"})
