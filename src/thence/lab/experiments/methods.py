"""Miners of the experiments with the settings of each variant, and the measurement of their rules.

- *published*: as the released code of the paper runs it, on the tables of ``experiments.published_tables``.
- *faithful*: as the paper describes it. Gaussian noise, static columns as consequents, missing values replaced by zero,
  the published encoding of the exhaustive baseline.
- *corrected*: masking instead of noise, missing values stay missing, static columns in antecedents only.
- *lifted*: rules with variables, mined as in *corrected*.

What is run on which table is decided in ``experiments.procedures``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from thence.lab.experiments.files import Parameters
from thence.lab.experiments.samples import Sample
from thence.language.items import Aspect
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from thence.lab.baselines.narm import WholeRules
    from thence.search.aerial.miner import Aerial

__all__ = [
    "GAPS",
    "Record",
    "derive_min_support",
    "drop_static_antecedents",
    "drop_static_consequents",
    "make_aerial",
    "make_exact",
    "measure_as_arm_ae",
    "measure_rules",
    "measure_whole_rules",
    "mine_timed",
    "table_of",
    "tally_exact",
    "warm_up",
]

GAPS = {"faithful": "zero", "corrected": "missing", "lifted": "missing"}
"""How missing values are read in each variant."""
_MEASURES = ("support", "rule_coverage", "confidence", "zhang")

Record = dict[str, Any]
"""The measurement of one rule set, as it is stored."""


def table_of(sample: Sample, variant: str, mode: Literal["none", "grounded"]) -> TransactionTable:
    """Return the table that Aerial and ARM-AE read in a variant.

    Args:
        sample: The sample of sensors.
        variant: The variant.
        mode: ``"grounded"`` with semantics, ``"none"`` without.
    """
    return sample.published_table(mode) if variant == "published" else sample.table(mode, gaps=GAPS[variant])


def make_aerial(variant: str, p: Parameters, seed: int, **changes: Any) -> Aerial:
    """Create Aerial with the settings of a variant.

    Only ``published`` and ``faithful`` may have static consequents; the other variants leave out constant columns.
    ``min_confidence`` is 0, so that every rule that the network proposes is measured, as in the paper.

    Args:
        variant: The variant.
        p: Parameters of the experiment.
        seed: Random seed.
        **changes: Settings of ``Aerial`` that override all others.
    """
    from thence.search.aerial.miner import Aerial
    from thence.search.aerial.settings import TrainingSettings

    chosen: dict[str, Any] = {"similarity": p.similarity, "max_antecedents": p.antecedents, "min_confidence": 0.0}
    if variant == "published":
        code = {"noise": p.noise, "learning_rate": p.learning_rate, "weight_decay": p.weight_decay}
        return Aerial.published(seed=seed, **(chosen | {"settings": code} | changes))
    if variant != "faithful":
        return Aerial(seed=seed, settings=TrainingSettings(max_rows=p.training_rows), **(chosen | changes))
    fields = ("noise", "epochs", "batch_size", "learning_rate", "weight_decay")
    training = {name: getattr(p, name) for name in fields}
    return Aerial.faithful(seed=seed, **(chosen | {"settings": training} | changes))


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


def tally_exact(miner: Exact, table: TransactionTable, *, row: str, at: float, **facts: Any) -> Record:
    """Return the record of an exhaustive search whose rules are counted and measured, but not kept.

    Args:
        miner: The exact miner; its search ends at ``max_rules``.
        table: The table to mine.
        row: Name of the row in the tables.
        at: Value of the varied parameter.
        **facts: Derived settings to store.
    """
    begin = time.process_time()
    rules, confidence, capped = 0, 0.0, False
    for piece in miner.stream(table):
        rules += len(piece)
        confidence += float((piece.counts[:, 3] / piece.counts[:, 1]).sum())
        capped |= piece.capped
    seconds = time.process_time() - begin
    values = {"rules": float(rules), "confidence": confidence / rules if rules else None}
    known = {**facts, **({"stopped": f"stopped at {rules:,} rules"} if capped else {})}
    return {"row": row, "variant": "corrected", "at": at, "values": values, "seconds": seconds, "facts": known}


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
        found = rules.measure(name)
        if variant == "published":
            # The released code keeps rules that never apply, with confidence and Zhang 0.
            found = np.nan_to_num(found, nan=0.0)
        values[name] = _finite_or_none(found.mean()) if len(rules) else None
    static = np.array([item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items], bool)
    values["static_consequents"] = _finite_or_none(static[rules.consequents].mean()) if len(rules) else None
    return _make_record(row, variant, values, seconds=seconds, at=at, **facts)


def _make_record(
    row: str,
    variant: str,
    values: Mapping[str, float | None],
    *,
    seconds: float | None = None,
    at: float | None = None,
    **facts: Any,
) -> Record:
    known = {name: value for name, value in facts.items() if value is not None}
    return {"row": row, "variant": variant, "at": at, "values": dict(values), "seconds": seconds, "facts": known}


def measure_whole_rules(row: str, rules: WholeRules, *, seconds: float, **facts: Any) -> Record:
    """Return the record of rules of TS-NARM as the released code measures them: with all their consequents together.

    Args:
        row: Name of the row in the tables.
        rules: The rules before they are split.
        seconds: CPU time.
        **facts: Derived settings to store.
    """
    values: dict[str, float | None] = {"rules": float(len(rules))}
    if len(rules):
        static = np.array([feature.aspect is not Aspect.MEASUREMENT for feature in rules.table.features], bool)
        values |= {name: float(np.nan_to_num(rules.measure(name), nan=0.0).mean()) for name in _MEASURES}
        values |= {
            "data_coverage": rules.released_coverage,
            "static_consequents": float(rules.has_static(static).mean()),
        }
    return _make_record(row, "published", values, seconds=seconds, **facts)


def measure_as_arm_ae(row: str, rules: RuleSet, *, seconds: float, **facts: Any) -> Record:
    """Return the record of rules of ARM-AE as the released code measures them.

    Support and confidence are rounded to two decimals, Zhang's metric takes the support of the antecedent for that of
    the consequent, rule coverage is 0, and data coverage is the number of columns in antecedents over the number of
    rows.

    Args:
        row: Name of the row in the tables.
        rules: The rules.
        seconds: CPU time.
        **facts: Derived settings to store.
    """
    values: dict[str, float | None] = {"rules": float(len(rules))}
    if len(rules):
        counts = rules.counts
        n = np.maximum(np.asarray(counts.n, np.float64), 1.0)
        support, left = counts.n_both / n, counts.n_antecedent / n
        confidence = counts.n_both / np.maximum(counts.n_antecedent, 1)
        strength = (support - left * left) / (np.maximum(support * (1 - left), left * (left - support)) + 2.2e-16)
        columns = len(np.unique(rules.antecedents[rules.antecedents >= 0]))
        values |= {
            "support": float(support.round(2).mean()),
            "confidence": float(confidence.round(2).mean()),
            "rule_coverage": 0.0,
            "zhang": float(strength.mean()),
            "data_coverage": columns / float(n.max()),
        }
    return _make_record(row, "published", values, seconds=seconds, **facts)


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

    from thence.lab.baselines.exhaustive import FPGrowth
    from thence.lab.baselines.narm import TSNARM
    from thence.search.aerial.miner import Aerial
    from thence.tables.frames import raw_columns
    from thence.tables.transactions import FeatureTable, TransactionTable

    values = [float(i % 6) for i in range(120)]
    frame = pl.DataFrame({"a": values, "b": [2 * x for x in values], "c": [str(x) for x in values]})
    table = TransactionTable.from_frame(frame, bins=3)
    for miner in (Exact(), FPGrowth(), Aerial(epochs=1), Aerial.faithful()):
        len(miner.mine(table))
    TSNARM(population=10, evaluations=40).mine(FeatureTable(*raw_columns(frame, units={})))
