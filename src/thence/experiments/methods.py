"""Miners of the experiments with the settings of each variant, and the measurement of their rules.

- *faithful*: as the paper describes it. Gaussian noise, static columns as consequents, missing values replaced by zero,
  the published encoding of the exhaustive baseline.
- *corrected*: masking instead of noise, missing values stay missing, static columns in antecedents only.
- *lifted*: rules with variables, mined as in *corrected*.

What is run on which table is decided in ``experiments.procedures``.
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

__all__ = [
    "GAPS",
    "Record",
    "derive_min_support",
    "drop_static_antecedents",
    "drop_static_consequents",
    "make_aerial",
    "make_exact",
    "measure_rules",
    "mine_timed",
    "warm_up",
]

GAPS = {"faithful": "zero", "corrected": "missing", "lifted": "missing"}
"""How missing values are read in each variant."""
_MEASURES = ("support", "rule_coverage", "confidence", "zhang")

Record = dict[str, Any]
"""The measurement of one rule set, as it is stored."""


def make_aerial(variant: str, p: Parameters, seed: int, **changes: Any) -> Aerial:
    """Create Aerial with the settings of a variant.

    Only ``faithful`` may have static consequents; the other variants leave out constant columns. ``min_confidence`` is
    0, so that every rule that the network proposes is measured, as in the paper.

    Args:
        variant: The variant.
        p: Parameters of the experiment.
        seed: Random seed.
        **changes: Settings of ``Aerial`` that override all others.
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


def make_exact(p: Parameters, min_support: float, **changes: Any) -> Exact:
    """Create the exact miner with the thresholds of the exhaustive methods; it finds the same rules faster.

    Args:
        p: Parameters of the experiment.
        min_support: Minimum support.
        **changes: Settings of ``Exact`` that override all others.
    """
    chosen: dict[str, Any] = {
        "min_support": min_support,
        "min_confidence": p.min_confidence,
        "max_antecedents": p.antecedents,
        "max_rules": p.max_rules,
        "on_limit": "stop",
    }
    return Exact(**(chosen | changes))


def derive_min_support(rules: RuleSet, p: Parameters) -> float:
    """Return half of the mean support of Aerial's ``rules``, within the bounds of the parameters ``p``."""
    if len(rules) == 0:
        return p.fallback_min_support
    return max(float(rules.measure("support").mean()) / 2, p.least_min_support)


def mine_timed(miner: Any, table: Any) -> tuple[RuleSet, float]:
    """Return the rules that ``miner`` finds in ``table`` and the CPU seconds, which other processes hardly affect."""
    begin = time.process_time()
    found: RuleSet = miner.mine(table)
    return found, time.process_time() - begin


def measure_rules(
    row: str, variant: str, rules: RuleSet, *, seconds: float | None = None, at: float | None = None, **facts: Any
) -> Record:
    """Return the record of a rule set that is stored.

    Args:
        row: Name of the row in the tables.
        variant: The variant.
        rules: The rules to measure.
        seconds: CPU time.
        at: Value of the varied parameter.
        **facts: Derived settings to store, such as the minimum support; ``None`` values are left out.
    """
    values: dict[str, float | None] = {
        "rules": float(len(rules)),
        "data_coverage": _finite_or_none(rules.data_coverage),
    }
    for name in _MEASURES:
        values[name] = _finite_or_none(rules.measure(name).mean()) if len(rules) else None
    static = np.array([item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items], bool)
    values["static_consequents"] = _finite_or_none(static[rules.consequents].mean()) if len(rules) else None
    known = {name: value for name, value in facts.items() if value is not None}
    return {"row": row, "variant": variant, "at": at, "values": values, "seconds": seconds, "facts": known}


def _finite_or_none(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def drop_static_antecedents(rules: RuleSet) -> RuleSet:
    """Return the ``rules`` whose antecedent consists of readings only."""
    if len(rules) == 0:
        return rules
    # The last entry is for places that are not used, which are -1.
    static = np.array([*(item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items), False], bool)
    return rules.take(np.flatnonzero(~static[rules.antecedents].any(axis=1)))


def drop_static_consequents(rules: RuleSet) -> RuleSet:
    """Return the ``rules`` whose consequent is a reading, not a static property."""
    static = np.array([item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items], bool)
    return rules.take(np.flatnonzero(~static[rules.consequents])) if len(rules) else rules


@cache
def warm_up() -> None:
    """Import and compile everything once per process, so that the first timed run does not include it."""
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
