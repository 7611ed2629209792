"""Quality part of the Aerial benchmark: several seeds, every rule counted exactly."""

from __future__ import annotations

import argparse
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _aerial_jobs import as_frame, pyaerial, pyaerial_search
from _aerial_tables import UNTUNED, hanoi, untuned
from numpy.typing import NDArray

import thence as th
from thence import bits
from thence.counting import recount
from thence.miners._exact_kernel import mine_exact
from thence.miners.aerial.autoencoder import Autoencoder
from thence.miners.aerial.extract import Rules, Search, extract, top
from thence.miners.aerial.train import TrainingSettings, train

TAU, SUPPORT = 0.8, 0.01
LAYERS, EPOCHS = [50, 12], 20
Found = NDArray[np.int64]  # antecedent items padded with −1, consequent

OURS, OURS_LOW, OURS_AS_MANY = "Aerial", "Aerial, gate 0.01", "Aerial, as many as pyaerial at 0.8"
PEER_LOW, PEER_MIDDLE, PEER = (f"pyaerial, [50, 12], frequency {frequency}" for frequency in (0.01, 0.5, 0.8))


@dataclass(frozen=True)
class Judged:
    """What a network proposed, and what the library returned of it after the exact count."""

    proposals: int
    proposed_confidence: float
    proposed_zhang: float
    right: float
    returned: int
    support: float
    confidence: float
    zhang: float
    coverage: float
    recall: float


def quality(options: argparse.Namespace) -> list[str]:
    """Print the tables; the return value says what was wanted and not reached."""
    print(
        f"quality: threshold {TAU} on the network's probability, at most two antecedents. 'Returned' is what the public"
    )
    print(
        f"call gives: both libraries leave out an exact confidence below {TAU} (pyaerial also a support below 0.0001)."
    )
    print(
        f"Recall against all rules with confidence {TAU} and support {SUPPORT}; 'right' is the share of proposals whose"
    )
    print(f"exact confidence is at least {TAU}.")
    rows = _hanoi(range(2) if options.quick else range(10), Path(options.tables))
    if not options.quick:
        for name in UNTUNED:
            _untuned(name, range(5), Path(options.tables))
    return _missed(rows)


def _hanoi(seeds: range, folder: Path) -> dict[str, list[Judged]]:
    codes, cardinalities = hanoi(20, folder)
    scale = _Scale.of(codes, cardinalities)
    rows: dict[str, list[Judged]] = {}

    def note(name: str, found: Found, *, ours: bool) -> int:
        rows.setdefault(name, []).append(scale.judge(found, ours=ours))
        return len(found)

    for seed in seeds:
        peer = _peer(codes, seed, LAYERS, EPOCHS)
        for name, frequency in ((PEER_LOW, 0.01), (PEER_MIDDLE, 0.5), (PEER, 0.8)):
            as_many = note(name, _search_peer(peer, frequency), ours=False)
        ours = _ours(codes, cardinalities, TrainingSettings(seed=seed))
        note(OURS, _search_ours(ours, TAU), ours=True)
        note(OURS_LOW, _search_ours(ours, 0.01), ours=True)
        note(OURS_AS_MANY, _search_ours(ours, TAU, k=as_many), ours=True)
        faithful = _ours(codes, cardinalities, TrainingSettings.faithful(seed=seed))
        note("Aerial.faithful", _search_ours(faithful, TAU), ours=True)
        plain = _peer(codes, seed, None, 5)
        for frequency in (0.01, 0.5):
            note(f"pyaerial, defaults, frequency {frequency}", _search_peer(plain, frequency), ours=False)
        if seed == 0:
            _check_public(scale.table, peer, rows)
    _heads(f"Hanoi, 20 sensors, {len(codes):,} rows, {len(seeds)} seeds", scale)
    for name in sorted(rows):
        _print(name, rows[name])
    print()
    return rows


def _untuned(name: str, seeds: range, folder: Path) -> None:
    """Ours and pyaerial's on a table that had no part in choosing any setting."""
    codes, cardinalities = untuned(name, folder)
    scale = _Scale.of(codes, cardinalities)
    _heads(
        f"{name}, {codes.shape[1]} sensors, {len(codes):,} rows, {len(seeds)} seeds; not used to choose a setting",
        scale,
    )
    ours = [_ours(codes, cardinalities, TrainingSettings(seed=seed)) for seed in seeds]
    _print(OURS, [scale.judge(_search_ours(model, TAU), ours=True) for model in ours])
    _print(OURS_LOW, [scale.judge(_search_ours(model, 0.01), ours=True) for model in ours])
    peers = [_peer(codes, seed, LAYERS, EPOCHS) for seed in seeds]
    for label, frequency in ((PEER_LOW, 0.01), (PEER, 0.8)):
        _print(label, [scale.judge(_search_peer(peer, frequency), ours=False) for peer in peers])
    print()


