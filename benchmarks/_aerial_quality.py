"""Quality part of the Aerial benchmark: several seeds, every rule counted exactly."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _aerial_jobs import as_frame, pyaerial, pyaerial_search
from _aerial_tables import hanoi
from numpy.typing import NDArray

import thence as th
from thence import bits
from thence.counting import recount
from thence.miners._exact_kernel import mine_exact
from thence.miners.aerial.autoencoder import Autoencoder
from thence.miners.aerial.extract import Rules, Search, extract
from thence.miners.aerial.train import TrainingSettings, train

TAU, SUPPORT = 0.8, 0.01
Found = NDArray[np.int64]  # antecedent items padded with −1, consequent


def quality(options: argparse.Namespace) -> list[str]:
    """Print the table; the return value says what was wanted and not reached."""
    seeds = range(2) if options.quick else range(10)
    codes, cardinalities = hanoi(20, Path(options.tables))
    table = th.TransactionTable.from_frame(as_frame(codes))
    exact = _exact(codes, cardinalities)
    print(f"quality: Hanoi, 20 sensors, own deciles, {len(seeds)} seeds; threshold {TAU} on the network's probability.")
    print(
        f"Recall against the {len(exact):,} rules with confidence {TAU} and support {SUPPORT}; 'right' is the share of"
    )
    print(f"proposals with an exact confidence of at least {TAU}, 'kept' what remains of them (support 0.0001).")
    print(
        f"{'':<38}{'rules':>8}{'± sd':>7}{'support':>9}{'confid.':>9}{'Zhang':>8}{'right':>7}{'cover':>7}{'recall':>8}"
        f"  |{'kept':>7}{'± sd':>7}{'confid.':>9}{'Zhang':>8}{'cover':>7}"
    )
    rows: dict[str, list[list[float]]] = {"Exact, support 0.01": [_row(exact, table, exact)]}
    _print("Exact, support 0.01", rows["Exact, support 0.01"])
    contenders = {
        "Aerial": (lambda seed: _ours(codes, cardinalities, TrainingSettings(seed=seed)), _search_ours),
        "Aerial.faithful": (
            lambda seed: _ours(codes, cardinalities, TrainingSettings.faithful(seed=seed)),
            _search_ours,
        ),
        "pyaerial, defaults": (lambda seed: _peer(codes, seed, None, 5), _search_peer),
        "pyaerial, [50, 12], 20 epochs": (lambda seed: _peer(codes, seed, [50, 12], 20), _search_peer),
    }
    for name, (learn, search) in contenders.items():
        gates = (TAU, 0.01) if "faithful" not in name else (TAU,)
        for seed in seeds:
            model = learn(seed)
            for gate in gates:
                rows.setdefault(f"{name}, gate {gate:g}", []).append(_row(search(model, gate), table, exact))
        for gate in gates:
            _print(f"{name}, gate {gate:g}", rows[f"{name}, gate {gate:g}"])
    print()
    return _judge({name: np.array(values) for name, values in rows.items()})


def _judge(rows: dict[str, NDArray[np.float64]]) -> list[str]:
    """Ours against every setting of pyaerial that covers all data: confidence, Zhang and spread."""
    missed = []
    for gate in (f"{TAU:g}", "0.01"):
        ours = rows[f"Aerial, gate {gate}"]
        for name in rows:
            if not name.startswith("pyaerial") or not name.endswith(f"gate {gate}"):
                continue
            peer = rows[name]
            if peer[:, 5].mean() < 0.99:
                continue
            for label, column in (("confidence", 2), ("Zhang", 3)):
                if ours[:, column].mean() < peer[:, column].mean():
                    missed.append(f"quality: {label} of {name} is higher")
            if ours[:, 0].std() / ours[:, 0].mean() > peer[:, 0].std() / peer[:, 0].mean():
                missed.append(f"quality: rule count of {name} varies less")
    return missed


def _row(found: Found, table: th.TransactionTable, exact: Found) -> list[float]:
    if not len(found):
        return [0.0] * 12
    rules = recount(table, 0, found[:, :-1], found[:, -1])
    support, confidence, zhang = (np.nan_to_num(rules.measure(name)) for name in ("support", "confidence", "zhang"))
    right = confidence >= TAU
    keep = np.flatnonzero(right & (support >= 0.0001))
    kept = rules.take(keep)
    hits = np.isin(_keys(exact), _keys(found)).mean()
    return [
        len(found),
        support.mean(),
        confidence.mean(),
        zhang.mean(),
        right.mean(),
        th.counting.data_coverage(table, rules),
        hits,
        len(keep),
        confidence[keep].mean() if len(keep) else 0.0,
        zhang[keep].mean() if len(keep) else 0.0,
        th.counting.data_coverage(table, kept) if len(keep) else 0.0,
    ]


def _print(name: str, values: list[list[float]]) -> None:
    mean, sd = np.mean(values, axis=0), np.std(values, axis=0)
    print(
        f"{name:<38}{mean[0]:>8.0f}{sd[0]:>7.0f}{mean[1]:>9.4f}{mean[2]:>9.3f}{mean[3]:>8.3f}{mean[4]:>7.3f}"
        f"{mean[5]:>7.3f}{mean[6]:>8.3f}  |{mean[7]:>7.0f}{sd[7]:>7.0f}{mean[8]:>9.3f}{mean[9]:>8.3f}{mean[10]:>7.3f}",
        flush=True,
    )


def _keys(rules: Found) -> NDArray[np.int64]:
    keys = np.zeros(len(rules), np.int64)
    for column in rules.T:
        keys = keys * (1 << 16) + column + 1
    return keys


def _exact(codes: NDArray[Any], cardinalities: list[int]) -> Found:
    bitmaps, present = bits.pack_codes(codes, cardinalities=cardinalities)
    blocks = list(
        mine_exact(
            bitmaps,
            n_rows=len(codes),
            feature_of_item=np.repeat(np.arange(len(cardinalities)), cardinalities),
            present=present,
            max_antecedents=2,
            min_support=str(SUPPORT),
            min_confidence=str(TAU),
        )
    )
    return np.concatenate([np.column_stack([block.antecedents, block.consequents]) for block in blocks]).astype(
        np.int64
    )


def _ours(codes: NDArray[Any], cardinalities: list[int], settings: TrainingSettings) -> Autoencoder:
    return train(codes, cardinalities=cardinalities, settings=settings).model


def _search_ours(model: Autoencoder, gate: float) -> Found:
    rules = Rules.joined(extract(model, search=Search(gate=gate, consequent=TAU)), max_antecedents=2)
    return np.column_stack([rules.antecedents, rules.consequents]).astype(np.int64)


def _peer(codes: NDArray[Any], seed: int, layers: list[int] | None, epochs: int) -> Any:
    torch.manual_seed(seed)
    return pyaerial("model").train(as_frame(codes), layer_dims=layers, epochs=epochs, show_progress=False, device="cpu")


def _search_peer(model: Any, gate: float) -> Found:
    return pyaerial_search(model, frequency=gate, strength=TAU)
