"""Procedures of the experiments: functions that take a sample of sensors and yield measurements of rule sets.

A procedure runs once per repeat, and several experiments may read its stored records. It lists the parameters that it
depends on, so that repeats with different parameters are never mixed. In experiment files and stored repeats a
procedure is called ``work``. Miners have the settings of a variant:

- *published*: as the released code of the paper runs it, on tables as that code makes them (``experiments.samples``).
- *faithful*: as the paper describes it. Gaussian noise, static columns as consequents, missing values replaced by zero,
  the published encoding of the exhaustive baseline.
- *corrected*: masking instead of noise, missing values stay missing, static columns in antecedents only.
- *lifted*: rules with variables, mined as in *corrected*.

Ablations go from the released code to ours, one named setting at a time. Each chain begins with the settings of the
released code. Every step changes one setting and keeps those of the steps before, until the miner and the table of
*corrected* are reached; on the way lies *faithful*. ``MASKING`` starts from *faithful* and from *corrected* instead and
changes a single setting of each, which separates the effects of the settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from thence.lab.baselines.arm_ae import ARMAE
from thence.lab.baselines.exhaustive import FPGrowth, HMine
from thence.lab.baselines.narm import TSNARM, WholeRules
from thence.lab.baselines.semrl import NaiveSemRL
from thence.lab.experiments.files import Parameters
from thence.lab.experiments.samples import Encoding, ExperimentSample
from thence.language.items import Aspect
from thence.search.aerial.miner import Aerial
from thence.search.aerial.settings import TrainingSettings
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet, SearchStatus
from thence.tables.frames import raw_columns
from thence.tables.transactions import FeatureTable, TransactionTable

GAPS = {"faithful": "zero", "corrected": "missing", "lifted": "missing"}
"""How missing values are read in each variant."""
_MEASURES = ("support", "rule_coverage", "confidence", "zhang")

T = TypeVar("T")
Record = dict[str, Any]
"""The measurement of one rule set, as it is stored."""


def table_of(sample: ExperimentSample, variant: str, mode: Literal["none", "grounded"]) -> TransactionTable:
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
    stopped = f"stopped at {rules:,} rules" if capped else None
    return _make_record(row, "corrected", values, seconds=seconds, at=at, **facts, stopped=stopped)


def _timed(call: Callable[..., T], *given: Any) -> tuple[T, float]:
    """Return what a function returns and the CPU seconds that it takes, which other processes hardly affect."""
    begin = time.process_time()
    return call(*given), time.process_time() - begin


def mine_timed(miner: Any, table: Any) -> tuple[RuleSet, float]:
    """Return the rules that ``miner`` finds in ``table`` and the CPU seconds."""
    return _timed(miner.mine, table)


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
    values["static_consequents"] = (
        _finite_or_none(_find_static(rules.consequents, rules).mean()) if len(rules) else None
    )
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


def _find_static(positions: npt.NDArray[Any], rules: RuleSet) -> npt.NDArray[np.bool_]:
    """Return which items, given by their positions in ``rules``, are static properties; -1 is no item."""
    static = [item.feature.aspect is not Aspect.MEASUREMENT for item in rules.items]
    return np.asarray(np.array([*static, False])[positions], bool)


def drop_static_antecedents(rules: RuleSet) -> RuleSet:
    """Return the ``rules`` whose antecedent consists of readings only."""
    return rules.take(np.flatnonzero(~_find_static(rules.antecedents, rules).any(axis=1))) if len(rules) else rules


def drop_static_consequents(rules: RuleSet) -> RuleSet:
    """Return the ``rules`` whose consequent is a reading, not a static property."""
    return rules.take(np.flatnonzero(~_find_static(rules.consequents, rules))) if len(rules) else rules


@cache
def warm_up() -> None:
    """Import and compile everything once per process, so that the first timed run does not include it."""
    import polars as pl

    values = [float(i % 6) for i in range(120)]
    frame = pl.DataFrame({"a": values, "b": [2 * x for x in values], "c": [str(x) for x in values]})
    table = TransactionTable.from_frame(frame, bins=3)
    for miner in (Exact(), FPGrowth(), Aerial(epochs=1), Aerial.faithful()):
        len(miner.mine(table))
    TSNARM(population=10, evaluations=40).mine(FeatureTable(*raw_columns(frame, units={})))


@dataclass(frozen=True)
class ChainStep:
    """One change of a chain.

    Args:
        name: What changes, as the name of the row says it.
        variant: The column of the row: the variant that the chain has come from.
        training: Settings of the training that change.
        miner: Other settings of the miner that change.
        encoding: Points of the table of the released code that change.
        table: ``"zero"`` or ``"missing"`` for our table, with missing values replaced by 0 or left missing; by default
            the table stays what it was.
    """

    name: str
    variant: str = "published"
    training: Mapping[str, Any] = field(default_factory=dict)
    miner: Mapping[str, Any] = field(default_factory=dict)
    encoding: Mapping[str, Any] = field(default_factory=dict)
    table: str = ""


AERIAL_STEPS = (
    ChainStep("released code"),
    ChainStep("softmax per feature", training={"softmax": "feature"}),
    ChainStep("loss per row", training={"loss_per": "row"}),
    ChainStep("tanh in the bottleneck", training={"bottleneck": "tanh"}),
    ChainStep("least widths", training={"least_widths": (16, 8, 4)}),
    ChainStep("batches of 32", training={"batch_size": 32}),
    ChainStep("5 epochs", training={"epochs": 5}),
    ChainStep("rows shuffled in each epoch", training={"reshuffle": True}),
    ChainStep("rules above the threshold that hold", training={"proposals": "paper"}),
    ChainStep("means not rounded", encoding={"rounding": "none"}),
    ChainStep("half-open bins, properties once per node (faithful)", "faithful", table="zero"),
    ChainStep("static properties not consequents", "corrected", miner={"context_consequents": False}),
    ChainStep("missing values stay missing", "corrected", table="missing"),
    ChainStep("constants not among the inputs", "corrected", miner={"keep_constants": False}),
    ChainStep("masking", "corrected", training={"corruption": "mask"}),
    ChainStep("widths of ours", "corrected", training={"faithful_widths": False}),
    ChainStep(
        "batches, epochs, rate and stop of ours (corrected)",
        "corrected",
        training={
            "batch_size": None,
            "epochs": None,
            "learning_rate": None,
            "decay": True,
            "held_out": TrainingSettings().held_out,
            "early_stopping": True,
            "max_rows": None,
        },
    ),
)
"""From Aerial as released to Aerial as we run it."""

NARM_STEPS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "released code": {},
        "goal: confidence": {"objective": "confidence"},
        "LSHADE instead of SHADE": {"algorithm": "lshade", "optimiser": {}},
        "constants as numbers": {"constants": "numbers"},
        "rules by their values": {"distinct": "values"},
    }
)
"""From LSHADE of TS-NARM as released to the paper's text."""

