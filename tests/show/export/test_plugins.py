"""Formats of other packages: one entry point, and rules are written and read by their suffix."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import thence as th
from tests.helpers.distributions import add_distribution
from tests.show.export.rulesets import varied
from thence.errors import ConfigError
from thence.statements.files import FORMATS, find_format

CODE = """
from pathlib import Path

from thence.statements.files import Format
from thence.statements.rules.ruleset import RuleSet


def write(rules: RuleSet, path: Path, *, heading: str = "rules") -> None:
    path.write_text(f"{heading}: {len(rules)}")


def read(path: Path) -> RuleSet:
    return RuleSet.empty(path.read_text())


COUNT = Format("count", (".newsuffix",), "the number of rules", write, read)
SECOND_JSON = Format("second-json", (".json",), "never reached by its suffix", write)
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = {name: f"thence_count:{name.upper().replace('-', '_')}" for name in ("count", "second-json")}
    add_distribution(tmp_path, "thence_count", CODE, {"thence.exports": points})
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("thence_count", None)


def test_a_format_of_another_package_is_used_by_its_suffix_and_its_name(tmp_path: Path) -> None:
    path = th.write_rules(varied(), tmp_path / "r.newsuffix")
    assert path.read_text() == "rules: 7"
    assert th.read_rules(path).notes == ("rules: 7",)
    th.write_rules(varied(), tmp_path / "r.txt", format="count", heading="number")
    assert (tmp_path / "r.txt").read_text() == "number: 7"


def test_its_options_are_checked_like_those_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'heading' must be a string, got 3"):
        th.write_rules(varied(), tmp_path / "r.newsuffix", heading=3)
    assert not (tmp_path / "r.newsuffix").exists()


def test_a_suffix_of_the_package_is_not_taken_over() -> None:
    assert FORMATS.names()[-2:] == ("count", "second-json")
    assert find_format("rules.json").name == "json"


def test_an_entry_point_that_is_no_format_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    add_distribution(folder, "thence_wrong", "WRONG = 1", {"thence.exports": {"wrong": "thence_wrong:WRONG"}})
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(ConfigError, match="must be a Format, got"):
        find_format("x", "wrong")
