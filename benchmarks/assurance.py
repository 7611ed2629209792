"""Lower confidence bounds on slow series: how often they lie above the true confidence, and what they cost.

Four parts. *grid*: simulated rules whose true confidence is known. The consequent is a stationary two-state Markov
chain that holds with the probability of the *confidence*; its autocorrelation falls to 1/e within *memory* frames
(0: independent frames). It runs on while the antecedent does not hold. The antecedent is independent of it: it holds
always, or in 30 or 5 % of the time in episodes whose lengths are geometric with a mean of 3 frames (short), the memory
(at least 1 frame), or four times the memory (long, at least 20 frames). A bound *misses* if it is above the confidence.
*later*: the rules of five systems found in the first 70 % of the time, and which of them still hold in the rest.
*confirm*: whether the number of spans, which was chosen on the grid, stands elsewhere: on cells that are not in the
grid, and on later time of five systems that nothing was chosen on, with bins fitted on the first part of the time only.
*speed*: the time for the rules of a plant of 20 sensors with ten ranges and 17,520 rows.

"before" is the bound that was replaced, kept here as a reference: time in 20 spans, taken as independent. Tables of
the five systems are written to --tables on first use. --quick runs a small part of each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from _aerial_tables import OTHERS, SYSTEMS, plant, split, with_times
from _record import Cell as Value
from _record import Table, record
from numba import njit
from numpy.typing import NDArray

import thence as th
from thence.language.items import Feature
from thence.statements.counting.assurance import SPANS, add_confidence_bound, student_quantile
from thence.statements.counting.recount import count_rules, recount
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

LEVEL, ALLOWED = 0.95, 0.07
FIXED = 20  # spans of the bound that was replaced
MEMORIES = (0, 5, 10, 20, 30, 50)
CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
FRAMES = (1_000, 5_000, 20_000)
ANTECEDENTS = (
    ("always", 1.0, "always"),
    *((f"{share:.0%}, {length}", share, length) for share in (0.3, 0.05) for length in ("short", "memory", "long")),
)
TAU, SUPPORT, SHOWN = 0.8, 0.01, 0.7
UNSEEN_FRAMES, UNSEEN_MEMORIES = (2_000, 10_000), (3, 15, 40, 80)
NUMBERS = (16, 32, 64, 128)  # of spans, of which 64 is the default

Floats = NDArray[np.float64]


@njit(cache=True)
def _simulate(
    frames: int, trials: int, confidence: float, memory: float, share: float, length: float, seed: int
) -> NDArray[np.int16]:
    """Simulate antecedents (even rows) and consequents (odd rows); 1 where they hold."""
    np.random.seed(seed)  # noqa: NPY002 - the only generator in compiled code
    stays = np.exp(-1 / memory) if memory > 0 else 0.0
    codes = np.zeros((2 * trials, frames), dtype=np.int16)
    starts = share / (length * (1 - share)) if share < 1 else 1.0
    for trial in range(trials):
        applies = np.random.random() < share  # noqa: NPY002
        holds = np.random.random() < confidence  # noqa: NPY002
        for frame in range(frames):
            if frame and np.random.random() >= stays:  # noqa: NPY002
                holds = np.random.random() < confidence  # noqa: NPY002
            if frame and share < 1:
                turns = np.random.random() < (1 / length if applies else starts)  # noqa: NPY002
                applies = applies != turns
            codes[2 * trial, frame] = applies
            codes[2 * trial + 1, frame] = holds
    return codes


def simulate(cell: Cell, trials: int) -> tuple[th.RuleSet, TransactionTable, Floats, Floats]:
    """Return the rules of all trials, a table with an antecedent and a consequent each, and n and k of 20 spans."""
    lengths = {"always": 1, "short": 3, "memory": max(cell.memory, 1), "long": max(4 * cell.memory, 20)}
    length = float(lengths[cell.length])
    seed = hash((cell.frames, cell.memory, cell.confidence, cell.share, length)) % 2**31
    codes = _simulate(cell.frames, trials, cell.confidence, float(cell.memory), cell.share, length, seed)
    series = np.zeros(1, np.int32)
    columns = tuple(Column(Feature(f"s{at}"), ("off", "on"), row[None, :], series) for at, row in enumerate(codes))
    table = with_times(TransactionTable((Block(columns, cell.frames, 1),)))
    first = 4 * np.arange(trials)
    rules = recount((first + 1)[:, None].astype(np.int32), (first + 3).astype(np.int32), table)
    edges = np.linspace(0, cell.frames, FIXED + 1).astype(int)[:-1]
    n, k = (np.add.reduceat(rows, edges, axis=1).T.astype(float) for rows in (codes[::2], codes[::2] & codes[1::2]))
    return rules, table, n, k


@dataclass(frozen=True)
class Cell:
    """One cell of the grid."""

    frames: int
    antecedent: str
    share: float
    length: str
    memory: int
    confidence: float


@dataclass(frozen=True)
class Misses:
    """Of the trials of a cell: the shares with a bound, and with a bound that is too high."""

    before: float
    given: float
    among_given: float
    overall: float
    distance: float


def cells(frames: tuple[int, ...], memories: tuple[int, ...]) -> Iterator[Cell]:
    """List the cells of the grid."""
    for number in frames:
        for name, share, length in ANTECEDENTS:
            for confidence in CONFIDENCES:
                for memory in memories:
                    yield Cell(number, name, share, length, memory, confidence)


def fixed_bound(n: Floats, k: Floats) -> Floats:
    """Return the bound that was replaced: the variance between 20 spans, as if they were independent.

    Args:
        n: Rows in which the antecedent holds (spans × rules).
        k: Rows in which both sides hold.
    """
    total, number = np.maximum(n.sum(axis=0), 1), (n > 0).sum(axis=0)
    p = k.sum(axis=0) / total
    variance = ((k - p * n) ** 2).sum(axis=0) / total**2 * number / np.maximum(number - 1, 1)
    shrunk = (k.sum(axis=0) + 1) / (total + 2)
    with np.errstate(divide="ignore"):
        rows = np.minimum(total, shrunk * (1 - shrunk) / variance)
    quantiles = np.array([student_quantile(LEVEL, max(freedom, 1)) for freedom in range(FIXED)])
    square = quantiles[np.maximum(number - 1, 1)] ** 2 / rows
    low = (p + square / 2 - np.sqrt(square * (p * (1 - p) + square / 4))) / (1 + square)
    return np.where(number > 1, np.maximum(low, 0.0), 0.0)


def count_fixed(rules: th.RuleSet, table: TransactionTable) -> tuple[Floats, Floats]:
    """Count rules in 20 spans of time."""
    edges = np.linspace(0, table.blocks[0].n_frames, FIXED + 1).astype(int).tolist()
    counts = [count_rules(rules, table.frames(slice(start, stop))).counts for start, stop in pairwise(edges)]
    n, k = (np.array([getattr(c, name) for c in counts], float) for name in ("n_antecedent", "n_both"))
    return n, k


def judge(cell: Cell, trials: int, spans: int = SPANS) -> Misses:
    """Simulate a cell and count how often either bound is above the true confidence."""
    rules, table, n, k = simulate(cell, trials)
    after = add_confidence_bound(rules, table, assurance=LEVEL, spans=spans).measure("assured_confidence")
    before = fixed_bound(n, k)
    given, missed = np.isfinite(after), after > cell.confidence
    among = missed.sum() / max(given.sum(), 1)
    distance = float((cell.confidence - after[given]).mean()) if given.any() else np.nan
    return Misses(
        float((before > cell.confidence).mean()), float(given.mean()), float(among), float(missed.mean()), distance
    )


def grid(frames: tuple[int, ...], memories: tuple[int, ...], trials: int) -> list[str]:
    """Print the grid as tables; return the cells in which more bounds miss than allowed."""
    print(f"## Misses at {LEVEL:.0%}, {trials:,} trials per cell\n")
    print("Share of bounds above the true confidence, in per cent: before → after among the trials with a bound; in")
    print("brackets the share of trials with a bound after, if not all have one. – : no trial has one.")
    found: dict[Cell, Misses] = {}
    for number in frames:
        print(f"\n{number:,} frames:\n")
        print("| antecedent | confidence | " + " | ".join(f"memory {memory}" for memory in memories) + " |")
        print("|---|---|" + "---|" * len(memories))
        for name, share, length in ANTECEDENTS:
            for confidence in CONFIDENCES:
                row = [Cell(number, name, share, length, memory, confidence) for memory in memories]
                found |= {cell: judge(cell, trials) for cell in row}
                shown = " | ".join(_entry(found[cell]) for cell in row)
                print(f"| {name} | {confidence} | {shown} |", flush=True)
    _summary(found, frames, memories)
    _against_wilson(found)
    return [
        f"{cell}: {100 * max(misses.among_given, misses.overall):.1f} %"
        for cell, misses in found.items()
        if max(misses.among_given, misses.overall) > ALLOWED
    ]


def _entry(misses: Misses) -> str:
    if misses.given == 0:
        return f"{100 * misses.before:.1f} → –"
    known = "" if misses.given == 1 else f" ({100 * misses.given:.0f})"
    return f"{100 * misses.before:.1f} → {100 * misses.among_given:.1f}{known}"


def _summary(found: dict[Cell, Misses], frames: tuple[int, ...], memories: tuple[int, ...]) -> None:
    """Print the highest shares over confidences and lengths of episodes."""
    print("\nHighest share over all confidences and lengths of episodes, before → after (mean share with a bound):\n")
    print("| frames | antecedent | " + " | ".join(f"memory {memory}" for memory in memories) + " |")
    print("|---|---|" + "---|" * len(memories))
    for number in frames:
        for share in (1.0, 0.3, 0.05):
            entries = []
            for memory in memories:
                some = [m for c, m in found.items() if (c.frames, c.share, c.memory) == (number, share, memory)]
                before, after = max(m.before for m in some), max(m.among_given for m in some)
                given = np.mean([m.given for m in some])
                entries.append(f"{100 * before:.1f} → {100 * after:.1f} ({100 * given:.0f})")
            name = "always" if share == 1 else f"{share:.0%}"
            print(f"| {number:,} | {name} | " + " | ".join(entries) + " |")


def _against_wilson(found: dict[Cell, Misses]) -> None:
    """Print how far below the confidence the bound lies for independent rows, beside Wilson's for as many rows."""
    print("\nIndependent frames, antecedent always: mean distance of the bound from the confidence, and Wilson's:\n")
    print("| frames | " + " | ".join(f"confidence {confidence}" for confidence in CONFIDENCES) + " |")
    print("|---|" + "---|" * len(CONFIDENCES))
    for number in sorted({cell.frames for cell in found}):
        entries = []
        for confidence in CONFIDENCES:
            misses = found[Cell(number, "always", 1.0, "always", 0, confidence)]
            holds = np.random.default_rng(0).binomial(number, confidence, 10_000) / number
            entries.append(f"{misses.distance:.4f}, {confidence - _wilson(holds, number).mean():.4f}")
        print(f"| {number:,} | " + " | ".join(entries) + " |")


