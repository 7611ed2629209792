"""Two rule sets compared, against set operations on rules."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

import thence as th
from tests.helpers.rule_sets import rule_sets
from thence.show.explorer.state import compare_rules, compare_statements
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


def test_laws_and_controls_are_compared_by_their_keys() -> None:
    """The comparison of two runs knew rules only."""
    run = th.mine(th.datasets.load("net3", days=14), miner=th.Exact(min_support=0.2, max_antecedents=1), progress="off")
    assert run.controls is not None and run.laws is not None
    first, *others = run.controls
    halved = replace(first, tally=replace(first.tally, explained=first.tally.explained - 1))
    found = compare_statements(run.controls, [halved, *others[1:]])
    assert [(one["part"], one["sentence"]) for one in found] == [
        ("lost", others[0].sentence()),
        ("changed", first.sentence()),
    ]
    assert found[0]["after"] == "" and found[1]["before"] != found[1]["after"]
    assert [one["part"] for one in compare_statements(run.laws[:1], run.laws)] == ["gained"] * (len(run.laws) - 1)
