"""Procedures of the experiments: functions that take a sample of sensors and yield measurements of rule sets.

A procedure runs once per repeat, and several experiments may read its stored records. It lists the parameters that it
depends on, so that repeats with different parameters are never mixed. In experiment files and stored repeats a
procedure is called ``work``. Nothing is stored or summarised here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from thence.lab.experiments.files import Parameters
from thence.lab.experiments.methods import (
    Record,
    derive_min_support,
    drop_static_antecedents,
    drop_static_consequents,
    make_aerial,
    make_exact,
    measure_as_arm_ae,
    measure_rules,
    measure_whole_rules,
    mine_timed,
    table_of,
    tally_exact,
)
from thence.lab.experiments.published_tables import Encoding
from thence.lab.experiments.samples import Sample
from thence.statements.rules.ruleset import Ending, RuleSet

__all__ = ["PROCEDURES", "Procedure"]

Notify = Callable[[str], None]
OPTIMISERS = MappingProxyType({"de": "DE", "ga": "GA", "pso": "PSO", "lshade": "LSHADE", "jde": "jDE"})

_TABLES = ("bins", "binning", "scope", "lifted_scope", "hops", "lifted_hops", "min_embeddings")
_AERIAL = (
    "antecedents",
    "similarity",
    "noise",
    "epochs",
    "batch_size",
    "learning_rate",
    "weight_decay",
    "training_rows",
)
_EXHAUSTIVE = (
    "min_confidence",
    "fallback_min_support",
    "least_min_support",
    "least_published_support",
    "released_min_support",
    "max_rules",
)


@dataclass(frozen=True)
class Procedure:
    """A procedure of the experiments.

    Args:
        run: Function of sample, parameters, random seed and a callback for notes about the progress; yields records.
        uses: Names of the parameters that the records depend on.
        sensors: Number of sensors to sample; by default the parameter ``sensors``.
    """

    run: Callable[[Sample, Parameters, int, Notify], Iterator[Record]]
    uses: tuple[str, ...]
    sensors: int | None = None


def compare_semantics(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
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


def mine_lifted(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine rules with variables: with Aerial, at every similarity, and exhaustively."""
    notify("Aerial, lifted")
    table = sample.table("lifted")
    learner = make_aerial("lifted", p, seed)
    begin = time.process_time()
    model = learner.train(table)
    rules = learner.extract(model, table)
    yield measure_rules("Aerial w-s", "lifted", rules, seconds=time.process_time() - begin)
    threshold = derive_min_support(rules, p)
    rules, seconds = mine_timed(make_exact(p, threshold), table)
    yield measure_rules("FP-Growth w-s", "lifted", rules, min_support=threshold, **_limit_facts(rules))
    yield measure_rules("Exact w-s", "lifted", rules, seconds=seconds, min_support=threshold)
    yield from _extract_at_similarities(learner, model, table, p, "lifted")


def _extract_at_similarities(learner: Any, model: Any, table: Any, p: Parameters, variant: str) -> Iterator[Record]:
    for similarity in p.similarities:
        rules = replace(learner, similarity=similarity).extract(model, table)
        yield measure_rules("Aerial by similarity", variant, rules, at=similarity)


