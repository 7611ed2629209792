"""Which items of a block may stand on which side of a rule, and which must not stand together.

Constraints on items (``thence.rules.constraints``) become masks over the items of a block before a miner searches.
Nothing here searches or counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thence.rules.constraints import Constraint, alternatives
from thence.rules.items import Item, Role
from thence.tables.blocks import Block

__all__ = ["item_masks", "trivial_columns", "trivial_pairs", "without_trivial"]


def item_masks(
    block: Block, *, antecedent: Constraint = None, consequent: Constraint = None, context_consequents: bool = False
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which items of a block may stand in an antecedent, and which as a consequent.

    Constant columns and context (graph properties) are never consequents unless ``context_consequents``: a constant is
    implied by everything, so such rules say nothing.
    """
    left, right = block.minable.copy(), block.minable.copy()
    if not context_consequents:
        constant = np.array([column.is_constant for column in block.columns], bool)
        right &= ~block.context
        right &= ~constant[block.column_of_item]
    for side, constraint in ((left, antecedent), (right, consequent)):
        choices = alternatives(constraint)
        if choices is not None:
            side &= np.array([any(c.matches(block.item(i)) for c in choices) for i in range(block.n_items)], bool)
    return left, right


def trivial_columns(block: Block) -> npt.NDArray[np.bool_] | None:
    """``out[a, b]``: columns ``a`` and ``b`` must not stand in one rule, since one says what the other does.

    These are aggregates that read the same sensors (the total and the mean of the same pipes), and existential
    statements of which one implies the other: the same with fewer conditions. ``None``: there are none.
    """
    columns = block.columns
    pairs: set[tuple[int, int]] = set()
    readers: dict[str, list[int]] = {}
    families: dict[tuple[Any, ...], list[tuple[int, frozenset[Item]]]] = {}
    for c, column in enumerate(columns):
        feature = column.feature
        for token in feature.reads:
            readers.setdefault(token, []).append(c)
        if feature.role is Role.SOME and feature.where:
            key = (feature.subject, feature.label, feature.name, feature.where[-1])
            families.setdefault(key, []).append((c, frozenset(feature.where)))
    for members in readers.values():
        pairs |= {(a, b) for a in members for b in members if a != b}
    for family in families.values():
        pairs |= {(a, b) for a, more in family for b, fewer in family if a != b and (fewer < more or more < fewer)}
    if not pairs:
        return None
    out = np.zeros((len(columns), len(columns)), bool)
    out[tuple(np.array(sorted(pairs)).T)] = True
    return out


def trivial_pairs(block: Block) -> npt.NDArray[np.bool_] | None:
    """``trivial_columns``, item by item."""
    columns = trivial_columns(block)
    return None if columns is None else columns[block.column_of_item][:, block.column_of_item]


def without_trivial(
    antecedents: npt.NDArray[np.int32], consequents: npt.NDArray[np.int32], pairs: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which rules (item numbers, antecedents padded with −1) have no two items that must not stand together."""
    padded = np.pad(pairs, ((0, 1), (0, 1)))
    keep = ~padded[antecedents, consequents[:, None]].any(axis=1)
    width = antecedents.shape[1]
    for a in range(width):
        for b in range(a + 1, width):
            keep &= ~padded[antecedents[:, a], antecedents[:, b]]
    return np.asarray(keep)
