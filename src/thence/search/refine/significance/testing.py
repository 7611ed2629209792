"""Significance tests of rules: p-values that account for autocorrelation and for the size of the search.

Successive frames of a sensor are not independent, so that Fisher's exact test finds almost everything significant. Here
the consequent is permuted in time against the antecedent (``nulls``), which keeps each series as it is and breaks only
the association between them; static items are permuted over the places instead, and rows without times one by one. A
p-value is the share of permutations, the observed data included, with a statistic at least as large as the observed
one. Where both sides of a rule drift, permutations of time prove nothing, and the rule must also hold beyond slow
changes (``drift``).

Rules are not a random sample: a miner returns the best of a large space. Adjusted p-values therefore compare each rule
with the strongest rule of the whole search space under each permutation, not only with the given rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.threads import default_threads
from thence.errors import ConfigError
from thence.language.constraints import Constraint
from thence.search.refine.encoding import encode_rules
from thence.search.refine.significance.drift import drift_p_values
from thence.search.refine.significance.family import Family, StaticFamily
from thence.search.refine.significance.kernels import TOLERANCE
from thence.search.refine.significance.nulls import Null, TimePermutations
from thence.search.refine.significance.statistics import (
    ArrayCache,
    PlaceTests,
    PreparedBank,
    Tests,
    TimeTests,
    build_tests,
)
from thence.search.refine.significance.tally import Levels, Tally, benjamini_hochberg
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import Words, run_threads
from thence.tables.transactions import TransactionTable

__all__ = ["p_values"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Without alpha, exact adjusted p-values are computed up to this level: longer rules are searched only where they could
# still reach it.
_HIGHEST_EXACT = 0.2
# Without alpha, the note about drift is for this level.
_USUAL_LEVEL = 0.05
# Counts of pairs are kept for the search of longer rules up to this many bytes.
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
    """Test the significance of rules by permutation, and optionally keep the significant ones.

    Pass the bounds and item constraints of the miner, so that the family is exactly what it could have found.

    Args:
        rules: The rules to test.
        table: The table that the rules were mined from.
        alpha: Significance level. If given, only rules whose ``p_adjusted`` and ``p_simpler`` are at most ``alpha``
            are returned.
        null: The null model; ``Null()`` by default.
        family: What is adjusted for: ``"search"`` for all rules that could have been found, ``"rules"`` for the given
            rules only, which is valid for rules found on *other* data.
        method: ``"fwer"`` controls the family-wise error rate, the probability of even one false rule; ``"fdr"``
            controls the expected share of false rules (Benjamini and Hochberg, over the pooled permutations).
        simpler: Whether to test also that each item of a longer antecedent adds to the others: only that item is
            permuted, among the frames in which the others hold.
        min_support: Minimum support of rules of the family; by default the lowest support of the given rules.
        min_confidence: Minimum confidence of rules of the family.
        max_antecedents: Maximum number of antecedent items of rules of the family; by default that of the given rules.
        antecedent: Item constraint on the antecedents of the family.
        consequent: Item constraint on the consequents of the family.
        seed: Random seed.
        progress: Callback that reports progress.

    Returns:
        The rules with these columns:

        - ``p_value``: the p-value of the rule by itself.
        - ``p_adjusted``: the p-value adjusted over the family. Values above ``alpha`` (0.2 if not given) are lower
          bounds.
        - ``p_simpler``: the p-value of the weakest antecedent item, adjusted over all items of the given rules; NaN
          for rules with one item.
        - ``p_drift``: for rules of which both sides drift (non-stationary series), the p-value of the association
          within stretches of time; NaN for all others. ``p_value`` and ``p_adjusted`` are at least as large, so that
          such a rule is significant only if it holds beyond slow changes. Only if there are such rules.

        With ``"fwer"``, the probability that any returned rule is false is at most ``alpha``, and so is the
        probability that any item of a returned rule is superfluous.

    Raises:
        ConfigError: If ``alpha``, ``family`` or ``method`` is invalid.
        MiningError: If the table has too few frames for the null model, or the family is too large to search.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> rng = np.random.default_rng(7)
        >>> a = np.repeat(rng.integers(0, 2, 100), 5)
        >>> hours = np.datetime64("2024-01-01T00", "us") + np.arange(500) * np.timedelta64(1, "h")
        >>> frame = pl.DataFrame({"time": hours, "a": a.astype(str), "b": (1 - a).astype(str)})
        >>> table = TransactionTable.from_frame(frame, time="time")
        >>> tested = p_values(recount(np.array([[0]]), np.array([3]), table), table)
        >>> tested.measure("p_adjusted").tolist()
        [0.005]
    """
    if family not in ("search", "rules"):
        raise ConfigError(f"family must be 'search' or 'rules', got {family!r}")
    if method not in ("fwer", "fdr"):
        raise ConfigError(f"method must be 'fwer' or 'fdr', got {method!r}")
    if alpha is not None and not 0 < alpha < 1:
        raise ConfigError(f"alpha must be between 0 and 1, got {alpha!r}")
    if not len(rules):
        return replace(rules, extras={**rules.extras, "p_value": np.zeros(0), "p_adjusted": np.zeros(0)})
    rng = np.random.default_rng(seed)
    table = table.shuffled()
    permutations = (null or Null()).draw(table, rng=rng)
    cache = ArrayCache(permutations.n_draws, rng, permutations.null.centre)
    association, additions = build_tests(rules, table, cache, simpler=simpler)
    searching = family == "search"
    bounds = {"antecedent": antecedent, "consequent": consequent, "min_confidence": min_confidence}
    spaces = _build_families(rules, table, cache, min_support, max_antecedents, bounds) if searching else []
    static_spaces = _build_static_families(spaces, association, table, cache)
    whole = Tally.of(association, permutations.n_draws, store=not searching)
    single = Tally.of(additions, permutations.n_draws, store=True)
    pooling = searching and method == "fdr"
    levels = _run_permutations(
        whole, single, spaces, static_spaces, permutations, alpha or _HIGHEST_EXACT, pooling, progress
    )
    columns = _compute_columns(len(rules), whole, single, levels if searching else None, method)
    drift = _test_drift(len(rules), association if table.is_ordered else ())
    if not np.isnan(drift).all():
        columns |= {name: np.fmax(columns[name], drift) for name in ("p_value", "p_adjusted")}
        columns["p_drift"] = drift
    weakest = np.maximum(columns["p_adjusted"], np.nan_to_num(columns.get("p_simpler", np.zeros(len(rules)))))
    notes = [*rules.notes, _write_note(permutations, searching, method, alpha, weakest)]
    notes += _write_drift_note(drift, alpha or _USUAL_LEVEL)
    tested = replace(rules, extras={**rules.extras, **columns}, notes=tuple(notes))
    return tested if alpha is None else tested.take(np.flatnonzero(weakest <= alpha))


def _build_families(
    rules: RuleSet,
    table: TransactionTable,
    cache: ArrayCache,
    min_support: float | None,
    max_antecedents: int | None,
    bounds: Mapping[str, Any],
) -> list[Family]:
    """Build the search space of every block, including blocks without rules."""
    support = float(rules.measure("support").min()) if min_support is None else min_support
    fewest = {encoded.at: int(rules.counts.n_both[encoded.rules].min()) for encoded in encode_rules(rules, table)}
    out = []
    for at, block in enumerate(table.blocks):
        rows = math.ceil(support * block.n_rows * (1 - TOLERANCE))
        space = Family.of(
            block,
            cache.bank(block.bank),
            min_rows=max(1, min(rows, fewest.get(at, rows))),
            max_antecedents=max_antecedents or rules.antecedents.shape[1],
            **bounds,
        )
        out.append(space)
    return out


def _build_static_families(
    spaces: Sequence[Family],
    association: Sequence[tuple[PreparedBank, Tests]],
    table: TransactionTable,
    cache: ArrayCache,
) -> list[StaticFamily]:
    """Build the static part of each search space, if any tested rule is static."""
    if not any(isinstance(tests, PlaceTests) for _, tests in association):
        return []
    return [space.static_part(cache.permutations(block)) for space, block in zip(spaces, table.blocks, strict=False)]


def _run_permutations(
    whole: Tally, single: Tally, spaces: Sequence[Family], static_spaces: Sequence[StaticFamily],
    permutations: TimePermutations, highest_exact: float, pooling: bool, progress: Progress,
) -> Levels:  # fmt: skip
    """Run all permutations: the tallies collect the statistics of the tests, the levels those of the search space."""
    n_draws = permutations.n_draws
    levels = Levels.of(whole.observed, n_draws)
    banks = {id(bank): bank for bank, _ in [*whole.tests, *single.tests]}
    banks |= {id(space.bank): space.bank for space in spaces}
    by_place = np.concatenate([np.full(len(tests.rules), isinstance(tests, PlaceTests)) for _, tests in whole.tests])
    pairs: dict[tuple[int, int], Ints] = {}
    room = _PAIR_BYTES // max(1, sum(8 * len(space.antecedents) * len(space.consequents) for space in spaces))

    def permute(bank: PreparedBank, draw: int) -> Words:
        return bank.permuted(permutations.by_frames, draw)

    def test_short(draw: int) -> tuple[Floats, Floats, Ints]:
        """Test the given rules, and count all rules with one antecedent item."""
        permuted = {key: permute(bank, draw) for key, bank in banks.items()}
        own = whole.statistics(permuted, draw)
        reached = levels.histogram(own[by_place])
        for number, space in enumerate(spaces):
            both, statistics = space.count_pairs(permuted[id(space.bank)], levels.lowest)
            reached += levels.histogram(statistics)
            if space.max_antecedents > 1 and draw < room:
                pairs[draw, number] = both
        for static in static_spaces:
            reached += levels.histogram(static.statistics(draw))
        return own, single.statistics(permuted, draw), reached

    for draws in _chunk_draws(range(n_draws)):
        for draw, (own, others, reached) in zip(draws, run_threads(test_short, draws), strict=True):
            whole.add(draw, own)
            single.add(draw, others)
            levels.add(draw, reached)
        progress("testing", draws[-1] + 1, n_draws)
    # Longer rules matter only at levels that can still be significant, and only in permutations without a rule at the
    # highest level.
    first_open = 0 if pooling else int((levels.family_wise > highest_exact).sum())
    open_levels = np.ascontiguousarray(levels.levels[first_open:])

    def test_longer(draw: int) -> Ints:
        """Count all rules with two or more antecedent items."""
        reached = np.zeros(len(levels.levels), np.int64)
        for number, space in enumerate(spaces):
            permuted = permute(space.bank, draw)
            both = pairs.get((draw, number))
            if both is None:
                both, _ = space.count_pairs(permuted, math.inf)
            reached[first_open:] += space.count_longer(permuted, both, open_levels)
        return reached

    if len(open_levels) and any(space.max_antecedents > 1 for space in spaces):
        rest = [draw for draw in range(n_draws) if pooling or levels.highest[draw] < len(levels.levels)]
        for draws in _chunk_draws(rest):
            for draw, reached in zip(draws, run_threads(test_longer, draws), strict=True):
                levels.add(draw, reached)
            progress("testing longer rules", rest.index(draws[-1]) + 1, len(rest))
    if pooling:
        for space in spaces:
            words = space.bank.middle.words
            both, statistics = space.count_pairs(words, levels.lowest)
            levels.observed += levels.histogram(statistics)
            levels.observed += space.count_longer(words, both, levels.levels)
        for static in static_spaces:
            levels.observed += levels.histogram(static.statistics(-1))
    return levels


def _chunk_draws(draws: Sequence[int]) -> list[Sequence[int]]:
    """Split draws into chunks of a few per thread, between which progress is reported."""
    step = max(1, default_threads() * 4)
    return [draws[start : start + step] for start in range(0, len(draws), step)]


def _compute_columns(
    n_rules: int, whole: Tally, single: Tally, levels: Levels | None, method: str
) -> dict[str, Floats]:
    p_value, p_adjusted = np.full(n_rules, 1.0), np.full(n_rules, 1.0)
    p_value[whole.rules] = whole.p_values
    if levels is not None:
        per_level = levels.family_wise if method == "fwer" else levels.false_discovery_rate
        p_adjusted[whole.rules] = levels.look_up(whole.observed, per_level)
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


def _test_drift(n_rules: int, association: Sequence[tuple[PreparedBank, Tests]]) -> Floats:
    """Compute the p-values of rules whose sides both drift; NaN for the others."""
    out = np.full(n_rules, np.nan)
    for _, tests in association:
        if isinstance(tests, TimeTests):
            out[tests.rules] = drift_p_values(tests)
    return out


def _write_note(
    permutations: TimePermutations, searching: bool, method: str, alpha: float | None, adjusted: Floats
) -> str:
    kind = {"shift": "shifts", "blocks": "block permutations", "rows": "permutations"}[permutations.null.kind]
    of = "by whole periods " if permutations.null.period else ""
    over = "all rules that could have been found" if searching else "the given rules"
    text = f"tested with {permutations.n_draws} {kind} {of}over {over} ({method.upper()})"
    if alpha is None:
        return text
    smallest = 1 / (1 + permutations.n_draws)
    if smallest > alpha:
        return f"{text}: no p-value can be below {smallest:.3g} with so few, so no rule passes {alpha:g}"
    return f"{text}: {int((adjusted <= alpha).sum()):,} of {len(adjusted):,} rules pass {alpha:g}"


def _write_drift_note(drift: Floats, level: float) -> list[str]:
    """Say how many rules are refused because both sides drift, and what to do."""
    drifting, refused = int((~np.isnan(drift)).sum()), int((drift > level).sum())
    if not refused:
        return []
    return [
        f"non-stationary: both sides drift in {drifting:,} rules, and {refused:,} of them are not associated at "
        f"{level:g} within stretches of time, so that they cannot be told from chance; mine changes "
        '(derive="change"), or use a longer table'
    ]