ARM_AE_STEPS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "released code": {},
        "one item per feature": {"one_per_feature": True},
        "each rule once": {"unique": True},
        "four layers": {"layers": 4},
        "sigmoid at the output": {"output": "sigmoid"},
        "batches of 128, rate 0.01, 2 epochs": {"batch_size": 128, "learning_rate": 0.01, "epochs": 2},
    }
)
"""From ARM-AE as released to ARM-AE as published by its authors."""


MASKING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "as it is": (),
        "noise of the other": ("corruption",),
        "widths of the other": ("faithful_widths",),
        "epochs of the other": ("epochs", "max_rows"),
        "batches of the other": ("batch_size",),
        "learning rate of the other": ("learning_rate", "decay"),
        "held-out rows and early stop of the other": ("held_out", "early_stopping"),
    }
)
"""Settings that faithful and corrected Aerial exchange, one group at a time."""


def list_aerial(
    sample: ExperimentSample, p: Parameters, seed: int
) -> Iterator[tuple[ChainStep, Aerial, TransactionTable]]:
    """Yield the steps of Aerial with the miner and the table of each.

    Args:
        sample: The sample of sensors.
        p: Parameters of the experiment.
        seed: Random seed.
    """
    miner, encoding, table = make_aerial("published", p, seed), Encoding(), ""
    for step in AERIAL_STEPS:
        encoding, table = replace(encoding, **step.encoding), step.table or table
        assert miner.settings is not None
        changes: dict[str, Any] = dict(step.training)
        if changes.get("max_rows", 0) is None:
            changes["max_rows"] = p.training_rows
        miner = replace(miner, settings=replace(miner.settings, **changes), **step.miner)
        given = sample.table("grounded", gaps=table) if table else sample.published_table("grounded", encoding=encoding)
        yield step, miner, given


