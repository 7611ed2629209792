"""TS-NARM: the same vectors, rules and fitness as NiaPy and NiaARM, real ranges, exact counts."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import polars as pl
import pytest

from thence.errors import ConfigError, MiningError
from thence.lab.baselines.narm import TSNARM
from thence.lab.baselines.narm_fitness import RankedTable, count_rule, decode, encode
from thence.lab.evaluate.conformance import count_rows, plain_rows
from thence.language.constraints import ItemFilter
from thence.language.items import Feature
from thence.statements.counting.recount import count_rules, data_coverage
from thence.tables.frames import raw_columns
from thence.tables.transactions import FeatureTable, TransactionTable

ALGORITHMS = ("de", "ga", "pso", "lshade", "jde")


def waves(rows: int = 300, columns: int = 6, *, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    daily = np.sin(np.arange(rows) / 8)[:, None]
    return daily * draw.uniform(0.3, 1, columns) + draw.normal(0, 0.2, (rows, columns))


def raw(numbers: np.ndarray) -> FeatureTable:
    features = tuple(Feature(f"s{i:02d}", label="flow") for i in range(numbers.shape[1]))
    return FeatureTable(features, numbers, (None,) * numbers.shape[1])


def niaarm_problem(frame):
    from niaarm import Dataset
    from niaarm.niaarm import NiaARM

    data = Dataset(frame)
    return NiaARM(data.dimension, data.features, data.transactions, ["confidence"])


def both_problems(rows: int = 200):
    """The same table, with a category in it, for NiaARM and for us."""
    import pandas as pd

    numbers = waves(rows, 5)
    letters = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(0, 3, rows)]
    frame = pd.DataFrame(numbers, columns=[f"s{i}" for i in range(5)])
    frame["z"] = letters
    codes = np.searchsorted(["a", "b", "c"], letters).astype(float)
    encoding = encode(np.column_stack([numbers, codes]), np.array([False] * 5 + [True]))
    return niaarm_problem(frame), encoding


def fitness(encoding: RankedTable, vector: np.ndarray) -> float:
    rule = decode(encoding, vector)
    if rule is None:
        return -1.0
    antecedent, both = count_rule(encoding, rule)
    return both / antecedent if antecedent else 0.0


def test_same_vector_same_fitness_as_niaarm():
    theirs, encoding = both_problems()
    vectors = np.random.default_rng(5).random((400, encoding.dimension))
    # Ends of the scale are where rounding of cut points, borders and categories shows.
    vectors[:40] = np.round(vectors[:40])
    assert theirs.dimension == encoding.dimension
    assert [theirs._evaluate(v) for v in vectors] == [fitness(encoding, v) for v in vectors]


def test_same_vector_same_ranges_as_niaarm():
    theirs, encoding = both_problems()
    for vector in np.random.default_rng(6).random((200, encoding.dimension)):
        built = [feature for feature in theirs.build_rule(vector[:-1]) if feature]
        rule = decode(encoding, vector)
        if rule is None:
            continue
        names = [*theirs.transactions.columns]
        assert [names[f] for f in rule.features] == [feature.name for feature in built]
        for at, feature in enumerate(built):
            if feature.dtype == "cat":
                assert ["a", "b", "c"][int(rule.low[at])] == feature.categories[0]
            else:
                assert (rule.low[at], rule.high[at]) == (feature.min_val, feature.max_val)


def test_missing_values_are_not_held_against_the_antecedent():
    numbers = np.array([[1.0, 5.0], [1.0, np.nan], [2.0, 6.0]])
    encoding = encode(numbers, np.array([False, False]))
    vector = np.array([0.5, 0.0, 0.1, 1.0, 0.0, 0.2, 0.1, 0.9, 0.0])  # s0 ∈ [1, 1.5] → s1 ∈ [5, 6]
    rule = decode(encoding, vector)
    assert rule is not None and rule.features.tolist() == [0, 1]
    assert count_rule(encoding, rule) == (1, 1)


def test_more_values_than_a_short_rank_can_hold():
    column = np.arange(70_000, dtype=float)
    encoding = encode(np.column_stack([column, column[::-1]]), np.array([False, False]))
    assert encoding.ranks.codes.dtype == np.uint32
    vector = np.array([0.0, 0.5, -1.0, 0.5, 1.0, 0.1, 0.1, 0.9, 0.0])
    rule = decode(encoding, vector)
    assert rule is not None
    assert count_rule(encoding, rule) == (35_000, 35_000)


class _Recorder:
    """NiaPy's own operators, and ours, on the same fitness: every vector that is asked for."""

    def __init__(self, encoding: RankedTable) -> None:
        from thence.lab.baselines.narm_search import RuleProblem, TimedTask

        class Recording(RuleProblem):
            def _evaluate(inner, x):  # noqa: N805
                self.seen.append(x.copy())
                return super()._evaluate(x)

        self.seen: list[np.ndarray] = []
        self.task = TimedTask(Recording(encoding), evaluations=900, deadline=None)


