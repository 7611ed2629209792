"""Rules place by place, and site by site: the counts of a rule in each embedding of its pattern, and on each system.

Places have no rows in common, and nor have sites, so their counts add up to those of the whole table. This module
counts and names places; it judges and selects nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from thence.errors import MiningError
from thence.statements.counting.encoding import encode_blocks, find_countable
from thence.statements.counting.recount import count_rules
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import Ints
from thence.tables.bitmaps.place_counts import count_places
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class CountsByPlace:
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


def count_by_place(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> Iterator[CountsByPlace]:
    """Count rules in each place, one rule after the other.

    Meant for the rules that somebody reads: the work grows with rules × places × frames.

    Args:
        rules: The rules.
        table: The table to count on.
        denominator: As in ``count_rules``.

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
            yield CountsByPlace(rule, part.block, *found.T)


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


def count_sites(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> dict[str, Counts]:
    """Count rules on each site of a table.

    Args:
        rules: The rules.
        table: A table of several systems.
        denominator: As in ``count_rules``.

    Returns:
        The counts of all rules by name of the site; they are 0 where a site has no place for the pattern of a rule.

    Raises:
        MiningError: If the table is of one system only.
    """
    if not table.sites:
        raise MiningError("the table is of one system", hint="build it from several: th.transactions([a, b])")
    out = {}
    for name in table.sites:
        part = table.at_site(name)
        found = np.zeros((5, len(rules)), np.int64)
        chosen = np.flatnonzero(find_countable(rules, part)[0])
        if len(chosen):
            own = count_rules(rules.take(chosen), part, denominator=denominator).counts
            found[:, chosen] = np.stack([own.n, own.n_antecedent, own.n_consequent, own.n_both, own.n_rows])
        out[name] = Counts(*found)
    return out


def by_site(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> pl.DataFrame:
    """Return support and confidence of rules on each of several systems that were mined together.

    Args:
        rules: The rules.
        table: A table of several systems, such as ``run.table``.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.

    Returns:
        A frame with a row per rule and site: the position of the rule, its sentence, the site, the number of rows over
        which it is counted, in which it applies and in which it holds, its support and its confidence. Support is null
        where a site has no rows for the rule, and confidence where the rule never applied.

    Raises:
        MiningError: If the table is of one system only.

    Examples:
        >>> import thence as th
        >>> from dataclasses import replace
        >>> toy = th.datasets.load("toy")
        >>> sites = [replace(toy, name="north"), replace(toy.between("2024-01-01T12:00"), name="south")]
        >>> run = th.mine(sites, windows="1h", bins=3, progress="off")
        >>> th.evaluate.by_site(run.rules, run.table).columns
        ['rule', 'english', 'site', 'rows', 'applies', 'holds', 'support', 'confidence']
    """
    import polars as pl

    counted = count_sites(rules, table, denominator=denominator)
    sentences = [rule.english for rule in rules]
    frames = [
        pl.DataFrame(
            {
                "rule": np.arange(len(rules)),
                "english": pl.Series(sentences, dtype=pl.String),
                "site": pl.Series([name] * len(rules), dtype=pl.String),
                "rows": counts.n,
                "applies": counts.n_antecedent,
                "holds": counts.n_both,
            }
        )
        for name, counts in counted.items()
    ]
    return (
        pl.concat(frames)
        .with_columns(
            support=pl.when(pl.col("rows") > 0).then(pl.col("holds") / pl.col("rows")),
            confidence=pl.when(pl.col("applies") > 0).then(pl.col("holds") / pl.col("applies")),
        )
        .sort("rule", maintain_order=True)
    )


def with_site_columns(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> RuleSet:
    """Add the columns ``support_<site>`` and ``confidence_<site>`` for each site of a table of several systems.

    Args:
        rules: The rules.
        table: The table; one of a single system adds nothing.
        denominator: As in ``count_rules``.
    """
    if not table.sites:
        return rules
    extras = dict(rules.extras)
    for name, counts in count_sites(rules, table, denominator=denominator).items():
        with np.errstate(invalid="ignore"):
            extras[f"support_{name}"] = counts.n_both / counts.n
            extras[f"confidence_{name}"] = counts.n_both / counts.n_antecedent
    return replace(rules, extras=extras)