def _wilson(p: Floats, rows: int) -> Floats:
    square = 1.6448536269514722**2 / rows
    return np.asarray((p + square / 2 - np.sqrt(square * (p * (1 - p) + square / 4))) / (1 + square))


def later(folder: Path, seeds: range, names: tuple[str, ...]) -> Table:
    """Print how many rules of the first 70 % of the time are kept, and how many of them hold in the rest."""
    print(f"\n## Rules that still hold later\n\nRules with a confidence of {TAU} in the first {SHOWN:.0%} of the time:")
    print("number kept, share that has this confidence in the rest where the antecedent occurs ten times there, recall")
    print("of the rules that do; cannot say: rules without a bound. Bins are fitted on the first part only.\n")
    print("| system | rules of | all | before | after | cannot say |\n|---|---|---|---|---|---|")
    cells: list[tuple[Value, ...]] = []
    for name in names:
        early, rest = tables_of(name, folder)
        mined = {"Exact": [th.Exact(min_support=SUPPORT, min_confidence=TAU, max_antecedents=2).mine(early)]}
        mined["Aerial"] = [th.Aerial(seed=seed, assurance=0).mine(early) for seed in seeds]
        for miner, sets in mined.items():
            rows = np.mean([_still_hold(rules, early, rest) for rules in sets], axis=0)
            shown = [f"{a:,.0f}: {b:.3f}" for a, b, _ in rows[:1]]
            shown += [f"{a:,.0f}: {b:.3f}, {c:.3f}" for a, b, c in rows[1:3]]
            cells.append((name, miner, *shown, float(rows[3][0])))
            print(f"| {name} | {miner} | " + " | ".join(shown) + f" | {rows[3][0]:,.0f} |", flush=True)
    heads = ("system", "rules of", "all", "before", "after")
    return Table((*((head, "") for head in heads), ("cannot say", ",.0f")), tuple(cells))


