"""Stored repeats: complete or absent, and never mixed with others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thence.errors import RunError
from thence.experiments.store import Repeat, Store

MADE = {"bins": 10, "algorithms": ["de"], "options": {"days": 28}, "sensors": 20}
RECORD = {"row": "Aerial", "variant": "faithful", "at": None, "values": {"rules": 3.0}, "seconds": 0.1, "facts": {}}
REPEAT = Repeat("arm-ae", "hanoi", 3, MADE, ("a", "b"), (RECORD,), {"cores": 2})


def test_a_repeat_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.save(REPEAT)
    assert path == tmp_path / "repeats" / "arm-ae" / "hanoi" / "003.json"
    assert store.load("arm-ae", "hanoi", 3, MADE) == REPEAT
    assert store.load("arm-ae", "hanoi", 4, MADE) is None
    assert store.count_repeats() == 4
    assert [p.name for p in path.parent.iterdir()] == ["003.json"]


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(REPEAT)
    with pytest.raises(RunError, match="bins was 10, is 5"):
        store.load("arm-ae", "hanoi", 3, {**MADE, "bins": 5})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    path = store.save(REPEAT)
    path.write_text(text)
    with pytest.raises(RunError, match=r"003\.json"):
        store.load("arm-ae", "hanoi", 3, MADE)


def test_data_of_a_configuration_are_stored_under_the_name_of_its_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.path("arm-ae", "/somewhere/mine.toml", 0).parent.name == "mine"
    # Two files with the same name are different data sets.
    store.save(replace(REPEAT, dataset="/somewhere/mine.toml"))
    with pytest.raises(RunError, match=r"'/somewhere/mine\.toml', not '/elsewhere/mine\.toml'"):
        store.load("arm-ae", "/elsewhere/mine.toml", 3, MADE)
