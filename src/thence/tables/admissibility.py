"""Masks over the items of a block: which are allowed on which side of a rule, and which must not occur together.

Constraints on items (``thence.language.constraints``) become masks before a miner searches. This module must not search
or count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError
from thence.language.constraints import Constraint, explain_no_match, list_alternatives
from thence.language.items import Aspect, Feature, Item, Role
from thence.language.names import means_setpoint
from thence.language.time_names import Tense, TimeForm, TimeName
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable


def item_masks(
    block: Block, *, antecedent: Constraint = None, consequent: Constraint = None, context_consequents: bool = False
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Find the items of a block that are allowed in antecedents and as consequents.

    Args:
        block: The block.
        antecedent: Constraint on the items of antecedents.
        consequent: Constraint on consequents.
        context_consequents: Whether constant columns and context columns (graph properties) may be consequents. Any
            antecedent implies a constant, so by default such rules are excluded. A reading that never changes says
            nothing in an antecedent either, and is excluded from both sides. An item of every basket is kept. Set
            points are no consequents unless a constraint asks for them.

    What will be is never in an antecedent, and what was is never a consequent, whatever the settings say.

    Returns:
        Two masks over the items of the block, for antecedents and for consequents.
    """
    left, right = block.minable.copy(), block.minable.copy()
    if not context_consequents:
        constant = np.array([column.is_constant and not column.feature.presence for column in block.columns], bool)
        reading = np.array([column.feature.aspect is Aspect.MEASUREMENT for column in block.columns], bool)
        right &= ~block.context
        right &= ~constant[block.column_of_item]
        if consequent is None:
            # What somebody sets is a reference for the readings: they do not say what it is.
            right &= ~np.array([_is_setpoint(column.feature) for column in block.columns], bool)[block.column_of_item]
        left &= ~(constant & reading & ~np.array([c.context for c in block.columns], bool))[block.column_of_item]
    for side, tense in ((left, Tense.FUTURE), (right, Tense.PAST)):
        wrong = np.array([_tense(column.feature) is tense for column in block.columns], bool)
        if wrong.any():
            side &= ~wrong[block.column_of_item]
    for side, constraint in ((left, antecedent), (right, consequent)):
        choices = list_alternatives(constraint)
        if choices is not None:
            side &= np.array([any(c.matches(block.item(i)) for c in choices) for i in range(block.n_items)], bool)
    return left, right


def require_matches(
    table: TransactionTable,
    *,
    antecedent: Constraint = None,
    consequent: Constraint = None,
    context_consequents: bool = False,
) -> None:
    """Raise if no item of a table can be on a side of a rule, before a miner searches in vain.

    Args:
        table: The table.
        antecedent: Constraint on the items of antecedents.
        consequent: Constraint on consequents.
        context_consequents: As in ``item_masks``.

    Raises:
        ConfigError: If nothing fits a constraint; it suggests the nearest name, or says why what fits is not allowed.
    """
    for side, constraint in (("antecedent", antecedent), ("consequent", consequent)):
        if constraint is None or not table.n_items:
            continue
        if problem := explain_no_match(table.iter_items(), side, constraint):
            raise ConfigError(problem)
        settings: Any = {side: constraint, "context_consequents": context_consequents}
        at = 0 if side == "antecedent" else 1
        if not any(item_masks(block, **settings)[at].any() for block in table.blocks):
            choices = list_alternatives(constraint) or ()
            fitting = next(item for item in table.iter_items() if any(choice.matches(item) for choice in choices))
            if _tense(fitting.feature) is (Tense.FUTURE if side == "antecedent" else Tense.PAST):
                when = "what will be" if side == "antecedent" else "what was"
                raise ConfigError(
                    f"'{fitting.feature}' cannot be in the {side}: it says {when}",
                    hint=f"use it in the {'consequent' if side == 'antecedent' else 'antecedent'}",
                )
            raise ConfigError(
                f"'{fitting.feature}' cannot be in the {side}: it is constant, or a fact of the graph",
                hint="set context_consequents=True to allow it" if side == "consequent" else "choose another feature",
            )


def _is_setpoint(feature: Feature) -> bool:
    if feature.aspect is not Aspect.MEASUREMENT or feature.role is Role.TIME or feature.presence:
        return False
    return means_setpoint(feature.label or feature.subject)


def _tense(feature: Feature) -> Tense | None:
    return None if feature.time is None else feature.time.tense


