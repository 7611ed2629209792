"""Refinement: from all rules that hold to the few that are worth reading.

``refine`` runs the steps in order; each is a function of its own in a module of its own. Refinement reads rules and
the table they came from, for every enrichment, and returns rules that are counted exactly. It proposes no rules of its
own except simpler or wider forms of given ones, and never looks at raw readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from thence.counting.assurance import assured
from thence.errors import ConfigError
from thence.graph.ontology import Ontology
from thence.progress import Progress, silent
from thence.refinement.cover import smallest_cover
from thence.refinement.merging import merge_intervals
from thence.refinement.redundancy import drop_covered, drop_mirrored, drop_trivia
from thence.refinement.significance.nulls import Null
from thence.refinement.significance.testing import p_values
from thence.refinement.simpler import simplify, with_simpler
from thence.rules.constraints import Constraint
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = [
    "Null",
    "drop_covered",
    "drop_mirrored",
    "drop_trivia",
    "merge_intervals",
    "p_values",
    "refine",
    "simplify",
    "smallest_cover",
    "with_simpler",
]


def refine(
    rules: RuleSet,
    table: TransactionTable,
    *,
    trivia: bool = True,
    redundancy: bool = True,
    improvement: float = 0.0,
    assurance: float | None = None,
    significance: float | None = None,
    null: Null | None = None,
    merge: bool = True,
    cover: bool | float = False,
    min_confidence: float | None = None,
    min_support: float | None = None,
    antecedent: Constraint = None,
    consequent: Constraint = None,
    ontology: Ontology | None = None,
    denominator: str = "present",
    seed: int = 0,
    progress: Progress = silent,
) -> RuleSet:
    """The rules worth reading, with what each step did in ``facts["refine"]`` and in a note.

    In order: ``trivia`` drops what is true anyway; ``redundancy`` tells mirror images once; ``assurance`` (a
    probability, say 0.95) keeps what surely reaches ``min_confidence`` (``assured``), and is asked again of
    joined and simplified rules; ``significance`` (a level, say 0.05) keeps what is more than chance, compared with the
    worlds that ``null`` draws; ``merge`` joins the bins that carry the same rule; ``redundancy`` lets rules give way to
    simpler ones, unless they improve on them by more than zero and at least ``improvement``, and drops what a more
    general rule covers; ``cover`` keeps the fewest rules that cover all rows that were covered (``True``) or that share
    of them. ``min_confidence`` is what a joined or simplified rule must reach, by default the lowest confidence among
    the given rules. Give it, ``min_support`` and the item constraints ``antecedent`` and ``consequent`` as the miner
    had them if you test significance, so that exactly what it could have found by chance competes.

    >>> import polars as pl
    >>> from thence.miners.exact.miner import Exact
    >>> frame = pl.DataFrame({"level": [1.0, 2.0, 3.0, 4.0] * 9, "pump": ["on", "on", "off", "off"] * 9})
    >>> table = TransactionTable.from_frame(frame, bins=4)
    >>> for rule in refine(Exact().mine(table), table):
    ...     print(rule.english)
    if level reads below 3, then pump reads on
    if level reads at least 3, then pump reads off
    """
    if not 0 <= improvement <= 1:
        raise ConfigError(f"improvement must lie between 0 and 1, got {improvement!r}")
    if isinstance(cover, (int, float)) and not 0 <= cover <= 1:
        raise ConfigError(f"cover must be true, false or a share of rows, got {cover!r}")
    floor = min_confidence
    if floor is None and len(rules):
        floor = float(rules.measure("confidence").min())
    test: dict[str, Any] = {"alpha": significance, "null": null, "seed": seed, "progress": progress}
    test |= {"min_confidence": min_confidence or 0.0, "min_support": min_support}
    test |= {"antecedent": antecedent, "consequent": consequent}
    if min_support is None and len(rules):
        test["min_support"] = float(rules.measure("support").min())

    def significant(some: RuleSet) -> RuleSet:
        if redundancy:
            some = with_simpler(some, table, min_confidence=floor, denominator=denominator)
        return p_values(some, table, **test)

    def simpler(some: RuleSet) -> RuleSet:
        made = simplify(some, table, improvement=improvement, min_confidence=floor, denominator=denominator)
        return made if significance is None else _test_new(made, table, test)

    def sure(some: RuleSet) -> RuleSet:
        return assured(some, table, assurance=assurance or 0.0, min_confidence=floor, denominator=denominator)

    steps: list[tuple[str, bool, Callable[[RuleSet], RuleSet]]] = [
        ("trivia", trivia, lambda some: drop_trivia(some, table, ontology=ontology)),
        ("mirrored", redundancy, lambda some: drop_mirrored(some, table)),
        ("assurance", bool(assurance), sure),
        ("significance", significance is not None, significant),
        ("merge", merge, lambda some: merge_intervals(some, table, min_confidence=floor, denominator=denominator)),
        ("simpler", redundancy, simpler),
        ("assurance again", bool(assurance) and (merge or redundancy), sure),
        ("covered", redundancy, lambda some: drop_covered(some, table)),
        ("cover", bool(cover), lambda some: smallest_cover(some, table, share=float(cover), progress=progress)),
    ]
    chosen = [(name, function) for name, wanted, function in steps if wanted]
    done: list[dict[str, Any]] = []
    refined = rules
    for number, (name, function) in enumerate(chosen):
        progress("refining", number, len(chosen), name)
        before = len(refined)
        refined = function(refined) if before else refined
        done.append({"step": name, "before": before, "after": len(refined)})
    progress("refining", len(chosen), len(chosen))
    return _reported(rules, refined, done)


def _test_new(rules: RuleSet, table: TransactionTable, test: dict[str, Any]) -> RuleSet:
    """Simpler rules that came in the place of tested ones are tested as well."""
    untested = (rules.measure("p_adjusted") != rules.measure("p_adjusted")).nonzero()[0]
    if not len(untested):
        return rules
    passed = p_values(rules.take(untested), table, **test)
    kept = rules.filter(max_p_adjusted=1.0)
    return replace(RuleSet.concat([kept, passed]), notes=rules.notes)


def _reported(rules: RuleSet, refined: RuleSet, steps: list[dict[str, Any]]) -> RuleSet:
    ratio = len(refined) / len(rules) if len(rules) else 1.0
    report = {
        "rules_before": len(rules),
        "rules_after": len(refined),
        "ratio": ratio,
        "coverage_before": rules.data_coverage,
        "coverage_after": refined.data_coverage,
        "steps": steps,
    }
    counted = ", ".join(f"{step['step']} {step['after']:,}" for step in steps)
    note = f"refined {len(rules):,} rules to {len(refined):,} ({100 * ratio:.3g} %): {counted}"
    return replace(refined, facts={**refined.facts, "refine": report}, notes=(*refined.notes, note))
