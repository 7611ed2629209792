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
from typing import Any, Literal

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
    hold. ``p_simpler`` is the largest p-value of a rule's items (NaN for a single item), and ``p_adjusted`` is that of
    the weakest part of the rule. Adjusted values above 0.2 (or ``alpha``) are lower bounds.

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
        else {}
    )
    found = _run(association, additions, spaces, worlds, alpha or _INTERESTING, method == "fdr", progress)
    columns = _columns(len(rules), found, method, bool(spaces))
    notes = (*rules.notes, _note(worlds, spaces, method, alpha, columns["p_adjusted"]))
    tested = replace(rules, extras={**rules.extras, **columns}, notes=notes)
    return tested if alpha is None else tested.take(np.flatnonzero(columns["p_adjusted"] <= alpha))


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


def _tests(
    rules: RuleSet, table: TransactionTable, worlds: _Worlds, rng: np.random.Generator, simpler: bool
) -> tuple[list[tuple[int, Board, Tests]], list[tuple[int, Board, Tests]]]:
    """The tests of association, and those of single items against the rest, each with its block."""
    association: list[tuple[int, Board, Tests]] = []
    additions: list[tuple[int, Board, Tests]] = []
    for part in parts_of(rules, table):
        board = Board.of(part.bank)
        shuffles = Shuffles.of(part.block, worlds.n_draws, rng)
        fixed = np.append(part.static, True)
        by_place = fixed[part.left].all(axis=1) | fixed[part.right]
        in_time = np.flatnonzero(~by_place)
        if len(in_time):
            association.append((part.at, board, TimeTests.of(board, part, in_time)))
        if by_place.any():
            association.append((part.at, board, _place_tests(board, part, np.flatnonzero(by_place), fixed, shuffles)))
        if simpler:
            additions += [(part.at, board, tests) for tests in _additions(board, part, fixed, shuffles)]
    return association, additions


def _static_item(part: Part, item: int) -> tuple[int, Bools]:
    return int(part.column[item]), part.codes[item]


def _place_tests(board: Board, part: Part, chosen: Ints, fixed: Bools, shuffles: Shuffles) -> PlaceTests:
    """Rules about facts: the static antecedent moves, or, where the antecedent changes in time, the consequent."""
    left, right = part.left[chosen], part.right[chosen]
    facts = fixed[left].all(axis=1)
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
) -> dict[int, Family]:
    """The search space of every block, also of those in which nothing was found."""
    support = float(rules.measure("support").min()) if min_support is None else min_support
    fewest = {part.at: int(rules.counts.n_both[part.rules].min()) for part in parts_of(rules, table)}
    out = {}
    for at, block in enumerate(table.blocks):
        rows = math.ceil(support * block.n_rows * (1 - TOLERANCE))
        out[at] = Family.of(
            block,
            min_rows=max(1, min(rows, fewest.get(at, rows))),
            min_confidence=min_confidence,
            max_antecedents=max_antecedents or rules.antecedents.shape[1],
            antecedent=antecedent,
            consequent=consequent,
        )
    return out


@dataclass(frozen=True)
class _Found:
    """What the worlds said: statistics and how often they were exceeded, test by test, and the levels reached."""

    association: list[tuple[Ints, Floats, Ints]]
    additions: list[tuple[Ints, Floats, Ints]]
    levels: Floats
    highest: Ints
    pooled: Ints
    real: Ints
    n_draws: int