def niapy_algorithm(name: str, **settings):
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


@pytest.mark.parametrize("population", [5, 24])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_optimisers_visit_the_vectors_that_niapy_visits(name, population):
    from thence.lab.baselines.narm_search import make_algorithm

    encoding = encode(waves(80, 4), np.zeros(4, bool))
    theirs, ours = _Recorder(encoding), _Recorder(encoding)
    niapy_algorithm(name, population_size=population, seed=11).run(theirs.task)
    make_algorithm(name, population=population, seed=11).run(ours.task)
    assert len(theirs.seen) == 900
    assert np.array_equal(theirs.seen, ours.seen)


def test_the_rules_of_a_run_are_those_of_niaarm():
    """Same seed, same optimiser, same table: the rules before the split are NiaARM's, but for its repetitions."""
    import pandas as pd
    from niaarm import Dataset, get_rules

    numbers = waves(150, 5)
    names = [f"s{i:02d}" for i in range(5)]
    result = get_rules(
        Dataset(pd.DataFrame(numbers, columns=names)),
        niapy_algorithm("de", population_size=20, seed=3),
        ["confidence"],
        max_evals=600,
    )
    table = raw(numbers)

    def rows(name: str, low: float, high: float) -> tuple[str, bytes]:
        """What a range comes to on the data: two ranges with the same values in them are one."""
        column = numbers[:, names.index(name)]
        return name, ((column >= low) & (column <= high)).tobytes()

    theirs = {
        tuple(
            frozenset(rows(f.name, f.min_val, f.max_val) for f in side) for side in (rule.antecedent, rule.consequent)
        )
        for rule in result.rules
        if len(rule.consequent) == 1
    }
    ours = {
        tuple(
            frozenset(rows(i.feature.subject, i.interval.low, np.nextafter(i.interval.high, -np.inf)) for i in side)
            for side in (rule.antecedent, (rule.consequent,))
        )
        for rule in TSNARM(population=20, evaluations=600, seed=3, consequents="single").mine(table)
    }
    assert len(theirs) > 20
    assert ours == theirs


@pytest.mark.parametrize("name", ALGORITHMS)
def test_counts_are_exact_and_agree_with_the_general_count(name):
    table = raw(waves(120, 4))
    rules = TSNARM(algorithm=name, population=15, evaluations=300, seed=2).mine(table)
    assert len(rules) > 10
    again = count_rules(list(rules), table)
    rows = plain_rows(table)
    for r, rule in enumerate(rules):
        counted = tuple(int(getattr(rules.counts, f)[r]) for f in ("n", "n_antecedent", "n_consequent", "n_both"))
        assert counted == count_rows(rows, rule.antecedent, rule.consequent)
    assert np.array_equal(again.counts.n_both, rules.counts.n_both)
    assert rules.data_coverage == data_coverage(rules, table)
    some = rules.take(np.arange(5))
    assert some.data_coverage == data_coverage(some, table)


