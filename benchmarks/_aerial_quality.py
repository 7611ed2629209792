"""Quality part of the Aerial benchmark: several seeds, with exact counts of every rule."""

from __future__ import annotations

import argparse
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from _aerial_jobs import as_frame, pyaerial, pyaerial_search
from _aerial_tables import UNTUNED, as_table, hanoi, untuned
from _record import Cell, Table
from numpy.typing import NDArray

import thence as th
from thence.search.aerial.autoencoder import Autoencoder
from thence.search.aerial.extraction import RuleArrays, extract_rules, extract_top_rules
from thence.search.aerial.settings import SearchSettings, TrainingSettings
from thence.search.aerial.training import train
from thence.search.exact.search import SearchInput, mine_exact
from thence.statements.counting.assurance import add_confidence_bound
from thence.statements.counting.recount import data_coverage, recount
from thence.tables.bitmaps import bits

TAU, SUPPORT = 0.8, 0.01
LAYERS, EPOCHS = [50, 12], 20
Found = NDArray[np.int64]  # antecedent items padded with −1, consequent

FREQUENCIES = (0.01, 0.1, 0.3, 0.5, 0.8, 0.9)  # thresholds of the gate of pyaerial, and of our mutual gate
BEST = 4000
NETWORKS: dict[str, tuple[list[int] | None, int]] = {"[50, 12]": (LAYERS, EPOCHS), "defaults": (None, 5)}

OURS, OURS_LOW, OURS_BEST = "Aerial", "Aerial, gate 0.01", f"Aerial, mutual gate 0.8, {BEST:,} best"
OURS_UNSURE = "Aerial, assurance=0"
OURS_BOTH = f"Aerial, all_confidence {TAU}"
PEERS = {frequency: f"pyaerial, [50, 12], frequency {frequency}" for frequency in FREQUENCIES}
MUTUAL = {frequency: f"Aerial, mutual gate {frequency}" for frequency in FREQUENCIES}
NAMED = PEERS[0.01]  # covers all rows and finds most: the run by which Aerial is judged
Filter = Literal["counted", "aerial", "both ways", "pyaerial"]  # which proposals are returned: see Scale.kept


@dataclass(frozen=True)
class Judged:
    """Measures of the rules that a network proposes, and of those that the library returns after the exact count."""

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


def quality(options: argparse.Namespace) -> tuple[list[str], dict[str, Table]]:
    """Print the tables; return where Aerial is not as good as the run that it is judged by, and the tables."""
    print(
        f"quality: threshold {TAU} on the network's probability, at most two antecedents. 'Returned' is what the public"
    )
    print(
        f"call gives: both libraries leave out an exact confidence below {TAU} (pyaerial also a support below 0.0001),"
    )
    print(f"Aerial also what does not reach it with an assurance of 0.95. 'all_confidence {TAU}' are those rules whose")
    print("converse has that confidence too.")
    print(
        f"Recall against all rules with confidence {TAU} and support {SUPPORT}; 'right' is the share of proposals whose"
    )
    print(f"exact confidence is at least {TAU}.")
    rows, exact = _hanoi(range(2) if options.quick else range(10), Path(options.tables))
    tables = {"hanoi": _table(exact | rows)}
    if not options.quick:
        others = {name: _untuned(name, range(5), Path(options.tables)) for name in UNTUNED}
        tables["others"] = _table_of_systems(others)
    return _missed(rows), tables


