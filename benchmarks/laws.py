"""Laws of each data set, and how they hold at unseen places in later time, with and without noise on every reading.

Prints the table and the sentences of the guide page "Laws". *Laws* and *seconds* are those of the whole system. For the
rest a region with 30 % of the places is hidden, laws are searched at the other places in the first 70 % of the time,
and counted in the rest of the time at the hidden places all of whose neighbours within two edges are hidden too.
*Confidence* is the share of rows in which the laws hold there, *of balances* that of equations between readings alone.
*Coverage* is the share of these places × frames, among those with a reading, whose sensors a law reads. Several regions
(seeds 0, 1, …) are added up.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np

import thence as th
from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings, window
from thence.lab.evaluate.generalisation import WHOLLY, classify_places, hide_places
from thence.language.patterns import Pattern
from thence.search.laws.search import search_laws
from thence.statements.laws.counting import check_rows, fit_factors
from thence.statements.laws.law import Law, Laws
from thence.statements.laws.places import Clock, Places

NOISE = (0.0, 0.01)
CASES: dict[str, dict] = {
    "hanoi": {"noise": NOISE, "seeds": 5},
    "net1": {"noise": NOISE, "seeds": 5},
    "net3": {"noise": NOISE, "seeds": 5},
    "net3, 5 min": {"name": "net3", "load": {"step_minutes": 5}, "noise": (0.0,), "seeds": 1},
    "ky4": {"noise": (0.0,), "seeds": 1},
    "ky10": {"noise": (0.0,), "seeds": 1},
    "net6": {"noise": (0.0,), "seeds": 1},
    "ltown": {"noise": (0.0,), "seeds": 1},
    "lbnl-ahu": {"seeds": 0},
    "open-smart-home": {"seeds": 0},
    "toy": {"seeds": 0},
}
QUICK: dict[str, dict] = {"net1": {"noise": (0.0,), "seeds": 1, "load": {"days": 7}}}
HIDDEN, EARLIER, HOPS = 0.3, 0.7, 2


@dataclass
class Measured:
    """Sums over regions."""

    places: int = 0
    rows: int = 0
    held: int = 0
    balanced: int = 0
    balances: int = 0
    place_frames: int = 0
    covered: int = 0
    laws: int = 0
    regions: int = 0

    def add(self, other: Measured) -> Measured:
        """Return the sums of both."""
        return Measured(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def share(part: int, whole: int) -> str:
    """Format a share, cut after four digits; a dash without rows."""
    return f"{int(10_000 * part / whole) / 10_000:.4f}" if whole else "–"


def measure(system: System, seed: int) -> Measured:
    """Hide a region, search the laws of the rest in the earlier time, and count them at hidden places later."""
    assert system.graph is not None and system.binding is not None
    places = sorted({system.binding[sensor.id] for sensor in system.sensors.sensors})
    hidden = hide_places(places, system.graph, share=HIDDEN, split="region", seed=seed, hops=HOPS)
    groups = classify_places(places, hidden, system.graph, HOPS)
    wholly = {place for place, group in zip(places, groups, strict=True) if group == WHOLLY}
    readings = window(system.sensors)
    cut = int(EARLIER * len(readings))
    visible = [sensor.id for sensor in system.sensors.sensors if system.binding[sensor.id] not in hidden]
    laws = search_laws(cut_frames(readings.select(visible), 0, cut), system.select(visible))
    return count_hidden(laws, cut_frames(readings, cut, len(readings)), system, hidden, wholly)


def cut_frames(readings: WindowedReadings, first: int, last: int) -> WindowedReadings:
    """Return some of the windows."""
    return replace(
        readings,
        times=readings.times[first:last],
        values=readings.values[first:last],
        states={name: (codes[first:last], known) for name, (codes, known) in readings.states.items()},
        derived={},
    )


def count_hidden(
    laws: Laws, readings: WindowedReadings, system: System, hidden: set[str], wholly: set[str]
) -> Measured:
    """Count laws at wholly unseen places, and what part of these they read."""
    assert system.graph is not None and system.binding is not None
    index, clock = GraphIndex(system.graph, system.ontology), Clock.of(readings, 0.6)
    kinds = {sensor.id: sensor.kind for sensor in readings.sensors}
    patterns = [Pattern.parse(law.pattern) for law in laws]
    carriers = Carriers.of(index, kinds, dict(system.binding), patterns=patterns)
    column = {place: at for at, place in enumerate(sorted(wholly))}
    known = np.zeros((len(readings), len(column)), bool)
    for at, sensor in enumerate(readings.numeric):
        if (place := system.binding[sensor.id]) in column:
            known[:, column[place]] |= ~np.isnan(readings.values[:, at])
    for id, (codes, _) in readings.states.items():
        if (place := system.binding[id]) in column:
            known[:, column[place]] |= codes >= 0
    covered = np.zeros_like(known)
    total = Measured(places=len(wholly), laws=len(laws), regions=1, place_frames=int(known.sum()))
    for law, pattern in zip(laws, patterns, strict=True):
        rows, held = count_one(law, Places.of(pattern, readings, carriers, clock), system, hidden, column, covered)
        total.rows += rows
        total.held += held
        if law.form == "equal" and (law.condition is None or law.condition.is_of_places):
            total.balanced += held
            total.balances += rows
    total.covered = int((covered & known).sum())
    return total


def count_one(
    law: Law, places: Places, system: System, hidden: set[str], column: dict[str, int], covered: np.ndarray
) -> tuple[int, int]:
    """Count one law at wholly unseen places, and mark the places × frames whose sensors it reads."""
    assert system.binding is not None
    places = places.take(places.has_all(law.left, law.right))
    nodes = [
        {system.binding[s] for _, s in own if s in system.binding} for own in places.sensors_of(law.left, law.right)
    ]
    inside = np.array([bool(own) and own <= hidden for own in nodes], bool)
    places, nodes = places.take(inside), [own for own, is_in in zip(nodes, inside, strict=True) if is_in]
    if not len(places):
        return 0, 0
    factors = None
    if law.form == "proportional":
        # A place that the law has no factor for gets one from the first part of the later time.
        factors = fit_factors(law, places, places.sample(2_000_000))
        factors = factors if law.factor is None else np.full(len(places), law.factor)
    wholly = np.array([id in column for id in places.ids], bool)
    rows = held = 0
    for frames in places.blocks():
        _, applies, holds = check_rows(law, places, frames, factors)
        rows += int(applies[:, wholly].sum())
        held += int(holds[:, wholly].sum())
        for at, own in enumerate(nodes):
            for node in own & column.keys():
                covered[frames, column[node]] |= applies[:, at]
    return rows, held


def main() -> None:
    """Print the sentences and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", help="a data set; may be repeated")
    parser.add_argument("--sentences", action="store_true", help="also print the laws")
    arguments = parser.parse_args()
    head = ("data", "noise", "laws", "seconds", "unseen places", "rows", "confidence", "of balances", "coverage")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)
    sentences = []
    for name, case in (QUICK if arguments.quick else CASES).items():
        if arguments.only and name not in arguments.only:
            continue
        for noise in case.get("noise", (None,)):
            extra = {} if not noise else {"noise": noise}
            system = th.datasets.load(case.get("name", name), **case.get("load", {}), **extra)
            readings = window(system.sensors)
            began = time.perf_counter()
            laws = search_laws(readings, system)
            seconds = time.perf_counter() - began
            total = Measured()
            for seed in range(case["seeds"]):
                total = total.add(measure(system, seed))
            label = "as measured" if noise is None else f"{100 * noise:g} %"
            cells = [name, label, str(len(laws)), f"{seconds:.1f}"]
            cells += [str(total.places), f"{total.rows:,}"] if total.regions else ["–", "–"]
            shares = (total.held, total.rows), (total.balanced, total.balances), (total.covered, total.place_frames)
            cells += [share(*one) for one in shares]
            print("| " + " | ".join(cells) + " |", flush=True)
            sentences.append(f"\n{name}, {label}:\n{laws}")
    if arguments.sentences:
        print("\n".join(sentences))


if __name__ == "__main__":
    main()
