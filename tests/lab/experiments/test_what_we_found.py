"""The numbers of the pages about our results, against the tables of ``docs/results``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finding_tables import AVERAGES, CLAIMS, TABLES
from tools.findings import MARK, PAGES, fill_in, find_misplaced, find_unaccounted, main
from tools.result_numbers import RESULTS, Number, ResultNumbers, format_value, write_result_tables


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


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("1.1; hanoi; Aerial w-s; rules; paper", "554"),
        ("1.1; hanoi; Aerial w-s; support; paper; .3f", "0.540"),
        ("1.1; hanoi; Aerial w-s; support; paper; %", "54%"),
        ("1.1; hanoi; Aerial w-s; support; paper; n", "–"),
        ("1.1; hanoi; Aerial w-s / Aerial wo-s; support; paper", "2.2"),
        ("3; hanoi; Aerial w-s @ 0.9; rules; paper", "412"),
        ("1.1; hanoi; Aerial wo-s; zhang; paper", "–"),
        ("claim 1.1; support-2-3-aerial; hanoi; paper", "yes"),
        ("claim 1.1; support-2-3-aerial; paper", "Hanoi yes, L-Town no, LBNL AHU no"),
        ("claim 2.2; full-coverage; paper", "yes"),
        ("claim 1.1; support-aerial; hanoi; paper; numbers", "0.540 against 0.250 (× 2.2)"),
        ("highest 2.2; hanoi; DE, GA, PSO, LSHADE, jDE; confidence; paper", "LSHADE"),
        ("highest 2.1; hanoi; DE @ 30000, PSO @ 30000; rules; paper", "PSO"),
        ("given", "old"),
    ],
)
def test_marks_of_published_numbers(mark: str, text: str, numbers: ResultNumbers) -> None:
    assert fill_in(f"so <!--: {mark}-->old<!--.--> it is", numbers) == f"so <!--: {mark}-->{text}<!--.--> it is"


@pytest.mark.parametrize(
    "mark",
    [
        "1.1; hanoi; Aeriel w-s; rules; paper",
        "1.1; hanoi; Aerial w-s",
        "claim 1.1; support-arial; hanoi; paper",
        "csv 1.1/claims.csv; dataset=hanoi; holds",
        "made optimisers; evaluation",
    ],
)
def test_marks_that_name_nothing_are_refused(mark: str, numbers: ResultNumbers) -> None:
    with pytest.raises(ValueError, match="cannot read the mark"):
        fill_in(f"<!--: {mark}--><!--.-->", numbers)


def test_a_cell_of_another_csv_file(tmp_path: Path) -> None:
    (tmp_path / "scale.csv").write_text("sensors,seconds\n10,1.5\n20,2.25\n")
    mark = "csv scale.csv; sensors=20; seconds"
    assert fill_in(f"<!--: {mark}--><!--.-->", ResultNumbers(tmp_path)) == f"<!--: {mark}-->2.25<!--.-->"
    assert "-->2.2<" in fill_in(f"<!--: {mark}; .1f--><!--.-->", ResultNumbers(tmp_path))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a support of 0.56, or 83%", ["0.56,", "83%"]),
        ("a support of <!--: given-->0.56<!--.-->", []),
        ("`max_rules=10`, [see](4.md), Table 8, experiments 2.1 and 5", []),
        ("in 12 of 20 repeats", ["12", "20"]),
        ("```text\n12\n```\n", []),
    ],
)
def test_numbers_without_a_mark_are_found(text: str, found: list[str]) -> None:
    assert find_unaccounted(text) == found


def test_marks_that_begin_a_line_are_found() -> None:
    assert find_misplaced("it is\n<!--: given-->1<!--.-->\n") == ["<!--: given-->"]
    assert find_misplaced("it is\n\n<!--: table claims-->\n\n<!--.-->\n") == []


def test_lower_bounds_are_marked() -> None:
    assert Number("rules", 2e6, is_bound=True).show() == "≥ 2,000,000"
    assert Number("seconds", 0.51, 0.02, 3, is_bound=True).show("±") == "≥ 0.51 ± 0.02"
    assert Number("zhang", 0.5, is_bound=True).show() == "0.50"


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (0.2, "rules", "0.2"),
        (7.0, "rules", "7"),
        (277_936.9, "rules", "277,937"),
        (0.0085, "seconds", "0.0085"),
        (13.04, "seconds", "13.0"),
        (981.07, "seconds", "981"),
        (-0.786, "zhang", "-0.79"),
    ],
)
def test_numbers_as_text(value: float, metric: str, text: str) -> None:
    assert format_value(value, metric) == text


def test_the_command_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""