def _hanoi(seeds: range, folder: Path) -> tuple[dict[str, list[Judged]], dict[str, list[Judged]]]:
    codes, cardinalities = hanoi(20, folder)
    scale = Scale.of(codes, cardinalities)
    rows: dict[str, list[Judged]] = {}

    def note(name: str, found: Found, kept: Filter) -> None:
        rows.setdefault(name, []).append(scale.judge(found, kept))

    for seed in seeds:
        peer = train_peer(codes, seed, LAYERS, EPOCHS)
        ours = train_ours(codes, cardinalities, TrainingSettings(seed=seed))
        for frequency in FREQUENCIES:
            note(PEERS[frequency], search_peer(peer, frequency), "pyaerial")
            note(MUTUAL[frequency], search_ours(ours, frequency, search="mutual"), "aerial")
        note(OURS, search_ours(ours, TAU), "aerial")
        note(OURS_UNSURE, search_ours(ours, TAU), "counted")
        note(OURS_BOTH, search_ours(ours, TAU), "both ways")
        note(OURS_LOW, search_ours(ours, 0.01), "aerial")
        note(OURS_BEST, search_ours(ours, TAU, search="mutual", k=BEST), "aerial")
        for frequency in (0.01, TAU):
            note(f"{PEERS[frequency]}, then th.evaluate.add_confidence_bound", search_peer(peer, frequency), "aerial")
        note(f"{NAMED}, all_confidence {TAU}", search_peer(peer, 0.01), "both ways")
        faithful = train_ours(codes, cardinalities, TrainingSettings.faithful(seed=seed))
        note("Aerial.faithful", search_ours(faithful, TAU), "counted")
        plain = train_peer(codes, seed, *NETWORKS["defaults"])
        for frequency in FREQUENCIES:
            note(f"pyaerial, defaults, frequency {frequency}", search_peer(plain, frequency), "pyaerial")
        if seed == 0:
            _check_public(scale.table, peer, rows)
    exact = _heads(f"Hanoi, 20 sensors, {len(codes):,} rows, {len(seeds)} seeds", scale)
    ordered = {name: rows[name] for name in sorted(rows)}
    for name, values in ordered.items():
        _print(name, values)
    _parts(scale)
    print()
    return ordered, exact


def _parts(scale: Scale) -> None:
    """Compare exact rules with two antecedents with their parts: how longer rules change the averages."""
    counted = recount(scale.exact[:, :-1], scale.exact[:, -1], scale.table)
    kept = scale.kept(counted, "aerial")
    rules, found = counted.take(kept), scale.exact[kept]
    single = found[:, 1] < 0
    alone, pairs = rules.take(np.flatnonzero(single)), found[~single]
    parts = [recount(pairs[:, [at]], pairs[:, -1], scale.table).measure("zhang") for at in (0, 1)]
    better = int((rules.measure("zhang")[~single] > np.maximum(*parts)).sum())
    print(
        f"of the exact rules (assured), {len(alone):,} have one antecedent: confidence"
        f" {alone.measure('confidence').mean():.3f}, Zhang {alone.measure('zhang').mean():.3f}, coverage"
        f" {data_coverage(alone, scale.table):.3f}; of the {len(pairs):,} with two, {better:,} have a"
        " higher Zhang than both parts"
    )


def _untuned(name: str, seeds: range, folder: Path) -> tuple[str, dict[str, list[Judged]]]:
    """Compare Aerial and pyaerial on a table that no setting was tuned on; return its size in words, and the rows."""
    codes, cardinalities = untuned(name, folder)
    scale = Scale.of(codes, cardinalities)
    size = f"{name}, {codes.shape[1]} × {len(codes):,}"
    rows = _heads(f"{size}, {len(seeds)} seeds; not used to choose a setting", scale)
    ours = [train_ours(codes, cardinalities, TrainingSettings(seed=seed)) for seed in seeds]
    peers = [train_peer(codes, seed, LAYERS, EPOCHS) for seed in seeds]
    rows[OURS] = [scale.judge(search_ours(model, TAU), "aerial") for model in ours]
    rows[OURS_UNSURE] = [scale.judge(search_ours(model, TAU), "counted") for model in ours]
    rows[OURS_BOTH] = [scale.judge(search_ours(model, TAU), "both ways") for model in ours]
    for frequency in FREQUENCIES:
        found = [search_ours(model, frequency, search="mutual") for model in ours]
        rows[MUTUAL[frequency]] = [scale.judge(one, "aerial") for one in found]
        rows[PEERS[frequency]] = [scale.judge(search_peer(peer, frequency), "pyaerial") for peer in peers]
    for title, values in list(rows.items())[2:]:
        _print(title, values)
    print()
    return size, rows


def _missed(rows: dict[str, list[Judged]]) -> list[str]:
    """List where the returned rules of Aerial are not as good as those of the run that they are judged by.

    Aerial with its defaults is judged by pyaerial with layers [50, 12], 20 epochs and frequency 0.01, and with the gate
    of pyaerial by pyaerial at the same threshold. Compared are the means of confidence and of Zhang's metric; where the
    rules of pyaerial cover all rows, those of Aerial have to. All other rows are for information.
    """
    pairs = [(OURS, NAMED), *((MUTUAL[frequency], PEERS[frequency]) for frequency in FREQUENCIES)]
    missed = [
        f"quality: {name} does not cover all rows, and {peer} does"
        for name, peer in pairs
        if _covers(rows[peer]) and not _covers(rows[name])
    ]
    for name, peer in pairs:
        missed += _lower(rows, name, peer)
    return missed


