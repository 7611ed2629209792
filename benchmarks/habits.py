"""The same building in twelve habits of models: does it run on nothing but files, and is as much found as in the first?

``python benchmarks/habits.py`` prints for each habit how many sensors were bound, how many statements are about places
of the graph, and the seconds; then the statements of twelve sites in twelve habits, mined together, beside those of the
same twelve sites in one habit. ``--quick`` has fewer rooms, days and sites; ``--seed`` makes other readings.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from _habits_building import HABITS, Building, Written, make_building

import thence as th
from thence.statements.counting.by_place import count_sites

FIRST = "Brick, hasPoint"


def mine_one(habit: str, building: Building) -> tuple[th.Run, float]:
    """Mine a building from the files of a habit, and nothing else."""
    with tempfile.TemporaryDirectory() as name:
        readings, model = HABITS[habit](building, Path(name))
        begin = time.perf_counter()
        run = th.mine(readings, graph=model, progress="off")
        return run, time.perf_counter() - begin


def count_placed(run: th.Run) -> int:
    """The number of statements about places of the graph."""
    return sum(bool(one.about.classes or one.about.places) for one in run.findings)


def mine_sites(writers: Sequence[Callable[[Building, Path], Written]], buildings: Sequence[Building]) -> th.Run:
    """Mine several sites together, each from the files of a habit."""
    systems = []
    for at, (write, building) in enumerate(zip(writers, buildings, strict=True)):
        with tempfile.TemporaryDirectory() as name:
            readings, model = write(building, Path(name))
            systems.append(th.read_system(readings, model, name=f"site{at + 1}"))
    return th.mine(systems, progress="off")


def share_of_sites(run: th.Run) -> float:
    """The mean share of sites at which a rule applies."""
    counts = count_sites(run.rules, run.table)
    applies = np.array([one.n_antecedent > 0 for one in counts.values()])
    return float(applies.mean()) if applies.size else 0.0


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    size = {"days": 14, "boxes": 3} if given.quick else {"days": 28, "boxes": 6}
    building = make_building(given.seed, **size)
    heads = (("sensors bound", 15), ("rules", 8), ("laws", 6), ("placed", 8), ("as the first", 14), ("seconds", 9))
    print(f"{'habit':28}" + "".join(f"{head:>{width}}" for head, width in heads))
    first: set[str] = set()
    for habit in HABITS:
        run, seconds = mine_one(habit, building)
        bound = f"{len(run.system.binding)} of {len(run.system.sensors)}"
        # Laws name their places: in Haystack these begin with the site.
        said = {str(one).replace("s.", "") for one in (*run.rules, *(run.laws or ()))}
        first = first or said
        alike = f"{len(said & first)} of {len(first)}"
        laws = len(run.laws or ())
        print(f"{habit:28}{bound:>15}{len(run.rules):>8}{laws:>6}{count_placed(run):>8}{alike:>14}{seconds:>9.1f}")
    writers = list(HABITS.values())[:: 3 if given.quick else 1]
    buildings = [make_building(given.seed + 100 + at, **size) for at in range(len(writers))]
    print(f"\n{len(writers)} sites mined together")
    for title, chosen in (("in one habit", [HABITS[FIRST]] * len(writers)), ("each in its own", writers)):
        begin = time.perf_counter()
        run = mine_sites(chosen, buildings)
        text = f"{len(run.findings)} statements, at {share_of_sites(run):.0%} of the sites"
        print(f"{title:28}{text}, {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
