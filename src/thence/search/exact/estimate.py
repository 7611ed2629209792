"""How many rules the exact miner would find, before it searches, and settings with which it finds fewer.

The antecedents that begin with one item, or in a search among neighbours with one feature, are a subtree of the search.
Subtrees in random order are searched in full, until a limit on the work; the number of rules per pair of frequent items
in them, times all such pairs, is the estimate (a ratio estimator). If all subtrees fit, the number is exact. The sample
gives the number for every higher minimum support too, since the rules with more support are among the rules found.
Rules with one antecedent are all counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thence.errors import MiningError
from thence.search.codes import require_codes
from thence.search.exact.kernels import SearchProblem
from thence.search.exact.search import RuleBlock, Search, SearchInput
from thence.search.neighbours import Neighbours, near_columns
from thence.statements.rules.bounds import as_fraction
from thence.tables.admissibility import item_masks, trivial_pairs, without_trivial
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from thence.search.exact.miner import Exact

MAX_BITMAP_BYTES = 6 << 30
SUPPORTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Values of ``min_support`` to suggest."""

# Words that are processed to estimate the rules of a table: some tenths of a second.
_WORK = float(1 << 29)
# Rules of one antecedent are all counted, unless that takes longer than this.
_ALL_PAIRS = float(1 << 34)
# The most words that a search with settings that nobody asked for may process: some ten seconds.
_PATIENCE = float(1 << 35)
# Of all rules with one antecedent that could be written, fewer than one in this many reach the thresholds.
_FEW = 20
# More rules than these need too much memory to suggest them.
_MOST_RULES = 50_000_000
# A sample has at least this many subtrees, or all.
_LEAST_UNITS = 12
# The most work of a sample, relative to its limit, whatever the number of its subtrees.
_MOST = 4
# Rules in the buffer of the search.
_ROOM = 1 << 16
# Writing a rule takes about as long as processing this many words.
_WORDS_PER_RULE = 16

_Keep = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.bool_]]
_Subtree = Iterator[tuple[RuleBlock | None, float]]
"""The rules of a subtree, block by block, each with the words that were processed to find it."""


_SHORTER = 5
"""The longest antecedents that are suggested instead of those asked for."""


@dataclass(frozen=True)
class RuleEstimate:
    """How many rules a search would find.

    Args:
        rules: The estimated number.
        low: Lower end of an interval that contains the number in about 95 of 100 cases.
        high: Upper end of the interval.
        exact: Whether all rules were counted, so that the number is certain.

    Examples:
        >>> str(RuleEstimate(38_400_000, 36_000_000, 40_800_000, exact=False))
        'about 38 million'
    """

    rules: int
    low: int
    high: int
    exact: bool

    def __str__(self) -> str:
        return f"{'' if self.exact else 'about '}{_in_words(self.rules, exact=self.exact)}"


def estimate_rules(table: TransactionTable, miner: Exact) -> RuleEstimate:
    """Estimate how many rules the exact miner would find in a table, without searching it all.

    The estimate is the same for the same table and settings. Bounds on further measures are not considered.

    Args:
        table: A discretized table.
        miner: The miner.

    Returns:
        The estimate.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}))
        >>> estimate_rules(table, Exact(min_support=0.1))
        RuleEstimate(rules=4, low=4, high=4, exact=True)
    """
    supports = (as_fraction(miner.min_support),)
    longest = miner.longest(table)
    profile, _ = _profile(table, miner, lengths=(longest,), supports=supports)
    return profile[longest][0]


