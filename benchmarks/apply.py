"""Rules on other data: ``th.apply`` compared with pandas, many rules on many frames, and how often verdicts are right.

    python benchmarks/apply.py              pandas on 10,000 rules × half a year of hours; 10,000 rules × 10⁶ frames
    python benchmarks/apply.py --quick      200 rules × 1,000 frames; 500 rules × 50,000 frames

The readings are simulated: 40 sensors that follow a common load, with some values missing. pandas matches the rules as
one would write it by hand: one boolean column per item, and per rule the ``&`` of its columns. It gives the counts of
each rule, which must be those of ``th.apply``; it does not judge rules, nor find intervals, places or times. A part of
the rules is matched and the time scaled to all of them if that would take long. Both start from windowed readings.

Verdicts are measured on autocorrelated series (0.8 and 0.97 from hour to hour) of 1,000 hours each, then and now: how
many rules are called weaker although nothing changes, and how many confident rules about a sensor are, if this sensor
reads the opposite in the second half.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import thence as th
from thence.checks.application.apply import apply_to
from thence.checks.application.parts import encode_rules
from thence.statements.counting.states import tally_states

SENSORS = 40


def simulate(n_frames: int, seed: int) -> th.System:
    """Hourly readings of sensors that follow a common load, each with noise of its own."""
    rng = np.random.default_rng(seed)
    load = np.sin(np.arange(n_frames) * 2 * np.pi / 24) + 0.3 * np.sin(np.arange(n_frames) * 2 * np.pi / 168)
    start = datetime(2020, 1, 1)
    columns: dict[str, Any] = {
        "time": pl.datetime_range(start, start + timedelta(hours=n_frames - 1), "1h", time_unit="us", eager=True)
    }
    for number in range(SENSORS):
        values = np.round(load * (1 + number % 3) + rng.normal(scale=0.4, size=n_frames), 3)
        values[rng.random(n_frames) < 0.01] = np.nan
        columns[f"s{number:02d}"] = pl.Series(values, nan_to_null=True)
    return th.System(th.read_sensors(pl.DataFrame(columns)), name="plant")


def mine_rules(n_rules: int) -> th.Run:
    """A run with about the number of rules asked for, on a period of its own."""
    run = th.mine(
        simulate(2_000, 0),
        windows="1h",
        bins=4,
        scope="sensor",
        min_support=0.02,
        min_confidence=0.8,
        max_antecedents=2,
        refine=None,
        progress="off",
    )
    chosen = np.random.default_rng(0).permutation(len(run.rules))[:n_rules]
    return replace(run, rules=run.rules.take(np.sort(chosen)), table=None)


def match_with_pandas(rules: th.RuleSet, frame: pd.DataFrame, seconds: float) -> tuple[np.ndarray, float, int]:
    """Satisfied and violated rows of the first rules, the seconds that all would take, and how many were matched."""
    begin = time.perf_counter()
    out = []
    for rule in rules:
        held = pd.Series(True, index=frame.index)
        for item in rule.antecedent:
            held &= test_of(item, frame)
        held &= frame[rule.consequent.feature.subject].notna()
        right = test_of(rule.consequent, frame)
        out.append((int((held & right).sum()), int((held & ~right).sum())))
        if time.perf_counter() - begin > seconds:
            break
    spent = time.perf_counter() - begin
    return np.array(out), spent * len(rules) / len(out), len(out)


def test_of(item: th.Item, frame: pd.DataFrame) -> pd.Series:
    column = frame[item.feature.subject]
    interval = item.interval
    assert interval is not None
    return (column >= interval.low) & (column < interval.high)


def walk(n_frames: int, memory: float, rng: np.random.Generator) -> np.ndarray:
    """A stationary series in which each value resembles the one before."""
    out = rng.normal(size=n_frames)
    for at in range(1, n_frames):
        out[at] = memory * out[at - 1] + out[at] * np.sqrt(1 - memory * memory)
    return out


def judge(seeds: int) -> tuple[float, float]:
    """Shares of rules that are called weaker: of all, if nothing changes, and of those that break halfway."""
    wrong: list[float] = []
    found: list[float] = []
    for seed in range(seeds):
        for memory in (0.8, 0.97):
            rng = np.random.default_rng(seed)
            common = walk(2_000, memory, rng)
            times = [datetime(2024, 1, 1) + timedelta(hours=at) for at in range(2_000)]
            columns = {f"s{k}": common + 0.6 * walk(2_000, memory, rng) for k in range(4)}
            columns |= {f"s{k}": walk(2_000, memory, rng) for k in (4, 5)}
            frame = pl.DataFrame({"time": times, **columns})
            settings = {"min_support": 0.05, "min_confidence": 0.5, "max_antecedents": 2}
            run = th.mine(frame[:1_000], windows="1h", bins=3, refine=None, progress="off", **settings)
            later = frame[1_000:]
            bad = pl.col("verdict").is_in(["weaker", "no longer holds"])
            wrong.append(th.apply(run, later).by_rule().select(bad.mean()).item())
            halfway = pl.int_range(pl.len()) >= 500
            turned = later.with_columns(pl.when(halfway).then(-pl.col("s0")).otherwise(pl.col("s0")))
            about = [rule.consequent.feature.subject == "s0" for rule in run.rules]
            confident = (pl.col("then") >= 0.8) & (pl.col("applied") > 0)
            judged = th.apply(run, turned).by_rule().filter(pl.Series(about) & confident)
            if judged.height:
                found.append(judged.select(bad.mean()).item())
    return float(np.mean(wrong)), float(np.mean(found))


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--seconds", type=float, default=20.0, help="most seconds of pandas")
    quick, limit = (lambda given: (given.quick, given.seconds))(parser.parse_args())
    n_rules, hours, frames = (200, 1_000, 50_000) if quick else (10_000, 4_380, 1_000_000)

    run = mine_rules(n_rules)
    later = simulate(hours, 1)
    apply_to(run.rules.take(np.arange(10)), run, later)  # compiles
    begin = time.perf_counter()
    applied = apply_to(run.rules, run, later)
    whole = time.perf_counter() - begin
    begin = time.perf_counter()
    parts, _ = encode_rules(run.rules, applied.later.table)
    for part in parts:
        tally_states(part.bank, antecedents=part.antecedents, consequents=part.consequents)
    counting = time.perf_counter() - begin
    values = applied.later.data.readings.to_polars().drop("time").to_pandas()
    counts, by_hand, matched = match_with_pandas(run.rules, values, limit)
    same = bool((counts == applied.counts[:matched, :2]).all())
    print(f"{len(run.rules):,} rules × {hours:,} frames of {SENSORS} sensors")
    print(f"  pandas, rule by rule     {by_hand:9.2f} s   ({matched:,} rules matched, scaled)")
    print(f"  th.apply, everything     {whole:9.2f} s   {by_hand / whole:7.0f} ×   (with windows, bins and intervals)")
    print(f"  th.apply, matching only  {counting:9.3f} s   {by_hand / counting:7.0f} ×")
    print(f"  the same counts          {'yes' if same else 'NO'}")

    begin = time.perf_counter()
    data = simulate(frames, 2)
    made = time.perf_counter() - begin
    begin = time.perf_counter()
    applied = apply_to(run.rules, run, data)
    whole = time.perf_counter() - begin
    begin = time.perf_counter()
    for part in applied.parts:
        tally_states(part.bank, antecedents=part.antecedents, consequents=part.consequents)
    counting = time.perf_counter() - begin
    rows = int(applied.counts.sum())
    print(f"{len(run.rules):,} rules × {frames:,} frames: {rows:,} states")
    print(f"  simulated in             {made:9.2f} s")
    print(f"  th.apply, everything     {whole:9.2f} s")
    print(f"  states alone             {counting:9.2f} s   {rows / counting / 1e9:.1f} × 10⁹ states a second")
    print(f"  peak of memory           {peak_gigabytes():9.2f} GB")
    wrong, found = judge(2 if quick else 20)
    print("verdicts on series with memory, 1,000 hours then and now")
    print(f"  called weaker, nothing changes          {wrong:6.1%} of the rules")
    print(f"  called weaker, consequent turns halfway {found:6.1%} of the confident rules about it")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
