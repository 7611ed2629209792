"""The pictures of the guides: the report and the explorer on net3, L-Town and the air handling unit of LBNL.

Run it after a change of either page; ``tools/home_picture.py`` takes those of the home page::

    for name in net3 ltown lbnl-ahu; do thence mine --dataset $name --out runs/$name; done
    python tools/pictures.py runs
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import thence as th

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
NAMES = ("net3", "ltown", "lbnl-ahu")
SHORT = ".foot, #findings, #method, .fact:nth-child(n + 3) { display: none }"
"""The first page of the report, with two of its findings."""
PLACES = {
    "net3": "#tab=evidence&{rule}",
    "ltown": "#tab=map&{rule}",
    "lbnl-ahu": "#node=Supply_Air_Fan_Status&at=Supply_Air_Fan_Status",
}
"""What is open in the explorer."""
SHOWN = {"net3": ".evidence .card", "ltown": ".graph-about", "lbnl-ahu": ".asset .series-line"}
"""What has to be there before the picture is taken."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the guides.")
    parser.add_argument("runs", type=Path, help="the folder with the runs")
    parser.add_argument("--only", choices=NAMES, help="the pictures of one run")
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in (given.only,) if given.only else NAMES:
            take_report(browser, given.runs / name, IMAGES / f"report-{name}.png")
            take_explorer(browser, given.runs / name, IMAGES / f"explorer-{name}.png", dark=name == "lbnl-ahu")
        browser.close()


def take_report(browser: Any, run: Path, target: Path) -> None:
    """Take the first page of a report."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    page.goto(th.report(run).save(run / "report.html").resolve().as_uri())
    page.locator(".fact .picture").first.wait_for()
    page.add_style_tag(content=SHORT)
    page.wait_for_timeout(500)
    page.screenshot(path=target, full_page=True)
    page.close()


def take_explorer(browser: Any, run: Path, target: Path, *, dark: bool) -> None:
    """Take the explorer with a rule or a node open."""
    rule = next((fact["id"] for fact in th.report(run).data["facts"] if fact["kind"] == "rule"), 0)
    with th.explore(run, browser=False) as explorer:
        page = browser.new_page(
            viewport={"width": 1360, "height": 850}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        page.goto(explorer.address + PLACES[run.name].format(rule=f"rule={rule}"))
        page.locator('.explorer[data-state="ready"]').wait_for(timeout=120_000)
        page.locator(SHOWN[run.name]).first.wait_for(timeout=60_000)
        page.wait_for_timeout(1500)
        page.screenshot(path=target)
        page.close()


if __name__ == "__main__":
    main()
