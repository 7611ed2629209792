"""Rules as item numbers of the bitmaps of a table, part by part, and what their consequents are about.

A *part* is what can be counted at once: the rules of one block of a table in the places of one site. A *target* is what
the consequent of a rule reads at a place: a sensor at a node. This module encodes; it counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.language.items import Aspect, Feature, Role
from thence.statements.counting.by_place import name_places
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.place_counts import count_places
from thence.tables.blocks import Block
from thence.tables.transactions import FeatureTable, TransactionTable

Indices = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]


@dataclass(frozen=True, order=True)
class Target:
    """What a consequent reads at a place.

    Args:
        node: The node; empty if it is not known, or if the rule is about some place of a class.
        sensor: The sensor; empty for aggregates, properties and statements about some sensor.
    """

    node: str
    sensor: str


@dataclass(frozen=True, eq=False)
class Part(EncodedBlock):
    """The rules of one block at one site, as item numbers of its bitmaps.

    Args:
        slots: The row of ``targets`` of each rule.
        targets: Matrix (slots × embeddings) of positions in the list of targets.
        times: Start of each frame; ``None`` if frames have no time.
        embeddings: Positions of the embeddings in the block.
        site: The name of the site; empty if there is one.
    """

    slots: Indices
    targets: Indices
    times: Times | None
    embeddings: Ints
    site: str = ""

    def place_names(self) -> list[str]:
        """Return the name of each embedding; one empty string if the rules are about the whole system."""
        if self.block is None or not self.block.is_lifted:
            return [""] * self.bank.n_embeddings
        return name_places(self.block, self.embeddings.tolist())

    def count_places(self, at: int) -> Ints:
        """Return the states of one rule of the part by embedding: satisfied, violated, not applicable, missing.

        Args:
            at: Position of the rule in the part.
        """
        found = count_places(self.bank, antecedent=self.antecedents[at], consequent=int(self.consequents[at]))
        n, n_antecedent, _, n_both, _ = found.T
        return np.stack([n_both, n_antecedent - n_both, n - n_antecedent, self.bank.frames_of - n], axis=1)


def encode_rules(
    rules: RuleSet, table: TransactionTable | FeatureTable, *, times: Times | None = None
) -> tuple[list[Part], list[Target]]:
    """Encode rules whose patterns and features a table has.

    Args:
        rules: The rules.
        table: The table.
        times: Start of each row of a feature table, which has no times of its own.

    Returns:
        The parts, and the targets to which their numbers refer.

    Raises:
        MiningError: If the table lacks the pattern or a feature of a rule, or an item contains only a part of a bin.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "v"]}))
        >>> (part,), targets = encode_rules(recount(np.array([[0]]), np.array([2]), table), table)
        >>> part.count_places(0).tolist(), targets
        ([[1, 1, 1, 0]], [Target(node='', sensor='b')])
    """
    numbers: dict[Target, int] = {}
    parts = []
    for one in encode_blocks(rules, table):
        concluded = [rules.items[i].feature for i in rules.consequents[one.rules]]
        slots, targets = _find_targets(concluded, one.block, numbers)
        own = times if one.block is None else one.block.times
        parts += _split_sites(
            Part(**vars(one), slots=slots, targets=targets, times=own, embeddings=np.arange(one.bank.n_embeddings))
        )
    return parts, list(numbers)


def _split_sites(part: Part) -> list[Part]:
    """Return one part per site: the same frame number is another time at another site."""
    block = part.block
    if block is None or block.site_of is None:
        return [part]
    out = []
    for number, (site, bank) in enumerate(zip(block.sites, part.bank.sites(), strict=True)):
        own = np.flatnonzero(block.site_of == number)
        if len(own):
            split = replace(part, bank=bank, targets=part.targets[:, own], times=site.times, site=site.name)
            out.append(replace(split, embeddings=own))
    return out


def _find_targets(
    features: Sequence[Feature], block: Block | None, numbers: dict[Target, int]
) -> tuple[Indices, Indices]:
    """Return the slot of each consequent, and the target of each slot in each embedding; new targets get a number."""
    slots: dict[Feature, int] = {}
    for feature in features:
        slots.setdefault(feature, len(slots))
    rows: list[list[int]] = []
    for feature in slots:
        found = targets_of(feature, block)
        rows.append([numbers.setdefault(target, len(numbers)) for target in found])
    return np.array([slots[feature] for feature in features], np.int32), np.array(rows, np.int32)


def targets_of(feature: Feature, block: Block | None) -> list[Target]:
    """Return what a feature reads in each embedding of a block.

    Args:
        feature: The feature.
        block: The block that it belongs to; ``None`` for a table of numbers, which has one embedding.
    """
    number = 1 if block is None else block.n_embeddings
    if feature.role is Role.SENSOR:
        return [Target(feature.place, feature.subject)] * number
    if feature.role in (Role.NODE, Role.EDGE):
        return [Target(feature.subject, "")] * number
    if feature.role is not Role.VARIABLE or block is None or block.pattern is None:
        return [Target("", "")] * number
    at = {name: place for place, name in enumerate(block.pattern.variables)}
    reads = feature.aspect is Aspect.MEASUREMENT
    node = at.get((feature.place or feature.subject) if reads else feature.subject)
    is_sensor = reads and any(variable.name == feature.subject for variable in block.pattern.sensors)
    sensor = at.get(feature.subject) if is_sensor else None
    known: dict[tuple[str, str], Target] = {}
    out = []
    for names in block.embeddings:
        key = ("" if node is None else names[node], "" if sensor is None else names[sensor])
        out.append(known.setdefault(key, Target(*key)))
    return out
