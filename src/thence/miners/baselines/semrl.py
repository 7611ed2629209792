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

What the published code does before it has a table is not reproduced: missing values become zero, averages are rounded
to integers, and bins are closed at both ends. Note also that its comparison of "with semantics" and "without" changes
two things at once: existential items drop the identity of the sensors, plain items keep it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from thence.counting.recount import recount
from thence.errors import ConfigError, MiningError
from thence.miners.baselines.exhaustive import FPGrowth, HMine, SupportFromRules, check_thresholds, find_frequent_sets
from thence.miners.codes import require_codes
from thence.miners.exact.miner import Exact
from thence.progress import Progress, silent
from thence.rules.bounds import exact_threshold
from thence.rules.constraints import Constraint
from thence.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks
from thence.tables.transactions import TransactionTable

__all__ = ["NaiveSemRL"]


@dataclass(frozen=True, kw_only=True)
class NaiveSemRL(SupportFromRules):
    """Mine every rule of an existential table that meets the thresholds (Karabulut et al. 2023).

    Args:
        algorithm: ``"fpgrowth"``, ``"hmine"`` or ``"exact"``; all three find the same rules. The first two need mlxtend
            (``pip install 'thence[baselines]'``).
        published_encoding: Whether to reproduce the flaws of the published code, for comparison only. The guide on
            baselines lists them.
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
    exhaustive: ClassVar[bool] = True

    algorithm: Literal["fpgrowth", "hmine", "exact"] = "fpgrowth"
    published_encoding: bool = False
    min_support: float = 0.2
    min_confidence: float = 0.8
    max_antecedents: int = 2
    antecedent: Constraint = None
    consequent: Constraint = None

    def __post_init__(self) -> None:
        if self.algorithm not in ("fpgrowth", "hmine", "exact"):
            raise ConfigError(f"unknown algorithm '{self.algorithm}'", hint="use 'fpgrowth', 'hmine' or 'exact'")
        if self.published_encoding and self.algorithm == "exact":
            raise ConfigError(
                "published_encoding needs frequent itemsets, which the exact miner does not list",
                hint="use algorithm='fpgrowth' or 'hmine'",
            )
        check_thresholds(
            min_support=self.min_support, min_confidence=self.min_confidence, max_antecedents=self.max_antecedents
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
        if self.published_encoding:
            return self._published(table, progress)
        kinds: dict[str, type[FPGrowth] | type[HMine] | type[Exact]]
        kinds = {"fpgrowth": FPGrowth, "hmine": HMine, "exact": Exact}
        return kinds[self.algorithm](
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            max_antecedents=self.max_antecedents,
            antecedent=self.antecedent,
            consequent=self.consequent,
        ).mine(table, progress=progress)

    def _published(self, table: TransactionTable, progress: Progress) -> RuleSet:
        block = table.blocks[0]
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=True
        )
        progress(self.name, 0, 2, "frequent itemsets")
        sets = find_frequent_sets(
            block,
            np.flatnonzero(left | right),
            algorithm=self.algorithm,
            min_support=self.min_support,
            max_length=self.max_antecedents + 1,
            denominator="all",
        )
        progress(self.name, 1, 2, f"{len(sets):,} frequent itemsets")
        threshold = exact_threshold(self.min_confidence, max_denominator=max(block.n_rows, 1))
        antecedents, consequents = make_first_consequent_rules(
            sets, left, right, width=self.max_antecedents, least=(threshold.numerator, threshold.denominator)
        )
        note = "published encoding: implied items, the first item of long consequents, and duplicates are kept"
        rules = recount(antecedents, consequents, table, denominator="all", notes=(note,))
        progress(self.name, 2, 2, f"{len(rules):,} rules")
        return rules


def make_first_consequent_rules(
    sets: Mapping[tuple[int, ...], int],
    left: npt.NDArray[np.bool_],
    right: npt.NDArray[np.bool_],
    *,
    width: int,
    least: tuple[int, int],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Make rules from all splits of itemsets that are confident as a whole, and keep the first item of the consequent.

    The published code takes the first item in the order of a hash; here it is the one with the lowest number.

    Args:
        sets: The itemsets and their numbers of rows.
        left: For each item, whether it may be in an antecedent.
        right: For each item, whether it may be a consequent.
        width: The number of antecedent columns of the result, which are padded with −1.
        least: The lowest confidence, as numerator and denominator.

    Returns:
        The antecedents and the consequents.

    Examples:
        >>> both = np.ones(3, bool)
        >>> sets = {(0,): 4, (1,): 4, (2,): 4, (0, 1): 4, (0, 2): 4, (1, 2): 4, (0, 1, 2): 4}
        >>> antecedents, consequents = make_first_consequent_rules(sets, both, both, width=2, least=(4, 5))
        >>> len(consequents), len({(*a, c) for a, c in zip(antecedents.tolist(), consequents.tolist())})
        (12, 9)
    """
    antecedents, consequents = [], []
    numerator, denominator = least
    for members in sorted(sets, key=lambda members: (len(members), members)):
        for size in range(1, len(members)):
            for chosen in itertools.combinations(members, size):
                rest = [item for item in members if item not in chosen]
                confident = sets[members] * denominator >= sets[chosen] * numerator
                if confident and left[list(chosen)].all() and right[rest].all():
                    antecedents.append([*chosen, *[-1] * (width - size)])
                    consequents.append(rest[0])
    return np.array(antecedents, np.int32).reshape(-1, width), np.array(consequents, np.int32)
