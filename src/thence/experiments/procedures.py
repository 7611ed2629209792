"""The work behind the experiments: functions from a sample of sensors to records of measured rule sets.

A work is run once per repeat and stored; several experiments may read the same one. Each names the parameters that it
depends on, so that stored repeats made with others are never mixed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from thence.experiments.files import Parameters
from thence.experiments.methods import GAPS, Record, aerial, exact, measured, min_support_from, moving, timed
from thence.experiments.samples import Sample
from thence.rules.ruleset import Ending, RuleSet

__all__ = ["PROCEDURES", "Procedure"]

Tell = Callable[[str], None]
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
    "max_rules",
)


@dataclass(frozen=True)
class Procedure:
    """One kind of work: what it does, how many sensors it takes (``None``: as the parameters say), what it reads."""

    run: Callable[[Sample, Parameters, int, Tell], Iterator[Record]]
    uses: tuple[str, ...]
    sensors: int | None = None


def semantics(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """FP-Growth and Aerial with and without semantics, in every encoding."""
    for variant in ("faithful", "corrected"):
        least: dict[str, float] = {}
        for condition, mode in (("w-s", "grounded"), ("wo-s", "none")):
            tell(f"Aerial {condition}, {variant}")
            rules, seconds = timed(aerial(variant, p, seed), sample.table(mode, gaps=GAPS[variant]))
            yield measured(f"Aerial {condition}", variant, rules, seconds=seconds)
            least[condition] = min_support_from(rules, p)
        tell(f"FP-Growth, {variant}")
        yield from (_as_published if variant == "faithful" else _corrected)(sample, p, seed, least)


def lifted(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """Rules with variables: by Aerial, at every similarity, and by exhaustive mining."""
    tell("Aerial, lifted")
    table = sample.table("lifted")
    learner = aerial("lifted", p, seed)
    begin = time.process_time()
    model = learner.train(table)
    rules = learner.extract(model, table)
    yield measured("Aerial w-s", "lifted", rules, seconds=time.process_time() - begin)
    threshold = min_support_from(rules, p)
    rules, seconds = timed(exact(p, threshold), table)
    yield measured("FP-Growth w-s", "lifted", rules, min_support=threshold, **_capped(rules))
    yield measured("Exact w-s", "lifted", rules, seconds=seconds, min_support=threshold)
    yield from _at_every_similarity(learner, model, table, p, "lifted")


def _at_every_similarity(learner: Any, model: Any, table: Any, p: Parameters, variant: str) -> Iterator[Record]:
    for similarity in p.similarities:
        rules = replace(learner, similarity=similarity).extract(model, table)
        yield measured("Aerial by similarity", variant, rules, at=similarity)


def _as_published(sample: Sample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """mlxtend's FP-Growth without semantics, and Naive SemRL as published."""
    from thence.miners.baselines.exhaustive import FPGrowth
    from thence.miners.baselines.semrl import NaiveSemRL

    limits: dict[str, Any] = {"min_confidence": p.min_confidence, "max_antecedents": p.antecedents}
    without, with_ = least["wo-s"], max(least["w-s"], p.least_published_support)
    rules, seconds = timed(FPGrowth(min_support=without, **limits), sample.table("none", gaps="zero"))
    yield measured("FP-Growth wo-s", "faithful", rules, seconds=seconds, min_support=without)
    published = NaiveSemRL(min_support=with_, published_encoding=True, **limits)
    rules, seconds = timed(published, sample.table("existential", gaps="zero"))
    yield measured("FP-Growth w-s", "faithful", rules, seconds=seconds, min_support=with_)
    # With static consequents there are too many frequent sets for mlxtend; the exact miner has the same rules.
    rules = exact(p, least["w-s"], context_consequents=True).mine(sample.table("grounded", gaps="zero"))
    yield measured("FP-Growth w-s (grounded)", "faithful", rules, min_support=least["w-s"], **_capped(rules))


def _corrected(sample: Sample, p: Parameters, seed: int, least: Mapping[str, float]) -> Iterator[Record]:
    """The rules of exhaustive mining, found by the exact miner, in every encoding."""
    # What constants do to the network when they are kept as inputs and shut out as consequents.
    rules, seconds = timed(aerial("corrected", p, seed, keep_constants=True), sample.table("grounded"))
    yield measured("Aerial w-s (constants kept)", "corrected", rules, seconds=seconds)
    for condition, table, threshold in (
        ("wo-s", sample.table("none"), least["wo-s"]),
        ("w-s", sample.table("existential"), least["w-s"]),
        ("w-s (grounded)", sample.table("grounded"), least["w-s"]),
        ("w-s (ids dropped, no properties)", sample.table("existential", properties=()), least["w-s"]),
    ):
        rules, seconds = timed(exact(p, threshold), table)
        yield measured(f"FP-Growth {condition}", "corrected", rules, min_support=threshold, **_capped(rules))
        yield measured(f"Exact {condition}", "corrected", rules, seconds=seconds, min_support=threshold)


def _capped(rules: RuleSet) -> dict[str, Any]:
    """The fact that a search was stopped at a number of rules."""
    return {"stopped": f"stopped at {len(rules):,} rules"} if rules.ending is Ending.LIMIT else {}


