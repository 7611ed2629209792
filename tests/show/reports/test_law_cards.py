"""Evidence cards of laws: the rows that were counted, the quantities, and the band."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import thence as th
from tests.checks.detect.plant import plant
from tests.helpers.formula_plants import PLANTS
from tests.helpers.networks import network
from thence.runs.run import Run
from thence.show.reports.cards import Cards
from thence.show.reports.material import material_of
from thence.show.reports.periods import as_milliseconds

HALF_HOUR = 1_800_000


@pytest.fixture(scope="module", params=["plant", "network", "net3"])
def run(request: pytest.FixtureRequest) -> Run:
    made = {
        "plant": lambda: plant(60, leak=(2, 2000, 2001, 3.0)),
        "network": lambda: network(400),
        "net3": lambda: th.datasets.load("net3", days=7),
    }
    return th.mine(made[request.param](), progress="off")


def test_history_and_places_are_the_counts_of_the_law(run: Run) -> None:
    assert run.laws
    cards = Cards(material_of(run))
    for position, law in enumerate(run.laws):
        card = cards.card("law", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["applied"]) == law.rows
        assert sum(card["history"]["held"]) == law.held
        assert card["n_places"] == law.places
        by_name = {one.place: one for one in law.by_place}
        for one in card["places"]:
            assert (one["rows"], one["held"]) == (by_name[one["name"]].rows, by_name[one["name"]].held)
            assert one["exception"] == (by_name[one["name"]] in law.exceptions)
        assert card["place"] in by_name and card["nodes"][0] == card["place"]
        json.dumps(card, allow_nan=False)


def test_where_a_law_is_broken_the_difference_is_outside_the_band() -> None:
    """The balance of the junction with a leak, checked by hand on what the card shows."""
    run = th.mine(plant(60, leak=(2, 2000, 2001, 3.0)), progress="off")
    assert run.laws is not None
    readings = run.readings
    assert readings is not None
    position = next(at for at, law in enumerate(run.laws) if law.form == "equal" and len(law.terms) > 2)
    card = Cards(material_of(run)).card("law", position)
    assert card is not None
    assert card["place"] == "J2"
    residual = card["traces"][-1]
    (band,) = residual["bands"]
    assert band["low"] is not None and band["high"] is not None
    broken = {moment for one in card["violated"] for moment in range(one["start"], one["end"], HALF_HOUR)}
    outside = {
        time
        for time, value in zip(residual["times"], residual["values"], strict=True)
        if value is not None and not band["low"] <= value <= band["high"]
    }
    assert broken == outside
    leak = as_milliseconds(readings.times[2000:2002]).tolist()
    assert broken and broken <= set(leak)


def test_the_traces_are_the_terms() -> None:
    run = th.mine(network(400), progress="off")
    assert run.laws is not None and run.readings is not None
    readings = run.readings
    position = next(at for at, law in enumerate(run.laws) if law.form == "equal" and len(law.terms) == 3)
    card = Cards(material_of(run)).card("law", position)
    assert card is not None
    assert len(card["traces"]) == 4
    start = as_milliseconds(readings.times).tolist().index(card["traces"][0]["times"][0])
    for trace in card["traces"]:
        if trace["sensor"]:
            column = [sensor.id for sensor in readings.numeric].index(trace["sensor"])
            read = readings.values[start : start + len(trace["values"]), column]
            spread = float(np.nanmax(readings.values[:, column]) - np.nanmin(readings.values[:, column]))
            assert np.allclose(np.array(trace["values"], float), read, atol=spread / 1000)


def test_a_law_about_one_quantity_has_its_bound_as_a_band() -> None:
    run = th.mine(th.datasets.load("net3", days=7), progress="off")
    assert run.laws is not None
    cards = Cards(material_of(run))
    for position, law in enumerate(run.laws):
        card = cards.card("law", position)
        assert card is not None
        if law.form == "at_least" and not law.right:
            assert [band["low"] for band in card["traces"][0]["bands"]] == [-law.band.absolute]
        if law.condition is not None and law.condition.form == "state":
            assert card["traces"][0]["bands"][0]["states"] == [law.condition.value]


def test_several_sites_have_laws_with_cards() -> None:
    sites = [replace(plant(12, seed=1), name="north"), replace(plant(8, seed=2), name="south")]
    run = th.mine(sites, progress="off")
    assert run.laws
    cards = Cards(material_of(run))
    for position, law in enumerate(run.laws):
        card = cards.card("law", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["held"]) == law.held


@pytest.mark.parametrize("number", [1, 2, 4], ids=lambda number: PLANTS[number].__name__)
def test_a_formula_has_a_card_with_and_without_a_graph(number: int) -> None:
    run = th.mine(PLANTS[number](0).system(1), progress="off")
    laws = [(position, law) for position, law in enumerate(run.laws or ()) if law.names_sensors]
    assert laws
    cards = Cards(material_of(run))
    for position, law in laws:
        card = cards.card("law", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["held"]) == law.held
        of_terms = {id for one in law.by_place for id in one.sensors}
        assert {trace["sensor"] for trace in card["traces"]} - {""} <= of_terms
        assert (law.condition is not None) == any(band["side"] == "if" for t in card["traces"] for band in t["bands"])
        json.dumps(card, allow_nan=False)
