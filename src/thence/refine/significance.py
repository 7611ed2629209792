"""Which rules are more than chance: p-values that respect autocorrelation, and how much was searched.

Frames of a sensor are not independent, so Fisher's test finds everything significant. Here the consequent is shifted
in time against the antecedent (:mod:`thence.refine.nulls`), which keeps every series as it is and breaks only what
holds between them; facts that do not depend on time are permuted over the places instead. A p-value is the share of
worlds, the real one included, in which a statistic is at least as large as in the real one.

Rules are not drawn at random: a miner returns the best of a large space. The adjusted p-values therefore compare with
the strongest rule of the whole space in each rearranged world, not only with the rules at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..bits import Words, default_threads, run_threads
from ..constraints import Constraint
from ..errors import ConfigError
from ..progress import Progress, silent
from ..rules import RuleSet
from ..transactions import TransactionTable
from ._family import Family, levels_reached
from ._family_kernel import TOLERANCE
from ._parts import Part, parts_of
from ._trials import Board, ConditionalTests, PlaceTests, Shuffles, Tests, TimeTests, given
from .nulls import Null, Runs

__all__ = ["Null", "p_values"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Beyond this level nobody is interested: long antecedents are searched only for rules that can still get there.
_INTERESTING = 0.2
# Counts of pairs are kept between the two rounds up to this many bytes.
_PAIR_BYTES = 1 << 29


def p_values(
    rules: RuleSet,
    table: TransactionTable,
    *,
    alpha: float | None = None,
    null: Null | None = None,
    family: Literal["search", "rules"] = "search",
    method: Literal["fwer", "fdr"] = "fwer",
    simpler: bool = True,
    min_support: float | None = None,
    min_confidence: float = 0.0,
    max_antecedents: int | None = None,
    antecedent: Constraint = None,
    consequent: Constraint = None,
    seed: int = 0,
    progress: Progress = silent,
) -> RuleSet:
    """The rules with columns ``p_value`` and ``p_adjusted``; with ``alpha``, only those adjusted to at most that.

    ``p_value`` tests one rule by itself. ``p_adjusted`` accounts for the search: with ``method="fwer"`` it is the
    share of worlds in which *any* rule of the family is as strong (the probability of even one false rule is at most
    ``alpha``); with ``"fdr"`` the expected share of false rules among those as strong (Benjamini and Hochberg, over
    the pooled worlds). The family is everything that could have been found: antecedents of up to ``max_antecedents``
    items (by default as many as the rules have room for) with at least ``min_support`` (by default that of the rarest
    rule) and ``min_confidence``; give the bounds of the miner, and its item constraints, where you know them.
    ``family="rules"`` adjusts over the given rules alone, which is right for rules found on *other* data.

    With ``simpler``, each item of a longer antecedent must add to the others: it alone is rearranged, where the others
    hold. ``p_simpler`` is the p-value of the weakest item of a rule, adjusted over all items of the given rules (NaN
    for a rule with one item); with ``alpha`` it must be at most that, too. So with ``"fwer"`` the probability that any
    rule is false is at most ``alpha``, and so is the probability that any item is superfluous. Values of
    ``p_adjusted`` above 0.2 (or ``alpha``) are lower bounds.

    >>> import polars as pl
    >>> from thence.counting import recount
    >>> rng = np.random.default_rng(7)
    >>> a = np.repeat(rng.integers(0, 2, 100), 5)
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": a.astype(str), "b": (1 - a).astype(str)}))
    >>> tested = p_values(recount(table, 0, np.array([[0]]), np.array([3])), table)
    >>> tested.measure("p_adjusted").tolist()
    [0.005]
    """
    if family not in ("search", "rules"):
        raise ConfigError(f"unknown family '{family}'", hint="'search' or 'rules'")
    if method not in ("fwer", "fdr"):
        raise ConfigError(f"unknown method '{method}'", hint="'fwer' or 'fdr'")
    if alpha is not None and not 0 < alpha < 1:
        raise ConfigError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if not len(rules):
        return rules
    rng = np.random.default_rng(seed)
    worlds = _Worlds.draw(null or Null(), table, rng)
    association, additions = _tests(rules, table, worlds, rng, simpler)
    spaces = (
        _families(rules, table, min_support, min_confidence, max_antecedents, antecedent, consequent)
        if family == "search"
        else []
    )
    pooling = method == "fdr" and bool(spaces)
    whole, single = _run(association, additions, spaces, worlds, alpha or _INTERESTING, pooling, progress)
    columns = _columns(len(rules), whole, single, method, bool(spaces))
    weakest = np.maximum(columns["p_adjusted"], np.nan_to_num(columns.get("p_simpler", np.zeros(len(rules)))))
    notes = (*rules.notes, _note(worlds, spaces, method, alpha, weakest))
    tested = replace(rules, extras={**rules.extras, **columns}, notes=notes)
    return tested if alpha is None else tested.take(np.flatnonzero(weakest <= alpha))


@dataclass(frozen=True)
class _Worlds:
    """The rearrangements of time, the same for all blocks with as many frames."""

    runs: Mapping[int, Sequence[Runs]]
    n_draws: int
    null: Null
    guard: int

    @staticmethod
    def draw(null: Null, table: TransactionTable, rng: np.random.Generator) -> _Worlds:
        guard = null.guard_for(table)
        sizes = sorted({block.n_frames for block in table.blocks})
        runs = {n_frames: null.runs(n_frames, guard=guard, rng=rng) for n_frames in sizes}
        return _Worlds(runs, min(len(some) for some in runs.values()), null, guard)

    def of(self, board: Board, draw: int) -> Runs:
        """The rearrangement of a block in one world."""
        return self.runs[board.n_frames][draw]


def _tests(
    rules: RuleSet, table: TransactionTable, worlds: _Worlds, rng: np.random.Generator, simpler: bool
) -> tuple[list[tuple[Board, Tests]], list[tuple[Board, Tests]]]:
    """The tests of association, and those of single items against the rest, each with its block."""
    association: list[tuple[Board, Tests]] = []
    additions: list[tuple[Board, Tests]] = []
    for part in parts_of(rules, table):
        board = Board.of(part.bank)
        shuffles = Shuffles.of(part.block, worlds.n_draws, rng)
        fixed = np.append(part.static, True)
        by_place = fixed[part.left].all(axis=1) | fixed[part.right]
        in_time = np.flatnonzero(~by_place)
        if len(in_time):
            association.append((board, TimeTests.of(board, part, in_time)))
        if by_place.any():
            association.append((board, _place_tests(board, part, np.flatnonzero(by_place), fixed, shuffles)))
        if simpler:
            additions += [(board, tests) for tests in _additions(board, part, fixed, shuffles)]
    return association, additions


def _static_item(part: Part, item: int) -> tuple[int, Bools]:
    return int(part.column[item]), part.codes[item]


def _place_tests(board: Board, part: Part, chosen: Ints, fixed: Bools, shuffles: Shuffles) -> PlaceTests:
    """Rules about facts: the static antecedent moves, or, where the antecedent changes in time, the consequent."""
    left, right = part.left[chosen], part.right[chosen]
    facts: Bools = fixed[left].all(axis=1)
    empty = np.full((len(chosen), 1), -1, np.int32)
    hits, rows = (array.astype(np.float64) for array in given(board, empty, part.numbers[right]))
    if not facts.all():
        # The frames of the antecedent per embedding are those of its last item among those of the others.
        others = ~facts
        length = (left[others] >= 0).sum(axis=1) - 1
        last = np.take_along_axis(left[others], length[:, None], axis=1)[:, 0]
        rest = np.where(np.arange(left.shape[1]) < length[:, None], left[others], -1)
        hits[others], _ = given(board, part.numbers[rest], part.numbers[last])
        rows[others] = board.n_frames
    items = [
        [_static_item(part, i) for i in (own[own >= 0].tolist() if is_fact else [target])]
        for own, target, is_fact in zip(left, right.tolist(), facts.tolist(), strict=True)
    ]
    return PlaceTests(shuffles, part.rules[chosen], items, hits, rows)


def _additions(board: Board, part: Part, fixed: Bools, shuffles: Shuffles) -> list[Tests]:
    """For each item of a longer antecedent: does it add to the others?"""
    left, width = part.left, part.left.shape[1]
    row, place = np.nonzero((left >= 0) & ((left >= 0).sum(axis=1) > 1)[:, None])
    if not len(row):
        return []
    others = np.arange(width)[None, :] != place[:, None]
    rest = part.numbers[left[row][others].reshape(len(row), width - 1)]
    item, right = left[row, place], part.numbers[part.right[row]]
    out: list[Tests] = []
    moving = ~fixed[item]
    if moving.any():
        own = part.numbers[item[moving]]
        out.append(ConditionalTests.of(board, part.rules[row[moving]], rest[moving], own, right[moving]))
    if not moving.all():
        still = ~moving
        hits, rows = given(board, rest[still], right[still])
        items = [[_static_item(part, i)] for i in item[still].tolist()]
        out.append(PlaceTests(shuffles, part.rules[row[still]], items, hits.astype(float), rows.astype(float)))
    return out


def _families(
    rules: RuleSet,
    table: TransactionTable,
    min_support: float | None,
    min_confidence: float,
    max_antecedents: int | None,
    antecedent: Constraint,
    consequent: Constraint,
) -> list[Family]:
    """The search space of every block, also of those in which nothing was found."""
    support = float(rules.measure("support").min()) if min_support is None else min_support
    fewest = {part.at: int(rules.counts.n_both[part.rules].min()) for part in parts_of(rules, table)}
    out = []
    for at, block in enumerate(table.blocks):
        rows = math.ceil(support * block.n_rows * (1 - TOLERANCE))
        space = Family.of(
            block,
            min_rows=max(1, min(rows, fewest.get(at, rows))),
            min_confidence=min_confidence,
            max_antecedents=max_antecedents or rules.antecedents.shape[1],
            antecedent=antecedent,
            consequent=consequent,
        )
        out.append(space)
    return out


@dataclass(frozen=True)
class _Outcome:
    """What the worlds said of some tests: statistics, how often each was exceeded, and which levels were reached.

    ``levels`` are the statistics in ascending order; ``highest[w]`` is how many of them the strongest rule of world
    ``w`` reaches, ``pooled`` how many rules of all worlds reach each and not the next, ``real`` those of the real one.
    """

    tests: list[tuple[Ints, Floats, Ints]]
    levels: Floats
    highest: Ints
    pooled: Ints
    real: Ints

    @property
    def n_draws(self) -> int:
        return len(self.highest)

    @property
    def family_wise(self) -> Floats:
        """Per level the share of worlds in which anything is as strong."""
        above = np.bincount(self.highest, minlength=len(self.levels) + 1)[::-1].cumsum()[::-1]
        return (1 + above[1:]) / (1 + self.n_draws)

    @property
    def false_share(self) -> Floats:
        """Per level the expected share of false rules among those as strong."""
        by_chance = (np.cumsum(self.pooled[::-1])[::-1] + 1) / (1 + self.n_draws)
        in_truth = np.maximum(np.cumsum(self.real[::-1])[::-1], 1)
        # A weaker rule is never less likely to be false than a stronger one.
        return np.minimum(np.maximum.accumulate((by_chance / in_truth)[::-1])[::-1], 1.0)

    def at(self, values: Floats, per_level: Floats) -> Floats:
        """The entry of each statistic; 1 for those at or below zero, which are no levels."""
        place = levels_reached(self.levels, values) - 1
        return np.where(place >= 0, np.append(per_level, 1.0)[place], 1.0)


class _Tally:
    """Adds up what the worlds say of some tests."""

    def __init__(self, tests: Sequence[tuple[Board, Tests]], n_draws: int) -> None:
        self.tests = tests
        self.observed = [own.statistics(None, -1) for _, own in tests]
        levels = np.unique(np.concatenate([*self.observed, np.zeros(0)]))
        self.levels = levels[levels > 0]
        self.exceeded = [np.zeros(len(values), np.int64) for values in self.observed]
        self.highest = np.zeros(n_draws, np.int64)
        self.pooled = np.zeros(len(self.levels), np.int64)

    def look(self, drawn: Mapping[int, Words], draw: int) -> tuple[list[Bools], Ints]:
        """Which statistics a world exceeds, and how many of its statistics reach each level and not the next."""
        marks, reached = [], np.zeros(len(self.levels), np.int64)
        for (board, tests), values in zip(self.tests, self.observed, strict=True):
            own = tests.statistics(drawn[id(board)], draw)
            marks.append(own >= values - TOLERANCE * np.maximum(1.0, np.abs(values)))
            reached += self.histogram(own)
        return marks, reached

    def histogram(self, statistics: Floats) -> Ints:
        return np.bincount(levels_reached(self.levels, statistics), minlength=len(self.levels) + 1)[1:]

    def add(self, draw: int, marks: Sequence[Bools], reached: Ints) -> None:
        for total, mark in zip(self.exceeded, marks, strict=False):
            total += mark
        hit = np.flatnonzero(reached)
        self.highest[draw] = max(self.highest[draw], int(hit[-1]) + 1 if len(hit) else 0)
        self.pooled += reached

    def outcome(self, real: Ints | None = None) -> _Outcome:
        tests = [(t.rules, v, e) for (_, t), v, e in zip(self.tests, self.observed, self.exceeded, strict=True)]
        nothing = np.zeros(len(self.levels), np.int64)
        return _Outcome(tests, self.levels, self.highest, self.pooled, nothing if real is None else real)


def _run(
    association: Sequence[tuple[Board, Tests]],
    additions: Sequence[tuple[Board, Tests]],
    spaces: Sequence[Family],
    worlds: _Worlds,
    interesting: float,
    pooling: bool,
    progress: Progress,
) -> tuple[_Outcome, _Outcome]:
    whole, single = _Tally(association, worlds.n_draws), _Tally(additions, worlds.n_draws)
    boards = {id(board): board for board, _ in [*association, *additions]}
    shared_rows: dict[tuple[int, int], Ints] = {}
    room = _PAIR_BYTES // max(1, sum(8 * len(space.left) * len(space.right) for space in spaces))

    def first(draw: int) -> tuple[list[Bools], Ints, list[Bools], Ints]:
        """The given rules, and all rules with one item, in one world."""
        drawn = {key: board.rearranged(worlds.of(board, draw)) for key, board in boards.items()}
        marks, reached = whole.look(drawn, draw)
        reached = np.zeros_like(reached) if spaces else reached
        for number, space in enumerate(spaces):
            both, statistics = space.pairs(space.board.rearranged(worlds.of(space.board, draw)))
            reached += whole.histogram(statistics.reshape(-1))
            if space.max_antecedents > 1 and draw < room:
                shared_rows[draw, number] = both
        return marks, reached, *single.look(drawn, draw)

    for draws in _chunks(range(worlds.n_draws)):
        for draw, (marks, reached, *others) in zip(draws, run_threads(first, draws), strict=True):
            whole.add(draw, marks, reached)
            single.add(draw, *others)
        progress("testing", draws[-1] + 1, worlds.n_draws)
    # Longer antecedents only matter for levels that can still be significant, and in worlds below the highest level.
    alive = 0 if pooling else int((whole.outcome().family_wise > interesting).sum())
    levels = np.ascontiguousarray(whole.levels[alive:])

    def second(draw: int) -> Ints:
        """All longer rules in one world."""
        reached = np.zeros(len(whole.levels), np.int64)
        for number, space in enumerate(spaces):
            drawn = space.board.rearranged(worlds.of(space.board, draw))
            both = shared_rows.get((draw, number))
            reached[alive:] += space.longer(drawn, space.pairs(drawn)[0] if both is None else both, levels)
        return reached

    if len(levels) and any(space.max_antecedents > 1 for space in spaces):
        rest = [draw for draw in range(worlds.n_draws) if pooling or whole.highest[draw] < len(whole.levels)]
        for done, draws in enumerate(_chunks(rest), 1):
            for draw, reached in zip(draws, run_threads(second, draws), strict=True):
                whole.add(draw, (), reached)
            progress("testing longer rules", min(done * len(draws), len(rest)), len(rest))
    real = _real_counts(spaces, whole) if pooling else None
    return whole.outcome(real), single.outcome()


def _chunks(draws: Sequence[int]) -> list[Sequence[int]]:
    """A few draws per thread at a time, so that progress can be told."""
    step = max(1, default_threads() * 4)
    return [draws[start : start + step] for start in range(0, len(draws), step)]


def _real_counts(spaces: Sequence[Family], whole: _Tally) -> Ints:
    """How many rules of the space reach each level, and not the next, in the real world."""
    reached = np.zeros(len(whole.levels), np.int64)
    for space in spaces:
        both, statistics = space.pairs(space.board.words)
        reached += whole.histogram(statistics.reshape(-1)) + space.longer(space.board.words, both, whole.levels)
    return reached


def _columns(n_rules: int, whole: _Outcome, single: _Outcome, method: str, searched: bool) -> dict[str, Floats]:
    p_value, p_adjusted, weakest = np.full(n_rules, 1.0), np.full(n_rules, 1.0), np.full(n_rules, -np.inf)
    worlds = whole.n_draws + 1
    per_level = whole.family_wise if method == "fwer" else whole.false_share
    for rules, values, exceeded in whole.tests:
        p_value[rules] = (1 + exceeded) / worlds
        p_adjusted[rules] = whole.at(values, per_level)
    if method == "fdr" and not searched:
        p_adjusted = _benjamini_hochberg(p_value)
    out = {"p_value": p_value, "p_adjusted": np.maximum(p_adjusted, p_value)}
    for rules, values, exceeded in single.tests:
        own = single.at(values, single.family_wise) if method == "fwer" else (1 + exceeded) / worlds
        np.maximum.at(weakest, rules, own)
    longer = np.isfinite(weakest)
    if longer.any():
        out["p_simpler"] = np.where(longer, weakest, np.nan)
        if method == "fdr":
            out["p_simpler"][longer] = _benjamini_hochberg(weakest[longer])
    return out


def _benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values that control the share of false discoveries.

    >>> _benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out


def _note(worlds: _Worlds, spaces: Sequence[Family], method: str, alpha: float | None, adjusted: Floats) -> str:
    how = "circular shifts" if worlds.null.kind == "shift" else "permutations of blocks"
    of = "of whole periods " if worlds.null.period else ""
    over = "all rules that could have been found" if spaces else "the rules given"
    text = f"tested with {worlds.n_draws} {how} {of}over {over} ({method.upper()})"
    if alpha is None:
        return text
    floor = 1 / (1 + worlds.n_draws)
    if floor > alpha:
        return f"{text}: with so few, no p-value can be below {floor:.3g}, so nothing passes {alpha:g}"
    return f"{text}: {int((adjusted <= alpha).sum()):,} of {len(adjusted):,} rules pass {alpha:g}"