def suggest_settings(
    table: TransactionTable, miner: Exact, *, budget_rules: int = 1_000_000, given: Collection[str] = ()
) -> tuple[Exact, str]:
    """Find settings with which the exact miner finds few enough rules, and does not search for minutes.

    ``max_antecedents`` is lowered first, down to 1, then ``min_support`` is raised along the usual values.

    Args:
        table: A discretized table.
        miner: The miner.
        budget_rules: The most rules.
        given: Names of settings that must not be changed.

    Returns:
        The miner with these settings, or with those that come nearest, and a note on what was changed and why; the note
        is empty if nothing was.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}))
        >>> suggest_settings(table, Exact(min_support=0.1)) == (Exact(min_support=0.1), "")
        True
    """
    asked = miner.longest(table)
    most = _most_rules(table, asked)
    if most <= budget_rules and most * max((block.n_rows / 64 for block in table.blocks), default=0.0) <= _PATIENCE:
        return miner, ""
    lengths = (asked,) if "max_antecedents" in given else tuple(range(asked, 0, -1))
    supports = _supports_from(miner, fixed="min_support" in given)
    if len(lengths) > 1 and _words_of_pairs(table) > _PATIENCE:
        # Not even all pairs can be counted in that time, which an estimate would have to do.
        note = f"max_antecedents = 1, because a search with {asked} would take minutes; set max_antecedents to run it"
        eased, further = replace(miner, max_antecedents=1), ""
        if _most_rules(table, 1) > _FEW * budget_rules:
            fixed = {*given, "max_antecedents"}
            eased, further = suggest_settings(table, eased, budget_rules=budget_rules, given=fixed)
        return eased, "; ".join(filter(None, (note, further)))
    profile, words = _profile(table, miner, lengths=lengths, supports=supports)
    choices = [(length, 0) for length in lengths if words[length] <= _PATIENCE or length == lengths[-1]]
    choices += [(lengths[-1], at) for at in range(1, len(supports))]
    length, at = next(
        (choice for choice in choices if profile[choice[0]][choice[1]].rules <= budget_rules), choices[-1]
    )
    if (length, at) == (asked, 0):
        return miner, ""
    changes: dict[str, Any] = {} if length == asked else {"max_antecedents": length}
    if at:
        changes["min_support"] = float(supports[at])
    chosen = " and ".join(f"{name} = {value:g}" for name, value in changes.items())
    settings = "these settings have" if len(changes) > 1 else "this setting has"
    search = f"the search with max_antecedents = {asked} and min_support = {float(miner.min_support):g}"
    if profile[asked][0].rules <= budget_rules:
        note = f"{chosen}, because {search} would take minutes; set max_antecedents = {asked} to run it"
    else:
        note = f"{chosen}, because {search} would find {profile[asked][0]} rules; {settings} {profile[length][at]}"
    return replace(miner, **changes), note


def require_room(table: TransactionTable, miner: Exact) -> None:
    """Raise if a search would surely find more than ``max_rules`` rules.

    Args:
        table: A discretized table.
        miner: The miner.

    Raises:
        MiningError: If there are too many rules. The hint names settings with which there are not.
    """
    found = estimate_rules(table, miner)
    if found.low <= miner.max_rules:
        return
    asked = miner.longest(table)
    lengths = (asked, *range(min(asked, _SHORTER + 1) - 1, 0, -1))
    supports = _supports_from(miner, fixed=False)
    profile, _ = _profile(table, miner, lengths=lengths, supports=supports)
    better = [
        f"with min_support={float(support):g} there are {number}"
        for support, number in zip(supports[1:], profile[asked][1:], strict=True)
        if number.high <= miner.max_rules
    ][:1]
    better += [
        f"with max_antecedents={length} there are {profile[length][0]}"
        for length in lengths[1:]
        if profile[length][0].high <= miner.max_rules
    ][:1]
    other = ["raise min_confidence" if miner.min_confidence < 1 else "constrain the items"]
    if found.high <= _MOST_RULES:
        other.append(f"pass max_rules={_round_up(found.high)}")
    raise MiningError(
        f"this search would find {found} rules, more than max_rules = {miner.max_rules:,}",
        hint="; ".join([*([", ".join(better)] if better else []), " or ".join(other)]),
    )


def search_input(miner: Exact, block: Block, max_antecedents: int) -> SearchInput:
    """Return what the exact miner searches in a block.

    Args:
        miner: The miner, which decides which items are allowed on which side of a rule.
        block: A block of a discretized table.
        max_antecedents: The largest number of antecedent items.

    Raises:
        MiningError: If the bitmaps of the block need too much memory.
    """
    size = block.n_items * block.n_rows / 8
    if size > MAX_BITMAP_BYTES:
        raise MiningError(
            f"the bitmaps of {block.n_items:,} items × {block.n_rows:,} rows need {size / 2**30:.1f} GiB",
            hint="use Aerial, which samples rows, or use fewer bins, frames or embeddings",
        )
    left, right = item_masks(
        block, antecedent=miner.antecedent, consequent=miner.consequent, context_consequents=miner.context_consequents
    )
    bitmaps, present, n_rows = block.bank.flat()
    return SearchInput.of(
        bitmaps,
        feature_of_item=block.column_of_item,
        n_rows=n_rows,
        antecedent_ok=left,
        consequent_ok=right,
        present=None if miner.denominator == "all" else present,
        max_antecedents=max_antecedents,
        min_support=miner.min_support,
        min_confidence=miner.min_confidence,
    )


def _supports_from(miner: Exact, *, fixed: bool) -> tuple[Fraction, ...]:
    own = as_fraction(miner.min_support)
    return (own,) if fixed else (own, *(s for s in map(as_fraction, SUPPORTS) if s > own))


