"""Stored repeats: complete or absent, and never mixed with others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thence.errors import RunError
from thence.lab.experiments.results import Repeat, ResultStore

MADE = {"bins": 10, "algorithms": ["de"], "options": {"days": 28}, "sensors": 20}
RECORD = {"row": "Aerial", "variant": "faithful", "at": None, "values": {"rules": 3.0}, "seconds": 0.1, "facts": {}}
REPEAT = Repeat("arm-ae", "hanoi", 3, MADE, ("a", "b"), (RECORD,), {"cores": 2})


def test_a_repeat_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    path = store.save(REPEAT)
    assert path == tmp_path / "repeats" / "arm-ae" / "hanoi" / "003.json"
    assert store.load("arm-ae", "hanoi", 3, MADE) == REPEAT
    assert store.load("arm-ae", "hanoi", 4, MADE) is None
    assert store.count_repeats() == 4
    assert [p.name for p in path.parent.iterdir()] == ["003.json"]


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.save(REPEAT)
    with pytest.raises(RunError, match="bins was 10, is 5"):
        store.load("arm-ae", "hanoi", 3, {**MADE, "bins": 5})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    store = ResultStore(tmp_path)
    path = store.save(REPEAT)
    path.write_text(text)
    with pytest.raises(RunError, match=r"003\.json"):
        store.load("arm-ae", "hanoi", 3, MADE)


def test_data_of_a_configuration_are_stored_under_the_name_of_its_file(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    assert store.path("arm-ae", "/somewhere/mine.toml", 0).parent.name == "mine"
    # Two files with the same name are different data sets.
    store.save(replace(REPEAT, dataset="/somewhere/mine.toml"))
    with pytest.raises(RunError, match=r"'/somewhere/mine\.toml', not '/elsewhere/mine\.toml'"):
        store.load("arm-ae", "/elsewhere/mine.toml", 3, MADE)


@pytest.mark.parametrize("change", [('"rules": 3.0', '"rules": 4.0'), ('"bins": 10', '"bins": 11'), ('"a"', '"c"')])
def test_an_edited_repeat_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    store = ResultStore(tmp_path)
    path = store.save(REPEAT)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(RunError, match="its checksum does not match"):
        store.load("arm-ae", "hanoi", 3, MADE)


@pytest.mark.parametrize("name", ["work", "dataset", "repeat", "made_with", "sensors", "records", "environment"])
@pytest.mark.parametrize("value", [None, 7.5, [[]]])
def test_a_repeat_of_an_earlier_version_with_wrong_fields_is_our_error(tmp_path: Path, name: str, value: Any) -> None:
    store = ResultStore(tmp_path)
    path = store.save(REPEAT)
    record = json.loads(path.read_text())
    del record["sha256"]
    path.write_text(json.dumps(record))
    assert store.load("arm-ae", "hanoi", 3, MADE) == REPEAT
    for changed in ({**record, name: value}, {key: one for key, one in record.items() if key != name}):
        path.write_text(json.dumps(changed))
        if name == "sensors" and changed.get(name) == [[]]:
            continue
        with pytest.raises(RunError, match=r"003\.json"):
            store.load("arm-ae", "hanoi", 3, MADE)


def test_a_copy_under_another_number_is_refused(tmp_path: Path) -> None:
    """Two copies of a repeat would count as two measurements."""
    store = ResultStore(tmp_path)
    path = store.save(REPEAT)
    path.with_name("004.json").write_bytes(path.read_bytes())
    with pytest.raises(RunError, match="repeat 3 of 'arm-ae', not repeat 4"):
        store.load("arm-ae", "hanoi", 4, MADE)
