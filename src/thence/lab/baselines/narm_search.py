"""The search of TS-NARM: NiaPy's optimisers with our own fitness.

NiaPy evaluates one vector at a time and builds each trial vector number by number in Python. The operators here replace
these loops by array operations that draw the *same random numbers in the same order*, so that a seed gives exactly the
vectors of NiaPy's own operators, several times faster. Selection, adaptation and parameters are NiaPy's.

Importing this module imports NiaPy (extra ``baselines``); no other module of the package does. It must not know tables,
items or rule sets.
"""

from __future__ import annotations

import hashlib
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from niapy.algorithms.algorithm import Algorithm, Individual
from niapy.algorithms.basic.de import DifferentialEvolution
from niapy.algorithms.basic.ga import GeneticAlgorithm
from niapy.algorithms.basic.pso import ParticleSwarmAlgorithm
from niapy.algorithms.modified.jde import SelfAdaptiveDifferentialEvolution, SolutionJDE
from niapy.algorithms.modified.shade import (
    LpsrSuccessHistoryAdaptiveDifferentialEvolution,
    SuccessHistoryAdaptiveDifferentialEvolution,
    parent_medium,
)
from niapy.problems import Problem
from niapy.task import OptimizationType, Task

from thence._base.progress import Progress
from thence.lab.baselines.narm import complete_options
from thence.lab.baselines.narm_fitness import DecodedRule, RankedTable, count_rule, decode
from thence.tables.bitmaps.bits import Floats, Ints, kernel

Rng = np.random.Generator

# Borders whose difference is less, absolutely or relative to the larger one, are the same in NiaARM.
_CLOSE = 1e-6


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Args:
        rules: Distinct rules in the order of discovery.
        n_antecedent: The rows in which the antecedent of each rule holds and its consequent is present.
        n_both: The rows in which each rule holds.
        evaluations: The number of vectors that were evaluated.
        out_of_time: Whether the time limit ended the search.
    """

    rules: tuple[DecodedRule, ...]
    n_antecedent: Ints
    n_both: Ints
    evaluations: int
    out_of_time: bool

    @property
    def confidences(self) -> Floats:
        """The confidence of each rule with all its consequents."""
        return np.asarray(self.n_both / self.n_antecedent)


class RuleProblem(Problem):  # type: ignore[misc]
    """The fitness of the rule that a vector represents, or −1 if a side is empty.

    It keeps every distinct rule that holds in at least one row.

    Args:
        encoding: The table to search.
        objective: What is maximised: ``"confidence"``, or ``"support-confidence"``, the mean of support and confidence.
        distinct: When two rules are the same. ``"values"``: their ranges contain the same values of the data.
            ``"borders"``: they have the same items in the same order, with the same borders within one millionth.
    """

    def __init__(self, encoding: RankedTable, *, objective: str = "confidence", distinct: str = "values") -> None:
        super().__init__(encoding.dimension, 0.0, 1.0)
        self.encoding = encoding
        self.with_support = objective == "support-confidence"
        self.known: _Known | _KnownBorders = _KnownBorders(encoding) if distinct == "borders" else _Known()
        self.rules: list[tuple[DecodedRule, int, int]] = []

    def _evaluate(self, x: Floats) -> float:
        rule = decode(self.encoding, x)
        if rule is None:
            return -1.0
        n_antecedent, n_both = count_rule(self.encoding, rule)
        if n_both == 0:
            return 0.0
        if self.known.add(rule):
            self.rules.append((rule, n_antecedent, n_both))
        confidence = n_both / n_antecedent
        return (n_both / self.encoding.ranks.n_rows + confidence) / 2 if self.with_support else confidence


class _Known:
    """Rules that were met, compared by the values in their ranges."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()

    def add(self, rule: DecodedRule) -> bool:
        """Add a rule and return whether it is new."""
        before = len(self.seen)
        self.seen.add(fingerprint(rule))
        return len(self.seen) > before