def _most_rules(table: TransactionTable, length: int) -> float:
    """More rules than there are ways to choose items do not exist; for small tables that settles the question."""
    total = 0.0
    for block in table.blocks:
        antecedents = sum(float(block.n_items) ** size / max(size, 1) for size in range(1, length + 1))
        total += antecedents * block.n_items
    return total


def _words_of_pairs(table: TransactionTable) -> float:
    """The words to process to count all pairs of items."""
    return sum(float(block.n_items) ** 2 / 2 * block.n_rows / 64 for block in table.blocks)


def _profile(
    table: TransactionTable, miner: Exact, *, lengths: Sequence[int], supports: Sequence[Fraction]
) -> tuple[dict[int, list[RuleEstimate]], dict[int, float]]:
    """Estimate the rules for each maximum length of antecedents and minimum support, and the words to process."""
    require_codes(table, miner.name)
    totals = {length: np.zeros(len(supports)) for length in lengths}
    variances = {length: np.zeros(len(supports)) for length in lengths}
    exact, words = dict.fromkeys(lengths, True), dict.fromkeys(lengths, 0.0)
    for at in range(len(table.blocks)):
        for length, sample in _sample_block(table, at, miner, lengths, supports).items():
            number, variance = sample.totals()
            totals[length] += number
            variances[length] += variance
            exact[length] = exact[length] and sample.exact
            words[length] += sample.total_words
    profile = {
        length: [
            _as_estimate(float(number), float(variance), exact=exact[length])
            for number, variance in zip(totals[length], variances[length], strict=True)
        ]
        for length in lengths
    }
    return profile, words


def _as_estimate(number: float, variance: float, *, exact: bool) -> RuleEstimate:
    margin = 2 * variance**0.5
    return RuleEstimate(round(number), max(round(number - margin), 0), round(number + margin), exact)


def _sample_block(
    table: TransactionTable, at: int, miner: Exact, lengths: Sequence[int], supports: Sequence[Fraction]
) -> dict[int, _Sample]:
    block = table.blocks[at]
    trivial = trivial_pairs(block)
    keep = None if trivial is None else (lambda left, right: without_trivial(left, right, trivial))
    near = None if miner.near is None else near_columns(miner.near, at, len(block.columns))
    given = search_input(miner, block, max(lengths))
    problem = given.problem() if near is None else None
    out: dict[int, _Sample] = {}
    for length in lengths:
        limit = _ALL_PAIRS if length == 1 else _WORK / len(table.blocks)
        search: Callable[[int], _Subtree]
        if problem is not None:
            # What was prepared for longer antecedents holds for shorter ones: it bounds more missing rows than needed.
            problem = problem._replace(max_antecedents=length)
            weights, search = _subtree_sizes(problem), _search_items(problem, 2 * _MOST * limit)
        else:
            assert near is not None
            later = (near.starts[1:] - near.first_later).astype(np.float64)
            weights, search = later**length, _search_features(replace(given, max_antecedents=length), near, later)
        out[length] = _sample(weights, search, supports=supports, limit=limit, keep=keep)
    return out


