"""TS-NARM compared with ``get_rules`` of NiaARM: same optimiser, seed, table and objective.

    python benchmarks/narm.py                  10,000 evaluations on Hanoi, 17,520 × 20; all five optimisers
    python benchmarks/narm.py --quick          1,000 evaluations of differential evolution
    python benchmarks/narm.py --evaluations N --algorithms de lshade
    python benchmarks/narm.py --record         also write the results that the documentation shows

Both maximise confidence over the same raw readings. NiaARM reads a pandas frame and returns a list of rules; TS-NARM
reads the feature table and returns a RuleSet whose rules are split into single consequents and counted exactly, which
NiaARM does not do. TS-NARM draws the same random numbers as NiaPy, so both visit the same vectors. NiaARM lists a rule
again if its features are in another order; the script fails if the distinct rules or their confidences differ.
Compilation and imports are not timed.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np
from _record import Table, record

import thence as th
from thence.lab.baselines.narm import TSNARM
from thence.tables.transactions import FeatureTable

COLUMNS = (
    ("optimiser", ""),
    ("NiaARM", ".1f s"),
    ("cores", ".1f"),
    ("distinct rules", ",.0f"),
    ("confidence", ".3f"),
    ("TS-NARM", ".2f s"),
    ("cores", ".1f"),
    ("distinct rules", ",.0f"),
    ("confidence", ".3f"),
    ("faster", ".1f ×"),
)


def hanoi(sensors: int) -> FeatureTable:
    """Return a year of half-hourly readings of sensors that are spread evenly over all sensors."""
    data = th.datasets.load("hanoi", scenario=1)
    ids = [sensor.id for sensor in data.sensors.sensors]
    chosen = [ids[i] for i in np.linspace(0, len(ids) - 1, sensors).round().astype(int)]
    return th.baselines.feature_table(data.sensors.select(chosen), windows="30min")


def niapy_algorithm(name: str, **settings: Any) -> Any:
    """Create the optimiser of NiaPy with the published parameters."""
    from niapy.algorithms.basic import DifferentialEvolution, GeneticAlgorithm
    from niapy.algorithms.basic.pso import ParticleSwarmAlgorithm
    from niapy.algorithms.modified.jde import SelfAdaptiveDifferentialEvolution, SolutionJDE
    from niapy.algorithms.modified.shade import LpsrSuccessHistoryAdaptiveDifferentialEvolution

    start = partial(SolutionJDE, differential_weight=0.5, crossover_probability=0.9)
    makers = {
        "de": partial(DifferentialEvolution, differential_weight=0.5, crossover_probability=0.9),
        "ga": partial(GeneticAlgorithm, mutation_rate=0.01, crossover_rate=0.8, tournament_size=5),
        "pso": partial(ParticleSwarmAlgorithm, c1=0.1, c2=0.1, w=0.8),
        "lshade": partial(
            LpsrSuccessHistoryAdaptiveDifferentialEvolution, hist_mem_size=5, pbest_factor=0.1, extern_arc_rate=2.0
        ),
        "jde": partial(SelfAdaptiveDifferentialEvolution, tao1=0.1, tao2=0.1, individual_type=start),
    }
    return makers[name](**settings)


def run_niaarm(table: FeatureTable, name: str, *, evaluations: int, seed: int) -> tuple[float, int, list[float]]:
    """Return the seconds, the number of rules of NiaARM, and the confidences of its distinct rules."""
    import pandas as pd
    from niaarm import Dataset, get_rules

    # The order of the features is part of the encoding; TS-NARM sorts them by key.
    order = sorted(range(len(table.features)), key=lambda at: table.features[at].key)
    frame = pd.DataFrame(table.numbers[:, order], columns=[str(table.features[at]) for at in order])
    algorithm = niapy_algorithm(name, population_size=200, seed=seed)
    data = Dataset(frame)
    start = time.perf_counter()
    rules = get_rules(data, algorithm, ["confidence"], max_evals=evaluations).rules
    seconds = time.perf_counter() - start
    levels = {column: np.unique(frame[column].to_numpy()) for column in frame}
    distinct: dict[frozenset[Any], float] = {}
    for rule in rules:
        sides = [(side, feature) for side in ("antecedent", "consequent") for feature in getattr(rule, side)]
        key = frozenset(
            (
                side,
                feature.name,
                int(np.searchsorted(levels[feature.name], feature.min_val, side="left")),
                int(np.searchsorted(levels[feature.name], feature.max_val, side="right")),
            )
            for side, feature in sides
        )
        distinct.setdefault(key, float(rule.confidence))
    return seconds, len(rules), list(distinct.values())


def run_ours(table: FeatureTable, name: str, *, evaluations: int, seed: int) -> tuple[float, list[float], th.RuleSet]:
    """Return the seconds of ``mine``, the confidences of the rules before they are split, and the rule set."""
    from thence.lab.baselines import narm_search as _narm_search

    joint: list[Any] = []
    search = _narm_search.search

    def listening(*args: Any, **settings: Any) -> Any:
        joint.append(search(*args, **settings))
        return joint[-1]

    _narm_search.search = listening
    try:
        start = time.perf_counter()
        rules = TSNARM(algorithm=name, evaluations=evaluations, seed=seed).mine(table)  # type: ignore[arg-type]
        seconds = time.perf_counter() - start
    finally:
        _narm_search.search = search
    return seconds, joint[0].confidences.tolist(), rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 evaluations of differential evolution")
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--algorithms", nargs="+", default=["de", "ga", "pso", "lshade", "jde"])
    parser.add_argument("--sensors", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write the results that the documentation shows")
    chosen = parser.parse_args()
    evaluations = 1_000 if chosen.quick else chosen.evaluations
    algorithms = ["de"] if chosen.quick else chosen.algorithms

    table = hanoi(chosen.sensors)
    print(f"Hanoi, {table.n_rows:,} × {len(table.features)}, {evaluations:,} evaluations, population 200")
    print("optimiser  NiaARM s   ours s   ratio   rules listed   distinct     ours   confidence       ours   split")
    TSNARM(population=10, evaluations=40).mine(table)
    different, rows = [], []
    for name in algorithms:
        before = time.process_time()
        ours, confidences, rules = run_ours(table, name, evaluations=evaluations, seed=chosen.seed)
        between = time.process_time()
        theirs, listed, expected = run_niaarm(table, name, evaluations=evaluations, seed=chosen.seed)
        cores = [(between - before) / ours, (time.process_time() - between) / theirs]
        row = (name, theirs, cores[1], len(expected), float(np.mean(expected)), ours, cores[0], len(confidences))
        rows.append((*row, float(np.mean(confidences)), theirs / ours))
        print(
            f"{name:<9}  {theirs:8.2f} {ours:8.2f} {theirs / ours:6.1f}× {listed:14,} {len(expected):10,} "
            f"{len(confidences):8,} {np.mean(expected):12.6f} {np.mean(confidences):10.6f} {len(rules):7,}"
        )
        if sorted(confidences) != sorted(expected):
            different.append(name)
    if chosen.record:
        record("narm", {"niaarm": Table(COLUMNS, tuple(rows))})
    if different:
        raise SystemExit(f"not the same search: {', '.join(different)}")


if __name__ == "__main__":
    main()