class _KnownBorders:
    """Rules that were met, compared by their items in order and their borders within one millionth, as NiaARM does.

    Rules with the same features are sorted into narrow cells by the sum of their borders. Two rules with the same
    borders differ in that sum by less than the width of a cell, so they are in the same cell or in neighbouring ones.
    """

    def __init__(self, encoding: RankedTable) -> None:
        ranks = encoding.ranks
        ends = [np.abs(ranks.levels_of(f)[[0, -1]]).max() for f in range(encoding.n_features)]
        self.is_category = encoding.is_category
        self.widest = _CLOSE * np.maximum(1.0, np.array(ends, np.float64))
        self.cells: dict[Hashable, list[Floats]] = {}

    def add(self, rule: DecodedRule) -> bool:
        """Add a rule and return whether it is new."""
        numeric = ~self.is_category[rule.features]
        borders = np.concatenate([rule.low[numeric], rule.high[numeric]])
        kind = (rule.features.tobytes(), rule.n_antecedent, rule.first[~numeric].tobytes())
        width = 2 * float(self.widest[rule.features[numeric]].sum())
        cell = math.floor(float(borders.sum()) / (2 * width)) if width else 0
        for near in (cell - 1, cell, cell + 1):
            for other in self.cells.get((kind, near), ()):
                bound = _CLOSE * np.maximum(1.0, np.maximum(np.abs(borders), np.abs(other)))
                if (np.abs(borders - other) <= bound).all():
                    return False
        self.cells.setdefault((kind, cell), []).append(borders)
        return True


def fingerprint(rule: DecodedRule) -> bytes:
    """Return a key that is equal for equal rules, whatever the order of their features.

    Two ranges are equal if they contain the same values of the data.
    """
    side = np.arange(len(rule.features)) < rule.n_antecedent
    columns = np.stack([rule.features, side, rule.first, rule.last])
    return hashlib.blake2b(columns[:, np.argsort(rule.features)].tobytes(), digest_size=16).digest()


class TimedTask(Task):  # type: ignore[misc]
    """A NiaPy task that also ends at a deadline.

    Args:
        problem: The problem to solve.
        evaluations: The largest number of evaluations.
        deadline: When to end, in seconds of ``time.perf_counter``, or ``None``.
    """

    def __init__(self, problem: Problem, *, evaluations: int, deadline: float | None) -> None:
        super().__init__(problem, max_evals=evaluations, optimization_type=OptimizationType.MAXIMIZATION)
        self.deadline = deadline

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def stopping_condition(self) -> bool:
        """Return whether the evaluations or the time are used up."""
        return self.evals >= self.max_evals or self.out_of_time


def search(
    encoding: RankedTable,
    algorithm: Algorithm,
    *,
    evaluations: int,
    seconds: float | None,
    progress: Progress,
    objective: str = "confidence",
    distinct: str = "values",
) -> SearchResult:
    """Run an optimiser until its budget is used up, and return every rule that it encountered.

    The loop is that of ``Algorithm.run``, which cannot be used because it hides errors outside the main thread.

    Args:
        encoding: The table to search.
        algorithm: The optimiser.
        evaluations: The number of vectors to evaluate.
        seconds: Time limit in seconds, or ``None``.
        progress: Called before each iteration.
        objective: What is maximised (see ``RuleProblem``).
        distinct: When two rules are the same (see ``RuleProblem``).
    """
    problem = RuleProblem(encoding, objective=objective, distinct=distinct)
    deadline = None if seconds is None else time.perf_counter() + seconds
    task = TimedTask(problem, evaluations=evaluations, deadline=deadline)
    population, fitness, state = algorithm.init_population(task)
    best, best_fitness = algorithm.get_best(population, fitness)
    while not task.stopping_condition():
        progress("searching", task.evals, evaluations, f"{len(problem.rules):,} rules")
        population, fitness, best, best_fitness, state = algorithm.run_iteration(
            task, population, fitness, best, best_fitness, **state
        )
        task.next_iter()
    progress("searching", task.evals, evaluations, f"{len(problem.rules):,} rules")
    return SearchResult(
        tuple(rule for rule, _, _ in problem.rules),
        np.array([n_antecedent for _, n_antecedent, _ in problem.rules], np.int64),
        np.array([n_both for _, _, n_both in problem.rules], np.int64),
        int(task.evals),
        task.evals < evaluations,
    )


@lru_cache(maxsize=64)
def _accumulate_chances(size: int, without: int, out: int) -> tuple[float, ...]:
    """Return the cumulative probabilities of ``size - out`` numbers, each with probability 1 / (size − without)."""
    sums = np.cumsum(np.full(size - out, 1 / (size - float(without))))
    return tuple((sums / sums[-1]).tolist())


def _draw_one(rng: Rng, size: int, without: tuple[int, ...], out: tuple[int, ...] = ()) -> int:
    """Draw a number below ``size`` that is neither in ``without`` nor in ``out``; all others are equally likely.

    It is the number that ``rng.choice(size, p=…)`` draws if the excluded ones have probability zero, but faster.
    """
    gone = sorted((*without, *out))
    found = bisect_right(_accumulate_chances(size, len(without), len(gone)), rng.random())
    for position in gone:
        found += found >= position
    return found


