"""Pilots: two rooms are enough for rules about places, and every sensor is in a statement or in a note."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.helpers.commands import succeed
from thence.errors import PatternError

MODEL = """@prefix brick: <https://brickschema.org/schema/Brick#> .
@prefix ex: <urn:ex#> .
ex:AHU a brick:AHU ; brick:feeds ex:Room_1, ex:Room_2 ; brick:hasPoint ex:supply, ex:fan .
ex:Room_1 a brick:Room ; brick:hasPoint ex:t1 .
ex:Room_2 a brick:Room ; brick:hasPoint ex:t2 .
ex:supply a brick:Supply_Air_Temperature_Sensor . ex:fan a brick:Fan_Status .
ex:t1 a brick:Zone_Air_Temperature_Sensor . ex:t2 a brick:Zone_Air_Temperature_Sensor .
ex:t3 a brick:Zone_Air_Temperature_Sensor . ex:Room_3 a brick:Room ; brick:hasPoint ex:t3 .
"""


@pytest.fixture
def pilot(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(4)
    hours = np.arange(42 * 48) / 2
    fan = (hours % 24 >= 7) & (hours % 24 < 18)
    frame = pl.DataFrame(
        {
            "time": [datetime(2024, 1, 1) + timedelta(hours=float(hour)) for hour in hours],
            "fan": np.where(fan, "on", "off"),
            "supply": np.where(fan, 16, 21) + rng.normal(0, 0.3, len(hours)),
            "t1": np.where(fan, 22, 19) + rng.normal(0, 0.3, len(hours)),
            "t2": np.where(fan, 22.5, 19.5) + rng.normal(0, 0.3, len(hours)),
            "stray": rng.normal(0, 1, len(hours)),
        }
    )
    frame.with_columns(pl.selectors.float().round(2)).write_csv(tmp_path / "pilot.csv")
    (tmp_path / "model.ttl").write_text(MODEL, encoding="utf-8")
    return tmp_path / "pilot.csv", tmp_path / "model.ttl"


def test_two_rooms_have_rules_about_places(pilot: tuple[Path, Path]) -> None:
    """Regression: fewer than three rooms made the graph unused."""
    run = th.mine(pilot[0], graph=pilot[1], progress="off")
    assert run.config.enrich.mode == "lifted"
    assert any("feeds" in pattern for pattern, _ in run.rules.patterns)


def test_every_sensor_is_in_a_statement_or_a_note(pilot: tuple[Path, Path]) -> None:
    run = th.mine(pilot[0], graph=pilot[1], progress="off")
    notes = " ".join(run.summary["notes"])
    kinds = {kind for one in run.findings for kind in one.about.kinds}
    named = {sensor for one in run.findings for sensor in one.about.sensors}
    for sensor in run.system.sensors.sensors:
        assert sensor.id in named or sensor.kind in kinds or f"'{sensor.id}'" in notes
    assert "1 point of the graph without readings: 't3'" in notes


def test_a_pattern_without_a_place_is_an_error(pilot: tuple[Path, Path]) -> None:
    """Regression: it was a note, and rules about single sensors were shown."""
    with pytest.raises(PatternError, match="matches no place"):
        th.mine(
            pilot[0], graph=pilot[1], patterns=["(t:zone_air_temperature)-[in*]->(a:AHU)"], progress="off"
        )  # fmt: skip


def test_a_pattern_is_never_answered_with_rules_about_sensors(pilot: tuple[Path, Path]) -> None:
    pattern = "(f:fan_status)-[in*]->(a:AHU), (s:supply_air_temperature)-[in*]->(a)"
    run = th.mine(pilot[0], graph=pilot[1], patterns=[pattern], progress="off")
    assert run.config.enrich.mode == "lifted"
    assert len(run.rules.patterns) <= 1


def test_check_tells_what_mine_does(pilot: tuple[Path, Path], tmp_path: Path) -> None:
    """Regression: check read other rows than mine searched, and told another number of rules."""
    flags = ("--sensors", pilot[0], "--graph", pilot[1], "--enrich", "lifted", "--bins", "3")
    told = json.loads(succeed("check", *flags, "--json"))
    run = th.mine(pilot[0], graph=pilot[1], enrich="lifted", bins=3, progress="off")
    assert told["table"]["rows"] == run.table.n_rows
    assert told["table"]["features"] == run.table.n_features
    assert told["search"]["rules"]["exact"]
    assert told["search"]["rules"]["about"] == run.summary["rules_found"]
