"""Rules on a table: the block that each is about, whether it can be counted there, and its items as bitmaps.

Everything that counts rules starts from ``encode_blocks``. Another system may lack a pattern or a property that rules
were mined with: ``find_countable`` finds such rules. This module encodes; it counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError, nearest
from thence.language.items import Feature, Item
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bank import EVERYWHERE, Bank
from thence.tables.bitmaps.bits import full_mask, pack_mask
from thence.tables.blocks import Block
from thence.tables.transactions import FeatureTable, TransactionTable

Indices = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Table = TransactionTable | FeatureTable

_PATTERNS_HINT = "pass the patterns of the rules when you build the table: patterns=[…]"


@dataclass(frozen=True, eq=False)
class EncodedBlock:
    """The rules of one block of a table, as item numbers of its bitmaps.

    Args:
        rules: Positions of the rules in their rule set.
        bank: The bitmaps.
        antecedents: Matrix (rules × items) of item numbers of the bank, padded with −1.
        consequents: One item number per rule.
        block: The block; ``None`` for a table of numbers.
    """

    rules: Ints
    bank: Bank
    antecedents: Indices
    consequents: Indices
    block: Block | None

    @property
    def is_lifted(self) -> bool:
        """Whether the rules are about the places of a pattern."""
        return self.block is not None and self.block.is_lifted


def encode_blocks(rules: RuleSet, table: Table, *, antecedents_only: bool = False) -> Iterator[EncodedBlock]:
    """Encode rules whose patterns and features a table has, block by block.

    An item may join several bins of the table; each distinct item is looked up once, however many rules use it.

    Args:
        rules: The rules.
        table: The table. One of numbers is a single block with a bitmap per item.
        antecedents_only: Whether to leave out the consequents, which then are −1.

    Raises:
        MiningError: If the table lacks the pattern or a feature of a rule, or an item contains only a part of a bin.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "v"]}))
        >>> (one,) = encode_blocks(recount(np.array([[0]]), np.array([2]), table), table)
        >>> one.antecedents.tolist(), one.consequents.tolist(), one.bank.n_frames
        ([[0]], [2], 3)
    """
    if isinstance(table, FeatureTable):
        groups: list[tuple[int, Ints]] = [(-1, np.arange(len(rules)))] if len(rules) else []
    else:
        groups = group_by_block(rules, table)
    for at, chosen in groups:
        left = rules.antecedents[chosen]
        right = np.full(len(chosen), -1) if antecedents_only else rules.consequents[chosen]
        used = np.unique(np.append(left, right))
        used = used[used >= 0]
        numbers = np.full(len(rules.items) + 1, -1, np.int32)  # the last maps padding to padding
        items = [rules.items[i] for i in used]
        if isinstance(table, FeatureTable):
            bank, numbers[used] = _number_joint(items, partial(_number_on, table))
            yield EncodedBlock(chosen, bank, numbers[left], numbers[right], None)
        else:
            block = table.blocks[at]
            bank, numbers[used] = _number_joint(items, partial(_number_in, table, block))
            yield EncodedBlock(chosen, bank, numbers[left], numbers[right], block)


def _number_joint(
    items: Sequence[Item], number: Callable[[Sequence[Item]], tuple[Bank, Indices]]
) -> tuple[Bank, Indices]:
    """Return bitmaps of items and the number of each in them; those that join several are added to the others."""
    parts = list(dict.fromkeys(part for item in items for part in item.parts))
    bank, numbers = number(parts)
    if all(len(item.parts) == 1 for item in items):
        return bank, numbers
    of = dict(zip(parts, numbers.tolist(), strict=True))
    joints = [[of[part] for part in item.parts] for item in items if len(item.parts) > 1]
    added = iter(range(len(bank.row_of), len(bank.row_of) + len(joints)))
    out = [of[item] if len(item.parts) == 1 else next(added) for item in items]
    return bank.with_joints(joints), np.array(out, np.int32)


def _number_in(table: TransactionTable, block: Block, items: Sequence[Item]) -> tuple[Bank, Indices]:
    return number_items(block, find_codes(items, table, block))


def _number_on(table: FeatureTable, items: Sequence[Item]) -> tuple[Bank, Indices]:
    return _bank_of_numbers(items, table), np.arange(len(items), dtype=np.int32)


def find_codes(items: Iterable[Item], table: TransactionTable, block: Block) -> list[tuple[int, tuple[int, ...]]]:
    """Return the column of each item in a block, and the codes for which it holds.

    Args:
        items: The items.
        table: The table.
        block: The block of the table.

    Raises:
        MiningError: If the block lacks a feature, or an item contains only a part of a bin.
    """
    columns = {column.feature: c for c, column in enumerate(block.columns)}
    out = []
    for item in items:
        if item.feature not in columns:
            table.locate(item.feature, block.pattern)  # raises, and names the nearest feature
        c = columns[item.feature]
        out.append((c, block.columns[c].codes_of(item)))
    return out


def number_items(block: Block, found: Sequence[tuple[int, Sequence[int]]]) -> tuple[Bank, Indices]:
    """Return the bitmaps of a block, extended by those of several codes, and the number of each item in them.

    Args:
        block: The block.
        found: The column of each item, and the codes for which it holds.
    """
    numbers = np.empty(len(found), np.int32)
    unions: list[tuple[int, Sequence[int]]] = []
    for i, (column, codes) in enumerate(found):
        members = [int(block.offsets[column]) + code for code in codes]
        if len(members) == 1:
            numbers[i] = members[0]
        else:
            numbers[i] = block.n_items + len(unions)
            unions.append((column, members))
    return block.bank.with_unions(unions), numbers


def _bank_of_numbers(items: Sequence[Item], table: FeatureTable) -> Bank:
    """The bitmaps of items on a table of numbers: one for each, in one embedding."""
    special = np.stack([np.zeros_like(full_mask(table.n_rows)), full_mask(table.n_rows)])
    held = np.stack([special[0], *(pack_mask(table.mask(item)) for item in items)])[1:]
    present = pack_mask(~np.isnan(table.numbers))
    complete = (present == special[EVERYWHERE]).all(axis=1)
    rows = np.arange(len(held) + len(present), dtype=np.int32)[:, None] + len(special)
    return Bank(
        np.concatenate([special, held, present]),
        rows[: len(held)],
        np.where(complete[:, None], EVERYWHERE, rows[len(held) :]).astype(np.int32),
        np.array([table.column(item.feature) for item in items], np.int32),
        table.n_rows,
    )


def group_by_pattern(rules: RuleSet, table: TransactionTable) -> list[tuple[str, int | None, Ints]]:
    """Group rules by the pattern that they are about.

    Args:
        rules: The rules.
        table: The table.

    Returns:
        Each pattern (empty for rules without one), the position of its block in the table (``None`` if it has no
        rows), and the positions of its rules.
    """
    if len(rules) == 0:
        return []
    if len(table.blocks) == 1 and rules.pattern_of is None:
        return [("", 0, np.arange(len(rules)))]
    blocks = {str(block.pattern or ""): at for at, block in enumerate(table.blocks)}
    own = rules.pattern_of if rules.pattern_of is not None else np.full(len(rules), -1)
    names = [pattern for pattern, _ in rules.patterns] + [""]
    return [
        (names[number], blocks.get(names[number]), np.flatnonzero(own == number)) for number in np.unique(own).tolist()
    ]


def group_by_block(rules: RuleSet, table: TransactionTable) -> list[tuple[int, Ints]]:
    """Group rules by the block of the table that they are about.

    Args:
        rules: The rules.
        table: The table.

    Returns:
        The position of each block that has rules, and the positions of its rules.

    Raises:
        MiningError: If the table has no block for the pattern of a rule.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> rules = recount(np.array([[0]]), np.array([2]), table)
        >>> [(at, chosen.tolist()) for at, chosen in group_by_block(rules, table)]
        [(0, [0])]
    """
    members: dict[int, list[Ints]] = {}
    for pattern, at, chosen in group_by_pattern(rules, table):
        if at is None:
            raise MiningError(f"the table has no rows for the pattern '{pattern}'", hint=_PATTERNS_HINT)
        members.setdefault(at, []).append(chosen)  # a pattern may be listed twice, with different English
    return [(at, np.sort(np.concatenate(members[at]))) for at in sorted(members)]


@dataclass(frozen=True)
class Missing:
    """Rules that cannot be counted on a table for the same reason.

    Args:
        reason: What the table does not have.
        rules: Number of rules.
        hint: What to do.
    """

    reason: str
    rules: int
    hint: str | None = None

    def __str__(self) -> str:
        count = f"{self.rules:,} rule{'' if self.rules == 1 else 's'}"
        return f"{count} {'is' if self.rules == 1 else 'are'} left out: {self.reason}"


def find_countable(rules: RuleSet, table: Table) -> tuple[npt.NDArray[np.bool_], list[Missing]]:
    """Find the rules that can be counted on a table: those whose pattern and features it has.

    Args:
        rules: The rules.
        table: The table.

    Returns:
        A flag per rule, and why the others cannot be counted.

    Examples:
        >>> import polars as pl
        >>> ab, cd = ({name: ["x", "y"] for name in names} for names in ("ab", "cd"))
        >>> from thence.statements.counting.recount import recount
        >>> rules = recount(np.array([[0]]), np.array([2]), TransactionTable.from_frame(pl.DataFrame(ab)))
        >>> countable, missing = find_countable(rules, TransactionTable.from_frame(pl.DataFrame(cd)))
        >>> countable.tolist(), missing[0].reason
        ([False], "the table has no feature '(a).value'")
    """
    countable = np.ones(len(rules), bool)
    reasons: dict[tuple[str, str | None], int] = {}
    key: tuple[str, str | None]
    for features, chosen, where in _features_by_rows(rules, table):
        if features is None:
            key = (f"the table has no rows for the pattern '{where}'", _PATTERNS_HINT)
            reasons[key] = reasons.get(key, 0) + len(chosen)
            countable[chosen] = False
            continue
        absent = [next((one for one in item.feature.parts if one not in features), None) for item in rules.items]
        lacking = np.array([*(one is not None for one in absent), False], bool)
        if not lacking.any():
            continue
        used = np.column_stack([rules.antecedents[chosen], rules.consequents[chosen]])
        first = np.where(lacking[used].any(axis=1), lacking[used].argmax(axis=1), -1)
        for row in np.flatnonzero(first >= 0).tolist():
            feature = absent[used[row, first[row]]]
            assert feature is not None
            key = (f"the table has no feature '{feature}'", _hint(feature, features))
            reasons[key] = reasons.get(key, 0) + 1
            countable[chosen[row]] = False
    return countable, [Missing(reason, count, hint) for (reason, hint), count in reasons.items()]


def _hint(feature: Feature, features: Iterable[Feature]) -> str | None:
    """What to do about a feature that is missing: derive it, if nothing like it was derived, or use a similar name."""
    known = list(features)
    if feature.time is not None and not any(f.time and f.time.derive == feature.time.derive for f in known):
        return f"pass derive={list(feature.time.derive)} when you build the table"
    return nearest(str(feature), [str(f) for f in known])


def _features_by_rows(rules: RuleSet, table: Table) -> Iterator[tuple[set[Feature] | None, Ints, str]]:
    """Yield the features of the rows that rules are about (``None`` without such rows), the rules, and the pattern."""
    if isinstance(table, FeatureTable):
        yield set(table.features), np.arange(len(rules)), ""
        return
    for pattern, at, chosen in group_by_pattern(rules, table):
        yield None if at is None else {column.feature for column in table.blocks[at].columns}, chosen, pattern
