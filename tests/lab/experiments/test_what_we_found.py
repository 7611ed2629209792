"""The numbers of the pages about our results, against the tables of ``docs/results`` and the records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finding_tables import AVERAGES, CLAIMS, TABLES
from tools.findings import MARK, PAGES, QUOTING, fill_in, find_misplaced, find_unaccounted
from tools.record_tables import copy_table, find_cell, find_said
from tools.result_numbers import RESULTS, ResultNumbers, write_result_tables


@pytest.fixture(scope="module")
def numbers() -> ResultNumbers:
    return ResultNumbers()


@pytest.fixture(params=(*PAGES, *QUOTING), ids=lambda path: path.name)
def page(request: pytest.FixtureRequest) -> str:
    path: Path = request.param
    return path.read_text(encoding="utf-8")


def test_every_number_of_a_page_is_that_of_the_results(page: str, numbers: ResultNumbers) -> None:
    made = fill_in(page, numbers)
    differs = [
        (mark["source"], mark["text"], other["text"])
        for mark, other in zip(MARK.finditer(page), MARK.finditer(made), strict=True)
        if mark["text"] != other["text"]
    ]
    assert not differs, "run: python -m tools.findings"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_number_of_a_page_is_accounted_for(path: Path) -> None:
    assert find_unaccounted(path.read_text(encoding="utf-8")) == []


def test_marks_are_where_markdown_leaves_them_alone(page: str) -> None:
    assert find_misplaced(page) == []
    assert page.count("<!--.-->") == len(MARK.findall(page)) == page.count("<!--: ")


def test_the_tables_of_the_results_are_those_of_the_stored_repeats(numbers: ResultNumbers, tmp_path: Path) -> None:
    write_result_tables(numbers, tmp_path)
    for name in sorted(path.relative_to(tmp_path) for path in tmp_path.glob("*/*.csv")):
        assert (RESULTS / name).read_text() == (tmp_path / name).read_text(), (
            f"{name} is not what the stored repeats give; run: python -m tools.findings --tables"
        )


def test_claims_of_the_tables_exist(numbers: ResultNumbers) -> None:
    assert [one for one in (*CLAIMS, *AVERAGES) if not numbers.claim_text(*one)] == []


def test_the_findings_show_every_table() -> None:
    shown = {
        name
        for path in (*PAGES, *QUOTING)
        for name in re.findall(r"<!--: table ([\w-]+)-->", path.read_text(encoding="utf-8"))
    }
    assert shown == TABLES.keys()


RECORD = """\
## First

| network | who | found | rules | rules |
|---|---|--:|--:|--:|
| **net1** | `Exact` | 3 | 1 | 2 |
| net1 | Aerial | 1 | 4 | 5 |

## Second

S **0.88** of it

| network | found |
|---|---|
| net1 | 7 |
"""


def test_cells_of_a_record_are_found_by_row_column_and_heading(tmp_path: Path) -> None:
    path = tmp_path / "record.md"
    path.write_text(RECORD, encoding="utf-8")
    assert find_cell(path, ("net1", "Exact"), "found") == "3"
    assert find_cell(path, ("net1", "Aerial"), "rules (2)") == "5"
    assert find_cell(path, ("net1",), "found", heading="Second") == "7"
    assert find_said(path, "S") == "0.88"
    assert copy_table(path, ("who", "rules (2)"), heading="First", keep=("net1",)).splitlines()[2:] == [
        "| Exact | 2 |",
        "| Aerial | 5 |",
    ]
    for keys, column in ((("net1",), "found"), (("net2",), "found"), (("net1", "Exact"), "rules")):
        with pytest.raises(ValueError, match=r"cells of record\.md"):
            find_cell(path, keys, column)
    with pytest.raises(ValueError, match="0 rows"):
        copy_table(path, ("who", "missing"))
    with pytest.raises(ValueError, match="0 numbers"):
        find_said(path, "T")