def _draw_three(rng: Rng, size: int, without: int) -> list[int]:
    """Draw three different numbers below ``size`` other than ``without``, again as ``rng.choice`` does.

    ``rng.choice`` draws all numbers that are still needed at once, drops duplicates, and draws again for the rest.
    """
    kept: list[int] = []
    while len(kept) < 3:
        known = tuple(kept)
        for _ in range(3 - len(known)):
            found = _draw_one(rng, size, (without,), known)
            if found not in kept:
                kept.append(found)
    return kept


def _draw_crossing(rng: Rng, size: int, rate: float, sure: int) -> npt.NDArray[np.bool_]:
    """Draw where a trial vector takes the mutant's entry: at random positions, and always at ``sure``."""
    crossing = rng.random(size) < rate
    crossing[sure] = True
    return crossing


def rand_1(population: Any, at: int, f: float, cr: float, rng: Rng, **_: Any) -> Floats:
    """Make a trial vector by DE/rand/1/bin, with the random numbers of NiaPy's ``cross_rand1``."""
    own = population[at].x
    sure = int(rng.integers(len(own)))
    a, b, c = _draw_three(rng, len(population), at)
    crossing = _draw_crossing(rng, len(own), cr, sure)
    mutant = population[a].x + f * (population[b].x - population[c].x)
    return np.asarray(np.where(crossing, mutant, own))


def current_to_pbest_1(
    population: Any, at: int, f: float, cr: float, rng: Rng, *, n_best: int, archive: Floats, n_archive: int, task: Task
) -> Floats:
    """Make a trial vector by DE/current-to-pbest/1/bin with an archive, as NiaPy's ``cross_curr2pbest1`` does."""
    own, size = population[at].x, len(population)
    best = population[rng.integers(n_best)].x
    a = _draw_one(rng, size, (at,))
    b = _draw_one(rng, size + n_archive, (at, a))
    sure = int(rng.integers(task.dimension))
    crossing = _draw_crossing(rng, task.dimension, cr, sure)
    other = archive[b - size] if b >= size else population[b].x
    mutant = own + f * (best - own) + f * (population[a].x - other)
    trial = parent_medium(np.where(crossing, mutant, own), own, task.lower, task.upper)
    return np.asarray(trial)


def tournament(population: Any, _at: int, size: int, _best: Floats, rng: Rng) -> Floats:
    """Select the best of a few individuals, with the random numbers of NiaPy's ``tournament_selection``."""
    rivals = [population[i] for i in rng.choice(len(population), size, replace=False)]
    return np.asarray(min(rivals, key=lambda rival: rival.f).x)


def uniform_crossover(population: Any, at: int, _rate: float, rng: Rng) -> Floats:
    """Return the individual itself: NiaPy's ``uniform_crossover`` crosses each individual with itself."""
    rng.integers(len(population[at].x))
    rng.random(len(population[at].x))
    return np.asarray(population[at].x)


def uniform_mutation(population: Any, at: int, rate: float, task: Task, rng: Rng) -> Floats:
    """Replace entries at random and always at one position, with the random numbers of NiaPy's ``uniform_mutation``."""
    return _mutated(population[at].x, rate, task, rng)


def _mutated(vector: Floats, rate: float, task: Task, rng: Rng) -> Floats:
    mutant = vector.copy()
    _mutate(rng, mutant, rate, int(rng.integers(task.dimension)), task.lower, task.upper)
    return mutant


@kernel
def _mutate(rng: Rng, vector: Floats, rate: float, sure: int, lower: Floats, upper: Floats) -> None:
    for i in range(len(vector)):
        if rng.random() < rate or i == sure:
            vector[i] = lower[i] + (upper[i] - lower[i]) * rng.random()


