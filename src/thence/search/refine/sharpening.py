"""Sharper ranges: the bins of a rule are replaced by ranges that are found on the numbers behind the bins.

The table is built again with finer bins, each bin of the search being a union of finer ones, and the rows of a rule are
counted by finer bin. In the antecedent, the range becomes the widest at whose ends the rule still reaches the minimum
confidence: of all ranges the one in which the rows where the rule holds exceed the share that the minimum confidence
asks for by most. It may be narrower than the bin where the bin is too wide. In the consequent, the range becomes the
narrowest that is worth it: the part of the bin about which the antecedent says most, in bits, and which the rule still
reaches with the minimum confidence.

A range is found on the first two thirds of the time (of rows without times, on two of three rows) and accepted if it is
better than the bin on the rest as well; otherwise the rule stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence.errors import ConfigError
from thence.language.items import Interval, Item, Value
from thence.search.refine.merging import make_item
from thence.statements.counting.assurance import add_confidence_bound
from thence.statements.counting.encoding import group_by_block
from thence.statements.counting.recount import count_rules
from thence.statements.rules.bounds import exact_threshold, is_within
from thence.statements.rules.extra_columns import EXTRA_COLUMNS, columns_from
from thence.statements.rules.ruleset import ENOUGH_ROWS, Rule, RuleSet
from thence.tables.bitmaps.bits import Bools, Floats, Ints
from thence.tables.blocks import CONFIRMING, Block, Codes, Column
from thence.tables.transactions import TransactionTable

_ROUNDS = 2
"""How often the items of an antecedent are sharpened in turn, since each depends on the others."""
LEAST_GAIN, LEAST_GAIN_OF_RANKS = 0.05, 0.25
"""Share by which a range must be better than the bin. A fifth or a tenth of a history is easy to picture, and another
share of it must be clearly better."""
MOST_ROWS = 1 << 23
"""Rows of a rule that are searched; of a lifted table with more of them, every so many places."""
_CHUNK_ROWS = 1 << 22
_ROUNDING = 1e-12
_FOUND, _CONFIRMED, _OUTSIDE = 0, 1, 2


def sharpen(
    rules: RuleSet,
    table: TransactionTable,
    *,
    min_confidence: float | None = None,
    min_support: float = 0.0,
    assurance: float | None = None,
    denominator: str = "present",
    progress: Progress = silent,
) -> RuleSet:
    """Replace the bins of rules by sharper ranges, where these are better on both parts of the time.

    Meant for the rules that somebody reads: the work grows with rules × rows. In lifted tables with more than 8 million
    rows ranges are searched in some of the places; counts are over all of them. Items about states, properties and
    the calendar stay as they are, and so do ranges around a gap.

    Args:
        rules: The rules.
        table: The table that the rules were mined from; it must know the numbers behind its bins (``table.finer``), as
            tables of ``th.transactions``, ``th.mine`` and ``from_frame`` do.
        min_confidence: Minimum confidence of a sharpened rule; by default the lowest confidence of the given rules.
        min_support: Minimum support of a sharpened rule.
        assurance: Probability such as 0.95: the lower confidence bound of a sharpened rule must reach
            ``min_confidence`` (``th.evaluate.add_confidence_bound``). ``None`` or 0 skips the check.
        denominator: Rows over which rules are counted, as in ``count_rules``.
        progress: Callback that reports progress.

    Returns:
        The rules in the same order, without those that became equal to an earlier one. Sharpened ones have exact
        counts over all rows and, in the column ``confirmed_confidence``, their confidence on the part of the time that
        confirmed them; p-values and other columns that belong to the former rule are missing. The rules carry the
        table that they can be counted on (``counted_on``).

    Raises:
        ConfigError: If ``min_confidence`` or ``min_support`` is out of range.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> levels = [k % 100 / 10 for k in range(600)]
        >>> frame = pl.DataFrame({"level": levels, "pump": ["on" if level < 3.3 else "off" for level in levels]})
        >>> table = TransactionTable.from_frame(frame, bins=4)
        >>> rules = Exact(consequent="pump", min_confidence=0.7).mine(table)
        >>> for rule in sharpen(rules, table):
        ...     print(rule.english)
        if level is below 3.3, then pump is on
        if level is at least 3.3, then pump is off
    """
    for name, value in (("min_confidence", min_confidence), ("min_support", min_support)):
        if value is not None and not 0 <= value <= 1:
            raise ConfigError(f"{name} must be between 0 and 1, got {value!r}")
    if not len(rules):
        return rules
    if table.finer is None:
        reason = "the table does not know the numbers behind its bins"
        return replace(rules, notes=(*rules.notes, f"no range was sharpened: {reason}"))
    confidence = rules.measure("confidence")
    floor = float(np.nanmin(confidence)) if min_confidence is None else min_confidence
    fine = table.finer()
    sharper: dict[int, _Sharpened] = {}
    done = 0
    for at, chosen in group_by_block(rules, table):
        block = _nested_block(fine, table.blocks[at])
        for number in chosen.tolist():
            done += 1
            progress("sharpening", done, len(rules))
            found = None if block is None else _Search(rules.rule(number), block, floor, denominator).run()
            if found is not None:
                sharper[number] = found
    return _assemble(rules, table, fine, sharper, floor, min_support, assurance, denominator)


def _same_rows(fine: TransactionTable, block: Block) -> Block | None:
    """Return the block of the finer table with the rows of a block; ``None`` if there is none."""
    for one in fine.blocks:
        if str(one.pattern or "") == str(block.pattern or ""):
            return one if one.embeddings == block.embeddings and one.n_frames == block.n_frames else None
    return None


def _nested_block(fine: TransactionTable, block: Block) -> Block | None:
    """Return the finer block with those of its columns whose codes are parts of the codes of the block."""
    finer = _same_rows(fine, block)
    if finer is None:
        return None
    own = {column.feature: column for column in finer.columns}
    columns = [own[c.feature] for c in block.columns if c.feature in own and _is_nested(c, own[c.feature])]
    return replace(finer, columns=tuple(columns)).shuffled()


def _is_nested(column: Column, fine: Column) -> bool:
    """Whether every value of the finer column is a part of one value of the column, in every row."""
    if column.codes.shape != fine.codes.shape or not np.array_equal(column.series, fine.series):
        return False
    starts = {value.low: code for code, value in enumerate(column.values) if isinstance(value, Interval)}
    names = {value: code for code, value in enumerate(column.values) if not isinstance(value, Interval)}
    part_of = np.full(fine.n_codes + 1, -1, np.int16)
    code = -1
    for at, value in enumerate(fine.values):
        code = starts.get(value.low, code) if isinstance(value, Interval) else names.get(value, -1)
        part_of[at] = code
    return bool(np.array_equal(part_of[fine.codes], column.codes))


@dataclass(frozen=True)
class _Sharpened:
    """A rule with sharper ranges.

    Args:
        rule: The rule.
        confirmed: Its confidence on the part of the time that confirmed it.
    """

    rule: Rule
    confirmed: float


@dataclass(frozen=True)
class _Test:
    """A column and the codes for which an item of the rule holds."""

    column: int
    codes: Bools


@dataclass(frozen=True)
class _Counted:
    """Rows of a rule by code of one of its columns; each a matrix (parts of the time × codes).

    Args:
        applied: Rows in which the other items of the antecedent hold.
        held: Those of them in which the rule holds.
    """

    applied: Ints
    held: Ints


class _Search:
    """The search for sharper ranges of one rule.

    Args:
        rule: The rule.
        block: The block of the finer table that the rule is about.
        floor: Minimum confidence.
        denominator: As in ``count_rules``.
    """

    def __init__(self, rule: Rule, block: Block, floor: float, denominator: str) -> None:
        self.rule = rule
        self.block, self.floor = block, floor
        self.present = denominator == "present"
        self.step = -(-max(block.n_rows, 1) // MOST_ROWS)

    def run(self) -> _Sharpened | None:
        """Return the rule with sharper ranges; ``None`` if none is better."""
        items = [*self.rule.antecedent, self.rule.consequent]
        tests = [self._test(item) for item in items]
        if any(test is None for test in tests):
            return None
        now = [test for test in tests if test is not None]
        movable = [_run_of(self.block.columns[test.column], test.codes) is not None for test in now]
        if not any(movable):
            return None
        changed = False
        for _ in range(_ROUNDS):
            moved = False
            for at in range(len(now) - 1):
                if movable[at]:
                    better = self._widen(now, at)
                    moved |= better is not None
                    now[at] = better or now[at]
            changed |= moved
            if not moved:
                break
        if movable[-1]:
            better = self._narrow(now)
            changed |= better is not None
            now[-1] = better or now[-1]
        if not changed:
            return None
        made = [
            item if (before.codes == test.codes).all() else make_item(self.block.columns[test.column], test.codes)
            for item, before, test in zip(items, tests, now, strict=True)
            if before is not None
        ]
        self.step = 1
        last = self._count_antecedent(now, 0)
        applied, held = (int(part[_CONFIRMED, now[0].codes].sum()) for part in (last.applied, last.held))
        if not _is_enough(held, applied, self.floor):
            return None
        return _Sharpened(replace(self.rule, antecedent=tuple(made[:-1]), consequent=made[-1]), held / applied)

    def _test(self, item: Item) -> _Test | None:
        """The codes of the finer table for which an item holds; ``None`` if it contains only a part of a bin."""
        for at, column in enumerate(self.block.columns):
            if column.feature == item.feature:
                flags = [(item.holds(value), item.negated().holds(value)) for value in column.values]
                whole = all(inside != outside for inside, outside in flags)
                return _Test(at, np.array([inside for inside, _ in flags], bool)) if whole else None
        return None

    def _widen(self, tests: Sequence[_Test], at: int) -> _Test | None:
        """The test of an antecedent item with the widest range at whose ends the rule reaches its bound."""
        column = self.block.columns[tests[at].column]
        run = _run_of(column, tests[at].codes)
        assert run is not None
        counted = self._count_antecedent(tests, at)
        merit = counted.held - self.floor * counted.applied
        low, high = best_run(merit[_FOUND], counted.applied[_FOUND], *run, last=_count_ranges(column) - 1)
        if (low, high) == run or high - low + 1 == _count_ranges(column):
            return None
        before, after = (slice(start, stop + 1) for start, stop in (run, (low, high)))
        applied, held = (part[_CONFIRMED, after].sum() for part in (counted.applied, counted.held))
        parts = zip(merit[:_OUTSIDE], counted.applied[:_OUTSIDE], strict=True)
        better = all(_is_better(value, rows, before, after, _least_gain(column)) for value, rows in parts)
        if applied < ENOUGH_ROWS or not _is_enough(int(held), int(applied), self.floor) or not better:
            return None
        return replace(tests[at], codes=_mask(column, low, high))

    def _narrow(self, tests: Sequence[_Test]) -> _Test | None:
        """The test of the consequent with the part of its range about which the antecedent says most."""
        column = self.block.columns[tests[-1].column]
        run = _run_of(column, tests[-1].codes)
        assert run is not None
        counted, applied, rows = self._count_consequent(tests)
        low, high = narrowest_run(
            counted.held[_FOUND], int(applied[_FOUND]), counted.applied[_FOUND], int(rows[_FOUND]), *run,
            last=_count_ranges(column) - 1, floor=self.floor,
        )  # fmt: skip
        if (low, high) == run or applied[_CONFIRMED] < ENOUGH_ROWS:
            return None
        bits = np.zeros((2, 2))
        for part in (_FOUND, _CONFIRMED):
            for which, (start, stop) in enumerate((run, (low, high))):
                share = counted.held[part, start : stop + 1].sum() / applied[part]
                base = counted.applied[part, start : stop + 1].sum() / rows[part]
                bits[part, which] = _information(np.array([share]), np.array([base]))[0]
        better = (bits[:, 1] > (1 + _least_gain(column)) * bits[:, 0]).all()
        return replace(tests[-1], codes=_mask(column, low, high)) if share >= self.floor and better else None

    def _count_antecedent(self, tests: Sequence[_Test], at: int) -> _Counted:
        """Count the rows of the rule by code of the antecedent item ``at``, whatever that code is."""
        size = self.block.columns[tests[at].column].n_codes
        applied, held = np.zeros((3, size), np.int64), np.zeros((3, size), np.int64)
        for chunk in self._chunks():
            codes = self._codes(tests[at].column, chunk)
            rows = codes >= 0
            for k, test in enumerate(tests[:-1]):
                if k != at:
                    rows &= np.append(test.codes, False)[self._codes(test.column, chunk)]
            target = self._codes(tests[-1].column, chunk)
            if self.present:
                rows &= target >= 0
            both = rows & np.append(tests[-1].codes, False)[target]
            part = self._parts(chunk)
            applied += _count_codes(codes, part, rows, size)
            held += _count_codes(codes, part, both, size)
        return _Counted(applied, held)

    def _count_consequent(self, tests: Sequence[_Test]) -> tuple[_Counted, Ints, Ints]:
        """Count all rows, and those in which the antecedent holds, by code of the consequent; and both in total."""
        size = self.block.columns[tests[-1].column].n_codes
        every, held = np.zeros((3, size), np.int64), np.zeros((3, size), np.int64)
        applied, rows = np.zeros(3, np.int64), np.zeros(3, np.int64)
        for chunk in self._chunks():
            target = self._codes(tests[-1].column, chunk)
            part = self._parts(chunk)
            known, antecedent = np.ones(target.shape, bool), np.ones(target.shape, bool)
            for test in tests[:-1]:
                codes = self._codes(test.column, chunk)
                known &= codes >= 0
                antecedent &= np.append(test.codes, False)[codes]
            if self.present:
                known &= target >= 0
                antecedent &= target >= 0
            else:
                known[:] = True
            every += _count_codes(target, part, known & (target >= 0), size)
            held += _count_codes(target, part, antecedent & (target >= 0), size)
            rows += np.bincount(np.broadcast_to(part, known.shape)[known], minlength=3)
            applied += np.bincount(np.broadcast_to(part, known.shape)[antecedent], minlength=3)
        return _Counted(every, held), applied, rows

    def _chunks(self) -> Iterator[slice]:
        places = max(1, _CHUNK_ROWS // max(self.block.n_frames, 1)) * self.step
        for start in range(0, self.block.n_embeddings, places):
            yield slice(start, start + places, self.step)

    def _codes(self, column: int, chunk: slice) -> Codes:
        """The codes of a column: embeddings × frames."""
        own = self.block.columns[column]
        series = np.broadcast_to(own.series, (self.block.n_embeddings,))[chunk]
        codes = np.broadcast_to(own.codes, (len(own.codes), self.block.n_frames))[series]
        return np.where(series[:, None] < 0, np.int16(-1), codes)

    def _parts(self, chunk: slice) -> Ints:
        """The part of the time that each row belongs to: embeddings × frames."""
        frames = np.arange(self.block.n_frames)[None, :]
        own = self.block.frames_of[chunk][:, None]
        if not self.block.is_ordered:
            later = frames % CONFIRMING == CONFIRMING - 1
        else:
            later = frames >= own - own // CONFIRMING
        return np.where(frames < own, np.where(later, _CONFIRMED, _FOUND), _OUTSIDE)


def _is_enough(held: int, applied: int, floor: float) -> bool:
    """Whether a confidence reaches a minimum, decided in integers."""
    limit = exact_threshold(floor, max_denominator=max(applied, 1))
    return held * limit.denominator >= applied * limit.numerator


def _count_codes(codes: Codes, part: Ints, rows: Bools, size: int) -> Ints:
    """Count the chosen rows by part of the time and code."""
    key = (np.broadcast_to(part, codes.shape)[rows] * size + codes[rows]).astype(np.int64)
    return np.bincount(key, minlength=3 * size).reshape(3, size)


def _count_ranges(column: Column) -> int:
    """The number of codes that are ranges; values without a rank come after them."""
    return sum(isinstance(value, Interval) for value in column.values)


def _run_of(column: Column, codes: Bools) -> tuple[int, int] | None:
    """The first and last code of a range that can be sharpened; ``None`` for any other item."""
    inside = np.flatnonzero(codes)
    n_ranges = _count_ranges(column)
    if column.is_static or not len(inside) or len(inside) == n_ranges or inside[-1] >= n_ranges:
        return None
    ranges = column.values[:n_ranges]
    ordered = all(isinstance(value, Interval) for value in ranges)
    if not ordered or inside[-1] - inside[0] + 1 != len(inside):
        return None
    first = column.values[inside[0]]
    if len(inside) == 1 and isinstance(first, Interval) and first.at is not None:
        return None  # "is 0" is a value, not a range
    return int(inside[0]), int(inside[-1])


def _is_better(merit: Floats, rows: Ints, before: slice, after: slice, least: float) -> bool:
    """Whether a run of codes is better than another: by its merit, or by its rows if their merits are the same."""
    old, new = float(merit[before].sum()), float(merit[after].sum())
    if abs(new - old) <= _ROUNDING * (1 + float(rows.sum())):
        return bool(rows[after].sum() > (1 + least) * rows[before].sum())
    return new - old > least * max(old, 0.0)


def _least_gain(column: Column) -> float:
    return LEAST_GAIN_OF_RANKS if column.feature.relative else LEAST_GAIN


def _mask(column: Column, low: int, high: int) -> Bools:
    out = np.zeros(column.n_codes, bool)
    out[low : high + 1] = True
    return out


def best_run(merit: Floats, rows: Ints, low: int, high: int, *, last: int) -> tuple[int, int]:
    """Return the run of codes with the largest sum that has a code in common with ``low … high``.

    A run that begins with the first code keeps its beginning, and one that ends with the last code its end. Of equal
    sums the run with the most rows is returned, and of these the one whose ends are nearest to the given ones.

    Args:
        merit: A number per code.
        rows: Number of rows per code.
        low: First code of the run.
        high: Last code of the run.
        last: The last code there is.

    Examples:
        >>> best_run(np.array([1.0, 2.0, -1.0, 2.0, 0.0, -5.0]), np.array([9, 9, 9, 9, 9, 9]), 1, 1, last=5)
        (0, 4)
    """
    sums, counts = (np.concatenate([[0], np.cumsum(part[: last + 1])]) for part in (merit, rows))
    starts = np.array([0]) if low == 0 else np.arange(high + 1)
    stops = [last] if high == last else range(low, last + 1)
    tolerance = _ROUNDING * (1.0 + float(np.abs(merit).sum()))
    best, found = (-math.inf, -1), (low, high)
    for stop in sorted(stops, key=lambda code: abs(code - high)):
        own = starts[starts <= stop]
        value, size = sums[stop + 1] - sums[own], counts[stop + 1] - counts[own]
        near = own[value >= value.max() - tolerance]
        near = near[counts[near] == counts[near].min()]
        top = float(value.max()), int(size[own == near[0]][0])
        if top[0] > best[0] + tolerance or (top[0] > best[0] - tolerance and top[1] > best[1]):
            best = max(best[0], top[0]), top[1]
            found = (int(near[np.argmin(np.abs(near - low))]), int(stop))
    return found


def narrowest_run(
    held: Ints, applied: int, every: Ints, rows: int, low: int, high: int, *, last: int, floor: float
) -> tuple[int, int]:
    """Return the part of a run of codes about which an antecedent says most, reached with a minimum confidence.

    A run that begins with the first code keeps its beginning, and one that ends with the last code its end.

    Args:
        held: Rows by code in which the antecedent holds.
        applied: Rows in which the antecedent holds.
        every: Rows by code.
        rows: Number of rows.
        low: First code of the run.
        high: Last code of the run.
        last: The last code there is.
        floor: Minimum confidence.

    Examples:
        >>> held, every = np.array([0, 0, 5, 5, 0, 0]), np.array([5, 5, 5, 5, 5, 5])
        >>> narrowest_run(held, 10, every, 30, 1, 4, last=5, floor=0.9)
        (2, 3)
    """
    if not applied or not rows:
        return low, high
    inner = np.arange(low, high + 1)
    starts = inner[:1] if low == 0 else inner
    stops = inner[-1:] if high == last else inner
    of_held, of_all = (np.concatenate([[0], np.cumsum(part)]) for part in (held, every))
    share = (of_held[stops + 1][None, :] - of_held[starts][:, None]) / applied
    base = (of_all[stops + 1][None, :] - of_all[starts][:, None]) / rows
    bits = _information(share, base)
    bits[(share < floor) | (starts[:, None] > stops[None, :])] = -1.0
    whole = bits[0, -1] if len(starts) and len(stops) else -1.0
    if bits.max() <= whole + 1e-12:
        return low, high
    start, stop = np.unravel_index(int(np.argmax(bits)), bits.shape)
    return int(starts[start]), int(stops[stop])


def _information(share: Floats, base: Floats) -> Floats:
    """The divergence of a share from a base rate in bits; 0 where it is not above it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        held = np.where(share > 0, share * np.log2(share / base), 0.0)
        failed = np.where(share < 1, (1 - share) * np.log2((1 - share) / (1 - base)), 0.0)
        return np.asarray(np.where(share > base, np.nan_to_num(held + failed), 0.0))


