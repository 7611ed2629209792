"""The search of TS-NARM: NiaPy's optimisers with our own fitness.

NiaPy evaluates one vector at a time and builds each trial vector number by number in Python. The operators here replace
these loops by array operations that draw the *same random numbers in the same order*, so that a seed gives exactly the
vectors of NiaPy's own operators, several times faster. Selection, adaptation and parameters are NiaPy's.

Importing this module imports NiaPy (extra ``baselines``); no other module of the package does. It must not know tables,
items or rule sets.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_right
from collections.abc import Callable
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
from niapy.algorithms.modified.shade import LpsrSuccessHistoryAdaptiveDifferentialEvolution, parent_medium
from niapy.problems import Problem
from niapy.task import OptimizationType, Task

from thence.errors import ConfigError
from thence.miners.baselines.narm_fitness import DecodedRule, Encoding, Floats, count_rule, decode
from thence.progress import Progress

__all__ = ["ALGORITHMS", "SearchResult", "make_algorithm", "search"]

Rng = np.random.Generator


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Args:
        rules: Distinct rules in the order of discovery.
        confidences: The confidence of each rule.
        evaluations: The number of vectors that were evaluated.
        out_of_time: Whether the time limit ended the search.
    """

    rules: tuple[DecodedRule, ...]
    confidences: Floats
    evaluations: int
    out_of_time: bool


class ConfidenceProblem(Problem):  # type: ignore[misc]
    """The confidence of the rule that a vector represents, or −1 if a side is empty.

    It keeps every rule that holds in at least one row.

    Args:
        encoding: The table to search.
    """

    def __init__(self, encoding: Encoding) -> None:
        super().__init__(encoding.dimension, 0.0, 1.0)
        self.encoding = encoding
        self.rules: dict[bytes, tuple[DecodedRule, float]] = {}

    def _evaluate(self, x: Floats) -> float:
        rule = decode(self.encoding, x)
        if rule is None:
            return -1.0
        n_antecedent, n_both = count_rule(self.encoding, rule)
        if n_both == 0:
            return 0.0
        confidence = n_both / n_antecedent
        self.rules.setdefault(fingerprint(rule), (rule, confidence))
        return confidence


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
    encoding: Encoding, algorithm: Algorithm, *, evaluations: int, seconds: float | None, progress: Progress
) -> SearchResult:
    """Run an optimiser until its budget is used up, and return every rule that it encountered.

    The loop is that of ``Algorithm.run``, which cannot be used because it hides errors outside the main thread.

    Args:
        encoding: The table to search.
        algorithm: The optimiser.
        evaluations: The number of vectors to evaluate.
        seconds: Time limit in seconds, or ``None``.
        progress: Called before each iteration.
    """
    problem = ConfidenceProblem(encoding)
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
    found = list(problem.rules.values())
    return SearchResult(
        tuple(rule for rule, _ in found),
        np.array([confidence for _, confidence in found], np.float64),
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
    sure = rng.integers(task.dimension)
    mutant, draw = population[at].x.copy(), rng.random
    for i in range(task.dimension):
        if draw() < rate or i == sure:
            mutant[i] = rng.uniform(task.lower[i], task.upper[i])
    return np.asarray(mutant)


class Lshade(LpsrSuccessHistoryAdaptiveDifferentialEvolution):  # type: ignore[misc]
    """NiaPy's L-SHADE with trial vectors made by array operations."""

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


def _de(**settings: Any) -> Algorithm:
    return DifferentialEvolution(differential_weight=0.5, crossover_probability=0.9, strategy=rand_1, **settings)


def _jde(**settings: Any) -> Algorithm:
    # NiaPy starts jDE at F = 2, CR = 0.5; the published initial values are set through the type of the individuals.
    start = partial(SolutionJDE, differential_weight=0.5, crossover_probability=0.9)
    return SelfAdaptiveDifferentialEvolution(tao1=0.1, tao2=0.1, individual_type=start, strategy=rand_1, **settings)


def _ga(**settings: Any) -> Algorithm:
    size = min(5, settings["population_size"])
    return GeneticAlgorithm(
        mutation_rate=0.01,
        crossover_rate=0.8,
        tournament_size=size,
        selection=tournament,
        crossover=uniform_crossover,
        mutation=uniform_mutation,
        individual_type=Individual,
        **settings,
    )


def _pso(**settings: Any) -> Algorithm:
    return ParticleSwarmAlgorithm(c1=0.1, c2=0.1, w=0.8, **settings)


def _lshade(**settings: Any) -> Algorithm:
    return Lshade(hist_mem_size=5, pbest_factor=0.1, extern_arc_rate=2.0, strategy=rand_1, **settings)


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {"de": _de, "ga": _ga, "pso": _pso, "lshade": _lshade, "jde": _jde}


def make_algorithm(name: str, *, population: int, seed: int) -> Algorithm:
    """Make an optimiser with the parameters of the published comparison.

    Args:
        name: A name of ``ALGORITHMS``.
        population: The size of the population.
        seed: Random seed.

    Raises:
        ConfigError: If the name is unknown.
    """
    if name not in ALGORITHMS:
        raise ConfigError(f"unknown optimiser '{name}'", hint="use one of: " + ", ".join(ALGORITHMS))
    return ALGORITHMS[name](population_size=population, seed=seed)
