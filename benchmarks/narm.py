"""TS-NARM next to NiaARM's own ``get_rules``: same optimiser, same seed, same table, same objective, in one run.

    python benchmarks/narm.py                  10,000 evaluations on Hanoi, 17,520 × 20; all five optimisers
    python benchmarks/narm.py --quick          1,000 evaluations of differential evolution
    python benchmarks/narm.py --evaluations N --algorithms de lshade

Both sides maximise standard confidence over the same undiscretized readings. NiaARM gets a pandas frame and returns
its list of rules; we get the feature table and return a RuleSet whose rules have been split to one consequent each and
counted exactly, which NiaARM does not do. Since our operators draw the random numbers that NiaPy draws, both visit the
same vectors, and the script fails where the rules before the split or their mean confidence tell otherwise.
Compilation and imports are not counted on either side.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np

import thence as th
from thence.miners.narm import TSNARM
from thence.transactions import FeatureTable


def hanoi(sensors: int) -> FeatureTable:
    """A year of half-hourly readings of some sensors, spread evenly over all that there are."""
    data = th.datasets.load("hanoi", scenario=1)
    ids = [sensor.id for sensor in data.sensors.sensors]
    chosen = [ids[i] for i in np.linspace(0, len(ids) - 1, sensors).round().astype(int)]
    return th.feature_table(data.sensors.select(chosen), windows="30min")


def niapy_algorithm(name: str, **settings: Any) -> Any:
    """NiaPy's own optimiser with the published parameters."""
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


def run_niaarm(table: FeatureTable, name: str, *, evaluations: int, seed: int) -> tuple[float, int, float]:
    """Seconds, rules and mean confidence of NiaARM."""
    import pandas as pd
    from niaarm import Dataset, get_rules

    # The order of the features is part of the encoding; ours is that of their text.
    order = sorted(range(len(table.features)), key=lambda at: table.features[at].key)
    frame = pd.DataFrame(table.numbers[:, order], columns=[str(table.features[at]) for at in order])
    algorithm = niapy_algorithm(name, population_size=200, seed=seed)
    data = Dataset(frame)
    start = time.perf_counter()
    rules = get_rules(data, algorithm, ["confidence"], max_evals=evaluations).rules
    seconds = time.perf_counter() - start
    return seconds, len(rules), float(rules.mean("confidence"))


def run_ours(table: FeatureTable, name: str, *, evaluations: int, seed: int) -> tuple[float, int, float, th.RuleSet]:
    """Seconds of ``mine`` with its exact recount; rules and mean confidence before the split; the rule set."""
    from thence.miners import _narm_search

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
    return seconds, len(joint[0].rules), float(joint[0].confidences.mean()), rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 evaluations of differential evolution")
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--algorithms", nargs="+", default=["de", "ga", "pso", "lshade", "jde"])
    parser.add_argument("--sensors", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    evaluations = 1_000 if chosen.quick else chosen.evaluations
    algorithms = ["de"] if chosen.quick else chosen.algorithms

    table = hanoi(chosen.sensors)
    print(f"Hanoi, {table.n_rows:,} × {len(table.features)}, {evaluations:,} evaluations, population 200")
    print("optimiser  NiaARM s   ours s   ratio     rules   (NiaARM)   confidence   (NiaARM)   rules split")
    TSNARM(population=10, evaluations=40).mine(table)
    different = []
    for name in algorithms:
        ours, n_ours, mean_ours, rules = run_ours(table, name, evaluations=evaluations, seed=chosen.seed)
        theirs, n_theirs, mean_theirs = run_niaarm(table, name, evaluations=evaluations, seed=chosen.seed)
        print(
            f"{name:<9}  {theirs:8.2f} {ours:8.2f} {theirs / ours:6.1f}×  {n_ours:8,} {n_theirs:10,} "
            f"{mean_ours:12.4f} {mean_theirs:10.4f} {len(rules):13,}"
        )
        # NiaARM takes ranges that differ by a millionth for the same, and rules whose features stand in another order
        # for different ones, so its list may be a little shorter or longer; more than that would be another search.
        if abs(n_ours - n_theirs) > 0.02 * n_theirs or abs(mean_ours - mean_theirs) > 0.01:
            different.append(name)
    if different:
        raise SystemExit(f"not the same search: {', '.join(different)}")


if __name__ == "__main__":
    main()
