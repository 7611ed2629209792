"""Exceptions: the places in which a lifted rule fails although it holds elsewhere.

A rule *holds in a place* if its confidence there reaches the minimum confidence. Only places in which it applied often
enough are judged. This module counts rules place by place and says where they fail; it drops none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thence._base.display.percent import percent
from thence.errors import ConfigError, MiningError
from thence.statements.counting.by_place import CountsByPlace, count_by_place, find_lifted, name_places
from thence.statements.counting.recount import counted_on
from thence.statements.rules.bounds import exact_threshold
from thence.statements.rules.ruleset import ENOUGH_ROWS, RuleSet
from thence.tables.bitmaps.bits import Bools
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import polars as pl

CHANCE = 0.05
"""How often, at most, chance alone makes some place of a rule a clear exception."""
_NAMED = 3
"""Exceptions that the text names."""


def find_exceptions(
    rules: RuleSet,
    table: TransactionTable | None = None,
    *,
    min_confidence: float | None = None,
    min_rows: int = ENOUGH_ROWS,
    denominator: str = "present",
) -> pl.DataFrame:
    """Return the places in which lifted rules fail although they hold elsewhere.

    A rule fails in a place if it applied there in at least ``min_rows`` rows and its confidence there is below
    ``min_confidence``. Places that differ from all others by more than chance come first, and of these the ones that
    break a rule which every other place keeps.

    Args:
        rules: The rules, such as ``run.rules``.
        table: The table to count on; by default the one that the rules were counted on.
        min_confidence: Confidence below which a rule fails in a place; by default that of ``refine``, or else the
            lowest confidence of the given rules.
        min_rows: Number of rows in which a rule must apply in a place, at least 1; places with fewer are not judged.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.

    Returns:
        A frame with a row per rule and place in which it fails: the position of the rule, its sentence, the name of
        the place, its site (null for one system), the node of each variable, the number of rows in which the rule
        applies and holds there, its confidence there and in all other places together, the number of places that are
        judged and of those in which the rule holds, and whether the difference is ``beyond_chance``. For that, the rows
        of an episode, in which the antecedent holds without a break, count as one: it is an exact binomial test at
        5 %, for all judged places of the rule together.

    Raises:
        ConfigError: If ``min_rows`` or ``min_confidence`` is out of range.
        MiningError: If there is no table, or it cannot count the rules.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, enrich="lifted", progress="off")
        >>> th.evaluate.find_exceptions(run.rules, run.table).columns[:5]
        ['rule', 'english', 'place', 'site', 'nodes']
    """
    if min_rows < 1:
        raise ConfigError(f"min_rows must be at least 1, got {min_rows!r}")
    own = counted_on(rules) if table is None else table
    if not isinstance(own, TransactionTable):
        raise MiningError(
            "the rules carry no table with places" if table is None else "a feature table has no places",
            hint="pass the table that they were mined from, such as run.table",
        )
    chosen = find_lifted(rules, own)
    counted = (
        replace(one, rule=int(chosen[one.rule]))
        for one in count_by_place(rules.take(chosen), own, denominator=denominator)
    )
    return list_exceptions(counted, rules, min_confidence=min_confidence, min_rows=min_rows)


def list_exceptions(
    counted: Iterable[CountsByPlace],
    rules: RuleSet,
    *,
    min_confidence: float | None = None,
    min_rows: int = ENOUGH_ROWS,
) -> pl.DataFrame:
    """Return the exceptions to rules that have been counted by place; see ``find_exceptions``.

    Args:
        counted: The counts, each with the position of its rule.
        rules: The rules.
        min_confidence: Confidence below which a rule fails in a place.
        min_rows: Number of rows in which a rule must apply in a place.
    """
    import polars as pl

    bound = confidence_bound(rules, min_confidence)
    found: list[dict[str, Any]] = []
    for one in counted:
        found += _failures(one.rule, rules, one, bound, min_rows)
    schema: dict[str, Any] = {
        "rule": pl.Int64,
        "english": pl.String,
        "place": pl.String,
        "site": pl.String,
        "nodes": pl.List(pl.Struct({"variable": pl.String, "node": pl.String})),
        "applies": pl.Int64,
        "holds": pl.Int64,
        "confidence": pl.Float64,
        "elsewhere": pl.Float64,
        "places": pl.Int64,
        "places_held": pl.Int64,
        "beyond_chance": pl.Boolean,
    }
    frame = pl.DataFrame(found, schema=schema, orient="row")
    order = [
        pl.col("beyond_chance"),
        pl.col("places") - pl.col("places_held"),
        pl.col("elsewhere") - pl.col("confidence"),
        pl.col("rule"),
        pl.col("place"),
    ]
    return frame.sort(order, descending=[True, False, True, False, False], nulls_last=True)


def add_exceptions(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """Add the columns ``places_judged``, ``places_held`` and ``except`` to lifted rules.

    Args:
        rules: The rules.
        table: The table to count on.
        min_confidence: Confidence below which a rule fails in a place; by default the lowest of the given rules.
        denominator: As in ``count_rules``.

    Returns:
        The rules with the number of places in which each applied often enough to be judged, the number of those in
        which its confidence reaches the minimum, and the names of up to three others. Rules that are not lifted come
        back as they are.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, enrich="lifted", progress="off")
        >>> judged = add_exceptions(run.rules, run.table, min_confidence=0.8)
        >>> bool((judged.measure("places_held") <= judged.measure("places_judged")).all())
        True
    """
    chosen = find_lifted(rules, table)
    if not len(chosen):
        return rules
    bound = confidence_bound(rules, min_confidence)
    judged, held = np.full(len(rules), np.nan), np.full(len(rules), np.nan)
    names = [""] * len(rules)
    for counted in count_by_place(rules.take(chosen), table, denominator=denominator):
        rule = int(chosen[counted.rule])
        enough, holds = judge_places(counted, bound, ENOUGH_ROWS)
        judged[rule], held[rule] = int(enough.sum()), int(holds.sum())
        names[rule] = _name_failures(counted, enough & ~holds)
    extras = {**rules.extras, "places_judged": judged, "places_held": held, "except": np.array(names, np.str_)}
    return replace(rules, extras=extras, facts={**rules.facts, "places": {"min_confidence": float(bound)}})


def confidence_bound(rules: RuleSet, given: float | None = None) -> float:
    """Return the confidence below which a rule fails in a place.

    Args:
        rules: The rules.
        given: The bound, if it is given; by default that of ``refine``, or else the lowest confidence of the rules.
    """
    if given is None:
        given = rules.facts.get("places", {}).get("min_confidence")
    if given is None:
        confidence = rules.measure("confidence")
        given = float(np.min(confidence, initial=1.0, where=~np.isnan(confidence)))
    if not 0 <= given <= 1:
        raise ConfigError(f"min_confidence must be between 0 and 1, got {given!r}")
    return given


def judge_places(counted: CountsByPlace, bound: float, min_rows: int = ENOUGH_ROWS) -> tuple[Bools, Bools]:
    """Return the places in which a rule applied often enough, and those of them in which it holds.

    Args:
        counted: The counts of the rule by place.
        bound: The confidence below which it fails.
        min_rows: Number of rows in which it must apply.
    """
    limit = exact_threshold(bound, max_denominator=max(int(counted.n_antecedent.max(initial=1)), 1))
    enough = counted.n_antecedent >= min_rows
    return enough, enough & (counted.n_both * limit.denominator >= counted.n_antecedent * limit.numerator)


def _worst_first(counted: CountsByPlace, failing: Bools) -> list[int]:
    """The failing places, those with the lowest confidence first."""
    places = np.flatnonzero(failing)
    confidence = counted.n_both[places] / counted.n_antecedent[places]
    return [int(place) for place in places[np.argsort(confidence, kind="stable")]]


def _name_failures(counted: CountsByPlace, failing: Bools) -> str:
    """The places in which a rule fails, with their confidence: ``PU-12 (31 %), PU-3 (44 %) and 2 more``."""
    places = _worst_first(counted, failing)
    shown = places[:_NAMED]
    texts = [
        f"{name} ({_percent(int(counted.n_both[place]), int(counted.n_antecedent[place]))})"
        for place, name in zip(shown, name_places(counted.block, shown), strict=True)
    ]
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    return ", ".join(texts) + more


def _percent(held: int, applied: int) -> str:
    """A confidence in percent, rounded down: one that is too low never looks as if it were enough."""
    text = percent(held / applied, "down")
    return "below 1 %" if held and text == "0 %" else text


def _failures(number: int, rules: RuleSet, counted: CountsByPlace, bound: float, min_rows: int) -> list[dict[str, Any]]:
    """The rows of the frame for the rule at position ``number``."""
    enough, holds = judge_places(counted, bound, min_rows)
    places = _worst_first(counted, enough & ~holds)
    if not places:
        return []
    block = counted.block
    english = rules.rule(number).english
    variables = [] if block.pattern is None else [node.name for node in block.pattern.nodes]
    judged = int(enough.sum())
    out = []
    for place, name in zip(places, name_places(block, places), strict=True):
        applies, held = int(counted.n_antecedent[place]), int(counted.n_both[place])
        others = int(counted.n_antecedent.sum()) - applies
        elsewhere = (int(counted.n_both.sum()) - held) / others if others else None
        episodes = int(counted.episodes.sum()) - int(counted.episodes[place])
        out.append(
            {
                "rule": number,
                "english": english,
                "place": name,
                "site": None if block.site_of is None else block.sites[block.site_of[place]].name,
                "nodes": [
                    {"variable": variable, "node": node}
                    for variable, node in zip(variables, block.embeddings[place], strict=False)
                ],
                "applies": applies,
                "holds": held,
                "confidence": held / applies,
                "elsewhere": elsewhere,
                "places": judged,
                "places_held": int(holds.sum()),
                "beyond_chance": elsewhere is not None
                and _is_beyond_chance(held / applies, int(counted.episodes[place]), elsewhere, episodes, judged),
            }
        )
    return out


def _is_beyond_chance(confidence: float, episodes: int, elsewhere: float, other_episodes: int, places: int) -> bool:
    """Whether a confidence is so far below that elsewhere that chance hardly makes any of the places such."""
    # What never failed elsewhere may still fail once in as many episodes.
    expected = min(elsewhere, other_episodes / (other_episodes + 1))
    return confidence < elsewhere and places * binomial_tail(int(confidence * episodes), episodes, expected) <= CHANCE


def binomial_tail(most: int, trials: int, probability: float) -> float:
    """Return the probability of at most some successes in independent trials.

    Args:
        most: The number of successes.
        trials: The number of trials.
        probability: The probability of a success.

    Examples:
        >>> binomial_tail(1, 3, 0.5)
        0.5
    """
    if most >= trials or probability <= 0:
        return 1.0
    if probability >= 1:
        return 0.0
    logs = [
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(probability)
        + (trials - k) * math.log1p(-probability)
        for k in range(most + 1)
    ]
    top = max(logs)
    return min(1.0, round(math.exp(top) * math.fsum(math.exp(log - top) for log in logs), 15))
