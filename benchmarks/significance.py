"""Level and power of the significance test, before and after it learnt about slow and cyclic series.

The level is the share of tables of six independent sensors in which any rule is significant at 0.05. The power is the
number of planted rules that are significant. "Before" shifts series circularly and takes every series for stationary.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from unittest import mock

import numpy as np
import polars as pl
from _aerial_tables import with_times
from numpy.typing import NDArray

import thence as th
from thence.search.refine import Null, p_values
from thence.search.refine.significance import testing
from thence.search.refine.significance.nulls import Permutation, estimate_memory

Values = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int], Values]
SENSORS = 6
LEVEL = 0.05


class Circular(Null):
    """Circular shifts of the whole time: the null model before."""

    def centre(self, n_frames: int) -> slice:
        """All frames."""
        return slice(0, n_frames)

    def choose_guard(self, table: th.TransactionTable) -> int:
        """The memory of the series, at most a two-hundredth of the frames."""
        block = table.blocks[0]
        return estimate_memory(block, block.n_frames // 200)

    def permutations(self, n_frames: int, *, guard: int, rng: np.random.Generator) -> list[Permutation]:
        """Random circular shifts."""
        shifts = np.arange(guard + 1, n_frames - guard)
        shifts = rng.choice(shifts, min(self.draws, len(shifts)), replace=False)
        return [Permutation(np.array([0, n_frames - s]), np.array([s, 0]), np.array([n_frames - s, s])) for s in shifts]


def autoregressive(rng: np.random.Generator, frames: int, memory: float, *, settle: int = 1000) -> Values:
    """Independent series of AR(1), each with a standard deviation of one."""
    steps = rng.normal(size=(frames + settle, SENSORS))
    for t in range(1, len(steps)):
        steps[t] += memory * steps[t - 1]
    return steps[settle:] / steps[settle:].std(axis=0)


def walk(drift: float) -> Maker:
    """Random walks; each drifts up or down by so many standard deviations of a step."""
    return lambda rng, frames: np.cumsum(rng.normal(size=(frames, SENSORS)) + drift * signs(rng), axis=0)


def signs(rng: np.random.Generator) -> Values:
    """Up or down, per sensor."""
    return rng.choice([-1.0, 1.0], SENSORS)


def linear(noise: float) -> Maker:
    """Straight lines of random slopes, with noise."""

    def make(rng: np.random.Generator, frames: int) -> Values:
        slope = rng.uniform(0.3, 3, SENSORS) * signs(rng)
        return np.linspace(-1, 1, frames)[:, None] * slope + noise * rng.normal(size=(frames, SENSORS))

    return make


def quadratic(rng: np.random.Generator, frames: int) -> Values:
    """Parabolas with random vertices, with noise."""
    away = np.linspace(-1, 1, frames)[:, None] - rng.uniform(-1, 1, SENSORS)
    return away**2 * rng.uniform(0.3, 3, SENSORS) * signs(rng) + rng.normal(size=(frames, SENSORS))


def seasonal(low: float, high: float, memory: float = 0.8, noise: float = 1.0) -> Maker:
    """Cycles with random phases and periods between two bounds, with noise."""

    def make(rng: np.random.Generator, frames: int) -> Values:
        cycles = np.arange(frames)[:, None] / rng.uniform(low, high, SENSORS) + rng.random(SENSORS)
        return 2 * np.sin(2 * np.pi * cycles) + noise * autoregressive(rng, frames, memory)

    return make


def memory(coefficient: float) -> Maker:
    """AR(1)."""
    return lambda rng, frames: autoregressive(rng, frames, coefficient)


def rolled(coefficient: float) -> Maker:
    """AR(1), each series shifted circularly at random: the planted data of the tests."""

    def make(rng: np.random.Generator, frames: int) -> Values:
        steps = rng.normal(size=(frames + 300, SENSORS))
        for t in range(1, len(steps)):
            steps[t] += coefficient * steps[t - 1]
        return np.stack([np.roll(one, int(rng.integers(frames))) for one in steps[300:].T], axis=1)

    return make


NOISE: list[tuple[str, int, Maker]] = [
    ("random walks", 300, walk(0.0)),
    ("random walks", 1000, walk(0.0)),
    ("random walks with drift", 300, walk(0.1)),
    ("random walks with drift", 1000, walk(0.1)),
    ("linear trends and noise", 300, linear(1.0)),
    ("linear trends and noise", 1000, linear(1.0)),
    ("linear trends, little noise", 300, linear(0.01)),
    ("quadratic trends and noise", 300, quadratic),
    ("quadratic trends and noise", 1000, quadratic),
    ("cycles, period 30", 300, seasonal(30, 30)),
    ("cycles, period 100", 300, seasonal(100, 100)),
    ("cycles, period 48", 1000, seasonal(48, 48)),
    ("cycles, periods 15 to 60", 300, seasonal(15, 60)),
    ("cycles, periods 15 to 60", 1000, seasonal(15, 60)),
    ("the same with little noise", 300, seasonal(15, 60, 0.0, 0.2)),
    ("AR(1), 0.5, confidence ≥ 0.3", 300, memory(0.5)),
    ("AR(1), 0.9", 300, memory(0.9)),
    ("AR(1), 0.95", 300, memory(0.95)),
    ("AR(1), 0.98", 300, memory(0.98)),
    ("AR(1), 0.99", 300, memory(0.99)),
    ("AR(1), 0.9, confidence ≥ 0.3", 1000, memory(0.9)),
    ("AR(1), 0.95", 1000, memory(0.95)),
    ("AR(1), 0.98", 1000, memory(0.98)),
    ("AR(1), 0.99", 1000, memory(0.99)),
    ("independent noise, confidence ≥ 0.3", 300, memory(0.0)),
]
PLANTED: list[tuple[str, int, Maker]] = [
    ("AR(1), 0.8, as in the tests", 600, rolled(0.8)),
    ("AR(1), 0.8", 300, memory(0.8)),
    ("AR(1), 0.95", 600, memory(0.95)),
    ("AR(1), 0.99", 600, memory(0.99)),
    ("cycles, period 24", 600, seasonal(24, 24)),
    ("cycles, periods 15 to 60", 600, seasonal(15, 60)),
    ("linear trends and noise", 600, linear(1.0)),
    ("random walks", 600, walk(0.0)),
    ("random walks with drift", 600, walk(0.1)),
]


def to_table(values: Values) -> th.TransactionTable:
    """Cut each sensor into three bins."""
    return with_times(th.TransactionTable.from_frame(pl.DataFrame(dict(zip("abcdef", values.T, strict=True))), bins=3))


def run_test(rules: th.RuleSet, table: th.TransactionTable, now: bool, **settings: float) -> th.RuleSet:
    """Return the significant rules, by the test of today or by that of before."""
    skip = mock.patch.object(testing, "drift_p_values", lambda tests: np.full(len(tests.rules), np.nan))
    null = Null(draws=settings.pop("draws")) if now else Circular(draws=settings.pop("draws"))
    with nullcontext() if now else skip:
        return p_values(rules, table, alpha=LEVEL, null=null, **settings)


def limits(tables: int) -> tuple[int, int]:
    """The central 95 % of the number of alarms in so many tables if the level is exact."""
    cumulated, low, high = 0.0, None, None
    for count in range(tables + 1):
        cumulated += math.comb(tables, count) * LEVEL**count * (1 - LEVEL) ** (tables - count)
        low = count if low is None and cumulated > 0.025 else low
        high = count if high is None and cumulated >= 0.975 else high
    return low or 0, high or 0


def print_levels(tables: int, draws: int, antecedents: int, confidence: float, like: str) -> None:
    """Print the share of tables with a significant rule."""
    low, high = limits(tables)
    print(f"Tables of {tables} with a rule at {LEVEL}; {low} to {high} would be expected of an exact test.\n")
    print("| six independent sensors | frames | with rules | before | after | rules whose sides both drift |")
    print("|---|---|---|---|---|---|")
    for number, (title, frames, make) in enumerate(NOISE):
        if like not in title:
            continue
        # Where series resemble noise, hardly any rule would reach the usual confidence.
        bounds = {"min_support": 0.05, "min_confidence": 0.3 if "0.3" in title else confidence}
        miner = th.Exact(max_antecedents=antecedents, **bounds)
        mined = drifting = rules_in_all = 0
        alarms = [0, 0]
        for seed in range(tables):
            table = to_table(make(np.random.default_rng([16, number, seed]), frames))
            rules = miner.mine(table)
            mined += len(rules) > 0
            if not len(rules):
                continue
            for now in (False, True):
                alarms[now] += len(run_test(rules, table, now, draws=draws, seed=seed, **bounds)) > 0
            every = p_values(rules, table, null=Null(draws=1), family="rules", simpler=False)
            drifting += int((~np.isnan(every.extras.get("p_drift", np.full(len(rules), np.nan)))).sum())
            rules_in_all += len(rules)
        share = f"{drifting / rules_in_all:.0%}" if rules_in_all else "–"
        print(f"| {title} | {frames:,} | {mined} | {alarms[0]} | {alarms[1]} | {share} |", flush=True)


def print_power(tables: int, draws: int) -> None:
    """Print how many of the planted rules are significant: sensor b follows a, so that each has its bin."""
    bounds = {"min_support": 0.02, "min_confidence": 0.7}
    miner = th.Exact(max_antecedents=2, **bounds)
    print("\n| b follows a, four other sensors | frames | planted rules | before | after | false, after |")
    print("|---|---|---|---|---|---|")
    for title, frames, make in PLANTED:
        found, false = [0, 0], 0
        for seed in range(tables):
            values = make(np.random.default_rng(seed), frames)
            values[:, 1] = values[:, 0] + 0.1 * values[:, 1]
            table = to_table(values)
            rules = miner.mine(table)
            for now in (False, True):
                kept = run_test(rules, table, now, draws=draws, **bounds)
                about = [{item.feature.subject for item in (*rule.antecedent, rule.consequent)} for rule in kept]
                found[now] += sum(one == {"a", "b"} for one in about)
                false += now * sum(one != {"a", "b"} for one in about)
        print(f"| {title} | {frames:,} | {6 * tables} | {found[0]} | {found[1]} | {false} |", flush=True)


def print_times(quick: bool) -> None:
    """Print the processor time on rules of a year of Hanoi, lifted."""
    data = th.datasets.load("hanoi", **({"days": 30} if quick else {}))
    table = th.transactions(
        data.sensors, data.graph, data.binding, windows="30min", bins=10, enrich="lifted", scope="sensor"
    )
    bounds = {"min_support": 0.02, "min_confidence": 0.9}
    rules = th.Exact(max_antecedents=2, **bounds).mine(table)
    print(f"\n| Hanoi, lifted, {len(rules):,} rules | significant, before | s | significant, after | s |")
    print("|---|---|---|---|---|")
    for title, settings in (('`family="rules"`', {"family": "rules"}), ("the whole search", {})):
        cells = []
        for now in (False, True):
            start = time.process_time()
            kept = run_test(rules, table, now, draws=199, **bounds, **settings)  # type: ignore[arg-type]
            cells += [f"{len(kept):,}", f"{time.process_time() - start:.0f}"]
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--antecedents", type=int, default=1)
    parser.add_argument("--confidence", type=float, default=0.5)
    parser.add_argument("--like", default="", help="part of the title of a row of the first table")
    parser.add_argument("--only", choices=["levels", "power", "times"])
    arguments = parser.parse_args()
    if arguments.only in (None, "levels"):
        tables = 4 if arguments.quick else arguments.tables
        print_levels(tables, 99, arguments.antecedents, arguments.confidence, arguments.like)
    if arguments.only in (None, "power"):
        print_power(2 if arguments.quick else 25, 99)
    if arguments.only in (None, "times"):
        print_times(arguments.quick)


if __name__ == "__main__":
    main()