def tables_of(name: str, folder: Path) -> tuple[TransactionTable, TransactionTable]:
    """Return a system in two parts of time, cut into bins that were fitted on the first."""
    parts = split(name, folder)
    codes = np.concatenate([parts.early, parts.late])
    frame = pl.DataFrame({f"s{at:02}": column.astype(str) for at, column in enumerate(codes.T)})
    table, cut = with_times(TransactionTable.from_frame(frame)), len(parts.early)
    return table.frames(slice(0, cut)), table.frames(slice(cut, None))


def confirm_cells(trials: int, numbers: tuple[int, ...]) -> Table:
    """Print how often bounds miss in cells that are not in the grid, by number of spans."""
    listed = list(cells(UNSEEN_FRAMES, UNSEEN_MEMORIES))
    print(f"\n## Cells that are not in the grid\n\n{len(listed)} cells, {trials} trials each; in per cent.\n")
    print("| spans | mean | highest | cells above 5 % | trials with a bound |\n|---|---|---|---|---|")
    rows: list[tuple[Value, ...]] = []
    for number in numbers:
        found = [judge(cell, trials, number) for cell in listed]
        among = 100 * np.array([misses.among_given for misses in found])
        given = 100 * float(np.mean([misses.given for misses in found]))
        rows.append((number, float(among.mean()), float(among.max()), int((among > 5).sum()), given))
        print("| " + " | ".join(f"{value:.4g}" for value in rows[-1]) + " |", flush=True)  # type: ignore[str-format]
    heads = (("spans", ",.0f"), ("mean", ".1f %"), ("highest", ".1f %"), ("cells above 5 %", ",.0f"))
    return Table((*heads, ("trials with a bound", ".1f %")), tuple(rows))


