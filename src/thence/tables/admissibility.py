"""Masks over the items of a block: which are allowed on which side of a rule, and which must not occur together.

Constraints on items (``thence.rules.constraints``) become masks before a miner searches. This module must not search or
count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thence.rules.constraints import Constraint, list_alternatives
from thence.rules.items import Item, Role
from thence.tables.blocks import Block

__all__ = ["item_masks", "trivial_columns", "trivial_pairs", "without_trivial"]


def item_masks(
    block: Block, *, antecedent: Constraint = None, consequent: Constraint = None, context_consequents: bool = False
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Find the items of a block that are allowed in antecedents and as consequents.

    Args:
        block: The block.
        antecedent: Constraint on the items of antecedents.
        consequent: Constraint on consequents.
        context_consequents: Whether constant columns and context columns (graph properties) may be consequents. Any
            antecedent implies a constant, so by default such rules are excluded.

    Returns:
        Two masks over the items of the block, for antecedents and for consequents.
    """
    left, right = block.minable.copy(), block.minable.copy()
    if not context_consequents:
        constant = np.array([column.is_constant for column in block.columns], bool)
        right &= ~block.context
        right &= ~constant[block.column_of_item]
    for side, constraint in ((left, antecedent), (right, consequent)):
        choices = list_alternatives(constraint)
        if choices is not None:
            side &= np.array([any(c.matches(block.item(i)) for c in choices) for i in range(block.n_items)], bool)
    return left, right


def trivial_columns(block: Block) -> npt.NDArray[np.bool_] | None:
    """Find pairs of columns of which one determines much of the other, so that a rule with both would be trivial.

    These are aggregates of the same sensors (the total and the mean of the same pipes), and existential statements that
    imply each other because one has the conditions of the other and more.

    Args:
        block: The block.

    Returns:
        A symmetric mask (columns × columns), or ``None`` if there are no such pairs.
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
    """Return ``trivial_columns`` of a block as a mask (items × items)."""
    columns = trivial_columns(block)
    return None if columns is None else columns[block.column_of_item][:, block.column_of_item]


def without_trivial(
    antecedents: npt.NDArray[np.int32], consequents: npt.NDArray[np.int32], pairs: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Find the rules without a trivial pair of items.

    Args:
        antecedents: Matrix (rules × items) of item numbers, padded with −1.
        consequents: One item number per rule.
        pairs: The mask that ``trivial_pairs`` returned.

    Returns:
        A mask over the rules.
    """
    padded = np.pad(pairs, ((0, 1), (0, 1)))
    keep = ~padded[antecedents, consequents[:, None]].any(axis=1)
    width = antecedents.shape[1]
    for a in range(width):
        for b in range(a + 1, width):
            keep &= ~padded[antecedents[:, a], antecedents[:, b]]
    return np.asarray(keep)
