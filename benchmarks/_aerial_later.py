"""Rules that still hold later: Aerial and every setting of pyaerial on the first 70 % of the time, counted on the rest.

Bins are fitted on the first part only, as someone who mines today has to. Beside the share of rules that still hold
stands how many rows the rules cover, since a short list of the safest rules is easily right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _aerial_jobs import as_frame
from _aerial_quality import (
    FREQUENCIES,
    MUTUAL,
    NETWORKS,
    OURS,
    OURS_UNSURE,
    TAU,
    Filter,
    Found,
    Scale,
    search_ours,
    search_peer,
    train_ours,
    train_peer,
)
from _aerial_tables import SHOWN, SYSTEMS, Split, split, with_times
from _record import Cell, Table
from numpy.typing import NDArray

import thence as th
from thence.search.aerial.settings import TrainingSettings
from thence.statements.counting.recount import data_coverage, recount

SEEN = 10  # rows in which the antecedent has to hold later, for a rule to be judged
Kept = dict[str, tuple[Found, Filter]]
Row = tuple[float, float, float, float, float]  # rules, rows covered, covered later, still hold, mean confidence later
COLUMNS = (
    ("system", ""),
    ("contender", ""),
    ("rules", ",.0f"),
    ("rows covered", ".3f"),
    ("later rows covered", ".3f"),
    ("still hold", ".3f"),
    ("mean confidence later", ".3f"),
)


def later(seeds: range, folder: Path) -> Table:
    """Print which rules still hold, by system and contender, and return the table of means over the seeds."""
    print(f"later: bins fitted and rules mined on {SHOWN:.0%} of the time, counted on the rest; {len(seeds)} seeds.")
    print(f"'hold': share with a confidence of {TAU} later, where the antecedent occurs {SEEN} times; 'cover': rows")
    print(f"{'':<54}{'rules':>8}{'cover':>8}{'later':>8}{'hold':>8}{'mean':>8}")
    cells: list[tuple[Cell, ...]] = []
    for system in SYSTEMS:
        parts = split(system, folder)
        rows: dict[str, list[Row]] = {}
        for seed in seeds:
            for name, row in _seed(parts, seed).items():
                rows.setdefault(name, []).append(row)
        for name, values in rows.items():
            mean = np.array([_mean(column) for column in zip(*values, strict=True)])
            cells.append((system, name, *(None if np.isnan(value) else float(value) for value in mean)))
            numbers = "".join(f"{value:>8.3f}" for value in mean[1:])
            print(f"{system:<12}{name:<42}{mean[0]:>8.0f}{numbers}", flush=True)
    return Table(COLUMNS, tuple(cells))


def by_system(table: Table) -> Table:
    """Return the table as one row per contender, with the columns of the page in each cell."""
    systems = list(dict.fromkeys(row[0] for row in table.rows))
    entries = {(row[1], row[0]): row[2:] for row in table.rows}
    names = list(dict.fromkeys(row[1] for row in table.rows))
    rows = tuple((name, *(_entry(entries.get((name, system))) for system in systems)) for name in names)
    return Table((("", ""), *((str(system), "") for system in systems)), rows)


def _entry(values: tuple[Cell, ...] | None) -> str:
    if values is None or not values[0]:
        return "no rule"
    number, _, covered, held, mean = values
    share = "none judged" if held is None else f"**{held:.3f}**, {mean:.3f}"
    return f"{number:,.0f}; {covered:.3f}; {share}"


def _seed(parts: Split, seed: int) -> dict[str, Row]:
    codes = np.concatenate([parts.early, parts.late])
    table, cut = with_times(th.TransactionTable.from_frame(as_frame(codes))), len(parts.early)
    early, late = table.frames(slice(0, cut)), table.frames(slice(cut, None))
    scale = Scale(early, np.zeros((0, 3), np.int64))
    found = _contenders(parts.early, parts.cardinalities, seed)
    return {name: _judge(rules, by, scale, late) for name, (rules, by) in found.items()}


def _contenders(codes: NDArray[np.int8], cardinalities: list[int], seed: int) -> Kept:
    ours = train_ours(codes, cardinalities, TrainingSettings(seed=seed))
    found: Kept = {OURS: (search_ours(ours, TAU), "aerial"), OURS_UNSURE: (search_ours(ours, TAU), "counted")}
    for frequency in FREQUENCIES:
        found[MUTUAL[frequency]] = (search_ours(ours, frequency, search="mutual"), "aerial")
    for network, (layers, epochs) in NETWORKS.items():
        peer = train_peer(codes, seed, layers, epochs)
        for frequency in FREQUENCIES:
            rules = search_peer(peer, frequency)
            found[f"pyaerial, {network}, frequency {frequency}"] = (rules, "pyaerial")
            if layers and frequency in (0.01, TAU):
                found[f"pyaerial, {network}, frequency {frequency}, then th.evaluate.add_confidence_bound"] = (
                    rules,
                    "aerial",
                )
    return found


def _judge(found: Found, by: Filter, scale: Scale, late: th.TransactionTable) -> Row:
    if not len(found):
        return 0.0, 0.0, 0.0, np.nan, np.nan
    rules = recount(found[:, :-1], found[:, -1], scale.table)
    returned = rules.take(scale.kept(rules, by))
    if not len(returned):
        return 0.0, 0.0, 0.0, np.nan, np.nan
    again = th.evaluate.count_rules(returned, late)
    confidence = again.measure("confidence")[again.counts.n_antecedent >= SEEN]
    held = (float((confidence >= TAU).mean()), float(confidence.mean())) if len(confidence) else (np.nan, np.nan)
    return len(returned), data_coverage(returned, scale.table), data_coverage(again, late), *held


def _mean(values: tuple[float, ...]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