def confirm_later(folder: Path, names: tuple[str, ...], numbers: tuple[int, ...]) -> Table:
    """Print which rules of other systems are kept and still hold, by number of spans."""
    print("\n## Later time of other systems\n\nExact rules: number, share that still holds, recall of those that do.\n")
    print("| system | all | " + " | ".join(f"{number} spans" for number in numbers) + " |")
    print("|---|---|" + "---|" * len(numbers))
    rows: list[tuple[Value, ...]] = []
    for name in names:
        early, rest = tables_of(name, folder)
        rules = th.Exact(min_support=SUPPORT, min_confidence=TAU, max_antecedents=2).mine(early)
        shown = []
        for number in (None, *numbers):
            number_kept, held, recall = _still_hold(rules, early, rest, number or SPANS)[2 if number else 0]
            shown.append(f"{number_kept:,.0f}: {held:.3f}" + (f", {recall:.3f}" if number else ""))
        rows.append((name, *shown))
        print("| " + " | ".join(map(str, rows[-1])) + " |", flush=True)
    return Table((("system", ""), ("all", ""), *((f"{number} spans", "") for number in numbers)), tuple(rows))


def _still_hold(
    rules: th.RuleSet, early: TransactionTable, rest: TransactionTable, spans: int = SPANS
) -> list[tuple[float, float, float]]:
    """Return number, share that holds later and recall of all rules, of those kept before, after, and of unknown."""
    again = count_rules(rules, rest)
    seen = again.counts.n_antecedent >= 10
    holds = seen & (again.measure("confidence") >= TAU)
    after = add_confidence_bound(rules, early, assurance=LEVEL, spans=spans).measure("assured_confidence")
    out = []
    for kept in (
        np.ones(len(rules), bool),
        fixed_bound(*count_fixed(rules, early)) >= TAU,
        after >= TAU,
        np.isnan(after),
    ):
        held = int((holds & kept).sum())
        out.append((float(kept.sum()), held / max(int((seen & kept).sum()), 1), held / max(int(holds.sum()), 1)))
    return out


