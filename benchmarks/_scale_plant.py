"""The made-up plant of ``scale.py``: pipelines of 500 pipes and 1,000 sensors each, as files or as a frame.

What flows into a junction flows out, less a demand that is not measured; pressures fall along the way; every pipeline
has a pump that starts and stops by the pressure behind it. A pipeline is made from its own seed, so that it is the same
whatever the number of others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

PIPES = 500
PUMP = 50
EVERY = timedelta(minutes=5)
KIND = r"^(?P<kind>[a-z]+)_"


def make_plant(folder: Path, sensors: int, frames: int) -> None:
    """Write a plant: a Parquet file per pipeline, the graph and the binding. What is complete already stays."""
    if (folder / "binding.csv").exists():
        return
    (folder / "readings").mkdir(parents=True, exist_ok=True)
    for number, pipes in _pipelines(sensors):
        _pipeline(number, pipes, frames).write_parquet(
            folder / "readings" / f"pipeline_{number:04}.parquet", compression="lz4"
        )
    (folder / "graph.json").write_text(json.dumps(_graph(sensors)), encoding="utf-8")
    rows = [f"{sensor},{node}\n" for sensor, node in _binding(sensors).items()]
    (folder / "binding.csv").write_text("sensor,node\n" + "".join(rows), encoding="utf-8")


def read_frame(folder: Path) -> Any:
    """Return a plant as a system whose readings are one frame in memory."""
    import polars as pl

    import thence as th

    parts = [pl.read_parquet(path) for path in sorted((folder / "readings").iterdir())]
    frame = pl.concat([parts[0], *(part.drop("time") for part in parts[1:])], how="horizontal")
    data = th.read_sensors(frame, kind_pattern=KIND)
    graph = th.read_graph(folder / "graph.json")
    return th.System(data, graph, th.read_binding(folder / "binding.csv"), None, name="pipelines")


def _pipelines(sensors: int) -> Iterator[tuple[int, int]]:
    """Yield the number and the pipes of each pipeline."""
    for number, start in enumerate(range(0, sensors // 2, PIPES)):
        yield number, min(PIPES, sensors // 2 - start)


def _pipeline(number: int, pipes: int, frames: int) -> Any:
    """The readings of a pipeline: a flow and a pressure per pipe, and the state of its pump."""
    import polars as pl

    rng = np.random.default_rng([0, number])
    day = np.sin(np.arange(frames) * 2 * np.pi / 288)
    source = 100 + 20 * day + np.cumsum(rng.normal(size=frames)) * 0.05
    pressure = 50 + 5 * day
    columns: dict[str, Any] = {}
    for at in range(pipes):
        pressure = pressure - 0.001 * source / 100 + rng.normal(size=frames) * 0.002
        name = f"{number}_{at}"
        columns[f"flow_{name}"] = (source - 0.01 * at + rng.normal(size=frames) * 0.05).astype(np.float32)
        columns[f"pressure_{name}"] = pressure.astype(np.float32)
        if at == PUMP:
            columns[f"state_{name}"] = np.where(pressure < np.quantile(pressure, 0.3), "on", "off")
    times = pl.datetime_range(
        datetime(2015, 1, 1), datetime(2015, 1, 1) + (frames - 1) * EVERY, EVERY, eager=True, time_unit="us"
    )
    return pl.DataFrame({"time": times, **columns})


def _graph(sensors: int) -> dict[str, Any]:
    nodes, edges = [], []
    for number, pipes in _pipelines(sensors):
        nodes += [{"id": f"J{number}_{at}", "labels": ["Junction"], "properties": {}} for at in range(pipes + 1)]
        nodes += [{"id": f"P{number}_{at}", "labels": ["Pipe"], "properties": {}} for at in range(pipes)]
        for at in range(pipes):
            pipe = f"P{number}_{at}"
            edges.append({"id": f"s{pipe}", "source": pipe, "target": f"J{number}_{at}", "label": "starts_at"})
            edges.append({"id": f"e{pipe}", "source": pipe, "target": f"J{number}_{at + 1}", "label": "ends_at"})
    return {"nodes": nodes, "edges": edges}


def _binding(sensors: int) -> dict[str, str]:
    out = {}
    for number, pipes in _pipelines(sensors):
        for at in range(pipes):
            name = f"{number}_{at}"
            out |= {f"flow_{name}": f"P{name}", f"pressure_{name}": f"J{name}"}
            if at == PUMP:
                out[f"state_{name}"] = f"P{name}"
    return out
