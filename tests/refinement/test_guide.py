"""The examples of the guide run, and name the steps that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thence.refinement import __all__ as public

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "refinement.md"


def test_the_examples_of_the_guide_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    assert "refined" in shown and "p_adjusted" in shown


def test_the_guide_tells_all_steps_and_functions() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in set(public) - {"with_simpler"}:
        assert name in text, f"{name} is not in the guide"
