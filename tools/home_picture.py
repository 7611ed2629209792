"""The pictures of the home page: the evidence of a rule in the report of net3, in light and in dark colours.

Run it after a change of the report's look::

    thence mine --dataset net3 --out runs/net3
    python tools/home_picture.py runs/net3/report.html
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
SENTENCE = "For every Link: if the pressure of the Junction it ends at minus"
WIDTH = 700  # pixels; the page shows the picture at nearly this width, so that its text can be read


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the home page.")
    parser.add_argument("report", type=Path, help="the report.html of a run of net3")
    address = parser.parse_args().report.resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": 1000}, color_scheme=scheme, device_scale_factor=2, bypass_csp=True
            )
            page = context.new_page()
            page.goto(address)
            page.add_style_tag(content="details { display: none } .card-main { padding: 14px }")
            fact = page.locator(".fact", has_text=SENTENCE).first
            if fact.get_by_text("See the evidence").count():
                fact.get_by_text("See the evidence").click()
            evidence = fact.locator(".card-main")
            evidence.wait_for()
            evidence.screenshot(path=IMAGES / f"home-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
