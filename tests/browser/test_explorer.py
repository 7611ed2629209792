"""The explorer in a real browser: search, graph, evidence, comparison, reviews, a new search, live alerts, keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.helpers.networks import network

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

OpenPage = Callable[..., Any]
HOSTILE = '<img src=x onerror="window.hacked=1">'
COUNT = ".list-tools .count"
ITEM = ".pane-list .list .item"


@dataclass(frozen=True)
class Site:
    """A server with two runs and a monitor, and how to open it."""

    address: str
    alerts: Path
    open_page: OpenPage

    def open(self, place: str = "", **options: Any) -> Any:
        """Open a place of the explorer and wait for its list."""
        page = self.open_page(self.address + place, allowed=(self.address,), **options)
        page.locator(".explorer").wait_for()
        return page

    def rules(self) -> list[dict[str, Any]]:
        """The first rules of the first run."""
        base, _, token = self.address.partition("/?token=")
        request = Request(f"{base}/api/runs/0/findings", headers={"Authorization": f"Bearer {token}"})
        with urlopen(request) as answer:
            return list(json.load(answer)["findings"])


@dataclass(frozen=True)
class Server:
    address: str
    alerts: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("explorer")
    system = th.datasets.load("toy")
    settings: dict[str, Any] = {"windows": "1h", "bins": 3, "progress": "off"}
    many = th.mine(system, enrich="grounded", refine=False, out=folder / "many", **settings)
    few = th.mine(system, enrich="grounded", refine=False, min_confidence=0.95, out=folder / "few", **settings)
    alerts = folder / "alerts.jsonl"
    alerts.touch()
    with th.explore(many, few, monitors=alerts, browser=False) as explorer:
        yield Server(explorer.address, alerts)


@pytest.fixture
def site(server: Server, open_page: OpenPage) -> Site:
    return Site(server.address, server.alerts, open_page)


def number_of(page: Any) -> int:
    """The number of rules that the list says it has."""
    page.locator(f"{COUNT} b").wait_for()
    page.locator(".list[aria-busy=false], .pane-list .nothing").first.wait_for()
    found = re.search(r"[\d,]+", page.locator(f"{COUNT} b").inner_text())
    assert found is not None
    return int(found.group().replace(",", ""))


def overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def wait_ready(page: Any) -> None:
    """Wait until the readings behind the run are read."""
    page.locator('.explorer[data-state="ready"]').wait_for()


def test_opens_searches_and_filters(site: Site) -> None:
    page = site.open()
    every = number_of(page)
    assert every > 60
    assert page.locator(ITEM).count() == 50

    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_text(f"51–{min(every, 100)} of").wait_for()
    assert "page=1" in page.url

    page.get_by_label("Search findings, places and sensors", exact=True).fill("if:flow_AB then:pressure_C")
    page.wait_for_function("n => document.querySelector('.count b').textContent !== n", arg=f"{every:,} findings")
    searched = number_of(page)
    assert 0 < searched < every
    assert "q=" in page.url

    choice = page.locator(".facet label", has_text="flow").first
    stated = int(choice.locator(".num").inner_text().replace(",", ""))
    choice.click()
    page.get_by_role("button", name="Clear all filters").wait_for()
    page.wait_for_function("() => document.querySelector('.list')?.ariaBusy === 'false'")
    assert number_of(page) == stated
    page.go_back()
    assert number_of(page) == searched

    page.get_by_label("Search findings, places and sensors", exact=True).fill("nothingatall")
    page.get_by_text("No finding fits.").wait_for()


def test_sorts_and_keeps_a_link(site: Site) -> None:
    page = site.open()
    number_of(page)
    page.get_by_label("Order of the list").select_option("lift")
    page.wait_for_function("() => location.hash.includes('sort=lift')")
    page.get_by_role("button", name="Highest first").click()
    page.wait_for_function("() => location.hash.includes('order=up')")
    number_of(page)
    lifts = [float(text) for text in page.locator(".list .lift .num").all_text_contents()]
    assert lifts == sorted(lifts)
    page.locator(ITEM).nth(3).click()
    sentence = page.locator(".subject h2").inner_text()
    again = site.open(page.evaluate("location.hash"))
    assert again.locator(".subject h2").inner_text() == sentence


def test_a_node_lists_its_rules_and_a_rule_lights_its_places(site: Site) -> None:
    page = site.open("#tab=map")
    every = number_of(page)
    wait_ready(page)
    page.locator(".graph-box canvas").first.wait_for()
    page.get_by_text("Nodes as a list").click()
    page.locator(".node-list .link", has_text="AB").first.click()
    page.locator(".node-panel h2").wait_for()
    assert "flow_AB" in page.locator(".node-panel").inner_text()
    page.get_by_text("Findings at").wait_for()
    page.wait_for_function("() => document.querySelector('.list')?.ariaBusy === 'false'")
    assert 0 < number_of(page) < every
    page.locator(ITEM).first.click()
    page.get_by_text("Highlighted:").first.wait_for()

    # A click on the canvas: a node is hit where the drawing says that it is.
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Clear all filters").click()
    page.locator(".node-panel").wait_for(state="detached")
    page.get_by_text("Nodes as a list").click()
    page.wait_for_timeout(200)
    page.get_by_role("button", name="Fit").click()
    box = page.locator(".graph-box").bounding_box()
    assert box is not None
    drawing = page.evaluate("fetch('api/runs/0/drawing').then((answer) => answer.json())")
    node = drawing["nodes"][-1]
    page.mouse.click(*_at(node, drawing, box))
    page.locator(".node-panel h2", has_text=node["name"]).wait_for()


def _at(node: dict[str, Any], drawing: dict[str, Any], box: dict[str, float]) -> tuple[float, float]:
    """Where a node of a wide drawing is on the screen once it is fitted."""
    scale = (box["width"] - 2 * 44 - 2) / drawing["aspect"]
    x = box["x"] + box["width"] / 2 + (node["x"] - 0.5) * drawing["aspect"] * scale
    middle = (min(one["y"] for one in drawing["nodes"]) + max(one["y"] for one in drawing["nodes"])) / 2
    return x, box["y"] + box["height"] / 2 + (node["y"] - middle) * scale


def test_evidence_and_zoom(site: Site) -> None:
    page = site.open()
    number_of(page)
    wait_ready(page)
    page.locator(ITEM).first.click()
    page.locator(".evidence .card").wait_for()
    surface = page.locator(".series-surface")
    surface.wait_for()
    whole = page.locator(".series .period").inner_text()
    box = surface.bounding_box()
    assert box is not None
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=5)
    page.mouse.up()
    page.wait_for_function("t => document.querySelector('.series .period').textContent !== t", arg=whole)
    dragged = page.locator(".series .period").inner_text()
    with page.expect_response(re.compile(r"/series\?.*start=")):
        surface.press("+")
    assert page.locator(".series .period").inner_text() not in (whole, dragged)
    surface.press("0")
    page.wait_for_function("t => document.querySelector('.series .period').textContent === t", arg=whole)
    page.get_by_role("tab", name="Details").click()
    assert page.locator(".counts td.held").inner_text() != ""


def test_reviews_are_kept_and_undone(site: Site) -> None:
    page = site.open()
    number_of(page)
    page.locator(ITEM).nth(1).click()
    page.get_by_role("button", name=re.compile("Accept")).click()
    page.get_by_text("Rule accepted.").wait_for()
    page.locator(f"{ITEM} .badge.good").first.wait_for()
    assert page.locator(".facet label", has_text="accepted").locator(".num").inner_text() == "1"

    page.keyboard.press("r")
    page.get_by_text("Rule rejected.").wait_for()
    page.keyboard.press("n")
    page.get_by_label("Note on the rule").fill(f"Seen at the pump house {HOSTILE}")
    page.get_by_role("button", name="Save note").click()
    page.locator(".note-text").wait_for()
    assert HOSTILE in page.locator(".note-text").inner_text()
    assert page.evaluate("window.hacked") is None

    again = site.open(page.evaluate("location.hash"))
    again.locator(".review .reject[aria-pressed=true]").wait_for()
    again.close()

    for _ in range(3):
        page.keyboard.press("u")
        page.wait_for_timeout(300)
    page.wait_for_function("() => document.querySelectorAll('.item .badge').length === 0")
    assert page.locator(".facet label", has_text="accepted").count() == 0


def test_compares_two_runs(site: Site) -> None:
    page = site.open("#run=1")
    few = number_of(page)
    page.get_by_role("button", name="Compare").click()
    page.locator(".parts").wait_for()
    gained, lost, changed = (int(text.replace(",", "")) for text in page.locator(".part b").all_inner_texts())
    many = number_of(site.open())
    same = int(re.search(r"[\d,]+", page.locator(".parts p").inner_text()).group().replace(",", ""))  # type: ignore[union-attr]
    assert gained + changed + same == few
    assert lost + changed + same == many
    page.locator(".part.lost").click()
    page.locator(ITEM).first.click()
    page.locator(".subject .kicker", has_text="of many").wait_for()


def test_alerts_come_in_live(site: Site) -> None:
    page = site.open("#view=live&tab=map")
    page.get_by_text("Watching").wait_for()
    told = {
        "alert": 1,
        "kind": "violated",
        "time": "2024-01-01T05:00:00Z",
        "message": f"The pressure at C is no longer high {HOSTILE}",
        "places": ["Junction C"],
        "reasons": ["20 of 24 windows since midnight"],
    }
    with site.alerts.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")
    page.locator(ITEM, has_text="no longer high").wait_for()
    assert "New alert" in page.locator("[aria-live=polite]", has_text="New alert").first.inner_text()
    page.locator(ITEM).first.click()
    page.get_by_text("Highlighted: where the alert is.").wait_for()
    page.get_by_role("tab", name="Evidence").click()
    page.get_by_text("20 of 24 windows since midnight").wait_for()
    assert page.evaluate("window.hacked") is None


def test_an_alert_leads_to_its_rule(site: Site) -> None:
    page = site.open("#view=live")
    wait_ready(page)
    row = site.rules()[3]
    told = {"alert": 2, "kind": "drifted", "time": "2024-01-01T06:00:00Z", "rule": 1, "key": row["key"]}
    told |= {"sentence": row["sentence"], "message": f"Rule 1 no longer holds: {row['sentence']}."}
    with site.alerts.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")
    page.locator(ITEM, has_text="Rule 1 no longer holds").click()
    page.get_by_role("heading", name="The rule when it was mined").wait_for()
    page.locator(".evidence .figure, .evidence svg").first.wait_for()
    page.get_by_role("tab", name="Map").click()
    page.get_by_text("Highlighted: the places of the rule of the alert.").wait_for()
    page.get_by_role("tab", name="Evidence").click()
    page.get_by_role("button", name="Open the rule").click()
    page.wait_for_function(f"() => location.hash.includes('rule={row['id']}') && !location.hash.includes('live')")


def test_laws_and_controls_are_reviewed(open_page: OpenPage) -> None:
    run = th.mine(network(), progress="off")
    with th.explore(run, browser=False) as explorer:
        page = open_page(explorer.address + "#list=law", allowed=(explorer.address,))
        page.locator(ITEM).first.click()
        page.get_by_role("button", name="Accept").click()
        page.get_by_text("Law accepted.").wait_for()
        page.locator(f"{ITEM} .badge.good").first.wait_for()
        page.keyboard.press("r")
        page.get_by_text("Law rejected.").wait_for()
        page.keyboard.press("u")
        page.get_by_text("Undone.").wait_for()
        page.locator(".review .accept[aria-pressed=true]").wait_for()


def test_export_of_the_filter_and_of_ticked_rules(site: Site) -> None:
    page = site.open("#q=then:flow_BC")
    shown = number_of(page)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert len(pl.read_csv(download.value.path())) == shown
    page.locator(".tick").nth(0).check()
    page.locator(ITEM).nth(1).click()
    page.keyboard.press("x")
    page.get_by_text("2 selected").wait_for()
    page.get_by_role("button", name="Export").click()
    page.get_by_label("JSON").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert len(th.read_rules(download.value.path(), format="json")) == 2


def test_by_keyboard_alone(site: Site) -> None:
    page = site.open()
    number_of(page)
    wait_ready(page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("then:pressure")
    page.wait_for_function("() => location.hash.includes('q=')")
    page.keyboard.press("Escape")
    number_of(page)
    page.keyboard.press("j")
    first = page.locator(".subject h2").inner_text()
    page.keyboard.press("j")
    page.wait_for_function("t => document.querySelector('.subject h2')?.innerText !== t", arg=first)
    page.keyboard.press("k")
    page.wait_for_function("t => document.querySelector('.subject h2')?.innerText === t", arg=first)
    page.keyboard.press("a")
    page.get_by_text("Rule accepted.").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Undone.").wait_for()
    page.keyboard.press("2")
    page.locator(".graph-box canvas").first.wait_for()
    page.keyboard.press("3")
    page.locator(".details").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("Escape")
    page.locator(".subject").wait_for(state="detached")
    # The tab key reaches the list, and arrows walk in it.
    page.locator(ITEM).first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"() => document.querySelectorAll('{ITEM}')[1] === document.activeElement")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessible(site: Site, check_access: Callable[[Any], None], *, dark: bool) -> None:
    page = site.open("#q=if:flow_AB+then:pressure_C+diameter", dark=dark)
    assert number_of(page) > 0
    wait_ready(page)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark
    check_access(page)
    page.locator(ITEM).first.click()
    page.locator(".series-surface").wait_for()
    check_access(page)
    page.get_by_role("tab", name="Map").click()
    page.locator(".graph-box canvas").first.wait_for()
    check_access(page)
    if dark:
        return
    page.get_by_role("tab", name="Details").click()
    check_access(page)
    page.get_by_role("button", name="Export").click()
    check_access(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Compare").click()
    page.locator(".parts").wait_for()
    check_access(page)
    page.get_by_role("button", name="Live").click()
    page.get_by_text("Watching").wait_for()
    check_access(page)


def test_colours_are_switched(site: Site) -> None:
    page = site.open("#tab=map")
    wait_ready(page)
    page.locator(".graph-box canvas").first.wait_for()
    page.get_by_role("button", name="Use dark colours").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_role("button", name="Use light colours").wait_for()


def test_a_phone_shows_one_part_at_a_time(site: Site, check_access: Callable[[Any], None]) -> None:
    page = site.open(width=390, height=844)
    number_of(page)
    assert overflow(page) == 0
    assert not page.locator(".pane-filters").is_visible()
    page.locator(ITEM).first.click()
    page.locator(".subject h2").wait_for()
    assert not page.locator(".pane-list").is_visible()
    page.wait_for_function("() => document.activeElement.matches('.pane-detail')")
    wait_ready(page)
    page.locator(".evidence .card").wait_for()
    assert overflow(page) == 0
    check_access(page)
    parts = page.get_by_role("navigation", name="Parts of the page")
    parts.get_by_role("button", name="Filter").click()
    assert page.locator(".pane-filters").is_visible()
    assert overflow(page) == 0
    page.get_by_label("Search findings, places and sensors", exact=True).fill("pressure")
    # What was found is shown at once.
    assert not page.locator(".pane-filters").is_visible()
    assert number_of(page) > 0
    assert overflow(page) == 0
    page.go_back()
    assert page.locator(".pane-detail").is_visible()


def test_names_of_a_plain_table_are_text(open_page: OpenPage) -> None:
    noise = np.random.default_rng(3).normal(size=400)
    names = [HOSTILE, 'b"]{}\n<script>window.hacked=2</script>', "\u202egnirts"]
    frame = pl.DataFrame({name: noise + scale for name, scale in zip(names, (0, 1, 2), strict=True)})
    run = th.mine(frame, bins=3, refine=False, progress="off")
    with th.explore(run, browser=False) as explorer:
        page = open_page(explorer.address, allowed=(explorer.address,), ignore_errors=("404",))
        assert number_of(page) > 0
        page.locator(ITEM).first.click()
        page.locator(".subject h2").wait_for()
        page.get_by_role("tab", name="Map").click()
        page.get_by_text(re.compile("no graph|not available")).first.wait_for()
        page.get_by_role("tab", name="Details").click()
        page.locator(".counts").wait_for()
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img").count() == 0


def test_a_server_that_is_gone_is_named(open_page: OpenPage) -> None:
    run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off")
    with th.explore(run, browser=False) as explorer:
        page = open_page(explorer.address, allowed=(explorer.address,), ignore_errors=("ERR_", "Failed to load"))
        number_of(page)
    page.get_by_label("Search findings, places and sensors", exact=True).fill("flow")
    page.get_by_text("The explorer's server does not answer.").wait_for()
