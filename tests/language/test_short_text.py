"""Items in their short form: readable, told apart, and found again by a constraint of the same text."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from thence.language.constraints import ItemFilter
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.language.short_text import short_item, short_items, split_short

NAME = st.sampled_from(["shape", "petal length (cm)", "x[0]", "a*b", "od280/od315", "flow-rate"])
VALUE = st.one_of(st.sampled_from(["flat", "a b", "1", "true"]), st.integers(-5, 5).map(float), st.booleans())
ITEM = st.one_of(
    st.builds(lambda name, value: Item.is_(Feature(name), value), NAME, VALUE),
    st.builds(lambda name, low: Item.among(Feature(name), Interval(low, low + 1.5)), NAME, st.integers(-3, 3)),
    st.builds(
        lambda name, op, value: Item.compare(Feature(name), op, float(value)),
        NAME,
        st.sampled_from("<≤>≥"),
        st.integers(-5, 5),
    ),
)


def test_short_forms() -> None:
    petal = Feature("petal length")
    assert short_item(Item.is_(Feature("shape"), "flat")) == "shape = flat"
    assert short_item(Item.among(petal, Interval(4.5, 5))) == "4.5 ≤ petal length < 5"
    assert short_item(Item.among(petal, Interval(4.5, math.inf))) == "petal length ≥ 4.5"
    assert short_item(Item.among(petal, Interval(-0.005, 0.005, 0.0))) == "petal length = 0"
    assert short_item(Item.among(petal, ["a", "b"])) == "petal length in {a, b}"
    assert short_item(Item.among(petal, ["a", "b"], negated=True)) == "petal length not in {a, b}"
    assert short_item(Item.is_(Feature("on"), True)) == "on = true"
    assert short_item(Item.compare(Feature("s", name="change"), ">", 1.0)) == "change of s > 1"
    label = Feature("P1", Aspect.LABEL, "Pipe", role=Role.NODE)
    assert short_item(Item.is_(label, True)) == "P1 is a Pipe"


@given(st.lists(ITEM, min_size=2, max_size=6, unique=True))
def test_different_items_have_different_texts(items: list[Item]) -> None:
    assert len(set(short_items(items))) == len(items)


@given(ITEM)
def test_a_constraint_of_the_short_form_matches_the_item(item: Item) -> None:
    assert ItemFilter(item=short_item(item)).matches(item)
    assert ItemFilter(item=str(item)).matches(item)
    assert ItemFilter(item=item.feature.subject).matches(item)


def test_split_takes_apart_what_people_write() -> None:
    assert split_short("shape=flat").name == "shape"  # type: ignore[union-attr]
    assert split_short("0.5 < petal length <= 2").name == "petal length"  # type: ignore[union-attr]
    assert split_short("shape") is None
