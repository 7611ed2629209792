"""What is reported by default: how much of it still holds in a last part of the time that was not touched?

    python benchmarks/holding.py                    every data set that is there; THENCE_DATA has published ones
    python benchmarks/holding.py toy net3           only these
    python benchmarks/holding.py --future 0.4       mined on the first 60 % instead of 75 %
    python benchmarks/holding.py --quick            toy and two weeks of Net3
    python benchmarks/holding.py --sentences        also lists what did not hold

`th.mine` runs with nothing but defaults on the first part of the time; nothing is searched, chosen or confirmed on the
rest. There, a *rule* holds if its confidence is at least 0.8 and its lift above 1.5, and the same vice versa if it is
reported both ways; a *law* if it holds in at least 99 % of the rows, or in the share that it says less 3 %; a *control*
if it explains at least half of the switches and at least 80 % of the crossings were followed. What never applied in the
later part cannot be judged, and what cannot be bound there has not held. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np

import thence as th
from thence.errors import ThenceError
from thence.statements.counting.encoding import find_countable

FUTURE = 0.25
LAW, SLACK = 0.99, 0.03
"""Share of the rows in which a law must hold, and how much less than it says is enough."""
DATASETS: dict[str, tuple[str, dict[str, Any]]] = {
    "toy": ("toy", {}),
    "net3": ("net3", {}),
    "hanoi": ("hanoi", {}),
    "ltown": ("ltown", {"leaks": False}),
    "citybench": ("citybench", {}),
    "lbnl-ahu MZVAV-2-1": ("lbnl-ahu", {"unit": "MZVAV-2-1"}),
    "lbnl-ahu SZCAV": ("lbnl-ahu", {"unit": "SZCAV"}),
    "lbnl-ahu SZVAV": ("lbnl-ahu", {"unit": "SZVAV"}),
    "open-smart-home": ("open-smart-home", {}),
}
KINDS = ("rule", "law", "control")
Kind = Literal["rule", "law", "control"]


@dataclass(frozen=True)
class Outcome:
    """What became of a statement in the later part.

    Args:
        kind: Its kind.
        sentence: What it says.
        holds: Whether it holds; ``None`` if it never applied.
        detail: The later counts.
    """

    kind: Kind
    sentence: str
    holds: bool | None
    detail: str


def cut(system: th.System, future: float) -> tuple[th.System, th.System]:
    """Cut a system in two: the first part of its time, and the last.

    Args:
        system: The system.
        future: The share of the times of readings that belong to the last part. Shares of the span would not do: data
            may be of a few days in several years.
    """
    times = system.sensors.to_polars()["time"].unique().sort()
    at: datetime = times[int(len(times) * (1 - future))]
    return system.between(end=at), system.between(start=at)


def is_kept(both: int, left: int, right: int, rows: int) -> bool:
    """Return whether confidence is at least 0.8 and lift above 1.5.

    >>> is_kept(8, 10, 50, 100), is_kept(8, 10, 54, 100), is_kept(7, 10, 10, 100)
    (True, False, False)
    """
    return 5 * both >= 4 * left and 2 * both * rows > 3 * left * right


def judge_rules(rules: th.RuleSet, table: Any) -> Iterator[Outcome]:
    """Yield what became of rules, counted on the table of the later part."""
    countable = find_countable(rules, table)[0] if len(rules) else np.zeros(0, bool)
    for at in np.flatnonzero(~countable):
        yield Outcome("rule", rules.rule(int(at)).english, False, "cannot be bound")
    if not countable.any():
        return
    kept = rules.take(np.flatnonzero(countable))
    counts = th.evaluate.count_rules(kept, table).counts
    for at in range(len(kept)):
        both, left, right, rows = (
            int(column[at]) for column in (counts.n_both, counts.n_antecedent, counts.n_consequent, counts.n)
        )
        holds: bool | None = is_kept(both, left, right, rows) if left else None
        if holds and kept.rule(at).both_ways:
            holds = is_kept(both, right, left, rows)
        detail = f"{both:,} of {left:,}; {right:,} of {rows:,} in all"
        yield Outcome("rule", kept.rule(at).english, holds, detail)


def judge_logic(applied: Any) -> Iterator[Outcome]:
    """Yield what became of laws and controls."""
    if applied.applied_laws is not None:
        for row in applied.applied_laws.to_polars().iter_rows(named=True):
            least = min(LAW, row["then"] - SLACK)
            holds = row["held"] >= least * row["rows"] if row["rows"] else None
            yield Outcome("law", row["statement"], holds, f"{row['held']:,} of {row['rows']:,}")
    if applied.applied_controls is not None:
        for row in applied.applied_controls.to_polars().iter_rows(named=True):
            yield _judge_control(row)


def _judge_control(row: dict[str, Any]) -> Outcome:
    if row["switches"] is None:
        return Outcome("control", row["sentence"], False, str(row["missing"]))
    detail = f"{row['explained']} of {row['switches']} switches, {row['followed']} of {row['crossings']} crossings"
    holds: bool | None = None
    if row["switches"] or row["crossings"]:
        explains = 2 * row["explained"] >= row["switches"]
        holds = explains and 5 * row["followed"] >= 4 * row["crossings"]
    return Outcome("control", row["sentence"], holds, detail)


def measure(system: th.System, future: float) -> tuple[list[Outcome], float]:
    """Return what became of everything that is reported by default, and the seconds of mining.

    Args:
        system: The system.
        future: The share of the time that is not touched.
    """
    earlier, later = cut(system, future)
    begin = time.process_time()
    run = th.mine(earlier, progress="off")
    seconds = time.process_time() - begin
    if not len(run.findings):
        return [], seconds
    applied = th.apply(run, later, same_system=True)
    return [*judge_logic(applied), *judge_rules(run.rules, applied.later.table)], seconds


def describe(outcomes: list[Outcome], kind: str) -> str:
    """Return number reported, and the share of those that can be judged which holds, of a kind or of all.

    >>> describe([Outcome("law", "", True, ""), Outcome("law", "", None, "")], "law")
    '2 | 1.00 of 1'
    """
    own = [one for one in outcomes if kind in ("", one.kind)]
    judged = [one for one in own if one.holds is not None]
    share = f"{sum(bool(one.holds) for one in judged) / len(judged):.2f} of {len(judged)}" if judged else "–"
    return f"{len(own)} | {share}"


def main() -> None:
    """Print a table with one line per data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--future", type=float, default=FUTURE, help="share of the time that is not touched")
    parser.add_argument("--quick", action="store_true", help="toy and two weeks of Net3")
    parser.add_argument("--sentences", action="store_true", help="list what did not hold")
    given = parser.parse_args()
    if unknown := {*given.datasets} - {*DATASETS}:
        parser.error(f"unknown data sets {sorted(unknown)}; there are {', '.join(DATASETS)}")
    chosen = {name: DATASETS[name] for name in given.datasets}
    if given.quick:
        chosen = {"toy": ("toy", {}), "net3, 14 days": ("net3", {"days": 14})}
    print("| data set | rules | hold | laws | hold | controls | hold | all | hold | s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for title, (name, options) in chosen.items():
        try:
            system = th.datasets.load(name, **options)
        except ThenceError as error:
            print(f"{title} is left out: {error}", file=sys.stderr)
            continue
        outcomes, seconds = measure(system, given.future)
        cells = " | ".join(describe(outcomes, kind) for kind in (*KINDS, ""))
        print(f"| {title} | {cells} | {seconds:.1f} |", flush=True)
        if given.sentences:
            for one in outcomes:
                if not one.holds:
                    what = "never applied" if one.holds is None else "does not hold"
                    print(f"  {one.kind}, {what}: {one.sentence} [{one.detail}]", file=sys.stderr)


if __name__ == "__main__":
    main()
