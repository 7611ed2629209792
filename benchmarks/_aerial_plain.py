"""Tables that are none of ours: Aerial and pyaerial by the protocol that pyaerial publishes for its own nine tables.

Rows with missing values are left out, numbers are cut into bins of equal frequency by pyaerial; at most two
antecedents. pyaerial has what it publishes: its default layers, ten epochs, frequency 0.1 and strength 0.8, without a
bound of the support; a second row leaves out what has a support below 0.1. Aerial has its defaults, the same with a
support of 0.1, and the gate of pyaerial at the same threshold. The nine tables are CSV files that pyaerial does not
ship: give a folder with them, or take the tables of scikit-learn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from _aerial_jobs import pyaerial
from _record import Cell, Table

import thence as th

SUPPORT, FREQUENCY, CONFIDENCE, EPOCHS = 0.1, 0.1, 0.8, 10
Measures = tuple[float, ...]
COLUMNS = (
    ("table", ""),
    ("contender", ""),
    ("rules", ",.0f"),
    ("support", ".3f"),
    ("confidence", ".3f"),
    ("Zhang", ".3f"),
    ("rows covered", ".3f"),
)


def compare(seeds: range, folder: Path | None) -> Table:
    """Print the measures of both libraries on each table, and their means; return the table."""
    print(f"plain: confidence {CONFIDENCE}, at most two antecedents, {len(seeds)} seeds; pyaerial with ten epochs")
    print(f"{'':<60}{'rules':>9}{'support':>9}{'confid.':>9}{'Zhang':>9}{'cover':>9}")
    cells: list[tuple[Cell, ...]] = []
    for name, frame in _frames(folder).items():
        runs = [_run(frame, seed) for seed in seeds]
        for contender in runs[0]:
            found = np.mean([run[contender] for run in runs], axis=0)
            cells.append((name, contender, *map(float, found)))
            _print(name, contender, found)
    for contender in dict.fromkeys(row[1] for row in cells):
        found = np.mean([row[2:] for row in cells if row[1] == contender], axis=0)
        cells.append(("mean of all", contender, *map(float, found)))
        _print("mean of all", contender, found)
    return Table(COLUMNS, tuple(cells))


def _print(name: str, contender: str, found: Any) -> None:
    print(f"{name:<24}{contender:<36}{found[0]:>9.1f}" + "".join(f"{value:>9.3f}" for value in found[1:]), flush=True)


def _frames(folder: Path | None) -> dict[str, Any]:
    """Return the tables as frames of text, cut into bins by pyaerial where they are numbers."""
    import pandas as pd

    if folder is None:
        from sklearn.datasets import load_breast_cancer, load_iris, load_wine

        loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
        frames = {name: load(as_frame=True).frame for name, load in loaders.items()}
        for frame in frames.values():
            frame["target"] = "class " + frame["target"].astype(str)
    else:
        frames = {path.stem: pd.read_csv(path).dropna() for path in sorted(folder.glob("*.csv"))}
    if not frames:
        raise SystemExit(f"no CSV file in {folder}")
    cut = pyaerial("discretization").equal_frequency_discretization
    return {
        name: (cut(frame) if frame.select_dtypes(include="number").shape[1] else frame).astype(str)
        for name, frame in frames.items()
    }


def _run(frame: Any, seed: int) -> dict[str, Measures]:
    table = th.TransactionTable.from_frame(frame)
    mutual = th.Aerial(similarity=FREQUENCY, consequent_similarity=CONFIDENCE, search="mutual", seed=seed)
    torch.manual_seed(seed)
    peer = pyaerial("model").train(frame, epochs=EPOCHS, show_progress=False, device="cpu")
    return {
        "Aerial": _ours(th.Aerial(similarity=CONFIDENCE, seed=seed), table),
        f"Aerial, support {SUPPORT}": _ours(th.Aerial(similarity=CONFIDENCE, min_support=SUPPORT, seed=seed), table),
        f"Aerial, mutual gate {FREQUENCY}": _ours(mutual, table),
        f"pyaerial, frequency {FREQUENCY}": _peer(peer),
        f"pyaerial, support {SUPPORT} too": _peer(peer, filter_min_support=SUPPORT),
    }


def _ours(miner: th.Aerial, table: th.TransactionTable) -> Measures:
    rules = miner.mine(table)
    if not len(rules):
        return (0.0,) * 5
    means = (float(rules.measure(name).mean()) for name in ("support", "confidence", "zhang"))
    return len(rules), *means, rules.data_coverage


def _peer(model: Any, **limits: float) -> Measures:
    generate = pyaerial("rule_extraction").generate_rules
    found = generate(model, min_rule_frequency=FREQUENCY, min_rule_strength=CONFIDENCE, **limits)["statistics"]
    names = ("rule_count", "average_support", "average_confidence", "average_zhangs_metric", "data_coverage")
    return tuple(float(found.get(name, 0.0)) for name in names)
