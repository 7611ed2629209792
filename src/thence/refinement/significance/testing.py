"""Which rules are more than chance: p-values that respect autocorrelation, and how much was searched.

Frames of a sensor are not independent, so Fisher's test finds everything significant. Here the consequent is shifted
in time against the antecedent (``nulls``), which keeps every series as it is and breaks only what
holds between them; facts that do not depend on time are permuted over the places instead. A p-value is the share of
worlds, the real one included, in which a statistic is at least as large as in the real one.

Rules are not drawn at random: a miner returns the best of a large space. The adjusted p-values therefore compare with
the strongest rule of the whole space in each rearranged world, not only with the rules at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import default_threads, run_threads
from thence.errors import ConfigError
from thence.progress import Progress, silent
from thence.refinement.parts import parts_of
from thence.refinement.significance.family import Facts, Family
from thence.refinement.significance.family_kernels import TOLERANCE
from thence.refinement.significance.nulls import Null, Runs
from thence.refinement.significance.tally import Levels, Tally, benjamini_hochberg
from thence.refinement.significance.trials import Board, Boards, PlaceTests, Tests, tests_of
from thence.rules.constraints import Constraint
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = ["Null", "p_values", "require_worlds"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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
    >>> from thence.counting.recount import recount
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
        return replace(rules, extras={**rules.extras, "p_value": np.zeros(0), "p_adjusted": np.zeros(0)})
    rng = np.random.default_rng(seed)
    worlds = _Worlds.draw(null or Null(), table, rng)
    boards = Boards(worlds.n_draws, rng)
    association, additions = tests_of(rules, table, boards, simpler=simpler)
    searching = family == "search"
    bounds = {"antecedent": antecedent, "consequent": consequent, "min_confidence": min_confidence}
    spaces = _families(rules, table, boards, min_support, max_antecedents, bounds) if searching else []
    facts = _facts(spaces, association, table, boards)
    whole = Tally.of(association, worlds.n_draws, keep=not searching)
    single = Tally.of(additions, worlds.n_draws, keep=True)
    pooling = searching and method == "fdr"
    levels = _run(whole, single, spaces, facts, worlds, alpha or _INTERESTING, pooling, progress)
    columns = _columns(len(rules), whole, single, levels if searching else None, method)
    weakest = np.maximum(columns["p_adjusted"], np.nan_to_num(columns.get("p_simpler", np.zeros(len(rules)))))
    notes = (*rules.notes, _note(worlds, spaces, method, alpha, weakest))
    tested = replace(rules, extras={**rules.extras, **columns}, notes=notes)
    return tested if alpha is None else tested.take(np.flatnonzero(weakest <= alpha))


def require_worlds(table: TransactionTable, null: Null) -> None:
    """Raise where a table is too short for the worlds that it is to be compared with."""
    if table.blocks:
        _Worlds.draw(null, table, np.random.default_rng(0))


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


def _families(
    rules: RuleSet,
    table: TransactionTable,
    boards: Boards,
    min_support: float | None,
    max_antecedents: int | None,
    bounds: Mapping[str, Any],
) -> list[Family]:
    """The search space of every block, also of those in which nothing was found."""
    support = float(rules.measure("support").min()) if min_support is None else min_support
    fewest = {part.at: int(rules.counts.n_both[part.rules].min()) for part in parts_of(rules, table)}
    out = []
    for at, block in enumerate(table.blocks):
        rows = math.ceil(support * block.n_rows * (1 - TOLERANCE))
        space = Family.of(
            block,
            boards.board(block.bank),
            min_rows=max(1, min(rows, fewest.get(at, rows))),
            max_antecedents=max_antecedents or rules.antecedents.shape[1],
            **bounds,
        )
        out.append(space)
    return out


def _facts(
    spaces: Sequence[Family], association: Sequence[tuple[Board, Tests]], table: TransactionTable, boards: Boards
) -> list[Facts]:
    """The part of the space that speaks of facts alone, where some rule does."""
    if not any(isinstance(tests, PlaceTests) for _, tests in association):
        return []
    return [space.facts(boards.shuffles(block)) for space, block in zip(spaces, table.blocks, strict=False)]


def _run(
    whole: Tally, single: Tally, spaces: Sequence[Family], facts: Sequence[Facts], worlds: _Worlds,
    interesting: float, pooling: bool, progress: Progress,
) -> Levels:  # fmt: skip
    """Visit all worlds; the tallies add up what they say of the tests, the levels what they say of the space."""
    levels = Levels.of(whole.observed, worlds.n_draws)
    boards = {id(board): board for board, _ in [*whole.tests, *single.tests]}
    boards |= {id(space.board): space.board for space in spaces}
    about_places = [np.full(len(tests.rules), isinstance(tests, PlaceTests)) for _, tests in whole.tests]
    placed = np.concatenate(about_places)
    pairs: dict[tuple[int, int], Ints] = {}
    room = _PAIR_BYTES // max(1, sum(8 * len(space.left) * len(space.right) for space in spaces))

    def first(draw: int) -> tuple[Floats, Floats, Ints]:
        """The given rules, and all rules with one item, in one world."""
        drawn = {key: board.rearranged(worlds.of(board, draw)) for key, board in boards.items()}
        own = whole.look(drawn, draw)
        reached = levels.histogram(own[placed])
        for number, space in enumerate(spaces):
            both, statistics = space.pairs(drawn[id(space.board)], levels.lowest)
            reached += levels.histogram(statistics)
            if space.max_antecedents > 1 and draw < room:
                pairs[draw, number] = both
        for some in facts:
            reached += levels.histogram(some.statistics(draw))
        return own, single.look(drawn, draw), reached

    for draws in _chunks(range(worlds.n_draws)):
        for draw, (own, others, reached) in zip(draws, run_threads(first, draws), strict=True):
            whole.add(draw, own)
            single.add(draw, others)
            levels.add(draw, reached)
        progress("testing", draws[-1] + 1, worlds.n_draws)
    # Longer antecedents only matter for levels that can still be significant, and in worlds below the highest level.
    alive = 0 if pooling else int((levels.family_wise > interesting).sum())
    open_levels = np.ascontiguousarray(levels.levels[alive:])

    def second(draw: int) -> Ints:
        """All longer rules in one world."""
        reached = levels.nothing()
        for number, space in enumerate(spaces):
            drawn = space.board.rearranged(worlds.of(space.board, draw))
            both = pairs.get((draw, number))
            reached[alive:] += space.longer(
                drawn, space.pairs(drawn, math.inf)[0] if both is None else both, open_levels
            )
        return reached

    if len(open_levels) and any(space.max_antecedents > 1 for space in spaces):
        rest = [draw for draw in range(worlds.n_draws) if pooling or levels.highest[draw] < len(levels.levels)]
        for draws in _chunks(rest):
            for draw, reached in zip(draws, run_threads(second, draws), strict=True):
                levels.add(draw, reached)
            progress("testing longer rules", rest.index(draws[-1]) + 1, len(rest))
    if pooling:
        for space in spaces:
            both, statistics = space.pairs(space.board.words, levels.lowest)
            levels.real += levels.histogram(statistics)
            levels.real += space.longer(space.board.words, both, levels.levels)
        for some in facts:
            levels.real += levels.histogram(some.statistics(-1))
    return levels


def _chunks(draws: Sequence[int]) -> list[Sequence[int]]:
    """A few draws per thread at a time, so that progress can be told."""
    step = max(1, default_threads() * 4)
    return [draws[start : start + step] for start in range(0, len(draws), step)]


def _columns(n_rules: int, whole: Tally, single: Tally, levels: Levels | None, method: str) -> dict[str, Floats]:
    p_value, p_adjusted = np.full(n_rules, 1.0), np.full(n_rules, 1.0)
    p_value[whole.rules] = whole.p_values
    if levels is not None:
        per_level = levels.family_wise if method == "fwer" else levels.false_share
        p_adjusted[whole.rules] = levels.at(whole.observed, per_level)
    else:
        p_adjusted[whole.rules] = whole.family_wise() if method == "fwer" else benjamini_hochberg(whole.p_values)
    out = {"p_value": p_value, "p_adjusted": np.maximum(p_adjusted, p_value)}
    if len(single.rules):
        weakest = np.full(n_rules, -np.inf)
        np.maximum.at(weakest, single.rules, single.family_wise() if method == "fwer" else single.p_values)
        longer = np.isfinite(weakest)
        if method == "fdr":
            weakest[longer] = benjamini_hochberg(weakest[longer])
        out["p_simpler"] = np.where(longer, weakest, np.nan)
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
