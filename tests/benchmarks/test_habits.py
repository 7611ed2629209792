"""One building in twelve habits of models: the same sensors are bound, to the same places, in the same patterns."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import thence as th

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
GUIDE = BENCHMARKS.parent / "docs" / "guide" / "will-it-read-my-data.md"


@pytest.fixture
def habits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_habits_building")


def test_every_habit_is_a_row_of_the_guide(habits: Any) -> None:
    text = GUIDE.read_text(encoding="utf-8").partition("## Models")[2]
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line[:2] == "| "]
    assert rows == ["model", *habits.HABITS]


def test_all_habits_give_the_same_patterns_and_kinds(habits: Any, tmp_path: Path) -> None:
    building = habits.make_building(3, days=2, boxes=3)
    expected: dict[str, Any] = {}
    for number, (name, write) in enumerate(habits.HABITS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        readings, model = write(building, folder)
        system = th.read_system(readings, model)
        assert not system.binding.left_out, name
        found = {
            "kinds": sorted((sensor.kind, sensor.unit) for sensor in system.sensors.sensors),
            "patterns": sorted(map(str, system.discover_patterns())),
        }
        expected = expected or found
        assert found == expected, name
    assert len(expected["patterns"]) > 5
    assert any("site: nearest 1" in pattern for pattern in expected["patterns"])


def test_sites_in_several_habits_give_the_statements_of_one_habit(habits: Any, tmp_path: Path) -> None:
    names = ("Brick, hasPoint", "Haystack, JSON 4", "ASHRAE 223P")
    systems: dict[bool, list[th.System]] = {True: [], False: []}
    for number, name in enumerate(names):
        building = habits.make_building(number, days=6, boxes=3)
        for several, chosen in ((True, name), (False, names[0])):
            folder = tmp_path / f"{number}{several}"
            folder.mkdir()
            readings, model = habits.HABITS[chosen](building, folder)
            systems[several].append(th.read_system(readings, model, name=f"site{number}"))
    one, several = (th.mine(systems[how], progress="off", confirm=False) for how in (False, True))
    assert {str(rule) for rule in several.rules} == {str(rule) for rule in one.rules}
    assert len(one.rules) > 10
