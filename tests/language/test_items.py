"""Items: all five forms, all operators, and round trips through text and JSON."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import InputError
from thence.language.constraints import ItemFilter, prepare_constraint
from thence.language.english import format_clause, format_test
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.language.short_text import short_item

names = st.text(min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def features(draw: st.DrawFn) -> Feature:
    """A feature of any of the five forms."""
    form = draw(
        st.sampled_from(["reading", "property", "link", "some value", "node label", "edge label", "edge", "time"])
    )
    role = draw(st.sampled_from([Role.NODE, Role.VARIABLE]))
    label = draw(st.one_of(st.just(""), names))
    if form == "reading":
        role = draw(st.sampled_from([Role.SENSOR, Role.VARIABLE]))
        derived = draw(st.sampled_from(["", "change", "total of the Pipes", "lag:30min", "switch", "duration:on"]))
        return Feature(draw(names), Aspect.MEASUREMENT, derived, role=role, label=label, relative=draw(st.booleans()))
    if form == "property":
        role = draw(st.sampled_from([Role.NODE, Role.VARIABLE, Role.EDGE]))
        return Feature(draw(names), Aspect.PROPERTY, draw(names), role=role, label=label)
    if form == "link":
        ends = {"subject": draw(names), "other": draw(names)}
        return Feature(aspect=Aspect.PROPERTY, name=draw(names), role=Role.VARIABLE, label=label, **ends)
    if form == "some value":
        role = draw(st.sampled_from([Role.NODE, Role.VARIABLE, Role.EDGE]))
        base = Feature(draw(names), Aspect.PROPERTY, draw(names), role=role, label=label)
        tests = st.one_of(numbers.map(lambda n: Item.compare(base, "≥", n)), names.map(lambda n: Item.is_(base, n)))
        return base.with_some(draw(tests))
    if form == "node label":
        return Feature(draw(names), Aspect.LABEL, draw(names), role=role)
    if form == "edge label":
        return Feature(draw(names), Aspect.LABEL, draw(names), role=Role.EDGE)
    if form == "edge":
        return Feature(draw(names), Aspect.EDGE, draw(names), role=role, other=draw(names))
    return Feature("", Aspect.MEASUREMENT, "hour", role=Role.TIME)


@st.composite
def items(draw: st.DrawFn) -> Item:
    """An item with any operator that its value allows."""
    feature = draw(features())
    if feature.is_statement:
        item = Item.is_(feature, True)
        return item.negated() if draw(st.booleans()) else item
    kind = draw(st.sampled_from(["compare", "range", "set", "word", "flag"]))
    if kind == "compare":
        operator = draw(st.sampled_from([o for o in Operator if o not in (Operator.IN, Operator.NOT_IN)]))
        # No number is greater than the largest float.
        return Item.compare(feature, operator, draw(numbers.filter(lambda number: number < sys.float_info.max)))
    if kind == "range":
        low, high = sorted([draw(numbers), draw(numbers)])
        return Item.among(
            feature,
            Interval(low, high + 1 if low == high and abs(low) < 1e15 else math.inf if low == high else high),
            negated=draw(st.booleans()),
        )
    if kind == "set":
        return Item.among(
            feature,
            draw(st.lists(st.one_of(st.text(max_size=5), numbers), min_size=1, max_size=4)),
            negated=draw(st.booleans()),
        )
    return Item.is_(feature, draw(st.text(max_size=6)) if kind == "word" else draw(st.booleans()))


@given(items())
def test_text_form_reads_back(item: Item) -> None:
    assert Item.parse(str(item)) == item


@given(items())
def test_json_form_reads_back(item: Item) -> None:
    import json

    again = Item.from_dict(json.loads(json.dumps(item.to_dict())))
    assert again == item
    assert hash(again) == hash(item)


@given(items(), items())
def test_order_is_total_and_agrees_with_equality(a: Item, b: Item) -> None:
    assert (a == b) == (not a < b and not b < a)


def test_a_number_is_not_a_truth_value() -> None:
    # 0.0 == False in Python, so that two different items were equal.
    assert Item.is_(Feature("a"), 0.0) != Item.is_(Feature("a"), False)
    assert Item.is_(Feature("a"), 1) == Item.is_(Feature("a"), 1.0) != Item.is_(Feature("a"), True)


@given(items(), numbers)
def test_an_item_and_its_negation_split_the_numbers(item: Item, value: float) -> None:
    assert item.holds(value) != item.negated().holds(value)
    if item.is_numeric:
        assert bool(item.mask(np.array([value]))[0]) == item.holds(value)


def test_nothing_holds_for_missing_values() -> None:
    item = Item.compare(Feature("a"), "≠", 3.0)
    assert not item.holds(None)
    assert not item.holds(math.nan)
    assert item.mask(np.array([math.nan, 3.0, 4.0])).tolist() == [False, False, True]


def test_equal_tests_have_one_form() -> None:
    feature = Feature("a")
    assert Item.among(feature, Interval(2, math.inf)) == Item.compare(feature, ">=", 2)
    assert Item.among(feature, Interval(-math.inf, 2)) == Item.compare(feature, "<", 2.0)
    assert Item.among(feature, ["x"]) == Item.is_(feature, "x")


def test_a_test_of_a_bin_needs_the_whole_bin() -> None:
    item = Item.compare(Feature("a"), "≥", 2.0)
    assert item.holds(Interval(2, 3))
    assert not item.holds(Interval(1, 3))
    assert not item.negated().holds(Interval(1, 3))
    assert Item.compare(Feature("a"), "≠", 5.0).holds(Interval(1, 3))


def test_the_forms_of_the_paper() -> None:
    pipe = Feature("p1", Aspect.PROPERTY, "length", role=Role.NODE, label="Pipe")
    assert str(Item.compare(pipe, ">", 100)) == "(p1:Pipe).length > 100.0"
    assert str(Item.compare(Feature("s1", label="Sensor"), "<", 10)) == "(s1:Sensor).value < 10.0"
    assert str(Item.is_(Feature("p1", Aspect.LABEL, "Pipe", role=Role.NODE), True)) == "(p1:Pipe)"
    assert str(Item.is_(Feature("e1", Aspect.LABEL, "connected", role=Role.EDGE), True)) == "[e1:connected]"
    edge = Feature("p1", Aspect.EDGE, "e1", role=Role.NODE, other="p2")
    assert str(Item.is_(edge, True)) == "(p1)-[e1]->(p2)"
    assert str(Item.is_(edge, True).negated()) == "not (p1)-[e1]->(p2)"


def test_an_existential_statement_reads_back() -> None:
    text = "(some flow in Pipe{length ∈ [843.0, 895.0)}).value ∈ [23.0, 31.0)"
    item = Item.parse(text)
    assert str(item) == text
    assert item.value is True
    assert Item.parse(f"not {text}") == item.negated()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("(a).value >", 12),
        ("(a).value ~ 3", 10),
        ("(a", 3),
        ("(a).value in [3, 1)", 20),
        ("(a).value = 3 4", 15),
        ("(a:B).length", 13),
        # Regression: meaningless comparisons raised a bare ValueError, or nothing.
        ("(a).value > 'x'", 13),
        ("(a).value < true", 13),
        ("(a).value > inf", 13),
        ("(a).value < -inf", 13),
        ("(a).value >= inf", 14),
        ("(a).value > 1.7976931348623157e308", 13),
    ],
)
def test_errors_point_at_the_character(text: str, place: int) -> None:
    with pytest.raises(InputError, match=f"at character {place} of item"):
        Item.parse(text)


def test_an_empty_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="below its high end"):
        Interval(2, 2)


def test_ranges_that_exclude_their_low_end_or_include_their_high_end_are_written_so() -> None:
    """Regression: the numbers between 0 and 2.89 were shown as ``[5e-324, 2.89)``."""
    flow, after = Feature("a"), lambda number: math.nextafter(number, math.inf)
    for interval, text, short, words in (
        (Interval(after(0.0), 2.89), "(0.0, 2.89)", "0 < a < 2.89", "above 0 but below 2.89"),
        (Interval(1.0, after(3.0)), "[1.0, 3.0]", "1 ≤ a ≤ 3", "at least 1 and at most 3"),
        (Interval(after(-2.5), after(3.0)), "(-2.5, 3.0]", "-2.5 < a ≤ 3", "above −2.5 and at most 3"),
        (Interval(1.0, 2.0), "[1.0, 2.0)", "1 ≤ a < 2", "1–2"),
    ):
        for negated in (False, True):
            item = Item.among(flow, interval, negated=negated)
            assert str(item) == f"(a).value {'∉' if negated else '∈'} {text}"
            again = Item.parse(str(item))
            assert again == item and again.value == interval
            assert Item.from_dict(json.loads(json.dumps(item.to_dict()))).value == interval
            assert short_item(item) == ("not " if negated else "") + short
            assert format_test(item) == ("not " if negated else "") + words
    assert Item.parse("(a).value in [5e-324, 2.89)") == Item.among(flow, Interval(after(0.0), 2.89))
    largest = sys.float_info.max
    assert format_test(Item.among(flow, Interval(1.0, largest))) == "at least 1"
    assert format_test(Item.among(flow, Interval(-largest, after(3.0)))) == "at most 3"
    for wrong in ("(a).value in (3, 3)", "(a).value in (1.7976931348623157e308, inf)", "(a).value in (1, 2"):
        with pytest.raises(InputError):
            Item.parse(wrong)


@pytest.mark.parametrize("text", ["(a).value < −2.5", "(a).value ∈ [−2.5, 3.0)", "(a).value = −1e−9"])
def test_a_pasted_minus_of_either_kind_is_read(text: str) -> None:
    """Regression: the minus that sentences are set with was an unexpected character."""
    assert Item.parse(text) == Item.parse(text.replace("−", "-"))
    assert "−" not in str(Item.parse(text))


def test_texts_that_people_paste_have_the_minus_of_the_keyboard() -> None:
    """Regression: ``to_pandas`` wrote U+2212, which Python, TOML and a shell do not read as a minus."""
    item = Item.among(Feature("outside"), Interval(-2.5, -1.0))
    assert short_item(item) == "-2.5 ≤ outside < -1"
    assert format_clause(item) == "outside is −2.5 to −1"
    for text in ("-2.5 ≤ outside < -1", "−2.5 ≤ outside < −1"):
        assert prepare_constraint(text) is not None
        assert ItemFilter(item=text).matches(item)
