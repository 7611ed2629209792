"""Sentences of laws: each form, with bands, factors, conditions and counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thence._base.display.percent import percent
from thence.errors import ConfigError
from thence.statements.laws.bands import Band
from thence.statements.laws.law import Law, Laws, PlaceCounts
from thence.statements.laws.terms import Condition, Term

PLACES = (PlaceCounts("Junction 1", 100, 100, 40, 40), PlaceCounts("Junction 2", 100, 99, 40, 39))
DEMAND = Term("reading", "demand", unit="m3/h")
FLOW = Term("reading", "flow", unit="m3/h")
IN = Term("total", "flow", role="Pipes that end there", unit="m3/h")
OUT = Term("total", "flow", role="Pipes that start there", unit="m3/h")
STAR = (
    "(j:Junction), (d:demand)-[in]->(j) | `Pipes that end there`: <-[ends_at]-(Pipe).flow "
    "| `Pipes that start there`: <-[starts_at]-(Pipe).flow"
)
LINK = (
    "(p:Pipe), (f:flow)-[in]->(p) | `Nodes it starts at`: -[starts_at]->(Node).pressure "
    "| `Nodes it ends at`: -[ends_at]->(Node).pressure"
)
BALANCE = Law("equal", STAR, ((1, DEMAND),), ((1, IN), (-1, OUT)), Band(0.6), by_place=PLACES)


def head(end: str, plus: str = "elevation") -> Term:
    return Term("reading", "pressure", role=f"Nodes it {end}s at", unit="m", plus=plus)


def test_a_balance_with_its_counts() -> None:
    assert BALANCE.english == (
        "for every Junction: its demand equals the total flow of the Pipes that end there minus that of the Pipes that "
        "start there, within ± 0.6 m³/h (99.5 % of 200 rows, 98.75 % of the later ones; 2 of 2 places)"
    )


def test_a_relative_band_is_a_share_of_what_flows_through() -> None:
    law = replace(BALANCE, band=Band(0.01, 0.021))
    assert law.statement.endswith("within 2.1 % of the flow through it (at least ± 0.01 m³/h)")
    same = replace(law, left=((1, DEMAND),), right=((1, FLOW),), band=Band(0.0, 0.021))
    assert same.statement.endswith("its demand equals its flow, within 2.1 % of their mean size")


def test_a_sum_that_is_zero() -> None:
    law = replace(BALANCE, left=((1, DEMAND), (1, OUT)), right=())
    assert ": its demand plus the total flow of the Pipes that start there is 0, within ± 0.6 m³/h" in law.statement


def test_exceptions_are_named() -> None:
    broken = (*PLACES, *(PlaceCounts(f"Junction {k}", 100, k, 40, 0) for k in range(3, 8)))
    assert (
        "; 2 of 7 places; not at Junction 3 (3 %), Junction 4 (4 %), Junction 5 (5 %) and 2 more)"
        in replace(BALANCE, by_place=broken).english
    )


def test_one_place_is_named() -> None:
    assert replace(BALANCE, by_place=PLACES[:1]).statement.startswith("for Junction 1 (one place): its demand")


def test_a_sign_says_where_and_beyond_what() -> None:
    law = Law("sign", LINK, ((1, FLOW),), ((1, head("start")), (-1, head("end"))), Band(0.02), by_place=PLACES)
    assert law.statement == (
        "for every Pipe: its flow is positive where the pressure plus elevation of the Node it starts at is more than "
        "0.02 m above that of the Node it ends at, negative where it is below"
    )
    apart = replace(law, by_place=(replace(PLACES[0], apart=7),))
    assert "7 rows with a value near 0 counted apart" in apart.english


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (0.002, "is 0.002 m/h per m³/h times the total flow of the Pipes that end there"),
        (
            None,
            "is proportional to the total flow of the Pipes that end there (factor of each place 0.001 to 0.003 m/h",
        ),
    ],
)
def test_a_proportion_tells_its_factors(factor: float | None, text: str) -> None:
    level = Term("reading", "level", unit="m", change=True)
    counts = tuple(replace(one, factor=0.001 + 0.002 * at) for at, one in enumerate(PLACES))
    law = Law("proportional", STAR, ((1, level),), ((1, IN),), Band(0.01), factor=factor, by_place=counts)
    assert f"the change of its level per hour {text}" in law.statement
    assert law.statement.endswith("(as read in this window, in the next, or between), within ± 0.01 m/h")


def test_bounds_and_conditions() -> None:
    flow = Law("at_least", "(p:Pipe), (f:flow)-[in]->(p)", ((1, FLOW),), band=Band(0.001), by_place=PLACES)
    assert flow.statement == "for every Pipe: its flow is never negative (by more than 0.001 m³/h)"
    valve = replace(flow, condition=Condition("property", "check_valve", "true"), band=Band(0.0))
    assert valve.statement == "for every Pipe with check valve true: its flow is never negative"
    closed = replace(flow, form="equal", condition=Condition("state", "status", "closed"))
    assert closed.statement == "for every Pipe: while it is closed, its flow is 0, within ± 0.001 m³/h"
    bare = replace(BALANCE, left=((1, IN),), right=((1, OUT),), condition=Condition("without", "demand"))
    assert bare.statement == (
        "for every Junction without a demand sensor: the total flow of the Pipes that end there equals that of the "
        "Pipes that start there, within ± 0.6 m³/h"
    )
    level = Term("reading", "level", unit="m")
    full = replace(flow, form="at_most", left=((1, level),), right=((1, Term("property", "max_level", unit="m")),))
    assert full.statement == "for every Pipe: its level is never above its max level (by more than 0.001 m)"


def test_one_neighbour_is_told_in_the_singular() -> None:
    pipe = replace(IN, form="reading")
    law = replace(BALANCE, right=((1, pipe),))
    assert ": its demand equals the flow of the Pipe that ends there" in law.statement


def test_a_share_is_never_rounded_up() -> None:
    shares = (1.0, 0.999999, 0.98765, 0.0)
    assert [percent(share, "down", 2) for share in shares] == ["100 %", "99.99 %", "98.76 %", "0 %"]


def test_no_law() -> None:
    assert str(Laws(())) == "no law was found" and Laws(()).exceptions().is_empty()


def test_an_unknown_form_is_refused_with_the_known_ones() -> None:
    """It was worded as "is never above"."""
    with pytest.raises(ConfigError, match=r"unknown form of law 'roughly' \(known: above, at_least, at_most, .*sign\)"):
        Law("roughly", "(a:Pipe)", ((1, Term("reading", "flow")),))
