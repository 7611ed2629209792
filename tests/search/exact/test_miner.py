"""The exact miner against brute force, its constraints, caps and reasons."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from tests.helpers.tables import all_rules, count_by_hand, factorised_tables, plain_tables
from thence.errors import ConfigError
from thence.lab.baselines.exhaustive import FPGrowth
from thence.language.constraints import ItemFilter
from thence.language.patterns import Pattern
from thence.search.exact.miner import Exact
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable


def brute_force(table: TransactionTable, support: float, confidence: float) -> set[str]:
    """Every rule that passes, decided with fractions."""
    block = table.blocks[0]
    codes = block.flat()
    constant = [column.is_constant or column.context for column in block.columns]
    # A reading that never changes is no item; a property may be one, beside a reading of its node.
    silent = [column.is_constant and not column.context for column in block.columns]
    found = set()
    for left, right in all_rules(table):

        def pair(item: int) -> tuple[int, int]:
            column = int(block.column_of_item[item])
            return column, item - int(block.offsets[column])

        if constant[pair(right)[0]] or any(silent[pair(i)[0]] for i in left):
            continue
        n, x, _, b = count_by_hand(codes, [pair(i) for i in left], pair(right))
        if b and Fraction(b, n) >= Fraction(str(support)) and Fraction(b, x) >= Fraction(str(confidence)):
            text = " ∧ ".join(sorted(str(block.item(i)) for i in left))
            found.add(f"{text} → {block.item(right)}")
    return found


@settings(max_examples=examples(400))
@given(
    st.one_of(plain_tables(), factorised_tables()),
    st.sampled_from([0.0, 0.1, 0.3, 0.5]),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
)
def test_exact_equals_brute_force(table: TransactionTable, support: float, confidence: float) -> None:
    rules = Exact(min_support=support, min_confidence=confidence).mine(table)
    ours = {f"{' ∧ '.join(sorted(map(str, rule.antecedent)))} → {rule.consequent}" for rule in rules}
    assert len(ours) == len(rules)
    assert ours == brute_force(table, support, confidence)


@pytest.fixture
def table() -> TransactionTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 400)
    return TransactionTable.from_frame(
        pl.DataFrame({"a": a.astype(str), "b": (a // 2).astype(str), "c": (a % 2).astype(str), "d": ["k"] * 400})
    )


def test_constraints_hold_on_both_sides(table: TransactionTable) -> None:
    rules = Exact(
        min_support=0.01, antecedent=ItemFilter(sensor="a"), consequent=[ItemFilter(sensor="b"), ItemFilter(sensor="c")]
    ).mine(table)
    assert len(rules) == 8
    assert all(rule.antecedent[0].feature.subject == "a" for rule in rules)
    one = Exact(min_support=0.01, consequent={"value": "1", "sensor": "b"}).mine(table)
    assert {str(rule.consequent) for rule in one} == {"(b).value = '1'"}
    with pytest.raises(ConfigError, match="did you mean 'sensor'"):
        Exact(antecedent={"sensr": "a"}).mine(table)


def test_constants_are_no_consequents_unless_asked(table: TransactionTable) -> None:
    assert not any(rule.consequent.feature.subject == "d" for rule in Exact().mine(table))
    assert any(rule.consequent.feature.subject == "d" for rule in Exact(context_consequents=True).mine(table))


def test_bounds_on_any_measure(table: TransactionTable) -> None:
    rules = Exact(min_support=0.01, min_confidence=0.3, bounds={"min_zhang": 0.9, "max_lift": 3.0}).mine(table)
    assert rules.measure("zhang").min() >= 0.9
    assert rules.measure("lift").max() <= 3.0


def test_a_cap_stops_with_a_note(table: TransactionTable) -> None:
    rules = Exact(min_support=0.0, min_confidence=0.0, max_rules=7, on_limit="stop").mine(table)
    assert len(rules) == 7
    assert any("stopped at 7 rules" in note for note in rules.notes)


def test_a_cap_holds_over_all_blocks(table: TransactionTable) -> None:
    patterns = (Pattern.parse("(j:Junction)"), Pattern.parse("(p:Pipe)"))
    blocks = tuple(replace(table.blocks[0], pattern=pattern) for pattern in patterns)
    for most in (1, 7, 8):
        miner = Exact(min_support=0.0, min_confidence=0.0, max_rules=most, on_limit="stop")
        rules = miner.mine(TransactionTable(blocks))
        assert len(rules) == most
        assert any("stopped" in note for note in rules.notes)


@pytest.mark.parametrize("share", [np.float32(0.25), np.float64(0.25), Decimal("0.25"), Fraction(1, 4)])
def test_thresholds_may_be_any_numbers(table: TransactionTable, share: Any) -> None:
    most = np.int64(50)
    found = Exact(min_support=share, min_confidence=share, max_rules=most).mine(table)
    assert set(found) == set(Exact(min_support=0.25, min_confidence=0.25, max_rules=50).mine(table))


def test_thresholds_may_be_fractions(table: TransactionTable) -> None:
    assert any(
        "no rule has support ≥ 0.999" in note for note in Exact(min_support=Fraction(999, 1000)).mine(table).notes
    )


def test_ctrl_c_leaves_what_was_found(table: TransactionTable) -> None:
    def interrupt(stage: str, done: float, total: float, note: str = "") -> None:
        if done > 0:
            raise KeyboardInterrupt

    rules = Exact(min_support=0.01).mine(table, progress=interrupt)
    assert any(note.startswith("interrupted") for note in rules.notes)
    assert len(rules) > 0


def test_no_rules_come_with_a_reason() -> None:
    constant = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x"], "b": ["y", "y"]}))
    assert "every feature is constant" in Exact().mine(constant).notes
    single = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"]}))
    assert any("needs two features" in note for note in Exact().mine(single).notes)
    doors = TransactionTable.from_frame(pl.DataFrame({"door": ["x", "y"], "b": ["u", "v"]}))
    notes = Exact(consequent=ItemFilter(sensor="dor")).mine(doors).notes
    assert any(
        "no item of the table matches the constraint on the consequent" in note and "door" in note for note in notes
    )
    empty = TransactionTable.from_frame(pl.DataFrame({"a": [], "b": []}, schema={"a": pl.String, "b": pl.String}))
    assert any("no rows" in note for note in Exact().mine(empty).notes)


@pytest.mark.parametrize(
    "settings_",
    [
        {"max_antecedents": 0},
        {"min_support": -0.1},
        {"min_support": "0.1"},
        {"min_confidence": 1.5},
        {"max_rules": 0},
        {"on_limit": "ask"},
        {"denominator": "some"},
        {"bounds": {"min_zang": 0.1}},
    ],
)
def test_impossible_settings_are_refused(settings_: dict) -> None:
    with pytest.raises(ConfigError):
        Exact(**settings_)


def counted(rules: RuleSet) -> dict[str, tuple[int, ...]]:
    counts = rules.counts
    columns = (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both)
    return {str(rule): tuple(int(column[at]) for column in columns) for at, rule in enumerate(rules)}


@given(table=st.one_of(plain_tables(), factorised_tables()), data=st.data())
def test_near_keeps_exactly_the_rules_among_neighbours(table: TransactionTable, data: st.DataObject) -> None:
    block = table.blocks[0]
    n = len(block.columns)
    drawn = np.array(data.draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n)), bool).reshape(n, n)
    near = drawn | drawn.T
    miner = Exact(min_support=0.05, min_confidence=0.5)
    column = {str(feature.feature): at for at, feature in enumerate(block.columns)}
    every = miner.mine(table)
    wanted = counted(every)
    for rule in every:
        columns = [column[str(item.feature)] for item in (*rule.antecedent, rule.consequent)]
        if not all(near[a, b] for a, b in combinations(columns, 2)):
            del wanted[str(rule)]
    assert counted(replace(miner, near=[near]).mine(table)) == wanted


def test_near_must_fit_the_table(table: TransactionTable) -> None:
    for near, message in (([[[1], [0]]], "has 2 features"), ([], "has nothing"), (2, "without a graph")):
        with pytest.raises(ConfigError, match=message):
            Exact(near=near).mine(table)  # type: ignore[arg-type]


def test_near_is_capped_like_any_search(table: TransactionTable) -> None:
    n = len(table.blocks[0].columns)
    near = [[[other for other in range(n) if other != one] for one in range(n)]]
    every = Exact(near=near).mine(table)
    assert sorted(map(str, every)) == sorted(map(str, Exact().mine(table)))
    capped = Exact(near=near, max_rules=len(every) - 1, on_limit="stop").mine(table)
    assert len(capped) == len(every) - 1
    assert any("stopped at" in note for note in capped.notes)
    assert not any("stopped at" in note for note in Exact(near=near, max_rules=len(every)).mine(table).notes)


@pytest.mark.parametrize("miner", [Exact, FPGrowth])
def test_no_limit_finds_rules_of_every_length(miner: Any) -> None:
    frame = pl.DataFrame({name: ["x"] * 5 + ["y"] * 5 for name in "abcde"})
    table = TransactionTable.from_frame(frame)
    unlimited = miner(max_antecedents=None).mine(table)
    assert len(unlimited) == len(miner(max_antecedents=4).mine(table)) == 2 * 5 * (2**4 - 1)
    assert unlimited.measure("antecedents").max() == 4
    run = th.mine(frame, max_antecedents=None, refine=None, progress="off")
    assert len(run.rules) == len(unlimited)
    assert run.config.miner.settings["max_antecedents"] == 100, "a configuration file has no null"
