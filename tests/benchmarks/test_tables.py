"""Tables of the documentation are those of the stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks._record import command
from tools.benchmark_tables import PAGES, PLACE, RESULTS, fill


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_stored_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert PLACE.search(text), "the page has no table of stored results"
    assert fill(text) == text, "run python tools/benchmark_tables.py"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_stored_results_say_where_they_come_from(path: Path) -> None:
    for name, table in json.loads(path.read_text(encoding="utf-8")).items():
        assert table["command"].startswith("benchmarks/"), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"]), name
        assert table["machine"], name
        assert table["rows"], name
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}, name


def test_a_command_hides_the_folders_of_a_machine() -> None:
    assert (
        command(["/x/aerial.py", "--csv", "/y", "--part", "plain", "--record"]) == "benchmarks/aerial.py --part plain"
    )
