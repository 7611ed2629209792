"""Sparse sensors: how much of L-Town do lifted rules cover, with and without the nearest sensors of a kind?

    python benchmarks/sparse.py            half a minute; prints the numbers of the guide page "Lifted rules"
    python benchmarks/sparse.py --quick    a few seconds: 3 days instead of 14

Rules are mined on the first 60 % of the time and measured in the rest. A place is a node with sensors; it is covered in
a frame if a rule applies that reads one of its sensors. *All*: the rules of `th.Exact` with confidence 0.8 or more, of
which those are chosen that cover the earlier part. *Default*: the rules that `th.mine` tells with nothing but defaults.
"""

from __future__ import annotations

import argparse

import numpy as np

import thence as th
from thence.lab.evaluate.generalisation import SEEN, PlaceEvaluator, SplitSettings, select_applicable, window_system
from thence.language.patterns import Pattern
from thence.runs.preparation import Prepared
from thence.tables.transactions import TransactionTable

SETTINGS = SplitSettings(
    miner=th.Exact(min_support=0.01, min_confidence=0.8, max_antecedents=2),
    bins=5,
    max_rules=1000,
    hops=2,
    min_embeddings=3,
    train_share=0.6,
)


def evaluator(table: TransactionTable, timed: Prepared) -> PlaceEvaluator:
    """All places are seen: rules are measured at the same places in later time."""
    return PlaceEvaluator(table, timed, np.full(len(timed.places), SEEN))


def show(title: str, rules: th.RuleSet, places: PlaceEvaluator, frames: slice) -> None:
    """Print how many of the places × frames rules cover, and how often they hold there."""
    result = places.measure(rules, frames)[SEEN]
    print(f"| {title} | {len(rules)} | {result.coverage or 0:.3f} | {result.confidence or 0:.3f} |", flush=True)


def measure_all(title: str, timed: Prepared, patterns: list[Pattern]) -> None:
    """Mine all rules of some patterns and measure those that cover the earlier part."""
    table = SETTINGS.table(timed, "lifted", patterns=patterns)
    earlier, later = SETTINGS.split_time(timed)
    mined = SETTINGS.miner.mine(table.frames(earlier))
    places = evaluator(table, timed)
    show(f"{title}, {len(mined)} rules", places.select_cover(mined, earlier, SETTINGS.max_rules), places, later)


def measure_default(system: th.System, timed: Prepared) -> None:
    """Mine with nothing but defaults, and measure the rules that are told."""
    earlier, later = SETTINGS.split_time(timed)
    times = timed.readings.times
    run = th.mine(system.between(end=str(times[earlier.stop])), laws=False, controls=False, progress="off")
    table = th.transactions(system, enrich=run.config.enrich.mode, windows=run.config.windows.every, like=run)
    show(f"default, {run.config.enrich.mode}", select_applicable(run.rules, table), evaluator(table, timed), later)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 days instead of 14")
    system = th.datasets.load("ltown", days=3 if parser.parse_args().quick else 14)
    timed = window_system(system, None, "5min")
    patterns = SETTINGS.find_patterns(timed)
    print("| rules of L-Town | measured | covered later | confidence later |\n|---|--:|--:|--:|")
    measure_all("all", timed, patterns)
    others = [pattern for pattern in patterns if not any(role.nearest for role in pattern.roles)]
    measure_all("all without the nearest sensors", timed, others)
    measure_default(system, timed)


if __name__ == "__main__":
    main()
