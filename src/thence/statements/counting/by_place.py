"""Rules place by place: the counts of a rule in each embedding of its pattern.

Places have no rows in common, so their counts add up to those of the whole table. This module counts and names places;
it judges and selects nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.statements.counting.encoding import encode_blocks
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.place_counts import count_places
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

__all__ = ["PlaceCounts", "count_by_place", "find_lifted", "name_places"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlaceCounts:
    """The counts of one rule in each place; one entry per embedding of the block.

    Args:
        rule: Position of the rule.
        block: The block that the rule is about.
        n: Number of rows over which the rule is counted.
        n_antecedent: Number of rows in which the antecedent holds.
        n_consequent: Number of rows in which the consequent holds.
        n_both: Number of rows in which both hold.
        episodes: Number of runs of successive rows in which the antecedent holds.
    """

    rule: int
    block: Block
    n: Ints
    n_antecedent: Ints
    n_consequent: Ints
    n_both: Ints
    episodes: Ints


def count_by_place(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> Iterator[PlaceCounts]:
    """Count rules in each place, one rule after the other.

    Meant for the rules that somebody reads: the work grows with rules × places × frames.

    Args:
        rules: The rules.
        table: The table to count on.
        denominator: As in ``count_rules_of``.

    Yields:
        The counts of each rule, block by block.

    Raises:
        MiningError: If the table lacks the pattern or a feature of a rule, or an item contains only a part of a bin.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "v"]}))
        >>> counted, = count_by_place(recount(np.array([[0]]), np.array([2]), table), table)
        >>> counted.n_antecedent.tolist(), counted.n_both.tolist(), counted.episodes.tolist()
        ([2], [1], [1])
    """
    for part in encode_blocks(rules, table):
        assert part.block is not None
        for at, rule in enumerate(part.rules.tolist()):
            antecedent, consequent = part.antecedents[at], int(part.consequents[at])
            found = count_places(part.bank, antecedent=antecedent, consequent=consequent, denominator=denominator)
            yield PlaceCounts(rule, part.block, *found.T)


def find_lifted(rules: RuleSet, table: TransactionTable) -> Ints:
    """Return the positions of the rules about blocks with places.

    Args:
        rules: The rules.
        table: The table.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}))
        >>> find_lifted(recount(np.array([[0]]), np.array([2]), table), table).tolist()
        []
    """
    lifted = {str(block.pattern or "") for block in table.blocks if block.is_lifted}
    flags = np.array([*(pattern in lifted for pattern, _ in rules.patterns), "" in lifted], bool)
    own = np.full(len(rules), -1) if rules.pattern_of is None else rules.pattern_of
    return np.flatnonzero(flags[own])


def name_places(block: Block, embeddings: Iterable[int]) -> list[str]:
    """Return the names of places: their nodes, and their sensors too where several places have the same nodes.

    Args:
        block: The block.
        embeddings: Positions of the embeddings.

    Examples:
        >>> name_places(Block((), 3, 2, embeddings=(("pump 1",), ("pump 2",))), [1])
        ['pump 2']
    """
    if block.pattern is None:
        return [" – ".join(block.embeddings[embedding]) for embedding in embeddings]
    nodes = len(block.pattern.nodes)
    often = Counter(names[:nodes] for names in block.embeddings)
    out = []
    for embedding in embeddings:
        names = block.embeddings[embedding]
        sensors = [sensor for sensor in names[nodes:] if sensor] if often[names[:nodes]] > 1 else []
        out.append(" – ".join(names[:nodes]) + (f" ({', '.join(sensors)})" if sensors else ""))
    return out