def _mine_published(sample: Sample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """Mine with FP-Growth and H-Mine of mlxtend as the released code does, on its tables and at its minimum support."""
    from thence.lab.baselines.exhaustive import FPGrowth
    from thence.lab.baselines.semrl import NaiveSemRL

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


def _mine_faithful(sample: Sample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """Mine with the FP-Growth of mlxtend without semantics, and with Naive SemRL in its published encoding."""
    from thence.lab.baselines.exhaustive import FPGrowth
    from thence.lab.baselines.semrl import NaiveSemRL

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


def _mine_corrected(sample: Sample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
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
    return {"stopped": f"stopped at {len(rules):,} rules"} if rules.ending is Ending.LIMIT else {}


def run_optimisers(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with every optimiser of TS-NARM at the full number of evaluations, as described and as released."""
    from thence.lab.baselines.narm import TSNARM

    table = sample.feature_table(encoding=Encoding())
    for algorithm in p.algorithms:
        notify(f"{OPTIMISERS[algorithm]}, released code")
        miner = TSNARM.published(algorithm, evaluations=p.evaluations, seed=seed)
        begin = time.process_time()
        found = miner.search(table)
        seconds = time.process_time() - begin
        yield measure_whole_rules(OPTIMISERS[algorithm], found, seconds=seconds, evaluations=p.evaluations)
    yield from _optimise(sample, p, seed, notify, (p.evaluations,), show_at=False)


def sweep_evaluations(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with every optimiser of TS-NARM at increasing numbers of evaluations."""
    yield from _optimise(sample, p, seed, notify, p.sweep_evaluations, show_at=True)


def _optimise(
    sample: Sample, p: Parameters, seed: int, notify: Notify, numbers: tuple[int, ...], *, show_at: bool
) -> Iterator[Record]:
    from thence.lab.baselines.narm import TSNARM

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


def sweep_similarity(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Train Aerial once and extract rules at every similarity."""
    for variant in ("published", "faithful", "corrected"):
        notify(f"Aerial, {variant}")
        table = table_of(sample, variant, "grounded")
        learner = make_aerial(variant, p, seed)
        yield from _extract_at_similarities(learner, learner.train(table), table, p, variant)


def sweep_exhaustive(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine the existential table exhaustively, varying antecedents and minimum support."""
    from thence.lab.baselines.exhaustive import FPGrowth, HMine

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


def sweep_aerial(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
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


def run_arm_ae(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Mine with ARM-AE, with as many rules per consequent as Aerial finds per feature."""
    from thence.lab.baselines.arm_ae import ARMAE

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


def ablate_aerial(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Go from the released Aerial to ours, one setting at a time; then exchange single settings of two variants."""
    from thence.lab.experiments.ablations import list_aerial, list_masking

    for number, (step, miner, table) in enumerate(list_aerial(sample, p, seed)):
        notify(f"Aerial, {step.name}")
        rules, seconds = mine_timed(miner, table)
        yield measure_rules(f"Aerial w-s {number:02d}: {step.name}", step.variant, rules, seconds=seconds)
    for name, variant, miner in list_masking(p, seed):
        notify(f"Aerial without semantics, {variant}, {name}")
        rules, seconds = mine_timed(miner, sample.table("none"))
        yield measure_rules(f"Aerial wo-s: {name}", variant, rules, seconds=seconds)


def ablate_others(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Go from the released LSHADE and ARM-AE to the paper's text, one setting at a time."""
    from thence.lab.baselines.narm import TSNARM
    from thence.lab.experiments.ablations import NARM_STEPS, list_arm_ae

    chosen: dict[str, Any] = {}
    rounded, plain = sample.feature_table(encoding=Encoding()), sample.feature_table()
    for number, (name, changes) in enumerate([*NARM_STEPS.items(), ("means not rounded (faithful)", {})]):
        notify(f"LSHADE, {name}")
        chosen |= changes
        optimiser = replace(TSNARM.published("lshade", evaluations=p.ablation_evaluations, seed=seed), **chosen)
        begin = time.process_time()
        found = optimiser.search(rounded if number < len(NARM_STEPS) else plain)
        yield measure_whole_rules(f"LSHADE {number}: {name}", found, seconds=time.process_time() - begin)
    for number, (name, miner, table) in enumerate(list_arm_ae(sample, seed)):
        notify(f"ARM-AE, {name}")
        rules, seconds = mine_timed(miner, table)
        if number == 0:
            yield measure_as_arm_ae("ARM-AE 0: released code, its own measures", rules, seconds=seconds)
        yield measure_rules(f"ARM-AE {number + 1}: {name}", "published", rules, seconds=seconds)


def measure_complexity(sample: Sample, p: Parameters, seed: int, notify: Notify) -> Iterator[Record]:
    """Time Aerial's training by the number of sensors, and Aerial and exhaustive mining by minimum support."""
    for number in p.complexity_sensors:
        notify(f"training, {number} sensors")
        part = replace(sample, sensors=sample.sensors[:number])
        table = part.table("none", gaps="zero")
        for variant in ("faithful", "corrected"):
            learner = make_aerial(variant, p, seed)
            begin = time.process_time()
            learner.train(table)
            seconds = time.process_time() - begin
            values = {"features": float(table.n_features)}
            yield {
                "row": "Aerial's training by sensors",
                "variant": variant,
                "at": float(number),
                "values": {},
                "seconds": seconds,
                "facts": values,
            }
    few = replace(sample, sensors=sample.sensors[: p.sensors])
    table = few.table("none")
    for least in p.sweep_min_supports:
        notify(f"minimum support {least:g}")
        learner = make_aerial("corrected", p, seed, min_support=least)
        rules, seconds = mine_timed(learner, table)
        yield measure_rules("Aerial by minimum support", "corrected", rules, seconds=seconds, at=least)
        miner = make_exact(p, least, max_rules=p.sweep_max_rules, max_antecedents=p.sweep_supports_antecedents)
        yield tally_exact(miner, table, row="Exhaustive by minimum support", at=least)


_SEMANTICS = (*_TABLES, *_AERIAL, *_EXHAUSTIVE)
_NARM = ("hops", "population", "algorithms")

PROCEDURES: Mapping[str, Procedure] = MappingProxyType(
    {
        "semantics": Procedure(compare_semantics, ("sensors", *_SEMANTICS)),
        "semantics-10": Procedure(compare_semantics, _SEMANTICS, sensors=10),
        "semantics-15": Procedure(compare_semantics, _SEMANTICS, sensors=15),
        "lifted": Procedure(mine_lifted, ("sensors", "similarities", *_SEMANTICS)),
        "optimisers": Procedure(run_optimisers, ("sensors", "evaluations", *_NARM)),
        "evaluations": Procedure(sweep_evaluations, ("sensors", "sweep_evaluations", *_NARM)),
        "thresholds": Procedure(sweep_similarity, ("sensors", "similarities", *_TABLES, *_AERIAL)),
        "exhaustive-sweep": Procedure(
            sweep_exhaustive,
            (
                "sensors",
                "sweep_antecedents",
                "sweep_min_supports",
                "sweep_antecedents_min_support",
                "sweep_supports_antecedents",
                "mlxtend_antecedents",
                "min_confidence",
                "sweep_max_rules",
                *_TABLES,
            ),
        ),
        "aerial-sweep": Procedure(
            sweep_aerial, ("sensors", "aerial_antecedents", "aerial_full_search", *_TABLES, *_AERIAL)
        ),
        "arm-ae": Procedure(
            run_arm_ae,
            ("sensors", "likeness", "most_per_consequent", "arm_ae_epochs", "arm_ae_batch_size", *_TABLES, *_AERIAL),
        ),
        "ablation-aerial": Procedure(ablate_aerial, ("sensors", *_TABLES, *_AERIAL)),
        "ablation-others": Procedure(ablate_others, ("sensors", "ablation_evaluations", *_TABLES)),
        "complexity": Procedure(
            measure_complexity,
            (
                "sensors",
                "complexity_sensors",
                "sweep_min_supports",
                "sweep_supports_antecedents",
                "sweep_max_rules",
                "min_confidence",
                *_TABLES,
                *_AERIAL,
            ),
            sensors=80,
        ),
    }
)
