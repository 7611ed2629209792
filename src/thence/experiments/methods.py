"""The miners of the experiments with the settings of each variant, and what is measured of their rules.

*Faithful* is what the paper describes: gaussian noise, static columns among the consequents, gaps read as zero, the
published encoding of the exhaustive baseline. *Corrected* masks instead of adding noise, keeps gaps missing, and lets
static columns be context only. *Lifted* mines rules with variables by the corrected miners.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from thence.experiments.files import Parameters
from thence.miners.exact.miner import Exact
from thence.rules.items import Aspect
from thence.rules.ruleset import RuleSet

if TYPE_CHECKING:
    from thence.miners.aerial.miner import Aerial

__all__ = ["GAPS", "aerial", "exact", "measured", "min_support_from", "timed", "warm_up"]

GAPS = {"faithful": "zero", "corrected": "missing", "lifted": "missing"}
_MEASURES = ("support", "rule_coverage", "confidence", "zhang")

Record = dict[str, Any]


def aerial(variant: str, p: Parameters, seed: int, **changes: Any) -> Aerial:
    """Aerial as a variant has it: the paper's keeps static columns on both sides, ours leaves constants out.

    What the network proposes is judged, so no exact confidence is asked for.
    """
    from thence.miners.aerial.miner import Aerial
    from thence.miners.aerial.settings import TrainingSettings

    chosen: dict[str, Any] = {"similarity": p.similarity, "max_antecedents": p.antecedents, "min_confidence": 0.0}
    if variant != "faithful":
        return Aerial(seed=seed, settings=TrainingSettings(max_rows=p.training_rows), **(chosen | changes))
    training = replace(
        TrainingSettings.faithful(seed=seed),
        noise=p.noise,
        epochs=p.epochs,
        batch_size=p.batch_size,
        learning_rate=p.learning_rate,
        weight_decay=p.weight_decay,
    )
    return replace(Aerial.faithful(seed=seed), settings=training, **(chosen | changes))


def exact(p: Parameters, min_support: float, **changes: Any) -> Exact:
    """The exact miner with the thresholds of the exhaustive methods: the same rules, much faster."""
    chosen = {
        "min_support": min_support,
        "min_confidence": p.min_confidence,
        "max_antecedents": p.antecedents,
        "max_rules": p.max_rules,
    }
    return Exact(**(chosen | changes))


def min_support_from(rules: RuleSet, p: Parameters) -> float:
    """Half of the mean support of Aerial's rules, within the bounds of the setup."""
    if len(rules) == 0:
        return p.fallback_min_support
    return max(float(rules.measure("support").mean()) / 2, p.least_min_support)


def timed(miner: Any, table: Any) -> tuple[RuleSet, float]:
    """The rules of a table and the processor time they took, which depends little on what else the machine does."""
    begin = time.process_time()
    found: RuleSet = miner.mine(table)
    return found, time.process_time() - begin


def measured(
    row: str, variant: str, rules: RuleSet, *, seconds: float | None = None, at: float | None = None, **facts: Any
) -> Record:
    """What is stored of a rule set. ``facts`` are settings that were derived, such as the minimum support."""
    values: dict[str, float | None] = {"rules": float(len(rules)), "data_coverage": _number(rules.data_coverage)}
    for name in _MEASURES:
        values[name] = _number(rules.measure(name).mean()) if len(rules) else None
    static = np.array([item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items], bool)
    values["static_consequents"] = _number(static[rules.consequents].mean()) if len(rules) else None
    known = {name: value for name, value in facts.items() if value is not None}
    return {"row": row, "variant": variant, "at": at, "values": values, "seconds": seconds, "facts": known}


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def moving(rules: RuleSet) -> RuleSet:
    """The rules whose consequent is a reading, not a static property."""
    static = np.array([item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items], bool)
    return rules.take(np.flatnonzero(~static[rules.consequents])) if len(rules) else rules


@cache
def warm_up() -> None:
    """Import and compile what the first timed run would otherwise pay for; once per process."""
    import polars as pl

    from thence.miners.aerial.miner import Aerial
    from thence.miners.baselines.exhaustive import FPGrowth
    from thence.miners.baselines.narm import TSNARM
    from thence.tables.frames import raw_columns
    from thence.tables.transactions import FeatureTable, TransactionTable

    values = [float(i % 6) for i in range(120)]
    frame = pl.DataFrame({"a": values, "b": [2 * x for x in values], "c": [str(x) for x in values]})
    table = TransactionTable.from_frame(frame, bins=3)
    for miner in (Exact(), FPGrowth(), Aerial(epochs=1), Aerial.faithful()):
        len(miner.mine(table))
    TSNARM(population=10, evaluations=40).mine(FeatureTable(*raw_columns(frame, units={})))