@dataclass(frozen=True)
class _Sample:
    """Rules per subtree of a search, for several minimum supports.

    Args:
        weights: Expected size of each subtree that was searched.
        counts: Its rules that reach each minimum support: subtrees × supports.
        total_weight: Expected size of all subtrees.
        n_units: Number of all subtrees.
        words: Number of words processed in the subtrees that were searched.
        cut: Whether the search of a subtree was ended before it was complete, so that the estimate is too low.
    """

    weights: NDArray[np.float64]
    counts: NDArray[np.float64]
    total_weight: float
    n_units: int
    words: float = 0.0
    cut: bool = False

    @property
    def exact(self) -> bool:
        """Whether every subtree was searched."""
        return len(self.weights) == self.n_units and not self.cut

    @property
    def total_words(self) -> float:
        """Estimated number of words that the whole search processes."""
        return self.words if self.exact else self.words * self.total_weight / max(float(self.weights.sum()), 1.0)

    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate the number of rules for each minimum support, and the variance of the estimate."""
        found = self.counts.sum(axis=0)
        if self.exact:
            return found, np.zeros_like(found)
        sampled = len(self.weights)
        ratio = found / self.weights.sum()
        residuals = self.counts - self.weights[:, None] * ratio
        spread = (residuals**2).sum(axis=0) / max(sampled - 1, 1)
        share = sampled / self.n_units
        scale = self.total_weight / self.weights.sum() * sampled
        return ratio * self.total_weight, scale**2 * (1 - share) * spread / sampled


def _sample(
    weights: NDArray[np.float64],
    search: Callable[[int], _Subtree],
    *,
    supports: Sequence[Fraction],
    limit: float,
    keep: _Keep | None,
) -> _Sample:
    """Search some subtrees, in random order.

    Args:
        weights: Expected size of each subtree.
        search: Searches the subtree of a number.
        supports: Minimum supports for which rules are counted, none below that of the search.
        limit: Number of words to process.
        keep: Which rules count, given antecedents and consequents; all by default.
    """
    units = np.flatnonzero(weights > 0)
    order = np.random.default_rng(0).permutation(units)
    rows: list[NDArray[np.float64]] = []
    work, cut = 0.0, False
    for first in order.tolist():
        if work > limit and (len(rows) >= _LEAST_UNITS or work > _MOST * limit):
            break
        row = np.zeros(len(supports))
        for block, words in search(first):
            if block is None:
                cut = True
                break
            row += _count_by_support(block, supports, keep)
            work += len(block) * _WORDS_PER_RULE + words
        rows.append(row)
    return _Sample(
        weights[order[: len(rows)]],
        np.array(rows).reshape(len(rows), len(supports)),
        float(weights[units].sum()),
        len(units),
        work,
        cut,
    )


def _search_items(problem: SearchProblem, most: float) -> Callable[[int], _Subtree]:
    """Return a search for the rules that begin with an item, which ends early once all together took ``most`` work."""
    search, never = Search(problem, min(_ROOM, max(len(problem.name) ** 2, 1))), threading.Event()
    work = 0.0

    def subtree(first: int) -> _Subtree:
        nonlocal work
        search.begin(first, first + 1)
        while not search.finished:
            if work >= most:
                yield None, 0.0
                return
            before = search.processed
            block = RuleBlock(*search.advance(never), progress=0.0)
            words = search.processed - before
            work += len(block) * _WORDS_PER_RULE + words
            yield block, words

    return subtree


def _search_features(given: SearchInput, near: Neighbours, later: NDArray[np.float64]) -> Callable[[int], _Subtree]:
    """Return a search for the rules whose first feature is given."""
    nothing = RuleBlock(np.zeros((0, 1), np.int32), np.zeros(0, np.int32), np.zeros((0, 4), np.int64), progress=0.0)

    def subtree(first: int) -> _Subtree:
        yield nothing, float(later[first]) ** 2 * given.bitmaps.shape[1]
        for block in given.around(first, near):
            yield block, 0.0

    return subtree


def _subtree_sizes(problem: SearchProblem) -> NDArray[np.float64]:
    """The number of antecedents that may begin with each item: pairs of frequent items, to the power of the levels."""
    n_items, may_lead = len(problem.name), problem.antecedent_ok
    if not n_items:
        return np.zeros(0)
    if len(problem.pairs):
        worst = int(problem.top_missing[min(problem.max_antecedents + 1, len(problem.top_missing) - 1)])
        least_n = max(problem.n_complete, problem.n_rows - worst)
        floor = max(1, -(-problem.support_p * least_n // problem.support_q))
        later = np.fromiter(_count_later(problem, floor), np.float64, n_items)
    else:
        later = np.cumsum(may_lead[::-1])[::-1].astype(np.float64)
    return np.where(may_lead, (1.0 + later) ** (problem.max_antecedents - 1), 0.0)


def _count_later(problem: SearchProblem, floor: int) -> Iterator[int]:
    for item in range(len(problem.name)):
        yield int(np.count_nonzero((problem.pairs[item, item:] >= floor) & problem.antecedent_ok[item:]))


def _count_by_support(block: RuleBlock, supports: Sequence[Fraction], keep: _Keep | None) -> NDArray[np.float64]:
    counts = block.counts if keep is None else block.counts[keep(block.antecedents, block.consequents)]
    n, both = counts[:, 0], counts[:, 3]
    return np.array([np.count_nonzero(both * s.denominator >= n * s.numerator) for s in supports], np.float64)


def _in_words(number: int, *, exact: bool) -> str:
    """A number of rules, rounded to two digits unless it is exact."""
    if exact or number < 1000:
        return f"{number:,}"
    rounded = int(float(f"{number:.2g}"))
    return f"{rounded / 1e6:,.2g} million" if 1_000_000 <= rounded < 100_000_000 else f"{rounded:,}"


def _round_up(number: int) -> int:
    """Two significant digits, rounded up."""
    step: int = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // step) * step