def list_masking(p: Parameters, seed: int) -> Iterator[tuple[str, str, Aerial]]:
    """Yield faithful and corrected Aerial, each also with one setting of the other: name, variant, miner.

    Args:
        p: Parameters of the experiment.
        seed: Random seed.
    """
    ours, theirs = TrainingSettings(max_rows=p.training_rows), TrainingSettings.faithful(seed=seed)
    for variant, own, other in (("faithful", theirs, ours), ("corrected", ours, theirs)):
        for name, fields in MASKING.items():
            settings = replace(own, **{field: getattr(other, field) for field in fields})
            yield name, variant, _train_with(settings, p, seed)
        # Only masking has a curriculum, so that it cannot be changed alone in the faithful variant.
        plain = replace(own, corruption="mask", curriculum=False)
        yield "masking without a curriculum", variant, _train_with(plain, p, seed)


def _train_with(settings: TrainingSettings, p: Parameters, seed: int) -> Aerial:
    base = make_aerial("corrected", p, seed)
    return replace(base, settings=settings)


def list_arm_ae(sample: ExperimentSample, seed: int) -> Iterator[tuple[str, ARMAE, TransactionTable]]:
    """Yield the steps of ARM-AE: the name, the miner and the table of each.

    Args:
        sample: The sample of sensors.
        seed: Random seed.
    """
    miner, table = ARMAE.published(seed=seed), sample.published_table("none")
    for name, changes in ARM_AE_STEPS.items():
        miner = replace(miner, **changes)
        yield name, miner, table
    yield "half-open bins, means not rounded", miner, sample.table("none", gaps="zero")
    yield "with properties (faithful)", miner, sample.table("grounded", gaps="zero")


Notify = Callable[[str], None]
OPTIMISERS = MappingProxyType({"de": "DE", "ga": "GA", "pso": "PSO", "lshade": "LSHADE", "jde": "jDE"})

# Names of the parameters that tables, Aerial, exhaustive miners and TS-NARM depend on.
_TABLES = "bins binning scope lifted_scope hops lifted_hops min_embeddings"
_AERIAL = "antecedents similarity noise epochs batch_size learning_rate weight_decay training_rows"
_EXHAUSTIVE = (
    "min_confidence fallback_min_support least_min_support least_published_support released_min_support max_rules"
)
_SEMANTICS = f"{_TABLES} {_AERIAL} {_EXHAUSTIVE}"
_NARM = "hops population algorithms"
_SWEEP = "sweep_min_supports sweep_supports_antecedents sweep_max_rules min_confidence"


@dataclass(frozen=True)
class Procedure:
    """A procedure of the experiments.

    Args:
        run: Function of sample, parameters, random seed and a callback for notes about the progress; yields records.
        uses: Names of the parameters that the records depend on.
        sensors: Number of sensors to sample; by default the parameter ``sensors``.
    """

    run: Callable[[ExperimentSample, Parameters, int, Notify], Iterator[Record]]
    uses: tuple[str, ...]
    sensors: int | None = None