class SelectingGa(GeneticAlgorithm):  # type: ignore[misc]
    """A genetic algorithm in which selection and crossover count: NiaPy's own discards their results."""

    def run_iteration(
        self, task: Task, population: Any, population_fitness: Floats, best_x: Any, best_fitness: float, **_: Any
    ) -> Any:
        """Replace the population by mutated children of winners of tournaments; the arguments are NiaPy's."""
        children = np.empty(len(population), object)
        for at in range(len(population)):
            one, other = (tournament(population, at, self.tournament_size, best_x, self.rng) for _ in range(2))
            crossing = self.rng.random(task.dimension) < 0.5
            child = np.where(crossing, other, one) if self.rng.random() < self.crossover_rate else one
            children[at] = self.individual_type(x=_mutated(child, self.mutation_rate, task, self.rng), e=False)
            children[at].evaluate(task, rng=self.rng)
            if children[at].f < best_fitness:
                best_x, best_fitness = self.get_best(children[at], children[at].f, best_x, best_fitness)
        return children, np.asarray([child.f for child in children]), best_x, best_fitness, {}


class Shade(SuccessHistoryAdaptiveDifferentialEvolution):  # type: ignore[misc]
    """NiaPy's SHADE with trial vectors made by array operations."""

    def evolve(
        self, pop: Any, hist_cr: Floats, hist_f: Floats, archive: Floats, arc_ind_cnt: int, task: Task, **_: Any
    ) -> Any:
        """Make and evaluate the trial vectors of a generation; the arguments are NiaPy's."""
        trials = [self.gen_ind_params(own, hist_cr, hist_f) for own in pop]
        n_best = max(round(len(pop) * self.pbest_factor), 2)
        for at, trial in enumerate(trials):
            trial.x = current_to_pbest_1(
                pop,
                at,
                trial.differential_weight,
                trial.crossover_probability,
                self.rng,
                n_best=n_best,
                archive=archive,
                n_archive=arc_ind_cnt,
                task=task,
            )
        out = np.empty(len(trials), object)
        for at, trial in enumerate(trials):
            trial.evaluate(task, rng=self.random)
            out[at] = trial
        return out


class Lshade(Shade, LpsrSuccessHistoryAdaptiveDifferentialEvolution):  # type: ignore[misc]
    """NiaPy's L-SHADE, whose population shrinks, with trial vectors made by array operations."""


def _de(options: Mapping[str, float], **settings: Any) -> Algorithm:
    return DifferentialEvolution(
        differential_weight=options["weight"], crossover_probability=options["crossover"], strategy=rand_1, **settings
    )


def _jde(options: Mapping[str, float], **settings: Any) -> Algorithm:
    # NiaPy sets the first values through the type of the individuals.
    start = partial(SolutionJDE, differential_weight=options["weight"], crossover_probability=options["crossover"])
    return SelfAdaptiveDifferentialEvolution(
        f_lower=options["lowest_weight"],
        f_upper=options["highest_weight"],
        tao1=options["redraw_weight"],
        tao2=options["redraw_crossover"],
        individual_type=start,
        strategy=rand_1,
        **settings,
    )


def _ga(options: Mapping[str, float], **settings: Any) -> Algorithm:
    kind = SelectingGa if options["selection"] else GeneticAlgorithm
    return kind(
        mutation_rate=options["mutation"],
        crossover_rate=options["crossover"],
        tournament_size=min(5, settings["population_size"]),
        selection=tournament,
        crossover=uniform_crossover,
        mutation=uniform_mutation,
        individual_type=Individual,
        **settings,
    )


def _pso(options: Mapping[str, float], **settings: Any) -> Algorithm:
    fastest = options["velocity"] or math.inf
    return ParticleSwarmAlgorithm(
        c1=options["cognitive"],
        c2=options["social"],
        w=options["inertia"],
        min_velocity=-fastest,
        max_velocity=fastest,
        **settings,
    )


def _shade(options: Mapping[str, float], *, kind: Callable[..., Algorithm] = Shade, **settings: Any) -> Algorithm:
    return kind(
        hist_mem_size=int(options["memory"]),
        pbest_factor=options["best"],
        extern_arc_rate=options["archive"],
        strategy=rand_1,
        **settings,
    )


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "de": _de,
    "ga": _ga,
    "pso": _pso,
    "lshade": partial(_shade, kind=Lshade),
    "shade": _shade,
    "jde": _jde,
}


def make_algorithm(name: str, *, population: int, seed: int, options: Mapping[str, float] | None = None) -> Algorithm:
    """Make an optimiser with the parameters of the published comparison.

    Args:
        name: A name of ``ALGORITHMS``.
        population: The size of the population.
        seed: Random seed.
        options: Parameters that replace those of the published comparison (see ``narm``).

    Raises:
        ConfigError: If the name, or a parameter, is unknown.
    """
    chosen = complete_options(name, options)
    return ALGORITHMS[name](chosen, population_size=population, seed=seed)