def _covers(rows: list[Judged]) -> bool:
    return min(row.coverage for row in rows) >= 0.999


def _lower(rows: dict[str, list[Judged]], name: str, peer: str) -> list[str]:
    """List which averages of Aerial are lower."""
    ours, theirs = _mean(rows[name]), _mean(rows[peer])
    return [
        f"quality: {measure} of {peer} is higher: {getattr(theirs, measure):.4f} against {getattr(ours, measure):.4f}"
        f" of {name}"
        for measure in ("confidence", "zhang")
        if getattr(ours, measure) < getattr(theirs, measure)
    ]


def _check_public(table: th.TransactionTable, peer: Any, rows: dict[str, list[Judged]]) -> None:
    """Fail if the numbers of returned rules differ from those of the public calls."""
    rules = th.Aerial(seed=0).mine(table)
    ours, both = len(rules), len(rules.filter(min_all_confidence=TAU))
    best = len(th.Aerial(seed=0, search="mutual", top_k=BEST).mine(table))
    mutual = len(th.Aerial(seed=0, search="mutual").mine(table))
    theirs = pyaerial("rule_extraction").generate_rules(peer, min_rule_frequency=0.01, min_rule_strength=TAU)["rules"]
    expected = tuple(rows[name][0].returned for name in (OURS, OURS_BOTH, OURS_BEST, MUTUAL[TAU], NAMED))
    found = (ours, both, best, mutual, len(theirs))
    if found != expected:
        raise SystemExit(f"the public calls return {found} rules, we counted {expected}")


@dataclass(frozen=True)
class Scale:
    """A table and its exact rules, to measure other rules with."""

    table: th.TransactionTable
    exact: Found

    @staticmethod
    def of(codes: NDArray[Any], cardinalities: list[int]) -> Scale:
        return Scale(as_table(codes, cardinalities), _exact(codes, cardinalities))

    def kept(self, rules: th.RuleSet, by: Filter) -> NDArray[np.int64]:
        """Return which rules a library returns.

        ``counted``: rules that reach the confidence. ``aerial``: rules whose lower bound reaches it, the default of
        Aerial. ``both ways``: those of them whose converse reaches it too. ``pyaerial``: rules that reach it after
        rounding to three decimals.
        """
        confidence = rules.measure("confidence")
        if by == "pyaerial":
            return np.flatnonzero((confidence.round(3) >= TAU) & (rules.measure("support").round(3) >= 0.0001))
        enough = np.flatnonzero((confidence >= TAU) & (rules.counts.n_both > 0))
        if by == "counted":
            return enough
        sure = enough[add_confidence_bound(rules.take(enough), self.table).measure("assured_confidence") >= TAU]
        return sure if by == "aerial" else sure[rules.take(sure).measure("all_confidence") >= TAU]

    def judge(self, found: Found, by: Filter) -> Judged:
        if not len(found):
            return Judged(0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
        rules = recount(found[:, :-1], found[:, -1], self.table)
        support, confidence, zhang = (rules.measure(name) for name in ("support", "confidence", "zhang"))
        right = confidence >= TAU
        keep = self.kept(rules, by)
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
            data_coverage(rules.take(keep), self.table) if some else 0.0,
            float(np.isin(_keys(self.exact), _keys(found[keep])).mean()),
        )


def _heads(title: str, scale: Scale) -> dict[str, list[Judged]]:
    """Print the heads and what exact mining finds; return the latter."""
    print(title)
    print(
        f"{'':<52}{'proposals':>10}{'± sd':>7}{'confid.':>9}{'Zhang':>8}{'right':>7}  |{'returned':>9}{'± sd':>7}"
        f"{'support':>9}{'confid.':>9}{'Zhang':>8}{'cover':>7}{'recall':>8}"
    )
    rows = {
        "Exact, support 0.01": [scale.judge(scale.exact, "counted")],
        "Exact, support 0.01, then th.evaluate.add_confidence_bound": [scale.judge(scale.exact, "aerial")],
    }
    for name, values in rows.items():
        _print(name, values)
    return rows