def compare_semantics(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with FP-Growth and Aerial, with and without semantics, in every encoding."""
    exhaustive = {"published": _mine_published, "faithful": _mine_faithful, "corrected": _mine_corrected}
    for variant, mine in exhaustive.items():
        least: dict[str, float] = {}
        for condition, table in (
            ("w-s", table_of(sample, variant, "grounded")),
            ("wo-s", table_of(sample, variant, "none")),
        ):
            notify(f"Aerial {condition}, {variant}")
            rules, seconds = mine_timed(make_aerial(variant, p, seed), table)
            yield measure_rules(f"Aerial {condition}", variant, rules, seconds=seconds)
            least[condition] = derive_min_support(rules, p)
        notify(f"FP-Growth, {variant}")
        yield from mine(sample, p, seed, least)


def mine_lifted(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine rules with variables: with Aerial, at every similarity, and exhaustively."""
    notify("Aerial, lifted")
    table = sample.table("lifted")
    learner = make_aerial("lifted", p, seed)
    model, training = _timed(learner.train, table)
    rules, extraction = _timed(learner.extract, model, table)
    yield measure_rules("Aerial w-s", "lifted", rules, seconds=training + extraction)
    threshold = derive_min_support(rules, p)
    rules, seconds = mine_timed(make_exact(p, threshold), table)
    yield measure_rules("FP-Growth w-s", "lifted", rules, min_support=threshold, **_limit_facts(rules))
    yield measure_rules("Exact w-s", "lifted", rules, seconds=seconds, min_support=threshold)
    yield from _extract_at_similarities(learner, model, table, p, "lifted")


def _extract_at_similarities(learner: Any, model: Any, table: Any, p: Parameters, variant: str) -> Iterator[Record]:
    for similarity in p.similarities:
        rules = replace(learner, similarity=similarity).extract(model, table)
        yield measure_rules("Aerial by similarity", variant, rules, at=similarity)


def _mine_published(sample: ExperimentSample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """Mine with FP-Growth and H-Mine of mlxtend as the released code does, on its tables and at its minimum support."""
    limits: dict[str, Any] = {"min_support": p.released_min_support, "min_confidence": p.min_confidence}
    limits["max_antecedents"] = p.antecedents
    facts = {"min_support": p.released_min_support}
    without = FPGrowth(consequents="cut", duplicates="keep", context_consequents=True, denominator="all", **limits)
    rules, seconds = mine_timed(without, sample.published_table("none"))
    yield measure_rules("FP-Growth wo-s", "published", rules, seconds=seconds, **facts)
    for row, algorithm in (("FP-Growth w-s", "fpgrowth"), ("H-Mine w-s", "hmine")):
        naive = NaiveSemRL(algorithm=algorithm, published_encoding=True, **limits)  # type: ignore[arg-type]
        rules, seconds = mine_timed(naive, sample.published_table("existential"))
        yield measure_rules(row, "published", rules, seconds=seconds, **facts)


def _mine_faithful(sample: ExperimentSample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """Mine with the FP-Growth of mlxtend without semantics, and with Naive SemRL in its published encoding."""
    limits: dict[str, Any] = {"min_confidence": p.min_confidence, "max_antecedents": p.antecedents}
    without, with_ = least["wo-s"], max(least["w-s"], p.least_published_support)
    rules, seconds = mine_timed(FPGrowth(min_support=without, **limits), sample.table("none", gaps="zero"))
    yield measure_rules("FP-Growth wo-s", "faithful", rules, seconds=seconds, min_support=without)
    for row, algorithm in (("FP-Growth w-s", "fpgrowth"), ("H-Mine w-s", "hmine")):
        naive = NaiveSemRL(algorithm=algorithm, min_support=with_, published_encoding=True, **limits)  # type: ignore[arg-type]
        rules, seconds = mine_timed(naive, sample.table("existential", gaps="zero"))
        yield measure_rules(row, "faithful", rules, seconds=seconds, min_support=with_)
    # mlxtend cannot hold the frequent itemsets with static consequents; the exact miner finds the same rules.
    rules = make_exact(p, least["w-s"], context_consequents=True).mine(sample.table("grounded", gaps="zero"))
    yield measure_rules("FP-Growth w-s (grounded)", "faithful", rules, min_support=least["w-s"], **_limit_facts(rules))


def _mine_corrected(sample: ExperimentSample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """Mine exhaustively in every encoding, with the exact miner."""
    # Shows the effect of constants on the network: they are inputs, but not consequents.
    rules, seconds = mine_timed(make_aerial("corrected", p, seed, keep_constants=True), sample.table("grounded"))
    yield measure_rules("Aerial w-s (constants kept)", "corrected", rules, seconds=seconds)
    # A constant beside a reading changes no count: what is left without these copies.
    yield measure_rules("Aerial w-s (constants kept, rules without them)", "corrected", drop_static_antecedents(rules))
    for condition, table, threshold in (
        ("wo-s", sample.table("none"), least["wo-s"]),
        ("w-s", sample.table("existential"), least["w-s"]),
        ("w-s (grounded)", sample.table("grounded"), least["w-s"]),
        ("w-s (ids dropped, no properties)", sample.table("existential", properties=()), least["w-s"]),
    ):
        rules, seconds = mine_timed(make_exact(p, threshold), table)
        yield measure_rules(f"FP-Growth {condition}", "corrected", rules, min_support=threshold, **_limit_facts(rules))
        yield measure_rules(f"Exact {condition}", "corrected", rules, seconds=seconds, min_support=threshold)


def _limit_facts(rules: RuleSet) -> dict[str, Any]:
    """Return the fact that a search stopped at its maximum number of rules, if it did."""
    return {"stopped": f"stopped at {len(rules):,} rules"} if rules.ending is SearchStatus.LIMIT else {}


def run_optimisers(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with every optimiser of TS-NARM at the full number of evaluations, as described and as released."""
    table = sample.feature_table(encoding=Encoding())
    for algorithm in p.algorithms:
        notify(f"{OPTIMISERS[algorithm]}, released code")
        miner = TSNARM.published(algorithm, evaluations=p.evaluations, seed=seed)
        found, seconds = _timed(miner.search, table)
        yield measure_whole_rules(OPTIMISERS[algorithm], found, seconds=seconds, evaluations=p.evaluations)
    yield from _optimise(sample, p, seed, notify, (p.evaluations,), show_at=False)


def sweep_evaluations(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with every optimiser of TS-NARM at increasing numbers of evaluations."""
    yield from _optimise(sample, p, seed, notify, p.sweep_evaluations, show_at=True)


def _optimise(
    sample: ExperimentSample, p: Parameters, seed: int, notify: Notify, numbers: tuple[int, ...], *, show_at: bool
) -> Iterator[Record]:
    table = sample.feature_table()
    for number in numbers:
        for algorithm in p.algorithms:
            notify(f"{OPTIMISERS[algorithm]}, {number:,} evaluations")
            miner = TSNARM(
                algorithm=algorithm,  # type: ignore[arg-type]
                population=p.population,
                evaluations=number,
                context_consequents=True,
                seed=seed,
            )
            rules, seconds = mine_timed(miner, table)
            at = float(number) if show_at else None
            row = OPTIMISERS[algorithm]
            found = measure_rules(row, "faithful", rules, seconds=seconds, at=at, evaluations=number)
            # The paper reports the confidence of a rule with all its consequents together.
            joint = rules.measure("joint_confidence").mean() if len(rules) else None
            found["values"]["confidence"] = None if joint is None else float(joint)
            yield found
            # The corrected variant has the rules of the same search without those with static consequents.
            yield measure_rules(
                row, "corrected", drop_static_consequents(rules), seconds=seconds, at=at, evaluations=number
            )


def sweep_similarity(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Train Aerial once and extract rules at every similarity."""
    for variant in ("published", "faithful", "corrected"):
        notify(f"Aerial, {variant}")
        table = table_of(sample, variant, "grounded")
        learner = make_aerial(variant, p, seed)
        yield from _extract_at_similarities(learner, learner.train(table), table, p, variant)


def sweep_exhaustive(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine the existential table exhaustively, varying antecedents and minimum support."""
    table = sample.table("existential")
    sweeps = [
        ("antecedents", [(float(n), n, p.sweep_antecedents_min_support) for n in p.sweep_antecedents]),
        ("minimum support", [(s, p.sweep_supports_antecedents, s) for s in p.sweep_min_supports]),
    ]
    for name, settings in sweeps:
        for at, antecedents, least in settings:
            notify(f"exhaustive, {name} {at:g}")
            miner = make_exact(p, least, max_antecedents=antecedents, max_rules=p.sweep_max_rules)
            facts: dict[str, Any] = {"min_support": least, "max_antecedents": antecedents}
            yield tally_exact(miner, table, row=f"Exhaustive by {name}", at=at, **facts)
            if antecedents > p.mlxtend_antecedents:
                continue
            for row, kind in (("FP-Growth", FPGrowth), ("H-Mine", HMine)):
                theirs = kind(min_support=least, min_confidence=p.min_confidence, max_antecedents=antecedents)
                rules, seconds = mine_timed(theirs, table)
                yield measure_rules(f"{row} by {name}", "corrected", rules, seconds=seconds, at=at, **facts)


def sweep_aerial(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with Aerial, varying the number of antecedents; times include training and extraction."""
    for variant in ("faithful", "corrected"):
        table = table_of(sample, variant, "grounded")
        for antecedents in p.aerial_antecedents:
            notify(f"Aerial, {antecedents} antecedents, {variant}")
            search = "full" if antecedents <= p.aerial_full_search else "grow"
            # Without constants: with them, nearly all rules with three or four antecedents repeat shorter ones.
            learner = make_aerial(variant, p, seed, max_antecedents=antecedents, search=search, keep_constants=False)
            rules, seconds = mine_timed(learner, table)
            yield measure_rules(
                "Aerial by antecedents", variant, rules, seconds=seconds, at=float(antecedents), search=search
            )


def run_arm_ae(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with ARM-AE, with as many rules per consequent as Aerial finds per feature."""
    notify("ARM-AE, released code")
    rules, seconds = mine_timed(ARMAE.published(seed=seed), sample.published_table("none"))
    yield measure_as_arm_ae("ARM-AE", rules, seconds=seconds, rules_per_consequent=2)
    yield measure_rules("ARM-AE (measured as the others)", "published", rules)
    for variant in ("faithful", "corrected"):
        notify(f"ARM-AE, {variant}")
        table = table_of(sample, variant, "grounded")
        found = make_aerial(variant, p, seed).mine(table)
        per_consequent = max(1, min(len(found) // max(table.n_features, 1), p.most_per_consequent))
        miner = ARMAE(
            max_antecedents=p.antecedents,
            rules_per_consequent=per_consequent,
            likeness=p.likeness,
            epochs=p.arm_ae_epochs,
            batch_size=p.arm_ae_batch_size,
            context_consequents=variant == "faithful",
            seed=seed,
        )
        rules, seconds = mine_timed(miner, table)
        yield measure_rules("ARM-AE", variant, rules, seconds=seconds, rules_per_consequent=per_consequent)


def ablate_aerial(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Go from the released Aerial to ours, one setting at a time; then exchange single settings of two variants."""

    for number, (step, miner, table) in enumerate(list_aerial(sample, p, seed)):
        notify(f"Aerial, {step.name}")
        rules, seconds = mine_timed(miner, table)
        yield measure_rules(f"Aerial w-s {number:02d}: {step.name}", step.variant, rules, seconds=seconds)
    for name, variant, miner in list_masking(p, seed):
        notify(f"Aerial without semantics, {variant}, {name}")
        rules, seconds = mine_timed(miner, sample.table("none"))
        yield measure_rules(f"Aerial wo-s: {name}", variant, rules, seconds=seconds)


def ablate_others(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Go from the released LSHADE and ARM-AE to the paper's text, one setting at a time."""
    chosen: dict[str, Any] = {}
    rounded, plain = sample.feature_table(encoding=Encoding()), sample.feature_table()
    for number, (name, changes) in enumerate([*NARM_STEPS.items(), ("means not rounded (faithful)", {})]):
        notify(f"LSHADE, {name}")
        chosen |= changes
        optimiser = replace(TSNARM.published("lshade", evaluations=p.ablation_evaluations, seed=seed), **chosen)
        found, seconds = _timed(optimiser.search, rounded if number < len(NARM_STEPS) else plain)
        yield measure_whole_rules(f"LSHADE {number}: {name}", found, seconds=seconds)
    for number, (name, miner, table) in enumerate(list_arm_ae(sample, seed)):
        notify(f"ARM-AE, {name}")
        rules, seconds = mine_timed(miner, table)
        if number == 0:
            yield measure_as_arm_ae("ARM-AE 0: released code, its own measures", rules, seconds=seconds)
        yield measure_rules(f"ARM-AE {number + 1}: {name}", "published", rules, seconds=seconds)


def measure_complexity(sample: ExperimentSample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Time Aerial's training by the number of sensors, and Aerial and exhaustive mining by minimum support."""
    for number in p.complexity_sensors:
        notify(f"training, {number} sensors")
        part = replace(sample, sensors=sample.sensors[:number])
        table = part.table("none", gaps="zero")
        for variant in ("faithful", "corrected"):
            _, seconds = _timed(make_aerial(variant, p, seed).train, table)
            facts = {"features": float(table.n_features)}
            yield _make_record("Aerial's training by sensors", variant, {}, seconds=seconds, at=float(number), **facts)
    few = replace(sample, sensors=sample.sensors[: p.sensors])
    table = few.table("none")
    for least in p.sweep_min_supports:
        notify(f"minimum support {least:g}")
        learner = make_aerial("corrected", p, seed, min_support=least)
        rules, seconds = mine_timed(learner, table)
        yield measure_rules("Aerial by minimum support", "corrected", rules, seconds=seconds, at=least)
        miner = make_exact(p, least, max_rules=p.sweep_max_rules, max_antecedents=p.sweep_supports_antecedents)
        yield tally_exact(miner, table, row="Exhaustive by minimum support", at=least)


def _procedure(
    run: Callable[[ExperimentSample, Parameters, int, Notify], Iterator[Record]], uses: str, sensors: int | None = None
) -> Procedure:
    return Procedure(run, tuple(uses.split()), sensors)


PROCEDURES: Mapping[str, Procedure] = MappingProxyType(
    {
        "semantics": _procedure(compare_semantics, f"sensors {_SEMANTICS}"),
        "semantics-10": _procedure(compare_semantics, _SEMANTICS, sensors=10),
        "semantics-15": _procedure(compare_semantics, _SEMANTICS, sensors=15),
        "lifted": _procedure(mine_lifted, f"sensors similarities {_SEMANTICS}"),
        "optimisers": _procedure(run_optimisers, f"sensors evaluations {_NARM}"),
        "evaluations": _procedure(sweep_evaluations, f"sensors sweep_evaluations {_NARM}"),
        "thresholds": _procedure(sweep_similarity, f"sensors similarities {_TABLES} {_AERIAL}"),
        "exhaustive-sweep": _procedure(
            sweep_exhaustive,
            f"sensors sweep_antecedents sweep_antecedents_min_support mlxtend_antecedents {_SWEEP} {_TABLES}",
        ),
        "aerial-sweep": _procedure(sweep_aerial, f"sensors aerial_antecedents aerial_full_search {_TABLES} {_AERIAL}"),
        "arm-ae": _procedure(
            run_arm_ae,
            f"sensors likeness most_per_consequent arm_ae_epochs arm_ae_batch_size {_TABLES} {_AERIAL}",
        ),
        "ablation-aerial": _procedure(ablate_aerial, f"sensors {_TABLES} {_AERIAL}"),
        "ablation-others": _procedure(ablate_others, f"sensors ablation_evaluations {_TABLES}"),
        "complexity": _procedure(
            measure_complexity, f"sensors complexity_sensors {_SWEEP} {_TABLES} {_AERIAL}", sensors=80
        ),
    }
)