def trivial_columns(block: Block) -> npt.NDArray[np.bool_] | None:
    """Find pairs of columns of which one determines much of the other, so that a rule with both would be trivial.

    These are aggregates of the same sensors (the total and the mean of the same pipes), and existential statements of
    which one implies the other: it has the same conditions and more, or it is about a subclass. Conditions of a class
    and of a subclass count as the same if they overlap, since each class has bins of its own. So are a class of a
    variable and its superclass.

    So are two features of the same reading of which one is about time: that a flow was low half an hour ago and is low
    now is persistence, and a pump that switches on is on. The exception is a switch that follows, beside the present
    state or how long another state has lasted: "is off", or "has been off for 4–8 h", and "switches to on within the
    next hour". A statement about some sensor of a kind counts as one about the same reading as another statement about
    the kind.

    Args:
        block: The block.

    Returns:
        A symmetric mask (columns × columns), or ``None`` if there are no such pairs.
    """
    columns = block.columns
    pairs: set[tuple[int, int]] = set()
    readers: dict[str, list[int]] = {}
    statements: dict[tuple[str, str], dict[tuple[Any, ...], dict[Any, int]]] = {}
    labels: dict[str, list[int]] = {}
    alike: dict[tuple[str, str], list[tuple[int, TimeName | None]]] = {}
    for c, column in enumerate(columns):
        feature = column.feature
        if feature.aspect is Aspect.MEASUREMENT and feature.role is not Role.TIME and not feature.reads:
            subject = feature.label if feature.role is Role.SOME else feature.subject
            alike.setdefault((feature.role, subject), []).append((c, feature.time))
        for token in feature.reads:
            readers.setdefault(token, []).append(c)
        if feature.role is Role.SOME and feature.where:
            prefix = (feature.subject, feature.where[:-1], feature.classes)
            tested = (feature.where[-1].operator, feature.where[-1].value)
            kind = statements.setdefault((feature.label, feature.name), {})
            kind.setdefault(prefix, {})[tested] = c
        if feature.role is Role.VARIABLE and feature.aspect is Aspect.LABEL:
            labels.setdefault(feature.subject, []).append(c)
    for members in readers.values():
        pairs |= {(a, b) for a in members for b in members if a != b}
    for kind in statements.values():
        for (special, where, classes), own in kind.items():
            for (general, fewer, _), other in kind.items():
                if own is not other and _narrows(special, where, classes, general, fewer):
                    found = [(own[tested], other[tested]) for tested in own.keys() & other.keys()]
                    pairs |= {pair for a, b in found for pair in ((a, b), (b, a))}
    for members in labels.values():
        implied = {(a, b) for a in members for b in members if columns[b].feature.name in columns[a].feature.classes}
        pairs |= {pair for a, b in implied if a != b for pair in ((a, b), (b, a))}
    echoes = [same for same in alike.values() if any(found is not None for _, found in same)]
    if not pairs and not echoes:
        return None
    out = np.zeros((len(columns), len(columns)), bool)
    for same in echoes:
        _mark_echoes(out, same)
    if pairs:
        out[tuple(np.array(sorted(pairs)).T)] = True
    return out


def _mark_echoes(out: npt.NDArray[np.bool_], same: Sequence[tuple[int, TimeName | None]]) -> None:
    """Mark the pairs of features of the same reading of which one is about time."""
    every = [c for c, _ in same]
    timed = [c for c, found in same if found is not None]
    present = [(c, "") for c, found in same if found is None]
    lasting = [(c, found.state) for c, found in same if found is not None and found.form is TimeForm.DURATION]
    following = [(c, found.state) for c, found in same if found is not None and found.is_switch]
    apart = [(a, b) for a, state in (*present, *lasting) for b, other in following if state != other]
    kept = out[tuple(np.array(apart, np.int64).reshape(-1, 2).T)]
    out[np.ix_(timed, every)] = True
    out[np.ix_(every, timed)] = True
    out[every, every] = False
    for (a, b), before in zip(apart, kept.tolist(), strict=True):
        out[a, b] = out[b, a] = before


def _narrows(
    special: str, where: tuple[Item, ...], classes: frozenset[str], general: str, fewer: tuple[Item, ...]
) -> bool:
    """Whether nodes of one class with conditions are, by construction, nodes of another class with other conditions.

    Args:
        special: The class.
        where: Its conditions.
        classes: The classes that all nodes of which the statement speaks belong to.
        general: The other class; empty for any node.
        fewer: Its conditions.
    """
    if special == general:
        return set(fewer) < set(where)
    if general and general not in classes:
        return False
    return all(any(a.feature.name == b.feature.name and _overlap(a, b) for a in where) for b in fewer)


def _overlap(a: Item, b: Item) -> bool:
    """Whether two conditions on the same property have values in common."""
    if a.interval is None or b.interval is None:
        return a.value == b.value
    return a.interval.low < b.interval.high and b.interval.low < a.interval.high


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