def optimisers(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """TS-NARM with every optimiser at the full number of evaluations."""
    yield from _optimise(sample, p, seed, tell, (p.evaluations,), show_at=False)


def evaluations(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """TS-NARM with every optimiser at rising numbers of evaluations."""
    yield from _optimise(sample, p, seed, tell, p.sweep_evaluations, show_at=True)


def _optimise(
    sample: Sample, p: Parameters, seed: int, tell: Tell, numbers: tuple[int, ...], *, show_at: bool
) -> Iterator[Record]:
    from thence.miners.baselines.narm import TSNARM

    raw = sample.raw()
    for number in numbers:
        for algorithm in p.algorithms:
            tell(f"{OPTIMISERS[algorithm]}, {number:,} evaluations")
            miner = TSNARM(
                algorithm=algorithm,  # type: ignore[arg-type]
                population=p.population,
                evaluations=number,
                context_consequents=True,
                seed=seed,
            )
            rules, seconds = timed(miner, raw)
            at = float(number) if show_at else None
            row = OPTIMISERS[algorithm]
            found = measured(row, "faithful", rules, seconds=seconds, at=at, evaluations=number)
            # The paper's confidence is that of a rule with all its consequents together.
            joint = rules.measure("joint_confidence").mean() if len(rules) else None
            found["values"]["confidence"] = None if joint is None else float(joint)
            yield found
            # One search, read twice: without static consequents its rules are the corrected variant's.
            yield measured(row, "corrected", moving(rules), seconds=seconds, at=at, evaluations=number)


def thresholds(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """One training of Aerial, asked for rules at every similarity."""
    for variant in ("faithful", "corrected"):
        tell(f"Aerial, {variant}")
        table = sample.table("grounded", gaps=GAPS[variant])
        learner = aerial(variant, p, seed)
        yield from _at_every_similarity(learner, learner.train(table), table, p, variant)


def exhaustive_sweep(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """Exhaustive mining of the existential table against antecedents and minimum support."""
    from thence.miners.baselines.exhaustive import FPGrowth, HMine

    table = sample.table("existential")
    sweeps = [
        ("antecedents", [(float(n), n, p.sweep_antecedents_min_support) for n in p.sweep_antecedents]),
        ("minimum support", [(s, p.sweep_supports_antecedents, s) for s in p.sweep_min_supports]),
    ]
    for name, settings in sweeps:
        for at, antecedents, least in settings:
            tell(f"exhaustive, {name} {at:g}")
            miner = exact(p, least, max_antecedents=antecedents)
            rules, seconds = timed(miner, table)
            facts: dict[str, Any] = {"min_support": least, "max_antecedents": antecedents, **_capped(rules)}
            yield measured(f"Exhaustive by {name}", "corrected", rules, seconds=seconds, at=at, **facts)
            if antecedents > p.mlxtend_antecedents:
                continue
            for row, kind in (("FP-Growth", FPGrowth), ("H-Mine", HMine)):
                theirs = kind(min_support=least, min_confidence=p.min_confidence, max_antecedents=antecedents)
                rules, seconds = timed(theirs, table)
                yield measured(f"{row} by {name}", "corrected", rules, seconds=seconds, at=at, **facts)


def aerial_sweep(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """Aerial against the number of antecedents; time is training and extraction together."""
    for variant in ("faithful", "corrected"):
        table = sample.table("grounded", gaps=GAPS[variant])
        for antecedents in p.aerial_antecedents:
            tell(f"Aerial, {antecedents} antecedents, {variant}")
            search = "full" if antecedents <= p.aerial_full_search else "grow"
            # Sensors alone: with constants among three or four antecedents nearly all rules are copies of shorter ones.
            learner = aerial(variant, p, seed, max_antecedents=antecedents, search=search, keep_constants=False)
            rules, seconds = timed(learner, table)
            yield measured(
                "Aerial by antecedents", variant, rules, seconds=seconds, at=float(antecedents), search=search
            )


def arm_ae(sample: Sample, p: Parameters, seed: int, tell: Tell) -> Iterator[Record]:
    """ARM-AE with as many rules per consequent as Aerial has per feature."""
    from thence.miners.baselines.arm_ae import ARMAE

    for variant in ("faithful", "corrected"):
        tell(f"ARM-AE, {variant}")
        table = sample.table("grounded", gaps=GAPS[variant])
        found = aerial(variant, p, seed).mine(table)
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
        rules, seconds = timed(miner, table)
        yield measured("ARM-AE", variant, rules, seconds=seconds, rules_per_consequent=per_consequent)


_SEMANTICS = (*_TABLES, *_AERIAL, *_EXHAUSTIVE)
_NARM = ("hops", "population", "algorithms")

PROCEDURES: Mapping[str, Procedure] = MappingProxyType(
    {
        "semantics": Procedure(semantics, ("sensors", *_SEMANTICS)),
        "semantics-10": Procedure(semantics, _SEMANTICS, sensors=10),
        "semantics-15": Procedure(semantics, _SEMANTICS, sensors=15),
        "lifted": Procedure(lifted, ("sensors", "similarities", *_SEMANTICS)),
        "optimisers": Procedure(optimisers, ("sensors", "evaluations", *_NARM)),
        "evaluations": Procedure(evaluations, ("sensors", "sweep_evaluations", *_NARM)),
        "thresholds": Procedure(thresholds, ("sensors", "similarities", *_TABLES, *_AERIAL)),
        "exhaustive-sweep": Procedure(
            exhaustive_sweep,
            (
                "sensors",
                "sweep_antecedents",
                "sweep_min_supports",
                "sweep_antecedents_min_support",
                "sweep_supports_antecedents",
                "mlxtend_antecedents",
                "min_confidence",
                "max_rules",
                *_TABLES,
            ),
        ),
        "aerial-sweep": Procedure(
            aerial_sweep, ("sensors", "aerial_antecedents", "aerial_full_search", *_TABLES, *_AERIAL)
        ),
        "arm-ae": Procedure(
            arm_ae,
            ("sensors", "likeness", "most_per_consequent", "arm_ae_epochs", "arm_ae_batch_size", *_TABLES, *_AERIAL),
        ),
    }
)