def _assemble(
    rules: RuleSet,
    table: TransactionTable,
    fine: TransactionTable,
    sharper: dict[int, _Sharpened],
    floor: float,
    min_support: float,
    assurance: float | None,
    denominator: str,
) -> RuleSet:
    """Return the rules with those that have sharper ranges, counted on all rows."""
    made = [sharper[r].rule if r in sharper else rule for r, rule in enumerate(rules)]
    cut = _cut_table(table, fine, [made[r] for r in sharper])
    counted = count_rules(RuleSet.from_rules(made, rules.counts), cut, denominator=denominator)
    accepted = np.array([r in sharper for r in range(len(rules))], bool)
    for measure, least in (("support", min_support), ("confidence", floor)):
        accepted &= is_within(counted.counts, measure, least, least=True)
    bound = np.full(len(rules), np.nan)
    if sharper and (assurance or "assured_confidence" in rules.extras):
        own = np.flatnonzero(accepted)
        bound[own] = add_confidence_bound(
            counted.take(own), cut, assurance=assurance or 0.95, denominator=denominator
        ).measure("assured_confidence")
        if assurance:
            accepted[own] &= bound[own] >= floor
    if not accepted.any():
        note = f"no range was sharpened: none was better on both parts of the time, for any of {len(rules):,} rules"
        extras = {**rules.extras, "confirmed_confidence": np.full(len(rules), np.nan)}
        return replace(rules, extras=extras, notes=(*rules.notes, note))
    listed = [new if changed else old for new, old, changed in zip(made, rules, accepted.tolist(), strict=True)]
    again = count_rules(RuleSet.from_rules(listed, rules.counts), cut, denominator=denominator)
    confirmed = np.array([sharper[r].confirmed if accepted[r] else np.nan for r in range(len(rules))])
    columns = _extras(rules, again, accepted, floor) | {"confirmed_confidence": confirmed}
    if "assured_confidence" in columns:
        columns["assured_confidence"] = np.where(accepted, bound, rules.measure("assured_confidence"))
    whole = replace(
        rules,
        items=again.items,
        antecedents=again.antecedents,
        consequents=again.consequents,
        counts=again.counts,
        patterns=again.patterns,
        pattern_of=again.pattern_of,
        extras=columns,
        coverage_of=again.coverage_of,
        facts={key: value for key, value in rules.facts.items() if key != "data_coverage"},
    )
    once = whole.unique()
    n_sharp = int((~np.isnan(once.measure("confirmed_confidence"))).sum())
    note = f"ranges of {n_sharp:,} of {len(once):,} rules were sharpened, and confirmed on the last third of the time"
    if not table.is_ordered:
        note = f"ranges of {n_sharp:,} of {len(once):,} rules were sharpened, and confirmed on a third of the rows"
    return replace(once, notes=(*rules.notes, note))