def test_split_rules_are_at_least_as_confident_as_the_whole():
    rules = TSNARM(population=20, evaluations=500, seed=4).mine(raw(waves()))
    assert (rules.measure("confidence") >= rules.measure("joint_confidence") - 1e-12).all()
    assert (rules.measure("joint_confidence") > 0).all()


def test_single_keeps_only_rules_that_had_one_consequent():
    table = raw(waves())
    single = TSNARM(population=20, evaluations=500, seed=4, consequents="single").mine(table)
    assert 0 < len(single) < len(TSNARM(population=20, evaluations=500, seed=4).mine(table))
    assert np.allclose(single.measure("confidence"), single.measure("joint_confidence"), rtol=0, atol=0)


def test_categories_and_numbers_together():
    draw = np.random.default_rng(0)
    load = draw.integers(0, 3, 200)
    frame = pl.DataFrame({"flow": load + draw.random(200), "mode": [("low", "mid", "high")[i] for i in load]})
    table = FeatureTable(*raw_columns(frame, units={}))
    rules = TSNARM(population=20, evaluations=600, seed=1).mine(table)
    assert {type(rule.consequent.value) for rule in rules} >= {str}
    assert rules.measure("confidence").max() == 1.0


def test_constraints_on_features_are_kept_and_on_values_refused():
    table = raw(waves())
    rules = TSNARM(
        population=20, evaluations=400, antecedent=ItemFilter(sensor="s0[0-2]"), consequent=ItemFilter(sensor="s05")
    ).mine(table)
    assert len(rules) > 0
    for rule in rules:
        assert rule.consequent.feature.subject == "s05"
        assert {item.feature.subject for item in rule.antecedent} <= {"s00", "s01", "s02"}
    with pytest.raises(MiningError, match="chooses the ranges"):
        TSNARM(consequent=ItemFilter(value=(0, 1))).mine(table)


def test_context_and_constants_are_not_consequents_unless_asked():
    numbers = np.column_stack([waves(100, 2), np.full(100, 3.0), np.repeat([1.0, 2.0], 50)])
    features = tuple(Feature(f"s{i}") for i in range(4))
    table = FeatureTable(features, numbers, (None,) * 4, context=(False, False, False, True))
    plain = TSNARM(population=20, evaluations=400).mine(table)
    assert {rule.consequent.feature.subject for rule in plain} == {"s0", "s1"}
    asked = TSNARM(population=20, evaluations=400, context_consequents=True).mine(table)
    assert {rule.consequent.feature.subject for rule in asked} == {"s0", "s1", "s2", "s3"}


def test_a_discretized_table_is_refused():
    table = TransactionTable.from_frame(pl.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), bins=2)
    with pytest.raises(MiningError, match="reads raw numbers"):
        TSNARM().mine(table)  # type: ignore[arg-type]


def test_a_time_limit_ends_the_search_and_says_so():
    rules = TSNARM(population=20, evaluations=10_000_000, time_limit=0.2).mine(raw(waves()))
    assert len(rules) > 0
    assert any("time limit" in note for note in rules.notes)


def test_the_budget_is_kept_to_the_evaluation():
    rules = TSNARM(population=20, evaluations=137).mine(raw(waves()))
    assert rules.notes[0].startswith("DE: 137 evaluations")


def test_errors_are_not_swallowed_in_a_thread(monkeypatch):
    """NiaPy's own run() stores an error and returns None outside the main thread."""
    from thence.lab.baselines import narm_search as _narm_search

    def broken(self, x):
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(_narm_search.RuleProblem, "_evaluate", broken)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            TSNARM(population=10, evaluations=50).mine(raw(waves(50, 3)))
        except ZeroDivisionError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught


@pytest.mark.parametrize(
    "wrong",
    [{"algorithm": "nsga"}, {"population": 3}, {"evaluations": 0}, {"time_limit": 0}, {"consequents": "all"}],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ConfigError):
        TSNARM(**wrong)
