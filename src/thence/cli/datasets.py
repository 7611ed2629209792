"""``thence datasets``: what there is by name, and a data set as files that ``thence mine`` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.cli.screen import console, facts, print_json, say

if TYPE_CHECKING:
    from thence.graph.system import System

__all__ = ["make", "show_all", "show_one"]


def show_all(*, as_json: bool) -> None:
    """List the data sets."""
    from thence import datasets

    known = [datasets.info(name) for name in datasets.names()]
    if as_json:
        print_json([{"name": one.name, "summary": one.summary, "needs": one.needs} for one in known])
    else:
        console().print(facts({one.name: f"{one.summary} (needs {one.needs})" for one in known}))


def show_one(name: str, *, as_json: bool) -> None:
    """Describe a data set without making it."""
    from thence import datasets

    found = datasets.info(name)
    if as_json:
        print_json({"name": found.name, "summary": found.summary, "needs": found.needs, "options": found.options})
    else:
        say(str(found))


def make(name: str, options: Mapping[str, Any], out: Path | None, *, force: bool, as_json: bool, quiet: bool) -> None:
    """Load a data set, describe it, and write it where asked."""
    from thence import datasets
    from thence.progress import bars

    with bars(enabled=False if quiet or as_json else None) as progress:
        data = datasets.load(name, progress=progress, **options)
    files = {} if out is None else _write(data, out, force=force)
    summary = {"name": data.name, "source": data.source, "description": data.description, **data.sensors.summary()}
    summary |= {"nodes": len(data.graph.nodes), "edges": len(data.graph.edges)}
    summary["labelled_periods"] = None if data.labels is None else data.labels.height
    summary["files"] = files
    if as_json:
        print_json(summary)
        return
    say(repr(data), quiet=quiet)
    say(data.sensors.describe(), quiet=quiet)
    if out is not None:
        say(f"written to {out}; mine it with: thence mine {out / 'config.toml'}", quiet=quiet)


def _write(data: System, out: Path, *, force: bool) -> dict[str, str]:
    """Readings, kinds, graph, binding, labels, and a configuration that names them."""
    import polars as pl

    from thence.atomic import new_folder
    from thence.export.graph_json import content, schema
    from thence.runs.run import refuse_foreign
    from thence.settings.toml import toml_text

    target = out.absolute()
    refuse_foreign(target, force=force, mark="dataset.json")
    with new_folder(target, force=force) as folder:
        data.sensors.to_polars().write_parquet(folder / "sensors.parquet")
        rows = [(sensor.id, sensor.kind, sensor.unit) for sensor in data.sensors.sensors]
        pl.DataFrame(rows, schema=["sensor", "kind", "unit"], orient="row").write_csv(folder / "kinds.csv")
        for name, told in (("graph", content(data.graph)), ("ontology", schema(data.ontology))):
            (folder / f"{name}.json").write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
        pairs = list(data.binding.items())
        pl.DataFrame(pairs, schema=["sensor", "node"], orient="row").write_csv(folder / "binding.csv")
        if data.labels is not None:
            data.labels.write_csv(folder / "labels.csv")
        given = {
            "sensors": "sensors.parquet",
            "graph": "graph.json",
            "ontology": "ontology.json",
            "binding": "binding.csv",
            "read_sensors": {"kinds": "kinds.csv"},
        }
        (folder / "config.toml").write_text(toml_text({"input": given}), encoding="utf-8")
        about = {"name": data.name, "source": data.source, "description": data.description}
        (folder / "dataset.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return {path.stem: str(path) for path in sorted(target.iterdir())}
