"""Two rule sets compared, against set operations on rules."""

from __future__ import annotations

from hypothesis import given

from tests.helpers.rule_sets import rule_sets
from thence.show.explorer.state import compare_rules
from thence.statements.rules.ruleset import RuleSet


@given(rule_sets(), rule_sets())
def test_it_agrees_with_sets_of_rules(a: RuleSet, b: RuleSet) -> None:
    found = compare_rules(a, b)
    first_a, first_b = a._first_positions, b._first_positions
    assert found.gained.tolist() == sorted(first_b[rule] for rule in set(b) - set(a))
    assert found.lost.tolist() == sorted(first_a[rule] for rule in set(a) - set(b))
    both = set(a) & set(b)
    changed = {
        (first_a[rule], first_b[rule]) for rule in both if _values(a, first_a[rule]) != _values(b, first_b[rule])
    }
    assert {tuple(pair) for pair in found.changed.tolist()} == changed
    assert found.same == len(both) - len(changed)


def _values(rules: RuleSet, number: int) -> tuple[object, ...]:
    from fractions import Fraction

    counts = rules.counts
    n, x, b = (int(getattr(counts, name)[number]) for name in ("n", "n_antecedent", "n_both"))
    return (Fraction(b, x) if x else None, Fraction(b, n) if n else None)
