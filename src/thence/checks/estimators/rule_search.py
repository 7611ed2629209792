"""The rules of a labelled table: mined exactly, kept if they beat the share of their class, and selected by cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.language.constraints import ItemFilter
from thence.language.items import Item
from thence.search.exact.miner import Exact
from thence.statements.rules.prediction import order_best_first
from thence.statements.rules.ruleset import RuleSet
from thence.tables.matching import column_of
from thence.tables.transactions import TransactionTable

BoolArray = npt.NDArray[np.bool_]


def select_covering(
    order: Sequence[int],
    applies: Callable[[int], BoolArray],
    says: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    *,
    covers: int,
) -> tuple[list[int], BoolArray]:
    """Select rules until every row that can be is right ``covers`` times.

    Args:
        order: The rules, the most trusted first.
        applies: Returns the rows to which a rule applies.
        says: The class that each rule concludes.
        classes: The class of each row.
        covers: How many kept rules shall be right about a row.

    Returns:
        The kept rules in order, and whether each row is one to which a kept rule applies.

    Examples:
        >>> masks = [np.array([True, True, False]), np.array([True, False, False]), np.array([False, False, True])]
        >>> says, classes = np.array([0, 0, 1]), np.array([0, 0, 1])
        >>> kept, reached = select_covering([0, 1, 2], masks.__getitem__, says, classes, covers=1)
        >>> kept, reached.tolist()
        ([0, 2], [True, True, True])
    """
    needed = np.full(len(classes), covers, np.int64)
    reached = np.zeros(len(classes), bool)
    kept: list[int] = []
    for rule in order:
        if not (needed > 0).any():
            break
        rows = applies(rule)
        right = rows & (classes == says[rule])
        if (right & (needed > 0)).any():
            kept.append(rule)
            needed[right] -= 1
            reached |= rows
    return kept, reached


@dataclass(frozen=True, eq=False)
class ClassRules:
    """Rules that conclude a class.

    Args:
        rules: The rules, the most trusted first.
        says: The class that each rule concludes, as a position.
        reached: Whether each row is one to which a rule applies.
    """

    rules: RuleSet
    says: npt.NDArray[np.int64]
    reached: BoolArray


def search_rules(
    table: TransactionTable,
    codes: npt.NDArray[np.int64],
    *,
    max_antecedents: int,
    min_support: float,
    min_confidence: float | None,
    covers: int,
) -> ClassRules:
    """Mine and select the rules of a table whose last column is the class.

    Args:
        table: The table.
        codes: The class of each row.
        max_antecedents: The largest number of items in an antecedent.
        min_support: The lowest support of a rule.
        min_confidence: The lowest confidence of a rule; by default 0.5, or twice the share of its class if that is
            less. Rules must be more confident than the share of their class in any case.
        covers: How many rules shall be right about a row.
    """
    target = table.blocks[0].columns[-1]
    number = {Item.is_(target.feature, value): code for code, value in enumerate(target.values)}
    share = np.bincount(codes, minlength=len(target.values)) / max(len(codes), 1)
    floors = np.minimum(0.5, 2 * share) if min_confidence is None else np.full(len(share), min_confidence)
    least = float(floors[share > 0].min()) if (share > 0).any() else 0.5
    miner = Exact(
        max_antecedents=max_antecedents,
        min_support=min_support,
        min_confidence=least,
        consequent=ItemFilter(feature=_literal(str(target.feature))),
    )
    found = miner.mine(table)
    says = np.array([number[found.items[at]] for at in found.consequents.tolist()], np.int64)
    confidence = found.measure("confidence")
    strong = (confidence >= floors[says]) & (confidence > share[says]) if len(found) else np.zeros(0, bool)
    found, says = found.take(np.flatnonzero(strong)), says[strong]
    masks = _ItemMasks(table)

    def applies(rule: int) -> BoolArray:
        return masks.antecedent([found.items[at] for at in found.antecedents[rule].tolist() if at >= 0])

    order = order_best_first(found, classes=len(target.values)).tolist()
    kept, reached = select_covering(order, applies, says, codes, covers=covers)
    chosen = np.array(kept, np.int64)
    note = f"kept {len(kept):,} of {len(found):,} rules, so that every row is covered {covers} times if it can be"
    return ClassRules(replace(found.take(chosen), notes=(note,)), says[chosen], reached)


def _literal(text: str) -> str:
    """A pattern that matches a text only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


class _ItemMasks:
    """The rows of a table that satisfy items; each item is looked up once."""

    def __init__(self, table: TransactionTable) -> None:
        block = table.blocks[0]
        self._columns = {column_of(column.feature): (column, column.codes[0]) for column in block.columns}
        self._masks: dict[Item, BoolArray] = {}
        self._n_rows = block.n_rows

    def mask(self, item: Item) -> BoolArray:
        """Return the rows that satisfy an item."""
        if item not in self._masks:
            column, codes = self._columns[item.feature.subject]
            hits = [code for code, value in enumerate(column.values) if item.holds(value)]
            self._masks[item] = np.isin(codes, hits)
        return self._masks[item]

    def antecedent(self, items: list[Item]) -> BoolArray:
        """Return the rows that satisfy all items."""
        out = np.ones(self._n_rows, bool)
        for item in items:
            out &= self.mask(item)
        return out