def _extras(rules: RuleSet, counted: RuleSet, changed: Bools, floor: float) -> dict[str, npt.NDArray[np.generic]]:
    """The extra columns: those of the former rules, and for sharpened ones what is known of them."""
    supports = columns_from("lifted")
    out: dict[str, npt.NDArray[np.generic]] = {}
    for name, column in rules.extras.items():
        values = np.asarray(column)
        if name in supports and name in counted.extras:
            out[name] = np.asarray(counted.extras[name])
        elif name == "both_ways":
            back = counted.counts.n_both >= max(floor, 0.5) * counted.counts.n_consequent
            out[name] = values & (back | ~changed)
        elif values.dtype.kind in "US":
            # Other sentences, and names of places, were those of the former rule.
            out[name] = np.where(changed, "", values)
        elif name in EXTRA_COLUMNS and not EXTRA_COLUMNS[name].of_table:
            out[name] = values
        else:
            out[name] = np.where(changed, np.nan, values.astype(np.float64))
    return out


def cut_for(rules: RuleSet, table: TransactionTable) -> TransactionTable:
    """Return a table with the cuts that the sharpened ranges of rules need; all other columns stay as they are.

    Args:
        rules: The rules, with sharpened ranges.
        table: The table that was mined, which knows the numbers behind its bins.

    Returns:
        The table; as it is if it does not know the numbers.
    """
    return table if table.finer is None else _cut_table(table, table.finer(), list(rules))


