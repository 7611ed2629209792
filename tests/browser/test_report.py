"""The page of a run in a real browser: what it shows, how it is used, and that it loads nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.sample import HOSTILE, empty_report, sample_report
from thence.show.reports.page import write_page

OpenPage = Callable[..., Any]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(sample_report(), tmp_path_factory.mktemp("page") / "report.html").as_uri()


def _overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _sentences(page: Any) -> list[str]:
    return [text.strip() for text in page.locator(".rule-table .unfold").all_inner_texts()]


def test_opens_with_all_parts(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    assert page.locator("h1").inner_text().startswith("Waterworks <North>")
    assert (
        page.locator(".recorded")
        .first.inner_text()
        .startswith("15 days within 60 days, 1 Feb – 2 Apr 2021; 27 sensors")
    )
    titles = page.locator("h2").all_inner_texts()
    assert titles == [
        "4 findings to know",
        "The map",
        "Alarms: February",
        "On other data: the next month",
        "Findings",
        "Known rules",
        "Method",
    ]
    # Each finding of the first page has one picture; the evidence opens on request.
    assert page.locator(".fact").count() == 4
    assert page.locator(".fact .picture").count() == 3
    assert page.locator(".evidence").count() == 0
    assert page.locator(".rule-table tbody tr").count() == 30
    known = page.locator("#known li")
    assert HOSTILE[1] in known.nth(0).inner_text()
    assert "Held in 2,364 of 2,400 rows (98.50\u00a0%)." in known.nth(0).inner_text()
    assert "It never applied." in known.nth(1).inner_text()


def test_a_finding_is_copied_and_its_chart_saved(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    fact = page.locator(".fact").nth(1)
    fact.get_by_role("button", name="Copy sentence").click()
    fact.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "Pump 1 opens when the level of tank 3 falls below 17.1 m. (12 of 12 switches)"
    page.wait_for_timeout(2600)
    fact.get_by_role("button", name="Copy link").click()
    fact.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == address + "#finding-control-0"
    assert page.locator("#finding-control-0").count() == 1
    with page.expect_download() as download:
        fact.get_by_role("button", name="Save as PNG").click()
    data = download.value.path().read_bytes()
    assert download.value.suggested_filename.endswith(".png")
    assert data.startswith(b"\x89PNG") and len(data) > 5_000


def test_names_from_data_are_text(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main iframe").count() == 0
    assert HOSTILE[0] in page.locator(".kinds").inner_text()


def test_an_empty_report_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(write_page(empty_report(), tmp_path / "empty.html").as_uri())
    assert "No rule, law or control was found" in page.locator("#facts").inner_text()
    assert "No rule met the thresholds" in page.locator("#findings").inner_text()
    assert _overflow(page) == 0


def test_one_search_over_all_kinds(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    status = page.locator("#findings [role=status]")
    field = page.get_by_label("Search", exact=True)
    assert status.inner_text() == "105 findings with 17 variants"
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("junction 12 pressure")
    assert _sentences(page) and all("junction 12" in text for text in _sentences(page))
    field.fill("PUMP 1 then:opens")
    assert status.inner_text() == "No finding fits."
    field.fill('level "pump 1 opens"')
    assert status.inner_text() == "1 finding"
    control = page.locator("#findings .statements").inner_text()
    assert control.startswith("Pump 1 · opens below 17.1 m in tank 3 · 12 of 12")
    # A place and a sensor are found by their names, and a click shows them on the map.
    field.fill("P3")
    hits = page.locator("#findings .hits")
    assert {"P3", "P30"} <= set(hits.locator(".link").all_inner_texts())
    chips = page.get_by_role("group", name="What is listed")
    assert int(chips.get_by_role("button", name="Sensors").inner_text().split()[1]) == hits.locator("li").count()
    hits.locator(".link").first.click()
    assert "1 node highlighted" in page.locator("#graph").inner_text()
    field.fill("no such words")
    assert status.inner_text() == "No finding fits."
    page.get_by_role("button", name="Clear all filters").click()
    assert status.inner_text() == "105 findings with 17 variants"


def test_filters_act_on_all_kinds(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    chips = page.get_by_role("group", name="What is listed")
    chips.get_by_role("button", name="Laws").click()
    assert page.locator("#findings .statements li").count() == 1
    assert page.locator(".rule-table").count() == 0
    chips.get_by_role("button", name="All").click()
    page.get_by_label("Min. confidence").fill("0.95")
    shares = page.locator(".rule-table td.confidence").all_inner_texts()
    assert shares and all(float(share.rstrip("%")) >= 95 for share in shares)
    assert page.locator("#findings .statements li").count() == 2
    page.get_by_label("Min. confidence").fill("")
    page.get_by_label("Min. lift").fill("1")
    assert page.locator("#findings .statements").count() == 0
    page.get_by_label("Min. lift").fill("")
    page.get_by_role("group", name="Quantity").get_by_role("button", name="pump state").click()
    assert all("pump state" in text for text in _sentences(page))
    assert page.locator("#findings .statements li").count() == 1


def test_variants_are_folded(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    page.get_by_role("button", name="Show 73 more").click()
    assert page.locator(".rule-table .badge", has_text="+1 variant").count() == 17


def test_sorts_by_keyboard(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    header = page.locator("th.lift")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    lifts = [float(text) for text in page.locator("td.lift").all_inner_texts()]
    assert lifts == sorted(lifts, reverse=True)
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    lifts = [float(text) for text in page.locator("td.lift").all_inner_texts()]
    assert lifts == sorted(lifts)
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "none"
    assert "junction 0" in _sentences(page)[0]


def test_rows_unfold_to_counts_and_evidence(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    row = page.locator(".rule-table .unfold").first
    row.focus()
    page.keyboard.press("Enter")
    assert row.get_attribute("aria-expanded") == "true"
    detail = page.locator("tr.detail").first
    assert "The condition is true in 300 of 8,000 rows" in detail.inner_text()
    assert detail.locator(".evidence svg[role=img]").count() == 3
    page.keyboard.press("Enter")
    assert page.locator("tr.detail").count() == 0


def test_evidence_opens_and_its_cursor_moves_by_keyboard(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    fact = page.locator(".fact").nth(1)
    fact.get_by_role("button", name="See the evidence").click()
    chart = fact.locator("[role=slider]").first
    chart.focus()
    page.keyboard.press("End")
    assert "7 Feb 2021, 23:00" in (chart.get_attribute("aria-valuetext") or "")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "1 Feb 2021, 01:00" in (chart.get_attribute("aria-valuetext") or "")
    assert "Pressure J-117" in fact.locator(".tip").inner_text()
    page.keyboard.press("Escape")
    assert fact.locator(".tip").count() == 0
    fact.get_by_text("Data as a table").first.click()
    fact.locator(".data tbody tr").last.wait_for()
    assert fact.locator(".data tbody tr").count() == 168


def test_places_are_shown_in_the_graph(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    page.locator(".fact").first.get_by_role("button", name="See the evidence").click()
    page.get_by_role("button", name="Show its places on the map").first.click()
    assert "17 nodes highlighted" in page.locator("#graph").inner_text()
    page.locator(".rule-table .unfold").nth(5).hover()
    page.locator("h1").hover()
    assert "17 nodes highlighted" in page.locator("#graph").inner_text()
    page.locator("#graph").get_by_role("button", name="Clear").click()
    assert "highlighted" not in page.locator("#graph").inner_text()


def test_matrix_and_scatter_filter_the_table(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    cell = page.get_by_role("button", name="rules from flow to").first
    cell.click()
    assert cell.get_attribute("aria-pressed") == "true"
    assert all(text.startswith("While the flow at") for text in _sentences(page))
    cell.click()
    chart = page.locator("svg[role=listbox]")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert len(_sentences(page)) == 1
    page.keyboard.press("Escape")
    assert len(_sentences(page)) == 30
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 15)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 80, steps=4)
    page.mouse.up()
    assert "confidence" in page.locator(".found .choice").inner_text()
    assert 0 < len(_sentences(page)) < 30


def test_dark_mode_follows_the_system_and_the_switch(open_page: OpenPage, address: str) -> None:
    page = open_page(address, dark=True)
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(18, 23, 28)"
    page.get_by_role("button", name="Use light colours").click()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [390, 768])
def test_narrow_screens_do_not_scroll_sideways(open_page: OpenPage, address: str, width: int) -> None:
    page = open_page(address, width=width)
    for fact in page.get_by_role("button", name="See the evidence").all()[:2]:
        fact.click()
    page.locator(".rule-table .unfold").first.click()
    assert _overflow(page) == 0


def test_prints_on_two_pages_without_controls(open_page: OpenPage, address: str) -> None:
    page = open_page(address, dark=True)
    page.emulate_media(media="print")
    assert page.locator(".fact .picture").first.is_visible()
    assert not page.locator(".filters").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.locator("#method").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_finding_of_axe(
    open_page: OpenPage, check_access: Callable[[Any], None], tmp_path: Path, dark: bool
) -> None:
    # Few rules: axe looks at every element, and more rows of the same kind tell it nothing.
    page = open_page(write_page(sample_report(rules=9), tmp_path / "report.html").as_uri(), dark=dark)
    page.locator(".rule-table .unfold").first.click()
    page.get_by_text("Data as a table").first.click()
    check_access(page)


def test_without_scripts_the_sentences_are_there(chromium: Any, address: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    text = page.locator("body").inner_text()
    context.close()
    assert "Pump 1 opens when the level of tank 3 falls below 17.1 m." in text
    assert HOSTILE[1] in text