def speed(n_rules: int) -> None:
    """Print the time for random rules, and for rules that hold."""
    codes = plant(20)
    frame = pl.DataFrame({f"s{at:02}": c.astype(str) for at, c in enumerate(codes.T)})
    table = with_times(TransactionTable.from_frame(frame))
    rng = np.random.default_rng(0)
    features = np.argsort(rng.random((n_rules, 20)), axis=1)[:, :3]
    items = (10 * features + rng.integers(0, 10, features.shape)).astype(np.int32)
    holding = th.Exact(min_support=0.001, min_confidence=0.3, max_antecedents=2).mine(table)
    print("\n## Time\n\n| rules | seconds |\n|---|---|")
    for name, rules in (("random", recount(items[:, :2], items[:, 2], table)), ("that hold", holding)):
        times = []
        for _ in range(6):
            start = time.perf_counter()
            add_confidence_bound(rules, table)
            times.append(time.perf_counter() - start)
        print(f"| {len(rules):,} {name} | {min(times[1:]):.2f} |")


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few cells, few trials, one system")
    parser.add_argument("--part", choices=["grid", "later", "confirm", "speed"], help="only this part")
    parser.add_argument("--trials", type=int, default=1_000, help="trials per cell of the grid")
    parser.add_argument("--record", action="store_true", help="write the results that the documentation shows")
    parser.add_argument("--tables", default=str(Path(tempfile.gettempdir()) / "thence-benchmark-tables"))
    options = parser.parse_args()
    Path(options.tables).mkdir(parents=True, exist_ok=True)
    missed: list[str] = []
    if options.part in (None, "grid"):
        missed = grid((1_000,), (0, 50), 100) if options.quick else grid(FRAMES, MEMORIES, options.trials)
        print(f"\ncells with more than {ALLOWED:.0%} misses: {len(missed)}")
        print("\n".join(missed))
    tables: dict[str, Table] = {}
    if options.part in (None, "later"):
        names = ("LBNL",) if options.quick else tuple(SYSTEMS)
        tables["later"] = later(Path(options.tables), range(1 if options.quick else 5), names)
    if options.part in (None, "confirm"):
        names, numbers = (("LBNL SZCAV",), (SPANS,)) if options.quick else (tuple(OTHERS), NUMBERS)
        tables["confirm-later"] = confirm_later(Path(options.tables), names, numbers)
        tables["confirm-cells"] = confirm_cells(20 if options.quick else options.trials // 2, numbers)
    if options.part in (None, "speed"):
        speed(20_000 if options.quick else 500_000)
    if options.record:
        record("assurance", tables)
    if missed and not options.quick:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
