"""Rules site by site: counts, support and confidence on each of several systems that were mined together.

Sites have no rows in common, so their counts add up to those of the whole table. This module counts on the part of a
table that belongs to a site; it tests and selects nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from thence.errors import MiningError
from thence.statements.counting.encoding import find_countable
from thence.statements.counting.recount import count_rules_of
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["by_site", "count_sites", "with_site_columns"]


def count_sites(rules: RuleSet, table: TransactionTable, *, denominator: str = "present") -> dict[str, Counts]:
    """Count rules on each site of a table.

    Args:
        rules: The rules.
        table: A table of several systems.
        denominator: As in ``count_rules_of``.

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
            own = count_rules_of(rules.take(chosen), part, denominator=denominator).counts
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
        >>> th.by_site(run.rules, run.table).columns
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
        denominator: As in ``count_rules_of``.
    """
    if not table.sites:
        return rules
    extras = dict(rules.extras)
    for name, counts in count_sites(rules, table, denominator=denominator).items():
        with np.errstate(invalid="ignore"):
            extras[f"support_{name}"] = counts.n_both / counts.n
            extras[f"confidence_{name}"] = counts.n_both / counts.n_antecedent
    return replace(rules, extras=extras)
