"""The list of deviations: the tests that it names exist, and so do the settings."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from thence.lab.baselines.arm_ae import ARMAE
from thence.lab.baselines.narm import OPTIONS, TSNARM
from thence.lab.baselines.semrl import NaiveSemRL
from thence.lab.experiments.samples import Encoding
from thence.search.aerial.settings import TrainingSettings

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "records" / "deviations.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
SETTINGS = sorted(set(re.findall(r"`((?:[A-Z]\w+)\([^`]*\))`", PAGE)))
CLASSES = {one.__name__: one for one in (Encoding, TrainingSettings, NaiveSemRL, TSNARM, ARMAE)}


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_named_tests_exist(file: str, name: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not name or re.search(rf"^def {name}\(", text, re.M)


@pytest.mark.parametrize("setting", SETTINGS)
def test_named_settings_exist(setting: str) -> None:
    call = ast.parse(setting, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    known = {field.name for field in fields(CLASSES[call.func.id])}
    given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    assert given
    assert given.keys() <= known
    for name in given.get("optimiser", {}):
        assert any(name in options for options in OPTIONS.values())


def test_the_page_has_tables_of_both() -> None:
    assert len(TESTS) > 15
    assert len(SETTINGS) > 15
    assert "probable" in PAGE
