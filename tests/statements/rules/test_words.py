"""What is printed is true of the rows: English that is parsed back selects the same rows as its item."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from tests.helpers.buildings import building
from thence.data.readings.windows import window
from thence.language.english import format_number, format_rule, format_test
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role, Value
from thence.search.refine.merging import merge_intervals
from thence.tables.cuts import shorten_cut, shorten_cuts
from thence.tables.discretization import METHODS, fit_binning

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBER = r"−?(?:∞|[\d,]+(?:\.\d+)?(?:e−?\d+)?|\d(?:\.\d+)?e−?\d+)"
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "": lambda x, y: x == y,
    "not ": lambda x, y: x != y,
    "below ": lambda x, y: x < y,
    "at most ": lambda x, y: x <= y,
    "above ": lambda x, y: x > y,
    "at least ": lambda x, y: x >= y,
}


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").replace("∞", "inf"))


def parse(text: str, unit: str) -> Callable[[Value], bool]:
    """Read a test in English. A range includes its lower end and not its upper end."""
    if unit:
        assert text.endswith(f" {unit}")
        text = text.removesuffix(f" {unit}")
    ranged = re.fullmatch(rf"(not )?({NUMBER})(?:–| to )({NUMBER})", text)
    if ranged:
        low, high = number(ranged[2]), number(ranged[3])
        return lambda x: isinstance(x, float) and (low <= x < high) is (ranged[1] is None)
    opened = re.fullmatch(rf"(not )?above ({NUMBER}) but below ({NUMBER})", text)
    if opened:
        low, high = number(opened[2]), number(opened[3])
        return lambda x: isinstance(x, float) and (low < x < high) is (opened[1] is None)
    compared = re.fullmatch(rf"(not |below |at most |above |at least |)({NUMBER})", text)
    if compared:
        return lambda x: isinstance(x, float) and COMPARISONS[compared[1]](x, number(compared[2]))
    denied, listed = text.startswith("not "), text.removeprefix("not ")
    members = listed.removeprefix("one of ").split(", ") if listed.startswith("one of ") else [listed]
    return lambda x: (str(x) in members) is not denied


UNITS = {"degC": "°C", "m2": "m²"}


def agree(item: Item, values: list[Value]) -> None:
    """The item and its English select the same values."""
    read = parse(format_test(item), UNITS.get(item.feature.unit, item.feature.unit))
    ends = (item.value.low, item.value.high, item.value.at) if isinstance(item.value, Interval) else ()
    # A sentence gives six digits of a number that has more than a reading can have.
    rounded = [end for end in ends if end is not None and len(repr(end).strip("-0.").replace(".", "")) > 12]
    for value in values:
        if isinstance(value, float) and any(math.isclose(value, end, rel_tol=1e-5) for end in rounded):
            continue
        assert read(value) == item.holds(value), (format_test(item), value)


@given(FINITE)
def test_a_printed_number_is_the_number(value: float) -> None:
    """Regression: four digits were printed, so that "below 1,000" stood for "below 999.987"."""
    assert number(format_number(value)) == value


def test_edges_that_differ_never_look_alike() -> None:
    """Regression: "below 1,000" and "at least 1,000" for cuts at 999.987 and 1000.014."""
    low, high = Item.compare(Feature("s"), "<", 999.987), Item.compare(Feature("s"), ">=", 1000.014)
    assert [format_test(item) for item in (low, high)] == ["below 999.987", "at least 1,000.014"]


@given(st.lists(FINITE, min_size=2, max_size=30), st.data())
def test_a_short_cut_separates_the_same_values(values: list[float], data: st.DataObject) -> None:
    levels = sorted({value + 0.0 for value in values})
    if len(levels) < 2:
        return
    at = data.draw(st.integers(1, len(levels) - 1))
    low, high = levels[at - 1], levels[at]
    cut = data.draw(st.sampled_from([high, max(math.nextafter(low, math.inf), min(low / 2 + high / 2, high))]))
    assert low < shorten_cut(cut, low, high) <= high


@pytest.mark.parametrize(
    ("values", "cuts", "expected"),
    [
        ([999.98, 999.98712345, 1000.01], [999.98712345], [999.987]),
        ([999.98, 999.987, 1000.002, 1000.014], [999.987, 1000.014], [999.987, 1000.01]),
        ([0.1, 0.2, 0.1 + 0.2], [0.1 + 0.2], [0.3]),
        ([90.0, 100.0, 250.0], [100.0, 250.0], [100.0, 250.0]),
        ([-1.2345, 2.3456], [2.3456], [2.0]),
        ([1.0, 2.0], [1.33333, 1.66666], [1.33333, 1.66666]),
    ],
)
def test_cuts_are_short(values: list[float], cuts: list[float], expected: list[float]) -> None:
    assert shorten_cuts(np.array(cuts), np.array(values)).tolist() == expected


@pytest.mark.parametrize("method", ["frequency", "width", "kmeans", "quantiles"])
@pytest.mark.parametrize("seed", range(5))
def test_short_edges_give_the_codes_of_long_ones(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([rng.normal(1000, 0.02, 60), np.round(rng.normal(3, 40, 60), 4)])
    given = {"bin_edges": [0.2, 0.5, 0.9]} if method == "quantiles" else {}
    made = fit_binning(values, method=method, bins=6, **given)  # type: ignore[arg-type]
    find = METHODS.load(method)
    if method in ("frequency", "distinct"):  # bins of equal count, as no value is frequent
        find, given = METHODS.load("quantiles"), {"bin_edges": [k / 6 for k in range(1, 6)]}
    long = find(values, 6, np.array(given["bin_edges"])) if given else find(values, 6)
    assert made.encode(values).tolist() == np.searchsorted(long, values, side="right").tolist()
    printed = [format_number(edge) for edge in made.bin_edges]
    assert len(set(printed)) == len(printed)
    assert sum(map(len, printed)) <= sum(len(format_number(edge)) for edge in long)


def test_given_edges_are_printed_as_given() -> None:
    made = fit_binning(np.arange(100.0), method="edges", bin_edges=[12.3456, 50.0])
    assert made.bin_edges.tolist() == [12.3456, 50.0]
    assert format_test(Item.is_(Feature("s"), made.values[1])) == "12.3456–50"


@pytest.mark.parametrize("method", ["frequency", "width", "kmeans", "distinct"])
@pytest.mark.parametrize("mode", ["none", "grounded", "existential", "lifted"])
def test_english_selects_the_rows_of_its_item(mode: str, method: str) -> None:
    """For the items of random tables, merged or not, and all values of the data."""
    for seed in range(3):
        net = building(seed, rooms=6, decimals=int(seed) * 3 + 1)
        options = {"patterns": ["(t:temperature)-[in]->(a:Space)-[connected]-(b:Space)"]} if mode == "lifted" else {}
        table = th.transactions(
            net.sensors, net.graph, net.binding, ontology=net.ontology, windows="1h", enrich=mode, bins=4,
            method=method, scope="kind", derive=["change"], **options,
        )  # fmt: skip
        shown: dict[str, list[Value]] = {}
        readings = window(net.sensors, "1h", derive="change")
        for s, column in zip(readings.numeric, readings.values.T, strict=True):
            shown.setdefault(s.kind, []).extend(column[~np.isnan(column)].tolist())
        for s, column in zip(readings.numeric, readings.derived["change"].T, strict=True):
            shown.setdefault(f"{s.kind}.change", []).extend(column[~np.isnan(column)].tolist())
        shown["door"] = ["open", "shut"]
        for node in net.graph.nodes:
            for name in ("area", "use"):
                values = [net.graph.node(node).properties.get(name), *net.graph.histories(node).get(name, ((), ()))[1]]
                shown.setdefault(name, []).extend(value for value in values if value is not None)
        merged = merge_intervals(th.Exact(min_support=0.05, min_confidence=0.3, max_antecedents=1).mine(table), table)
        items = {item for block in table.blocks for c in block.columns for item in map(c.item, range(c.n_codes))}
        edges: dict[tuple[str, ...], dict[str, float]] = {}
        for item in (*items, *merged.items):
            for test in item.feature.where or (item,):
                feature = test.feature
                if isinstance(test.value, bool):
                    continue
                known = shown[feature.name if feature.name in ("area", "use") else
                              f"{feature.label}.change" if feature.name == "change" else feature.label]  # fmt: skip
                agree(test, known)
                ends = (test.value.low, test.value.high) if isinstance(test.value, Interval) else (test.value,)
                for end in (end for end in ends if isinstance(end, float)):
                    text = edges.setdefault(feature.key[1:5], {})
                    assert text.setdefault(format_number(end), end) == end
        assert items


@given(st.lists(st.sampled_from([0.0, 0.0, 1.5]) | st.floats(-9, 9), min_size=3, max_size=40), st.integers(2, 6))
def test_bins_beside_frequent_values_are_worded_exactly(values: list[float], bins: int) -> None:
    binning = fit_binning(np.array(values), bins=bins)
    for interval in binning.intervals:
        item = Item.is_(Feature("s", unit="degC"), interval)
        assert "∞" not in format_test(item)
        # A reading that rounds to a frequent value is said to be it.
        decimals = round(-math.log10(binning.resolution)) if binning.resolution else 17
        agree(item, [round(value, decimals) + 0.0 for value in values])


def test_a_property_that_is_called_like_a_reading_is_told_apart() -> None:
    level = Feature("t", label="level", role=Role.VARIABLE, place="t", unit="m")
    recorded = Item.among(Feature("t", Aspect.PROPERTY, "level", role=Role.VARIABLE, unit="m"), Interval(3, 4))
    wide = Item.among(Feature("t", Aspect.PROPERTY, "diameter", role=Role.VARIABLE, unit="m"), Interval(1, 2))
    other = Item.is_(Feature("p", label="flow", role=Role.VARIABLE, place="p"), 0.0)
    high = Item.compare(level, ">=", 2.0)
    assert format_rule([recorded], high) == "if t has recorded level 3–4 m, then the level of t is at least 2 m"
    assert format_rule([recorded], other) == "if t has level 3–4 m, then the flow of p is 0"
    assert format_rule([high, recorded, wide], other) == (
        "if the level of t (recorded level 3–4 m, diameter 1–2 m) is at least 2 m, then the flow of p is 0"
    )


def test_ranges_of_a_search_are_short_and_select_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(1000, 0.5, (200, 3))
    from thence.tables.frames import raw_columns
    from thence.tables.transactions import FeatureTable

    table = FeatureTable(*raw_columns(pl.DataFrame(numbers, schema=["a", "b", "c"]), units={}))
    rules = th.baselines.TSNARM(population=20, evaluations=400, seed=1).mine(table)
    assert len(rules)
    for rule, n, n_antecedent in zip(rules, rules.counts.n_both, rules.counts.n_antecedent, strict=True):
        held = np.ones(200, bool)
        for item in (*rule.antecedent, rule.consequent):
            column = numbers[:, "abc".index(item.feature.subject)].tolist()
            agree(item, column)  # type: ignore[arg-type]
            if item is rule.consequent:
                assert held.sum() == n_antecedent
            held &= np.array([parse(format_test(item), "")(x) for x in column])
        assert held.sum() == n
    lengths = [len(text) for item in rules.items for text in re.findall(NUMBER, format_test(item))]
    assert np.median(lengths) <= 8
    assert not any(item.operator is Operator.IN and "e" in format_test(item) for item in rules.items)


def test_a_property_beside_an_aggregate_is_not_said_of_its_nodes() -> None:
    """Regression: the base demand of j stood in brackets after the neighbours of j, as if it were theirs."""
    near = Feature(
        "j",
        name="mean of the 3 nearest Junctions with a pressure sensor",
        role=Role.VARIABLE,
        label="pressure",
        unit="m",
        place="j",
        reads=frozenset({"near"}),
    )
    own = Feature("pressure_j", role=Role.VARIABLE, label="pressure", unit="m", place="j")
    demand = Feature("j", Aspect.PROPERTY, "base_demand", role=Role.VARIABLE, unit="m3/h")
    given = [Item.compare(near, ">=", 40.0), Item.compare(demand, "<", 0.2)]
    assert format_rule(given, Item.compare(own, ">=", 38.0)) == (
        "if the mean pressure of the 3 nearest Junctions with a pressure sensor is at least 40 m"
        " and j has base demand below 0.2 m³/h, then the pressure of j is at least 38 m"
    )
    assert format_rule([*given, Item.compare(own, "<", 50.0)], Item.compare(own, ">=", 38.0)) == (
        "if the mean pressure of the 3 nearest Junctions with a pressure sensor is at least 40 m"
        " and the pressure of j (base demand below 0.2 m³/h) is below 50 m, then the pressure of j is at least 38 m"
    )
