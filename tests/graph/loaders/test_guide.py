"""The examples of the guide on knowledge graphs run and print what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "knowledge-graph.md"


def test_the_examples_of_the_guide() -> None:
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert examples > 15 and failures == 0
