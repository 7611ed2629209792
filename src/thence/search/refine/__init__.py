"""Refinement: reduce the rules that a miner returns to the few that are worth reading.

``refine`` runs the steps in order; each step is a function in a module of its own. Refinement reads rules and the table
that they were mined from, for every enrichment, and returns rules with exact counts. It proposes no rules except
simpler, merged or sharper forms of given ones. Numbers behind the bins are read through the table only, as finer bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thence._base.display.percent import percent
from thence._base.progress import Progress, silent
from thence.data.graph.ontology import Ontology
from thence.errors import ConfigError
from thence.language.constraints import Constraint
from thence.search.refine.counterexamples import add_exceptions
from thence.search.refine.cover import smallest_cover
from thence.search.refine.digest import digest as make_digest
from thence.search.refine.known import drop_known
from thence.search.refine.merging import merge_intervals
from thence.search.refine.redundancy import add_simpler, drop_covered, drop_mirrored, drop_trivia, simplify
from thence.search.refine.sharpening import sharpen as sharpen_ranges
from thence.search.refine.significance.nulls import Null
from thence.search.refine.significance.testing import p_values
from thence.statements.counting.assurance import SPANS, add_confidence_bound
from thence.statements.counting.recount import count_rules, count_spans, counted_on
from thence.statements.rules.bounds import is_within
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = [
    "Null",
    "add_exceptions",
    "add_simpler",
    "drop_covered",
    "drop_known",
    "drop_mirrored",
    "drop_trivia",
    "merge_intervals",
    "p_values",
    "refine",
    "sharpen_ranges",
    "simplify",
    "smallest_cover",
]

MOST_COUNTED_BY_PLACE = 5_000
"""With more rules than this, nobody reads in which places each of them fails."""


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
    occasions: int = 0,
    digest: int | None = None,
    sharpen: bool = False,
    known: RuleSet | None = None,
    min_confidence: float | None = None,
    min_support: float | None = None,
    antecedent: Constraint = None,
    consequent: Constraint = None,
    ontology: Ontology | None = None,
    denominator: str = "present",
    seed: int = 0,
    progress: Progress = silent,
) -> RuleSet:
    """Reduce rules to those worth reading.

    The steps run in this order: drop trivial rules, drop mirror images, check the assurance, test the significance,
    merge bins, simplify, check the assurance of merged and simplified rules, drop rules covered by a more general one,
    drop what follows from known rules, select a cover, make a digest, sharpen ranges.

    In the end, if no more than 5,000 lifted rules are left, their columns ``places_judged``, ``places_held`` and
    ``except`` say in which places they hold and where they do not (``add_exceptions``).

    If you test significance, pass ``min_confidence``, ``min_support``, ``antecedent`` and ``consequent`` as the miner
    had them, so that the test adjusts for exactly the rules that it could have found.

    Args:
        rules: The rules to refine.
        table: The table that the rules were mined from.
        trivia: Whether to drop rules that are true for reasons unrelated to the readings (``drop_trivia``).
        redundancy: Whether to drop mirror images (``drop_mirrored``), replace rules by simpler versions that are as
            good (``simplify``), and drop rules that a more general one makes superfluous (``drop_covered``).
        improvement: Minimum improvement in confidence of a rule over its simpler versions, from 0 to 1; it must also
            be above zero. Used with ``redundancy``.
        assurance: Probability such as 0.95: keep rules whose lower confidence bound at this probability reaches
            ``min_confidence`` (``th.evaluate.add_confidence_bound``). ``None`` or 0 skips the check.
        significance: Significance level such as 0.05: keep rules that are significant at this level (``p_values``).
            ``None`` skips the test.
        null: The null model of the significance test; ``Null()`` by default.
        merge: Whether to merge rules that differ in one bin (``merge_intervals``).
        cover: ``True`` selects few rules that cover the same rows (``smallest_cover``); a number from 0 to 1 is the
            share of these rows to cover; ``False`` or 0 selects nothing.
        occasions: If given, the least number of episodes in which the antecedent of a rule holds; rules that fail in
            one half of the time are dropped too. Rows without an order in time have neither.
        digest: Maximum number of rules to keep for reading: informative ones, each fact once, in an order to be read
            in (``thence.search.refine.digest``). ``None`` or 0 keeps all.
        sharpen: Whether to replace the bins of the rules that are left by sharper ranges, found on two thirds of the
            time and confirmed on the rest (``thence.search.refine.sharpening``). Such ranges are not bins of ``table``:
            the rules carry the table that they can be counted on (``counted_on``).
        known: Rules that are known, counted on the same data: what follows from them is dropped (``drop_known``).
        min_confidence: Minimum confidence of merged, simplified and assured rules; by default the lowest confidence of
            the given rules. Also the minimum confidence of the family of the significance test, there 0 by default.
        min_support: Minimum support of the family of the significance test; by default the lowest support of the given
            rules.
        antecedent: Item constraint on the antecedents of the family of the significance test.
        consequent: Item constraint on the consequents of the family of the significance test.
        ontology: Ontology from which trivial consequents may follow.
        denominator: Rows over which new rules are counted: ``"present"`` for those in which all features of the rule
            are known, ``"all"`` for all rows.
        seed: Random seed of the significance test.
        progress: Callback that reports progress.

    Returns:
        The refined rules. ``facts["refine"]`` and a note say how many rules each step left.

    Raises:
        ConfigError: If a setting is out of range.
        MiningError: If the table lacks features of the rules, or has too few frames for the null model.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> frame = pl.DataFrame({"level": [1.0, 2.0, 3.0, 4.0] * 9, "pump": ["on", "on", "off", "off"] * 9})
        >>> table = TransactionTable.from_frame(frame, bins=4)
        >>> for rule in refine(Exact().mine(table), table):
        ...     print(rule.english)
        if level is below 3, then pump is on
        if level is at least 3, then pump is off
    """
    if not 0 <= improvement <= 1:
        raise ConfigError(f"improvement must be between 0 and 1, got {improvement!r}")
    if isinstance(cover, (int, float)) and not 0 <= cover <= 1:
        raise ConfigError(f"cover must be a boolean or a share between 0 and 1, got {cover!r}")
    floor = min_confidence
    if floor is None and len(rules):
        confidence = rules.measure("confidence")
        floor = float(np.min(confidence, initial=1.0, where=~np.isnan(confidence)))
    test: dict[str, Any] = {"alpha": significance, "null": null, "seed": seed, "progress": progress}
    test |= {"min_confidence": min_confidence or 0.0, "min_support": min_support}
    test |= {"antecedent": antecedent, "consequent": consequent}
    if min_support is None and len(rules):
        test["min_support"] = float(rules.measure("support").min())

    def test_significance(some: RuleSet) -> RuleSet:
        if redundancy:
            some = add_simpler(some, table, min_confidence=floor, denominator=denominator)
        return p_values(some, table, **test)

    def simplify_rules(some: RuleSet) -> RuleSet:
        made = simplify(some, table, improvement=improvement, min_confidence=floor, denominator=denominator)
        return made if significance is None else _test_new(made, table, test)

    def check_assurance(some: RuleSet) -> RuleSet:
        return add_confidence_bound(
            some, table, assurance=assurance or 0.0, min_confidence=floor, denominator=denominator
        )

    def make_short(some: RuleSet) -> RuleSet:
        free = antecedent is None and consequent is None
        return make_digest(
            some, table, at_most=digest or 1, min_confidence=floor or 0.0, converses=free, progress=progress
        )

    def make_sharp(some: RuleSet) -> RuleSet:
        return sharpen_ranges(
            some,
            table,
            min_confidence=floor,
            min_support=min_support or 0.0,
            assurance=assurance,
            denominator=denominator,
            progress=progress,
        )

    def leave_out_known(some: RuleSet) -> RuleSet:
        return some if known is None else drop_known(some, known, improvement=improvement, ontology=ontology)

    def leave_out_unsteady(some: RuleSet) -> RuleSet:
        return _drop_unsteady(some, table, floor=floor or 0.0, occasions=occasions, denominator=denominator)

    steps: list[tuple[str, bool, Callable[[RuleSet], RuleSet]]] = [
        ("trivia", trivia, lambda some: drop_trivia(some, table, ontology=ontology)),
        ("mirrored", redundancy, lambda some: drop_mirrored(some, table)),
        ("assurance", bool(assurance), check_assurance),
        ("significance", significance is not None, test_significance),
        ("merge", merge, lambda some: merge_intervals(some, table, min_confidence=floor, denominator=denominator)),
        ("simpler", redundancy, simplify_rules),
        ("assurance again", bool(assurance) and (merge or redundancy), check_assurance),
        ("covered", redundancy, lambda some: drop_covered(some, table)),
        ("known", bool(known), leave_out_known),
        ("cover", bool(cover), lambda some: smallest_cover(some, table, share=float(cover), progress=progress)),
        ("unsteady", bool(occasions) and table.is_ordered, leave_out_unsteady),
        ("digest", bool(digest), make_short),
        ("sharpen", sharpen, make_sharp),
        ("known again", bool(known) and (sharpen or bool(digest)), leave_out_known),
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
    if 0 < len(refined) <= MOST_COUNTED_BY_PLACE:
        own = counted_on(refined)
        counted = own if sharpen and isinstance(own, TransactionTable) else table
        refined = add_exceptions(refined, counted, min_confidence=floor, denominator=denominator)
    return _add_report(rules, refined, done)


def _drop_unsteady(
    rules: RuleSet, table: TransactionTable, *, floor: float, occasions: int, denominator: str
) -> RuleSet:
    """Drop rules that apply too seldom, or do not reach the minimum confidence in each half of the time."""
    episodes = count_spans(rules, table, spans=SPANS, denominator=denominator).counts.episodes
    rules = rules.take(np.flatnonzero(episodes >= occasions))
    middle = max(block.n_frames for block in table.blocks) // 2
    for half in (slice(0, middle), slice(middle, None)):
        counts = count_rules(rules, table.frames(half), denominator=denominator).counts
        rules = rules.take(
            np.flatnonzero((counts.n_antecedent == 0) | is_within(counts, "confidence", floor, least=True))
        )
    return rules


def _test_new(rules: RuleSet, table: TransactionTable, test: dict[str, Any]) -> RuleSet:
    """Test the rules that ``simplify`` added; the others have been tested before."""
    untested = (rules.measure("p_adjusted") != rules.measure("p_adjusted")).nonzero()[0]
    if not len(untested):
        return rules
    significant = p_values(rules.take(untested), table, **test)
    tested = rules.filter(max_p_adjusted=1.0)
    return replace(RuleSet.concat([tested, significant]), notes=rules.notes)


def _add_report(rules: RuleSet, refined: RuleSet, steps: list[dict[str, Any]]) -> RuleSet:
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
    note = f"refined {len(rules):,} rules to {len(refined):,} ({percent(ratio, 'digits', 3)}): {counted}"
    return replace(refined, facts={**refined.facts, "refine": report}, notes=(*refined.notes, note))
