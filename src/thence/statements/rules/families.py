"""Families of rules: rules about the same quantities in the same pattern, which differ in their values only.

"If the inlet pressure is in its lowest fifth, the outlet pressure is in its lowest fifth" and the same for the highest
fifth are one thing to know. This module groups rules; it neither selects nor counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thence._base.display.rules import format_measure
from thence.language.english import format_clause, format_place, format_test
from thence.language.items import Aspect, Feature, Item

if TYPE_CHECKING:
    from thence.statements.rules.ruleset import Rule, RuleSet


def is_aggregate(feature: Feature) -> bool:
    """Return whether a feature is about several sensors at once."""
    return bool(feature.reads) and not feature.name.startswith("value of ")


def family_keys(rules: RuleSet) -> list[Hashable]:
    """Return what each rule is about: its pattern and the set of its readings; aggregates of the same sensors are one.

    Properties of nodes do not count: a rule that holds where a pipe is long is about what the rule for all pipes is.

    Args:
        rules: The rules.
    """
    feature: list[Hashable] = [i.feature.reads if is_aggregate(i.feature) else i.feature for i in rules.items]
    context = [item.feature.aspect is Aspect.PROPERTY for item in rules.items]
    patterns = [-1] * len(rules) if rules.pattern_of is None else rules.pattern_of.tolist()
    return [
        (patterns[r], frozenset([feature[c], *(feature[i] for i in row if i >= 0 and not context[i])]))
        for r, (row, c) in enumerate(zip(rules.antecedents.tolist(), rules.consequents.tolist(), strict=True))
    ]


def group_families(rules: RuleSet) -> list[list[int]]:
    """Return the positions of the rules, family by family, in the order of the first rule of each.

    Args:
        rules: The rules.
    """
    families: dict[Hashable, list[int]] = {}
    for number, key in enumerate(family_keys(rules)):
        families.setdefault(key, []).append(number)
    return list(families.values())


def describe_alike(rules: Sequence[Rule], confidence: npt.NDArray[np.float64]) -> list[str]:
    """Return what the rules after the first one say: those that differ in values only in one line, others in sentences.

    Args:
        rules: Rules about the same quantities.
        confidence: The confidence of each.

    Examples:
        >>> from thence.language.items import Interval
        >>> from thence.statements.rules.ruleset import Rule
        >>> a, b = Feature("a", relative=True), Feature("b", relative=True)
        >>> fifths = [Interval(0, 0.2), Interval(0.8, 1), Interval(0.4, 0.6)]
        >>> rules = [Rule((Item.among(a, fifth),), Item.among(b, fifth)) for fifth in fifths]
        >>> describe_alike(rules, np.array([0.9, 0.95, 0.85]))
        ['both in its highest fifth (confidence 0.950); both in its middle fifth (0.850)']
    """
    first, *others = rules
    stated = set(first.antecedent)
    alike = [_same_quantities(first, rule) for rule in others]
    differing = [item for rule in compress(others, alike) for item in rule.antecedent if item not in stated]
    changed = {item.feature for item in differing}
    short: list[str] = []
    long: list[str] = []
    for rule, same, value in zip(others, alike, confidence[1:].tolist(), strict=True):
        if same:
            # Of several quantities that differ each is named, a single one once.
            named = len(first.antecedent) > 1 and (len(changed) > 1 or not short)
            text = _values([item for item in rule.antecedent if item not in stated], first, rule, named=named)
            short.append(f"{text} ({'' if short else 'confidence '}{format_measure(value)})")
        else:
            sentence = rule.english
            if rule.place == first.place:
                sentence = sentence.removeprefix(f"{format_place(rule.place)}: ")
            long.append(f"{sentence} (confidence {format_measure(value)})")
    return [*(["; ".join(short)] if short else []), *long]


def _same_quantities(first: Rule, rule: Rule) -> bool:
    """Whether two rules have the same place, and the same features on each side."""
    own, given = ([item.feature for item in one.antecedent] for one in (rule, first))
    once = len(set(own)) == len(own) and len(set(given)) == len(given)
    return (
        once
        and rule.place == first.place
        and {*own} == {*given}
        and rule.consequent.feature == first.consequent.feature
    )


def _values(left: Sequence[Item], first: Rule, rule: Rule, *, named: bool) -> str:
    """The values in which a rule differs from the first one."""
    antecedent = " and ".join(format_clause(item, rule.place) if named else format_test(item) for item in left)
    then = format_test(rule.consequent)
    if rule.both_ways == first.both_ways:
        if antecedent == then:
            return f"both {then}"
        if rule.consequent == first.consequent:
            return antecedent if named else f"if it is {antecedent}"
    return f"{antecedent} {'↔' if rule.both_ways else '→'} {then}".lstrip()