def _missed(rows: dict[str, list[Judged]]) -> list[str]:
    """Ours against every setting of pyaerial that covers all data, and both with a gate near zero: what both return."""
    full = [name for name in (PEER_LOW, PEER_MIDDLE, PEER) if min(row.coverage for row in rows[name]) >= 0.999]
    missed = []
    for name, peer_name in [*((OURS, peer) for peer in full), (OURS_LOW, PEER_LOW)]:
        ours, peer = _mean(rows[name]), _mean(rows[peer_name])
        for measure in ("confidence", "zhang"):
            if getattr(ours, measure) < getattr(peer, measure):
                figures = f"{getattr(peer, measure):.4f} against {getattr(ours, measure):.4f} of {name}"
                missed.append(f"quality: {measure} of {peer_name} is higher: {figures}")
        spread = [np.std([row.returned for row in rows[n]]) / _mean(rows[n]).returned for n in (name, peer_name)]
        if spread[0] > spread[1]:
            missed.append(f"quality: the number of rules of {peer_name} varies less than that of {name}")
    if min(row.coverage for row in rows[OURS]) < 0.999:
        missed.append("quality: Aerial does not cover all data")
    return missed


def _check_public(table: th.TransactionTable, peer: Any, rows: dict[str, list[Judged]]) -> None:
    """The numbers of returned rules are those of the public calls, or the script fails."""
    ours = len(th.Aerial(seed=0).mine(table))
    theirs = pyaerial("rule_extraction").generate_rules(peer, min_rule_frequency=0.01, min_rule_strength=TAU)["rules"]
    expected = (rows[OURS][0].returned, rows[PEER_LOW][0].returned)
    if (ours, len(theirs)) != expected:
        raise SystemExit(f"the public calls return {ours} and {len(theirs)} rules, we counted {expected}")


@dataclass(frozen=True)
class _Scale:
    """A table and its exact rules, to judge others by."""

    table: th.TransactionTable
    exact: Found

    @staticmethod
    def of(codes: NDArray[Any], cardinalities: list[int]) -> _Scale:
        return _Scale(th.TransactionTable.from_frame(as_frame(codes)), _exact(codes, cardinalities))

    def judge(self, found: Found, *, ours: bool) -> Judged:
        """Each library filters in its own way: ours at full precision, pyaerial after rounding to three decimals."""
        if not len(found):
            return Judged(0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
        rules = recount(self.table, 0, found[:, :-1], found[:, -1])
        support, confidence, zhang = (np.nan_to_num(rules.measure(name)) for name in ("support", "confidence", "zhang"))
        right = confidence >= TAU
        if ours:
            keep = np.flatnonzero(right & (rules.counts.n_both > 0))
        else:
            keep = np.flatnonzero((confidence.round(3) >= TAU) & (support.round(3) >= 0.0001))
        some = len(keep) > 0
        return Judged(
            len(found),
            float(confidence.mean()),
            float(zhang.mean()),
            float(right.mean()),
            len(keep),
            float(support[keep].mean()) if some else 0.0,
            float(confidence[keep].mean()) if some else 0.0,
            float(zhang[keep].mean()) if some else 0.0,
            th.counting.data_coverage(self.table, rules.take(keep)) if some else 0.0,
            float(np.isin(_keys(self.exact), _keys(found[keep])).mean()),
        )


def _heads(title: str, scale: _Scale) -> None:
    print(title)
    print(
        f"{'':<38}{'proposals':>10}{'± sd':>7}{'confid.':>9}{'Zhang':>8}{'right':>7}  |{'returned':>9}{'± sd':>7}"
        f"{'support':>9}{'confid.':>9}{'Zhang':>8}{'cover':>7}{'recall':>8}"
    )
    _print("Exact, support 0.01", [scale.judge(scale.exact, ours=True)])


def _mean(rows: list[Judged]) -> Judged:
    return Judged(*np.mean([astuple(row) for row in rows], axis=0))


def _print(name: str, rows: list[Judged]) -> None:
    mean, spread = _mean(rows), Judged(*np.std([astuple(row) for row in rows], axis=0))
    print(
        f"{name:<38}{mean.proposals:>10.0f}{spread.proposals:>7.0f}{mean.proposed_confidence:>9.3f}"
        f"{mean.proposed_zhang:>8.3f}{mean.right:>7.3f}  |{mean.returned:>9.0f}{spread.returned:>7.0f}"
        f"{mean.support:>9.4f}{mean.confidence:>9.3f}{mean.zhang:>8.3f}{mean.coverage:>7.3f}{mean.recall:>8.3f}",
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