def _run(
    association: list[tuple[int, Board, Tests]],
    additions: list[tuple[int, Board, Tests]],
    spaces: Mapping[int, Family],
    worlds: _Worlds,
    interesting: float,
    pooling: bool,
    progress: Progress,
) -> _Found:
    everything = [*association, *additions]
    observed = [tests.statistics(None, -1) for _, _, tests in everything]
    levels = np.unique(np.concatenate(observed))
    levels = levels[levels > 0]
    exceeded = [np.zeros(len(values), np.int64) for values in observed]
    highest = np.zeros(worlds.n_draws, np.int64)
    pooled = np.zeros(len(levels), np.int64)
    done = 0

    def first(draw: int) -> tuple[list[Bools], int, Ints]:
        """The given rules, and all rules with one item, in one world."""
        reached = np.zeros(len(levels), np.int64)
        marks, top = [], 0
        drawn: dict[int, Words] = {}
        for number, ((_, board, tests), values) in enumerate(zip(everything, observed, strict=True)):
            if id(board) not in drawn:
                drawn[id(board)] = board.rearranged(worlds.runs[board.n_frames][draw])
            own = tests.statistics(drawn[id(board)], draw)
            marks.append(own >= values - TOLERANCE * np.maximum(1.0, np.abs(values)))
            places = levels_reached(levels, own)
            top = max(top, int(places.max(initial=0)))
            if number < len(association) and not spaces:
                np.add.at(reached, places[places > 0] - 1, 1)
        for space in spaces.values():
            _, statistics = space.pairs(space.board.rearranged(worlds.runs[space.board.n_frames][draw]))
            places = levels_reached(levels, statistics.reshape(-1))
            top = max(top, int(places.max(initial=0)))
            reached += np.bincount(places, minlength=len(levels) + 1)[1:]
        return marks, top, reached

    for chunk in _chunks(worlds.n_draws):
        for draw, (marks, top, reached) in zip(chunk, run_threads(first, chunk), strict=True):
            for total, mark in zip(exceeded, marks, strict=True):
                total += mark
            highest[draw] = top
            pooled += reached
        done += len(chunk)
        progress("testing", done, worlds.n_draws)
    # Rules with longer antecedents only matter where a level can still be significant.
    share = (1 + (highest[:, None] > np.arange(len(levels))).sum(axis=0)) / (1 + worlds.n_draws)
    alive = int(np.searchsorted(-share, -interesting)) if not pooling else 0
    top_levels = np.ascontiguousarray(levels[alive:])

    def second(draw: int) -> Ints:
        """All longer rules in one world."""
        reached = np.zeros(len(levels), np.int64)
        for space in spaces.values():
            drawn = space.board.rearranged(worlds.runs[space.board.n_frames][draw])
            reached[alive:] += space.longer(drawn, space.pairs(drawn)[0], top_levels)
        return reached

    open_draws = [d for d in range(worlds.n_draws) if pooling or highest[d] < len(levels)]
    if any(space.max_antecedents > 1 for space in spaces.values()) and len(top_levels):
        done = 0
        for chunk in _chunks(len(open_draws)):
            some = [open_draws[d] for d in chunk]
            for draw, reached in zip(some, run_threads(second, some), strict=True):
                hit = np.flatnonzero(reached)
                highest[draw] = max(highest[draw], int(hit[-1]) + 1 if len(hit) else 0)
                pooled += reached
            done += len(chunk)
            progress("testing longer rules", done, len(open_draws))
    real = _real_counts(spaces, levels) if pooling and spaces else np.zeros(len(levels), np.int64)
    results = [
        (tests.rules, values, total)
        for (_, _, tests), values, total in zip(everything, observed, exceeded, strict=True)
    ]
    return _Found(
        results[: len(association)], results[len(association) :], levels, highest, pooled, real, worlds.n_draws
    )


def _chunks(count: int) -> list[range]:
    step = max(1, default_threads() * 4)
    return [range(start, min(start + step, count)) for start in range(0, count, step)]


def _real_counts(spaces: Mapping[int, Family], levels: Floats) -> Ints:
    """How many rules of the space reach each level, and not the next, in the real world."""
    reached = np.zeros(len(levels), np.int64)
    for space in spaces.values():
        both, statistics = space.pairs(space.board.words)
        reached += np.bincount(levels_reached(levels, statistics.reshape(-1)), minlength=len(levels) + 1)[1:]
        reached += space.longer(space.board.words, both, levels)
    return reached


def _columns(n_rules: int, found: _Found, method: str, searched: bool) -> dict[str, Floats]:
    p_value, p_simpler, p_adjusted = (np.full(n_rules, np.nan) for _ in range(3))
    worlds = found.n_draws + 1
    for rules, values, exceeded in found.association:
        p_value[rules] = (1 + exceeded) / worlds
        if method == "fwer" or searched:
            p_adjusted[rules] = _adjusted(values, found, method)
    if method == "fdr" and not searched:
        p_adjusted = _benjamini_hochberg(p_value)
    p_adjusted = np.maximum(p_adjusted, p_value)
    weakest = np.full(n_rules, -np.inf)
    for rules, values, exceeded in found.additions:
        np.maximum.at(weakest, rules, (1 + exceeded) / worlds)
        if method == "fwer":
            np.maximum.at(p_adjusted, rules, _adjusted(values, found, method))
    longer = np.isfinite(weakest)
    p_simpler[longer] = weakest[longer]
    if method == "fdr" and longer.any():
        p_adjusted[longer] = np.maximum(p_adjusted[longer], _benjamini_hochberg(p_simpler[longer]))
    out = {"p_value": p_value, "p_adjusted": p_adjusted}
    return out | {"p_simpler": p_simpler} if found.additions else out


def _adjusted(values: Floats, found: _Found, method: str) -> Floats:
    """The adjusted p-value of statistics that are among the levels; 1 for those at or below zero."""
    at = levels_reached(found.levels, values) - 1
    worlds = found.n_draws + 1
    if method == "fwer":
        per_level = (1 + (found.highest[:, None] > np.arange(len(found.levels))).sum(axis=0)) / worlds
    else:
        by_chance = (np.cumsum(found.pooled[::-1])[::-1] + 1) / worlds
        in_truth = np.maximum(np.cumsum(found.real[::-1])[::-1], 1)
        # A weaker rule is never less likely to be false.
        per_level = np.minimum(np.minimum.accumulate(by_chance / in_truth), 1.0)
    return np.where(at >= 0, np.append(per_level, 1.0)[at], 1.0)


def _benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values that control the share of false discoveries.

    >>> _benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out


def _note(worlds: _Worlds, spaces: Mapping[int, Any], method: str, alpha: float | None, adjusted: Floats) -> str:
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