def _mean(rows: list[Judged]) -> Judged:
    return Judged(*np.mean([astuple(row) for row in rows], axis=0))


def _print(name: str, rows: list[Judged]) -> None:
    mean, spread = _mean(rows), Judged(*np.std([astuple(row) for row in rows], axis=0))
    print(
        f"{name:<52}{mean.proposals:>10.0f}{spread.proposals:>7.0f}{mean.proposed_confidence:>9.3f}"
        f"{mean.proposed_zhang:>8.3f}{mean.right:>7.3f}  |{mean.returned:>9.0f}{spread.returned:>7.0f}"
        f"{mean.support:>9.4f}{mean.confidence:>9.3f}{mean.zhang:>8.3f}{mean.coverage:>7.3f}{mean.recall:>8.3f}",
        flush=True,
    )


COLUMNS = (
    ("proposals", ",.0f"),
    ("confidence", ".3f"),
    ("Zhang", ".3f"),
    ("right", ".3f"),
    ("returned", ",.0f"),
    ("support", ".4f"),
    ("confidence", ".3f"),
    ("Zhang", ".3f"),
    ("coverage", ".3f"),
    ("recall", ".3f"),
)


def _table(rows: dict[str, list[Judged]]) -> Table:
    return Table((("", ""), *COLUMNS), tuple((name, *_cells(values)) for name, values in rows.items()))


def _table_of_systems(systems: dict[str, tuple[str, dict[str, list[Judged]]]]) -> Table:
    cells = [(size, name, *_cells(values)) for size, rows in systems.values() for name, values in rows.items()]
    return Table((("", ""), ("", ""), *COLUMNS), tuple(cells))


def _cells(rows: list[Judged]) -> tuple[Cell, ...]:
    """Return the means, with the spread of both numbers of rules; averages of no rules are left out."""
    mean, spread = astuple(_mean(rows)), astuple(Judged(*np.std([astuple(row) for row in rows], axis=0)))
    cells: list[Cell] = [[mean[at], spread[at]] if at in (0, 4) else mean[at] for at in range(len(mean))]
    empty = (1, 2, 3) if not mean[0] else ()
    empty += (5, 6, 7) if not mean[4] else ()
    return tuple(None if at in empty else cell for at, cell in enumerate(cells))


def _keys(rules: Found) -> NDArray[np.int64]:
    keys = np.zeros(len(rules), np.int64)
    for column in rules.T:
        keys = keys * (1 << 16) + column + 1
    return keys


def _exact(codes: NDArray[Any], cardinalities: list[int]) -> Found:
    bitmaps, present = bits.pack_codes(codes, cardinalities=cardinalities)
    blocks = list(
        mine_exact(
            SearchInput.of(
                bitmaps,
                n_rows=len(codes),
                feature_of_item=np.repeat(np.arange(len(cardinalities)), cardinalities),
                present=present,
                max_antecedents=2,
                min_support=str(SUPPORT),
                min_confidence=str(TAU),
            )
        )
    )
    return np.concatenate([np.column_stack([block.antecedents, block.consequents]) for block in blocks]).astype(
        np.int64
    )


def train_ours(codes: NDArray[Any], cardinalities: list[int], settings: TrainingSettings) -> Autoencoder:
    return train(codes, cardinalities=cardinalities, settings=settings).model


def search_ours(model: Autoencoder, gate: float, *, search: str = "full", k: int | None = None) -> Found:
    wanted = SearchSettings(gate=gate, consequent=TAU, search=search)  # type: ignore[arg-type]
    if k is None:
        rules = RuleArrays.concat(extract_rules(model, search=wanted), max_antecedents=2)
    else:
        rules = extract_top_rules(model, k=k, search=wanted)
    return np.column_stack([rules.antecedents, rules.consequents]).astype(np.int64)


def train_peer(codes: NDArray[Any], seed: int, layers: list[int] | None, epochs: int) -> Any:
    torch.manual_seed(seed)
    return pyaerial("model").train(as_frame(codes), layer_dims=layers, epochs=epochs, show_progress=False, device="cpu")


def search_peer(model: Any, gate: float) -> Found:
    return pyaerial_search(model, frequency=gate, strength=TAU)
