"""Naive SemRL (Karabulut et al. 2023): existential enrichment and an exhaustive miner, as one named method.

An item of an existential table says "some flow sensor in a pipe of length 843–895 m reads 23–31 m³/h", so a rule holds
if any sensor makes it true. Naive SemRL mines such a table exhaustively. By default the rules have one consequent, each
rule is returned once, and rules that follow from their items alone are left out.

The published code differs, and its results can only be compared with others if the differences are known.
``published_encoding=True`` reproduces them on the same table:

* it keeps an attributed item and the bare item that it implies ("some flow sensor in a pipe reads 23–31") in one rule,
  which gives rules that cannot fail, with confidence 1;
* it splits every frequent itemset in all ways, also into consequents of several items, applies ``min_confidence`` to
  *these* rules, and then keeps only the first item of the consequent;
* it does not remove the duplicates that result;
* it counts over all rows, including those with missing values.

What the published code does before it has a table (missing values become zero, averages are rounded to integers, bins
are closed at both ends) is reproduced by ``thence.lab.experiments.samples`` only. Note also that its
comparison of "with semantics" and "without" changes two things at once: existential items drop
the identity of the sensors, plain items keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from thence._base.progress import Progress, silent
from thence._base.settings.typed import number
from thence.errors import ConfigError, MiningError
from thence.lab.baselines.exhaustive import FPGrowth, HMine, ItemsetMiner
from thence.search.codes import require_codes
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable


@dataclass(frozen=True, kw_only=True)
class NaiveSemRL(ItemsetMiner):
    """Mine every rule of an existential table that meets the thresholds (Karabulut et al. 2023).

    Args:
        algorithm: ``"fpgrowth"``, ``"hmine"`` or ``"exact"``; all three find the same rules. The first two need mlxtend
            (``pip install 'thence[baselines]'``).
        published_encoding: Whether to reproduce the flaws of the published code, for comparison only. The guide on
            baselines lists them. It sets the next three settings, and counts over all rows.
        consequents: ``"one"`` makes rules with one consequent. ``"cut"`` makes rules with consequents of any length,
            applies ``min_confidence`` to them and keeps the first item of the consequent.
        duplicates: Whether to ``"drop"`` or ``"keep"`` the duplicates that result from ``consequents="cut"``.
        implied: Whether to ``"drop"`` or ``"keep"`` rules in which one item implies another.
        min_support: The lowest support of a rule, above 0 and at most 1.
        min_confidence: The lowest confidence of a rule, from 0 to 1.
        max_antecedents: The largest number of antecedent items.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> NaiveSemRL(algorithm="exact", min_support=0.1).label
        'Naive SemRL (exact)'
    """

    name: ClassVar[str] = "naive-semrl"
    enrichment: ClassVar[str] = "existential"

    algorithm: Literal["fpgrowth", "hmine", "exact"] = "fpgrowth"
    published_encoding: bool = False
    min_support: float = number(0.2, above=0, most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        flaws = self.published_encoding or (self.consequents, self.duplicates, self.implied) != ("one", "drop", "drop")
        if flaws and self.algorithm == "exact":
            raise ConfigError(
                "the published encoding needs frequent itemsets, which the exact miner does not list",
                hint="use algorithm='fpgrowth' or 'hmine'",
            )

    @property
    def label(self) -> str:
        """The name of the method in tables of results."""
        return f"Naive SemRL ({self.algorithm}{', published encoding' if self.published_encoding else ''})"

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """Return all rules of an existential table that meet the thresholds, with exact counts.

        Args:
            table: A discretized table with existential enrichment.
            progress: Called as mining advances.

        Raises:
            MissingExtraError: If mlxtend is needed and not installed.
            MiningError: If the table is of another kind or has another enrichment.
        """
        require_codes(table, self.name)
        if table.enrichment != "existential":
            raise MiningError(
                f"{self.name} needs an existential table, got the enrichment '{table.enrichment}'",
                hint="pass th.transactions(…, enrich='existential')",
            )
        if table.n_rows == 0:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        kinds: dict[str, type[FPGrowth] | type[HMine] | type[Exact]]
        kinds = {"fpgrowth": FPGrowth, "hmine": HMine, "exact": Exact}
        return kinds[self.algorithm](
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            max_antecedents=self.max_antecedents,
            antecedent=self.antecedent,
            consequent=self.consequent,
            **self._flaws(),
        ).mine(table, progress=progress)

    def _flaws(self) -> dict[str, Any]:
        """Return the settings of the exhaustive miner that reproduce the published code."""
        if self.published_encoding:
            published = {"consequents": "cut", "duplicates": "keep", "implied": "keep"}
            return {**published, "context_consequents": True, "denominator": "all"}
        if self.algorithm == "exact":
            return {}
        return {"consequents": self.consequents, "duplicates": self.duplicates, "implied": self.implied}
