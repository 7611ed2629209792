"""Tables that are none of ours: Aerial and pyaerial by the protocol that pyaerial publishes for its own nine tables.

Rows with missing values are left out, numbers are cut into bins of equal frequency by pyaerial, both libraries have
their defaults, at most two antecedents, a support of 0.1 and a confidence of 0.8; pyaerial trains for ten epochs. Its
nine tables are CSV files that it does not ship: give the folder with them, or take the tables of scikit-learn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from _aerial_jobs import pyaerial
from _record import Cell, Table

import thence as th

SUPPORT, CONFIDENCE, EPOCHS = 0.1, 0.8, 10
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
    print(f"plain: support {SUPPORT}, confidence {CONFIDENCE}, at most two antecedents, {len(seeds)} seeds")
    print(f"{'':<46}{'rules':>9}{'support':>9}{'confid.':>9}{'Zhang':>9}{'cover':>9}")
    cells: list[tuple[Cell, ...]] = []
    for name, frame in _frames(folder).items():
        for contender, run in (("Aerial", _ours), ("pyaerial, 10 epochs", _peer)):
            found = np.mean([run(frame, seed) for seed in seeds], axis=0)
            cells.append((name, contender, *map(float, found)))
            _print(name, contender, found)
    for contender in ("Aerial", "pyaerial, 10 epochs"):
        found = np.mean([row[2:] for row in cells if row[1] == contender], axis=0)
        cells.append(("mean of all", contender, *map(float, found)))
        _print("mean of all", contender, found)
    return Table(COLUMNS, tuple(cells))


def _print(name: str, contender: str, found: Any) -> None:
    print(f"{name:<24}{contender:<22}{found[0]:>9.1f}" + "".join(f"{value:>9.3f}" for value in found[1:]), flush=True)


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


def _ours(frame: Any, seed: int) -> tuple[float, ...]:
    table = th.TransactionTable.from_frame(frame)
    rules = th.Aerial(min_support=SUPPORT, similarity=CONFIDENCE, seed=seed).mine(table)
    if not len(rules):
        return (0.0,) * 5
    means = (float(rules.measure(name).mean()) for name in ("support", "confidence", "zhang"))
    return len(rules), *means, rules.data_coverage


def _peer(frame: Any, seed: int) -> tuple[float, ...]:
    torch.manual_seed(seed)
    model = pyaerial("model").train(frame, epochs=EPOCHS, show_progress=False, device="cpu")
    generate = pyaerial("rule_extraction").generate_rules
    found = generate(model, min_rule_frequency=SUPPORT, min_rule_strength=CONFIDENCE, filter_min_support=SUPPORT)[
        "statistics"
    ]
    names = ("rule_count", "average_support", "average_confidence", "average_zhangs_metric", "data_coverage")
    return tuple(float(found.get(name, 0.0)) for name in names)
