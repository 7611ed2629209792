"""Several systems, and files of one's own, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import fail, succeed


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders with the files of the toy data set."""
    place = tmp_path_factory.mktemp("sites")
    for name in ("north", "south"):
        succeed("datasets", "make", "toy", "--out", place / name)
    return place


def both(folders: Path) -> tuple[str, ...]:
    return ("--system", f"north={folders / 'north'}", "--system", f"south={folders / 'south'}", "--windows", "1h")


def test_mine_and_check_several_systems(folders: Path, tmp_path: Path) -> None:
    found = json.loads(succeed("check", *both(folders), "--json"))
    assert set(found["systems"]) == {"north", "south"} and found["table"]["sites"] == ["north", "south"]
    assert "windows in south" in succeed("check", *both(folders))
    succeed("mine", *both(folders), "--bins", "3", "--no-confirm", "--out", tmp_path / "run", "--quiet")
    assert "[[system]]" in (tmp_path / "run" / "config.toml").read_text()
    # The run can be repeated from its own configuration.
    again = json.loads(succeed("mine", tmp_path / "run" / "config.toml", "--out", tmp_path / "again", "--json"))
    assert again["rules"] == json.loads((tmp_path / "run" / "summary.json").read_text())["rules"] > 0


def test_generalise_and_compare_take_files(folders: Path) -> None:
    bins = ("--bins", "3")
    found = json.loads(succeed("generalise", *both(folders), *bins, "--by", "site", "--json"))
    assert set(found["sites"]) == {"north", "south"}
    assert "site left out" in succeed("generalise", *both(folders), *bins, "--by", "site")
    job = folders / "north" / "config.toml"
    options = ("--windows", "1h", *bins, "--enrich", "lifted", "--json")
    other = json.loads(succeed("generalise", job, "--other", folders / "south", *options))
    assert other["split"] == "another system" and other["modes"]["lifted"]["wholly_unseen"]["places"] == 5
    compared = json.loads(succeed("compare", job, "--method", "exact", "--windows", "1h", *bins, "--json"))
    assert compared["methods"][0]["rules"] > 0


def test_mistakes_with_several_systems(folders: Path, tmp_path: Path) -> None:
    north = ("--system", f"north={folders / 'north'}")
    assert "--by site" in fail("generalise", *both(folders))
    assert "at least two" in fail("generalise", *north, "--by", "site")
    assert "one system, but several are given" in fail("compare", *both(folders)[:-2])
    assert "takes NAME=FOLDER" in fail("mine", "--system", "north")
    assert "no such folder" in fail("mine", "--system", "north=nowhere")
    assert "has no readings" in fail("mine", "--system", f"empty={tmp_path}")
    assert "exclude each other" in fail("mine", *north, "--dataset", "toy")
    assert "--other-option is for a data set" in fail(
        "generalise", *north, "--other", folders / "south", "--other-option", "days=1"
    )
