"""Tables of the documentation are those of the stored results, and cells are written as their columns say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks._record import Table, command, dump, record
from tools.benchmark_tables import PAGES, PLACE, RESULTS, fill, render_cell, render_table


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


@pytest.mark.parametrize(
    ("cell", "form", "text"),
    [
        (None, ".3f", ""),
        ("killed", ".3f", "killed"),
        (1234.5, ",.0f", "1,234"),
        (0.5, ".2f s", "0.50 s"),
        ([1500.0, 12.0], ",.0f", "1,500 ± 12"),
        ([1500.0, 0.2], ",.0f", "1,500"),
        ("Aerial", "", "Aerial"),
    ],
)
def test_a_cell_is_written_as_its_column_says(cell: object, form: str, text: str) -> None:
    assert render_cell(cell, form) == text


def test_a_recorded_table_is_shown_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/benchmarks/job.py", "--part", "a", "--tables", "/secret", "--record"])
    columns = (("contender", ""), ("seconds", ".1f"))
    record("job", {"a": Table(columns, (("ours", 1.25), ("theirs", None)), note="one thread each")}, folder=tmp_path)
    record("job", {"b": Table(columns, (("ours", 2.0),))}, folder=tmp_path)
    stored = json.loads((tmp_path / "job.json").read_text(encoding="utf-8"))
    assert list(stored) == ["a", "b"]
    lines = render_table(stored["a"]).splitlines()
    assert lines[:4] == ["| contender | seconds |", "|---|--:|", "| ours | 1.2 |", "| theirs |  |"]
    assert lines[-1].startswith("*`python benchmarks/job.py --part a`, ")
    assert lines[-1].endswith("; one thread each.*")
    assert json.loads(dump(stored)) == stored


def test_a_command_hides_the_folders_of_a_machine() -> None:
    assert (
        command(["/x/aerial.py", "--csv", "/y", "--part", "plain", "--record"]) == "benchmarks/aerial.py --part plain"
    )
