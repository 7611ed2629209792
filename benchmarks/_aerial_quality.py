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
from thence.miners.aerial.extract import Rules, Search, extract, top
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
    _print("Exact, support 0.01", [_row(exact, table, exact)])
    rows: dict[str, list[list[float]]] = {}

    def note(name: str, found: Found) -> int:
        rows.setdefault(name, []).append(_row(found, table, exact))
        return len(found)

    for seed in seeds:
        peer = _peer(codes, seed, [50, 12], 20)
        as_many = note(PEER, _search_peer(peer, TAU))
        note(PEER_LOW, _search_peer(peer, 0.01))
        ours = _ours(codes, cardinalities, TrainingSettings(seed=seed))
        note(OURS, _search_ours(ours, TAU))
        note(OURS_AS_MANY, _search_ours(ours, TAU, k=as_many))
        note(OURS_LOW, _search_ours(ours, 0.01))
        note("Aerial.faithful", _search_ours(_ours(codes, cardinalities, TrainingSettings.faithful(seed=seed)), TAU))
        plain = _peer(codes, seed, None, 5)
        note("pyaerial, defaults, gate 0.8", _search_peer(plain, TAU))
        note("pyaerial, defaults, gate 0.01", _search_peer(plain, 0.01))
    for name in sorted(rows):
        _print(name, rows[name])
    print()
    return _judge({name: np.array(values) for name, values in rows.items()})


OURS, OURS_LOW, OURS_AS_MANY = "Aerial", "Aerial, gate 0.01", "Aerial, as many as pyaerial at 0.8"
PEER, PEER_LOW = "pyaerial, [50, 12], gate 0.8", "pyaerial, [50, 12], gate 0.01"


def _judge(rows: dict[str, NDArray[np.float64]]) -> list[str]:
    """Ours against pyaerial where it covers all data: confidence, Zhang, coverage and spread.

    First the proposals at the same gate, as they are. Then two further views: what the exact count keeps of them,
    against pyaerial's low gate, and equally many proposals, since a longer list goes further down.
    """
    missed = []
    plain, kept = (2, 3), (8, 9)
    for ours, peer, columns in (
        (OURS, PEER, plain),
        (OURS_LOW, PEER_LOW, plain),
        (OURS, PEER_LOW, kept),
        (OURS_AS_MANY, PEER, plain),
    ):
        for label, column in zip(("confidence", "Zhang"), columns, strict=True):
            means = [rows[name][:, column].mean() for name in (ours, peer)]
            if means[0] < means[1]:
                missed.append(f"quality: {label} of {peer} is higher: {means[1]:.3f}, {ours} has {means[0]:.3f}")
        if rows[ours][:, 5].min() < 0.999:
            missed.append(f"quality: {ours} does not cover all data")
    for ours, peer in ((OURS, PEER), (OURS_LOW, PEER_LOW)):
        spread = [rows[name][:, 0].std() / rows[name][:, 0].mean() for name in (ours, peer)]
        if spread[0] > spread[1]:
            missed.append(f"quality: rule count of {peer} varies less: {spread[1]:.3f}, {ours} {spread[0]:.3f}")
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


def _search_ours(model: Autoencoder, gate: float, k: int | None = None) -> Found:
    search = Search(gate=gate, consequent=TAU)
    if k is None:
        rules = Rules.joined(extract(model, search=search), max_antecedents=2)
    else:
        rules = top(model, k=k, search=search)
    return np.column_stack([rules.antecedents, rules.consequents]).astype(np.int64)


def _peer(codes: NDArray[Any], seed: int, layers: list[int] | None, epochs: int) -> Any:
    torch.manual_seed(seed)
    return pyaerial("model").train(as_frame(codes), layer_dims=layers, epochs=epochs, show_progress=False, device="cpu")


def _search_peer(model: Any, gate: float) -> Found:
    return pyaerial_search(model, frequency=gate, strength=TAU)
