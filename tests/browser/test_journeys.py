"""What people come for, each in at most three clicks: counted, on a desktop and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import thence as th
from tests.statements.test_search import mined

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

OpenPage = Callable[..., Any]
MOST_CLICKS = 3
SCREENS = {"desktop": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 844}}
ITEM = ".pane-list .list[aria-label=Findings] .item"


@dataclass
class Journey:
    """A page on which clicks are counted."""

    page: Any
    clicks: int = field(default=0)

    def click(self, what: Any) -> None:
        """Click on something."""
        what.click()
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS

    def search(self, text: str) -> None:
        """Type into the search field, which Ctrl-K reaches without a click."""
        self.page.keyboard.press("Control+k")
        self.page.keyboard.type(text)
        self.page.wait_for_function("t => new URLSearchParams(location.hash.slice(1)).get('q') === t", arg=text)
        self.page.locator(".pane-list .list[aria-busy=false], .pane-list .nothing").first.wait_for()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with th.explore(mined(), browser=False) as explorer:
        yield explorer.address


@pytest.fixture(params=SCREENS)
def journey(request: pytest.FixtureRequest, address: str, open_page: OpenPage) -> Journey:
    page = open_page(address, allowed=(address,), **SCREENS[request.param])
    page.locator('.explorer[data-state="ready"]').wait_for()
    return Journey(page)


def chips(page: Any) -> dict[str, int]:
    """The number of each kind that the list offers."""
    found = (re.fullmatch(r"(\w+)\s+([\d,]+)", text) for text in page.locator(".list-names button").all_inner_texts())
    return {one[1]: int(one[2].replace(",", "")) for one in found if one}


def test_what_holds_at_a_pump(journey: Journey, check_access: Callable[[Any], None]) -> None:
    page = journey.page
    journey.search("Pump 335")
    found = mined().findings.search("Pump 335")
    page.wait_for_function("() => document.querySelectorAll('.hits .item').length > 0")
    counts = chips(page)
    assert counts["Places"] == 1
    assert counts["Sensors"] == 2
    assert counts["Laws"] == len(found.laws)
    assert counts["Rules"] == len(found.rules.entries)
    assert counts["All"] == counts["Controls"] + counts["Laws"] + counts["Rules"]
    journey.click(page.locator(".hits .item", has_text="Pump 335").first)
    page.wait_for_function("() => location.hash.includes('node=Pump+335')")
    assert "q=" not in page.url
    page.get_by_text("Findings at Pump 335").wait_for(state="attached")
    # Its page: readings, what holds there with the counts there, and a link that can be copied.
    page.locator(".asset h2", has_text="Pump 335").wait_for()
    page.locator(".asset .series-line").first.wait_for()
    assert page.locator(".here .fact").count() > 0
    page.get_by_role("button", name="Copy link").wait_for()
    check_access(page)
    # A finding that is opened from here shows its evidence here.
    fact = page.locator(".here .fact", has_text="its flow is 0").first
    held = re.search(r"of ([\d,]+) here", fact.inner_text())
    journey.click(fact)
    page.get_by_role("heading", name=re.compile("^At Pump 335$")).wait_for()
    assert held is not None
    assert held[1] in page.locator(".card figcaption").first.inner_text() or held[1] == "0"


def _failing() -> tuple[str, list[str]]:
    """A rule that fails somewhere, and the places where it does."""
    exceptions = mined().exceptions()
    rule = exceptions["rule"][0]
    places = exceptions.filter(exceptions["rule"] == rule)["place"].to_list()
    return mined().rules.rule(rule).english, places


def test_why_a_rule_failed_there(journey: Journey) -> None:
    page = journey.page
    english, places = _failing()
    journey.click(page.locator(ITEM, has_text=english[10:60]).first)
    chooser = page.locator(".place-chooser")
    chooser.get_by_text(re.compile(rf"^({len(places)}|exception . of {len(places)})")).first.wait_for()
    journey.click(chooser.get_by_role("button", name="Next exception"))
    page.get_by_text(re.compile(rf"exception . of {len(places)}")).wait_for()
    page.wait_for_function("() => location.hash.includes('spot=')")
    shown = page.locator(".card figcaption h3").first.inner_text().removeprefix("At ")
    assert shown in places
    page.locator(".card .plot pattern").first.wait_for(state="attached")
    journey.click(chooser.get_by_role("button", name="Next violation"))
    page.wait_for_function("() => location.hash.includes('moment=')")
    page.get_by_text(re.compile("violation .* of .* here")).wait_for()


def test_where_a_rule_does_not_hold(journey: Journey) -> None:
    page = journey.page
    english, places = _failing()
    journey.click(page.locator(ITEM, has_text=english[10:60]).first)
    page.locator(".place-table .exception").first.wait_for()
    named = page.locator(".place-table .exception .place-name").all_inner_texts()
    assert sorted(named) == sorted(places)
    journey.click(page.locator(".place-table .exception .place-name").last)
    page.get_by_role("heading", name=f"At {named[-1]}", exact=True).wait_for()
    journey.click(page.get_by_role("tab", name="Map"))
    page.get_by_text(re.compile("where it applies, .*exception")).wait_for()
    page.get_by_label("How it holds").wait_for()


def test_every_place_is_a_button(journey: Journey) -> None:
    page = journey.page
    english, _ = _failing()
    journey.click(page.locator(ITEM, has_text=english[10:60]).first)
    more = page.get_by_role("button", name=re.compile("more place"))
    more.wait_for()
    journey.click(more)
    total = int(re.sub(r"\D", "", page.get_by_role("heading", name=re.compile("At each of")).inner_text()))
    assert page.locator(".place-table button.place-name").count() == total > 60


def test_a_control_is_a_card_and_families_are_folded(journey: Journey) -> None:
    page = journey.page
    journey.search("Pump 335")
    card = page.locator(ITEM, has_text="above 5.82 m").locator("visible=true")
    text = card.last.inner_text()
    assert re.search(r"Pump 335 · \w+ below 5\.21 m · \w+ above 5\.82 m in Tank 1", text)
    assert "26 of 26" in text
    assert page.locator(ITEM, has_text="variant").count() == sum(
        len(entry) > 1 for entry in mined().findings.search("Pump 335").rules.entries
    )
    journey.click(card.last)
    page.locator(".subject h2").wait_for()
    assert page.locator(".subject .kicker").inner_text().startswith("Control")


def test_filters_act_on_all_kinds_and_keep_the_list(journey: Journey) -> None:
    page = journey.page
    if page.viewport_size["width"] > 800:
        journey.click(page.locator(".list-names button", has_text="Laws"))
        journey.click(page.locator(".facet label", has_text="demand").first)
        page.wait_for_function("() => location.hash.includes('kind=demand')")
        page.locator(".list[aria-busy=false]").wait_for()
        assert page.locator(".list-names button[aria-pressed=true]").inner_text().startswith("Laws")
        assert page.locator(ITEM).count() == len(mined().findings.filter(kind="law", quantity="demand"))
        return
    journey.click(page.locator(".list-names button", has_text="Sensors"))
    page.locator(".hits .item").first.wait_for()
    assert chips(page)["Sensors"] == len(mined().system.sensors.sensors)  # type: ignore[union-attr]


def test_selected_findings_of_all_kinds_are_exported(journey: Journey) -> None:
    page = journey.page
    journey.search("Pump 335")
    journey.click(page.get_by_label("Select all"))
    chosen = page.locator(".tick:checked").count()
    assert chosen == chips(page)["All"]
    journey.click(page.get_by_role("button", name="Export"))
    with page.expect_download() as download:
        journey.click(page.get_by_role("button", name="Download"))
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("sentence,")
    assert len(lines) == 1 + len(mined().findings.search("Pump 335"))


def test_a_finding_is_accepted(journey: Journey) -> None:
    page = journey.page
    journey.click(page.locator(".list-names button", has_text="Laws"))
    page.locator(".list-tools .count", has_text=f"{len(mined().findings.laws)} finding").wait_for()
    journey.click(page.locator(ITEM).first)
    journey.click(page.get_by_role("button", name=re.compile("Accept")))
    page.get_by_text("Law accepted.").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Undone.").wait_for()


def test_a_pump_by_keyboard_alone(address: str, open_page: OpenPage, check_access: Callable[[Any], None]) -> None:
    page = open_page(address, allowed=(address,), dark=True)
    page.locator('.explorer[data-state="ready"]').wait_for()
    Journey(page).search("Pump 335")
    page.locator(".hits .item").first.wait_for()
    # From the field the tab key goes on; the list of places is one stop.
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.hits .item')"):
            break
    page.keyboard.press("Enter")
    page.locator(".asset h2", has_text="Pump 335").wait_for()
    page.keyboard.press("j")
    page.locator(".subject h2").wait_for()
    page.keyboard.press("2")
    page.locator(".graph-about").wait_for()
    check_access(page)
