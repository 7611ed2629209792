"""Buildings: do lifted rules hold later, in another unit, and in a unit that was left out?

    python benchmarks/buildings.py            a minute; prints the tables of the guide page "Which enrichment?"
    python benchmarks/buildings.py --quick    one unit, later in time only

*Later*: `th.mine` with nothing but defaults (lifted) on the first 60 % of the readings, whose rules are counted in the
rest with the same bins. A rule holds later if its confidence there is at least 0.9, its lift at least 1.5 and its
antecedent holds in at least 30 rows; of a rule that is told "and vice versa" each direction counts. Laws are fitted on
the first 60 % by themselves. *Another unit*: rules of one air handling unit of the LBNL data measured on another, and
rules of two units on the third (`th.evaluate.generalise`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import numpy as np

import thence as th
from thence.statements.counting.recount import find_countable

SHARE = 0.6
LEAST_CONFIDENCE, LEAST_LIFT, LEAST_ROWS = 0.9, 1.5, 30
UNITS = ("MZVAV-2-1", "SZCAV", "SZVAV")


def cut(system: th.System) -> tuple[th.System, th.System]:
    """Cut a system in two at the time before which 60 % of the readings lie."""
    times = np.sort(system.sensors.to_polars()["time"].to_numpy())
    at = str(times[int(len(times) * SHARE)])
    return system.between(end=at), system.between(start=at)


Direction = tuple[str, float, float, int, bool]
"""The sentence, the later confidence, lift and number of rows, and whether it is the other direction of the rule."""


def directions(rules: th.RuleSet, later: th.RuleSet) -> Iterator[Direction]:
    """Yield the directions in which each rule is told."""
    counts = later.counts
    for r in range(len(later)):
        sides = [(counts.n_antecedent[r], counts.n_consequent[r])]
        if "both_ways" in rules.extras and rules.extras["both_ways"][r]:
            sides.append((counts.n_consequent[r], counts.n_antecedent[r]))
        for number, (left, right) in enumerate(sides):
            confidence = counts.n_both[r] / left if left else np.nan
            lift = confidence * counts.n[r] / right if right else np.nan
            yield rules.rule(r).english, confidence, lift, int(left), bool(number)


def by_sentence(found: Iterable[Direction]) -> dict[str, list[Direction | None]]:
    """Return both directions of each sentence, ``None`` for one that is not among them."""
    out: dict[str, list[Direction | None]] = {}
    for one in found:
        out.setdefault(one[0], [None, None])[one[4]] = one
    return out


def measure_later(name: str, options: dict[str, str]) -> None:
    """Print how many rules of a data set hold later, and which."""
    system = th.datasets.load(name, **options)
    earlier, later = cut(system)
    run = th.mine(earlier, enrich="lifted", laws=False, controls=False, progress="off")
    table = th.transactions(later, enrich="lifted", windows=run.config.windows.every, like=run)
    # Rules whose pattern or state the later data lack cannot be counted; they have not held.
    kept = run.rules.take(np.flatnonzero(find_countable(run.rules, table)[0]))
    found = list(directions(kept, th.evaluate.count_rules(kept, table)))
    holding = [one for one in found if one[1] >= LEAST_CONFIDENCE and one[2] >= LEAST_LIFT and one[3] >= LEAST_ROWS]
    laws = [law for law in th.find_laws(system, progress="off") if law.later_share >= LEAST_CONFIDENCE]
    title = f"{name} {' '.join(options.values())}".strip()
    print(f"\n### {title}\n")
    print(f"{len(run.rules)} rules, told in {len(found)} directions; {len(holding)} hold later, and {len(laws)} laws\n")
    if holding:
        print("| rule | holds later in | vice versa in | lift |")
        print("|---|--:|--:|--:|")
    for sentence, own in by_sentence(holding).items():
        forth, back = (f"{one[1]:.3f} of {one[3]:,}" if one else "–" for one in own)
        print(f"| {sentence} | {forth} | {back} | {next(filter(None, own))[2]:.2f} |")
    print()
    for law in laws:
        print(f"- {law.english}")


def measure_units() -> None:
    """Print coverage and confidence of the rules of some units in others."""
    systems = {unit: th.datasets.load("lbnl-ahu", unit=unit) for unit in UNITS}
    print("\n| mined on | measured on | rules | coverage | confidence |")
    print("|---|---|--:|--:|--:|")
    for here, there in (("SZCAV", "SZVAV"), ("SZVAV", "SZCAV")):
        result = th.evaluate.generalise(
            systems[here], other=systems[there], enrich="lifted", windows="5min", min_embeddings=1
        ).modes["lifted"]
        row = result.wholly_unseen
        print(
            f"| {here} | {there} | {result.rules} | {row.coverage or 0:.3f} | {row.confidence or 0:.3f} |", flush=True
        )
    sites = [th.System(s.sensors, s.graph, s.binding, s.ontology, name=unit) for unit, s in systems.items()]
    left_out = th.evaluate.generalise(sites, by="site", windows="5min")
    print(left_out)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one unit, later in time only")
    if parser.parse_args().quick:
        measure_later("lbnl-ahu", {"unit": UNITS[1]})
        return
    for unit in UNITS:
        measure_later("lbnl-ahu", {"unit": unit})
    measure_later("open-smart-home", {})
    measure_units()


if __name__ == "__main__":
    main()
