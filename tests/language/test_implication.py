"""One item implies another: against all values that satisfy them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.search.refine.known import implies

LEVEL, DOOR = Feature("level"), Feature("door")
NUMBERS = (-2.0, -1.0, 0.0, 1.0, 2.0)
# Between and beyond the numbers that tests are made of, and the numbers themselves.
PROBES = sorted({x + d for x in NUMBERS for d in (-0.5, 0.0, 0.5)} | {math.nextafter(x, math.inf) for x in NUMBERS})


@st.composite
def numeric_items(draw: st.DrawFn) -> Item:
    if draw(st.booleans()):
        low, high = sorted(draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2, unique=True)))
        return Item.among(LEVEL, Interval(low, high), negated=draw(st.booleans()))
    symbol = draw(st.sampled_from([Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE]))
    return Item.compare(LEVEL, symbol, draw(st.sampled_from(NUMBERS)))


@given(numeric_items(), numeric_items())
def test_an_implied_test_holds_for_every_number(one: Item, other: Item) -> None:
    held = [x for x in PROBES if one.holds(x)]
    if implies(one, other):
        assert all(other.holds(x) for x in held)
    elif one.interval is not None and other.interval is not None:
        assert not all(other.holds(x) for x in held)


@given(
    *(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.booleans()).map(
        lambda made: Item.among(DOOR, made[0], negated=made[1])
    ) for _ in range(2))
)  # fmt: skip
def test_states_are_compared_as_sets(one: Item, other: Item) -> None:
    # A state that no test names stands for all others.
    states = "abcdx"
    assert implies(one, other) == all(other.holds(s) for s in states if one.holds(s))


def some(kind: str, host: str, test: Item, *facts: Item) -> Item:
    feature = Feature(host, Aspect.MEASUREMENT, role=Role.SOME, label=kind, where=(*facts, test))
    return Item.is_(feature, True)


def test_statements_about_some_sensor_are_implied_by_narrower_ones() -> None:
    reading = Feature("Pipe", Aspect.MEASUREMENT, role=Role.SOME, label="flow")
    length = Feature("Pipe", Aspect.PROPERTY, "length", role=Role.SOME)
    narrow, wide = Item.among(reading, Interval(23, 31)), Item.compare(reading, ">", 20.0)
    long = Item.compare(length, ">=", 800.0)
    precise = some("flow", "Pipe", narrow, long)
    assert implies(precise, some("flow", "Pipe", wide))
    assert not implies(some("flow", "Pipe", narrow), some("flow", "Pipe", wide, long))
    assert not implies(precise, some("flow", "Link", wide))
    assert implies(precise, some("flow", "Link", wide), is_a=lambda a, b: (a, b) == ("Pipe", "Link"))
    assert not implies(precise, some("pressure", "Pipe", wide))
    assert not implies(precise.negated(), some("flow", "Pipe", wide))
