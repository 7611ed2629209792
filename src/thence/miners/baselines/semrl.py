"""Naive SemRL (Karabulut et al. 2023): existential enrichment and an exhaustive miner, as one named method.

An item of an existential table says "some flow sensor in a pipe of length 843–895 m reads 23–31 m³/h", so a rule holds
for whichever sensor is the witness. Mining such a table exhaustively is Naive SemRL. By default that is done cleanly:
one-item consequents, each rule once, and no rule that follows from what its items say.

The published code did it otherwise, and its rows in tables of results cannot be compared with others without knowing
how. ``published_encoding=True`` does what it did, on the same table:

* it keeps an attributed item and the bare item that it implies ("some flow sensor in a pipe reads 23–31") in one rule,
  which gives rules that cannot fail, with confidence 1;
* it splits every frequent set in all ways, also into consequents of several items, holds *these* against
  ``min_confidence``, and then writes down only the first item of the consequent;
* it does not remove the repetitions that this makes;
* it counts over all rows, whether or not a value is known.

What the published code did before there was a table is not repeated here: gaps read as zero, averages rounded to whole
numbers, bins closed at both ends. And note that its comparison "with semantics" against "without" changes two things at
once: existential items drop the identity of the sensors, plain items keep it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence.counting.recount import recount
from thence.errors import ConfigError, MiningError
from thence.miners.base import BaseMiner
from thence.miners.baselines.exhaustive import FPGrowth, HMine, check_thresholds, frequent_sets, half_mean_support
from thence.miners.exact.miner import Exact
from thence.miners.exact.search import exact_threshold
from thence.miners.flat import require_codes
from thence.progress import Progress, silent
from thence.rules.constraints import Constraint
from thence.rules.ruleset import RuleSet
from thence.tables.admissible import item_masks
from thence.tables.transactions import TransactionTable

__all__ = ["NaiveSemRL"]


@dataclass(frozen=True, kw_only=True)
class NaiveSemRL(BaseMiner):
    """Exhaustive mining of an existential table.

    ``algorithm`` is ``"fpgrowth"``, ``"hmine"`` or ``"exact"``; all three find the same rules. ``published_encoding``
    repeats what the published code did (see the module's text), for comparison only.

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
            raise ConfigError(f"unknown algorithm '{self.algorithm}'", hint="known: fpgrowth, hmine, exact")
        if self.published_encoding and self.algorithm == "exact":
            raise ConfigError(
                "the published encoding is made of frequent sets, which the exact miner does not list",
                hint="use algorithm='fpgrowth' or 'hmine' with it",
            )
        check_thresholds(
            min_support=self.min_support, min_confidence=self.min_confidence, max_antecedents=self.max_antecedents
        )

    @classmethod
    def half_of(cls, rules: RuleSet, **settings: Any) -> Self:
        """A miner whose ``min_support`` is half of the mean support of some rules, as in the published comparison."""
        return cls(min_support=half_mean_support(rules), **settings)

    @property
    def label(self) -> str:
        """How the method is called in tables of results."""
        return f"Naive SemRL ({self.algorithm}{', published encoding' if self.published_encoding else ''})"

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """All rules of an existential table that meet the thresholds."""
        require_codes(table, self.name)
        if table.enrichment != "existential":
            raise MiningError(
                f"{self.name} mines existential tables, this one was enriched by '{table.enrichment}'",
                hint="make the table with th.transactions(…, enrich='existential')",
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
        progress(self.name, 0, 2, "frequent sets")
        sets = frequent_sets(
            block,
            np.flatnonzero(left | right),
            algorithm=self.algorithm,
            min_support=self.min_support,
            max_length=self.max_antecedents + 1,
            denominator="all",
        )
        progress(self.name, 1, 2, f"{len(sets):,} frequent sets")
        threshold = exact_threshold(self.min_confidence, max_denominator=max(block.n_rows, 1))
        antecedents, consequents = first_consequent_rules(
            sets, left, right, width=self.max_antecedents, least=(threshold.numerator, threshold.denominator)
        )
        note = "published encoding: implied items, first item of long consequents and repetitions are kept"
        rules = recount(table, 0, antecedents, consequents, denominator="all", notes=(note,))
        progress(self.name, 2, 2, f"{len(rules):,} rules")
        return rules


def first_consequent_rules(
    sets: Mapping[tuple[int, ...], int],
    left: npt.NDArray[np.bool_],
    right: npt.NDArray[np.bool_],
    *,
    width: int,
    least: tuple[int, int],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Every split of every set that is confident enough as a whole, with its consequent cut to the first item.

    The published code took the first item in the order of a hash; here it is the one with the lowest number.

    >>> both = np.ones(3, bool)
    >>> sets = {(0,): 4, (1,): 4, (2,): 4, (0, 1): 4, (0, 2): 4, (1, 2): 4, (0, 1, 2): 4}
    >>> antecedents, consequents = first_consequent_rules(sets, both, both, width=2, least=(4, 5))
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
