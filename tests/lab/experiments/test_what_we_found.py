"""The numbers of the pages about our results, against the tables of ``docs/results``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finding_tables import AVERAGES, CLAIMS, TABLES
from tools.findings import MARK, PAGES, fill_in, find_misplaced, find_unaccounted
from tools.result_numbers import RESULTS, ResultNumbers, write_result_tables


@pytest.fixture(scope="module")
def numbers() -> ResultNumbers:
    return ResultNumbers()


@pytest.fixture(params=PAGES, ids=lambda path: path.name)
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


def test_every_number_of_a_page_is_accounted_for(page: str) -> None:
    assert find_unaccounted(page) == []


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
        name for path in PAGES for name in re.findall(r"<!--: table ([\w-]+)-->", path.read_text(encoding="utf-8"))
    }
    assert shown == TABLES.keys()