def _cut_table(table: TransactionTable, fine: TransactionTable, rules: Sequence[Rule]) -> TransactionTable:
    """Return the table with further cuts where rules need them; all other columns stay as they are."""
    wanted: dict[tuple[str, object], list[Item]] = {}
    for rule in rules:
        for item in (*rule.antecedent, rule.consequent):
            wanted.setdefault((rule.pattern, item.feature), []).append(item)
    blocks = []
    remade: dict[tuple[int, bytes], Codes] = {}
    for block in table.blocks:
        name = str(block.pattern or "")
        finer = _same_rows(fine, block)
        own = {} if finer is None else {column.feature: column for column in finer.columns}
        columns = [
            _cut_column(column, own[column.feature], wanted[name, column.feature], remade)
            if (name, column.feature) in wanted and column.feature in own
            else column
            for column in block.columns
        ]
        changed = any(new is not old for new, old in zip(columns, block.columns, strict=True))
        blocks.append(replace(block, columns=tuple(columns)) if changed else block)
    before = table.discretizer
    bins = replace(
        fine.discretizer,
        systems=before.systems,
        places=before.places,
        states=before.states,
        window_seconds=before.window_seconds,
    )
    return replace(table, blocks=tuple(blocks), discretizer=bins, finer=None)


def _cut_column(column: Column, fine: Column, items: Sequence[Item], remade: dict[tuple[int, bytes], Codes]) -> Column:
    """Return a column with its own bins, cut where items begin or end."""
    n_ranges = _count_ranges(fine)
    if column.is_static or not n_ranges or all(_is_whole(column, item) for item in items):
        return column
    ends = {value.low for value in column.values if isinstance(value, Interval)}
    for item in items:
        held = np.array([item.holds(value) for value in fine.values[:n_ranges]], bool)
        ends |= {fine.values[at + 1].low for at in np.flatnonzero(held[1:] != held[:-1]).tolist()}  # type: ignore[union-attr]
    starts = [at for at, value in enumerate(fine.values[:n_ranges]) if at == 0 or value.low in ends]  # type: ignore[union-attr]
    values: list[Value | Interval] = []
    for start, stop in pairwise([*starts, n_ranges]):
        first, last = fine.values[start], fine.values[stop - 1]
        assert isinstance(first, Interval) and isinstance(last, Interval)
        values.append(first if stop == start + 1 else Interval(first.low, last.high))
    new = np.zeros(fine.n_codes + 1, np.int16)
    new[starts[1:]] = 1
    new[:n_ranges] = np.cumsum(new[:n_ranges])
    new[n_ranges : fine.n_codes] = len(values) + np.arange(fine.n_codes - n_ranges)
    new[-1] = -1
    key = (id(fine.codes), new.tobytes())
    if key not in remade:
        remade[key] = new[fine.codes]
    return replace(column, values=(*values, *fine.values[n_ranges:]), codes=remade[key], series=fine.series)


def _is_whole(column: Column, item: Item) -> bool:
    """Whether an item contains no part of a bin only."""
    return all(item.holds(value) or item.negated().holds(value) for value in column.values)
