"""Counts of rules place by place: against brute force, and as parts of the counts of the whole table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.tables import all_rules, count_by_hand, factorised_tables, padded
from thence.language.items import Feature
from thence.language.patterns import Pattern
from thence.statements.counting.by_place import count_by_place, name_places
from thence.statements.counting.recount import recount
from thence.tables.blocks import Block, Column, SiteFrames
from thence.tables.transactions import TransactionTable


def runs(held: list[bool]) -> int:
    return sum(now and not before for before, now in zip([False, *held], held, strict=False))


@settings(deadline=None, max_examples=examples(60))
@given(table=factorised_tables(), data=st.data())
def test_counts_of_a_place_are_those_of_its_rows(table: TransactionTable, data: st.DataObject) -> None:
    every = all_rules(table)
    if not every:
        return
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    rules = recount(*padded(chosen, 2), table)
    block = table.blocks[0]
    owner = block.column_of_item
    for counted in count_by_place(rules, table):
        left, right = chosen[counted.rule]
        items = [(int(owner[i]), int(i - block.offsets[owner[i]])) for i in left]
        target = (int(owner[right]), int(right - block.offsets[owner[right]]))
        for place in range(block.n_embeddings):
            codes = block.flat(slice(place, place + 1))
            found = tuple(
                int(getattr(counted, name)[place]) for name in ("n", "n_antecedent", "n_consequent", "n_both")
            )
            assert found == count_by_hand(codes, items, target)
            held = [all(row[c] == code for c, code in items) and row[target[0]] >= 0 for row in codes]
            assert int(counted.episodes[place]) == runs(held)


@settings(deadline=None, max_examples=examples(40))
@given(table=factorised_tables(), denominator=st.sampled_from(["present", "all"]))
def test_counts_of_places_add_up_to_those_of_the_table(table: TransactionTable, denominator: str) -> None:
    every = all_rules(table)[:20]
    if not every:
        return
    rules = recount(*padded(every, 2), table, denominator=denominator)
    seen = 0
    for counted in count_by_place(rules, table, denominator=denominator):
        seen += 1
        for name in ("n", "n_antecedent", "n_consequent", "n_both"):
            assert int(getattr(counted, name).sum()) == int(getattr(rules.counts, name)[counted.rule])
        if denominator == "present" and table.blocks[0].is_lifted:
            assert int((counted.n_antecedent > 0).sum()) == int(rules.extras["places"][counted.rule])
    assert seen == len(every)


def test_a_site_has_rows_up_to_its_last_frame_only() -> None:
    codes = np.array([[0, 1, 0, 0], [0, 0, -1, -1]], np.int16)
    of = np.array([0, 1], np.int32)
    times = np.arange("2024-01-01", "2024-01-05", dtype="datetime64[D]").astype("datetime64[us]")
    column = Column(Feature("a"), ("x", "y"), codes, of)
    static = Column(Feature("b"), ("u",), np.zeros((1, 1), np.int16), np.zeros(2, np.int32))
    sites = (SiteFrames("north", times), SiteFrames("south", times[:2]))
    block = Block((column, static), 4, 2, embeddings=(("north/p",), ("south/p",)), sites=sites, site_of=of)
    table = TransactionTable((block,))
    (counted,) = count_by_place(recount(np.array([[0]]), np.array([2]), table), table)
    assert counted.n.tolist() == [4, 2]
    assert counted.n_antecedent.tolist() == [3, 2]
    assert counted.n_both.tolist() == [3, 2]
    assert counted.episodes.tolist() == [2, 1]


@pytest.mark.parametrize(("sensors", "names"), [(("s1", "s2"), ["P1 (s1)", "P1 (s2)"]), (("s1",), ["P1"])])
def test_a_place_is_named_by_its_sensors_where_its_nodes_are_not_enough(sensors: tuple[str], names: list[str]) -> None:
    pattern = Pattern.parse("(s:flow)-[in]->(p:Pump)")
    block = Block((), 1, len(sensors), pattern=pattern, embeddings=tuple(("P1", sensor) for sensor in sensors))
    assert name_places(block, range(len(sensors))) == names
