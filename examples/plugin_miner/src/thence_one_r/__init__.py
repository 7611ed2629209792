"""1R as a rule miner: for each value of each feature, the value of every other feature that goes with it most often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thence._base.progress import Progress, silent
from thence.errors import ConfigError, MiningError
from thence.language.constraints import Constraint
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks
from thence.tables.transactions import TransactionTable

__all__ = ["OneR"]


@dataclass(frozen=True, kw_only=True)
class OneR:
    """The one-antecedent rules of 1R (Holte 1993) with at least the given confidence."""

    name: ClassVar[str] = "one-r"
    wants: ClassVar[str] = "codes"
    order_free: ClassVar[bool] = True

    min_confidence: float = 0.5
    antecedent: Constraint = None
    consequent: Constraint = None

    def __post_init__(self) -> None:
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"min_confidence must lie between 0 and 1, got {self.min_confidence!r}")

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """The rules of a plain table."""
        if not isinstance(table, TransactionTable):
            raise MiningError(f"one-r reads discretized transactions, not a {type(table).__name__}")
        if table.is_factorised:
            raise MiningError("one-r knows plain tables only", hint="use enrich='none' or 'grounded'")
        if table.n_rows == 0:
            return RuleSet.empty("the table has no rows")
        block, codes = table.blocks[0], table.codes
        left, right = item_masks(block, antecedent=self.antecedent, consequent=self.consequent)
        antecedents, consequents = [], []
        for a, cause in enumerate(block.columns):
            progress("one-r", a, len(block.columns))
            for b, effect in enumerate(block.columns):
                known = (codes[:, a] >= 0) & (codes[:, b] >= 0)
                together = np.zeros((cause.n_codes, effect.n_codes), np.int64)
                np.add.at(together, (codes[known, a], codes[known, b]), 1)
                together[:, ~right[block.offsets[b] : block.offsets[b + 1]]] = 0
                for code in np.flatnonzero(together.any(axis=1)):
                    item = int(block.offsets[a]) + int(code)
                    if a != b and left[item]:
                        antecedents.append([item])
                        consequents.append(int(block.offsets[b]) + int(together[code].argmax()))
        if not consequents:
            return RuleSet.empty("no two features are ever known together, or the constraints leave nothing")
        rules = recount(np.array(antecedents), np.array(consequents), table)
        found = rules.filter(min_confidence=self.min_confidence)
        return found if len(found) else RuleSet.empty(f"no rule has a confidence of {self.min_confidence:g}")
