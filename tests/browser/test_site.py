"""The documentation as a site: built without a word, opened as files, and nothing loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
OpenPage = Callable[..., Any]
# The accessibility checker asks for style sheets in a way that a browser refuses to pages that were opened as files.
OF_AXE = ("XMLHttpRequest", "net::ERR_FAILED")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # The theme prints a notice about its own future unless told not to.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


class Assets(HTMLParser):
    """Addresses that a browser loads when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get("href") or "")
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "input"):
            self.found.extend(filter(None, (given.get("src"), given.get("srcset"))))
        if tag == "object":
            self.found.append(given.get("data") or "")


def assets_of(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    styles = text
    if path.suffix == ".html":
        parser = Assets()
        parser.feed(text)
        yield from parser.found
        assert 'class="mermaid"' not in text, "the theme would load mermaid from a CDN"
        styles = " ".join(re.findall(r"<style.*?</style>", text, flags=re.S))
    yield from re.findall(r"""(?:@import\s+|url\()\s*["']?([^"')\s;]+)""", styles)


def test_no_page_loads_anything_from_elsewhere_and_outputs_are_shown(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for path in [*pages, *site.rglob("*.css")]:
        for address in assets_of(path):
            elsewhere = re.match(r"(?!data:)[a-z][a-z0-9+.-]*:|//", address, flags=re.I)
            assert not elsewhere, f"{path.relative_to(site)} loads {address}"
    assert "output-label" in (site / "index.html").read_text(encoding="utf-8")
    assert "\\|" not in (site / "guide" / "lifted-rules.html").read_text(encoding="utf-8")
    assert not (site / "outputs").exists()


def test_the_site_works_as_files(site: Path, open_page: OpenPage, check_access: Callable[[Any], None]) -> None:
    home = open_page((site / "index.html").as_uri(), height=800, ignore_errors=OF_AXE)
    for part in (".hero .rule", ".hero img:visible", ".hero .language-sh"):
        box = home.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, f"{part} is not on the first screen"
    check_access(home)
    home.keyboard.press("/")
    home.keyboard.type("balances")
    link = home.locator(".md-search-result__link").first
    link.wait_for()
    link.click()
    home.wait_for_url(re.compile(r"guide/.*\?h="))


def test_dark_and_narrow_pages(site: Path, open_page: OpenPage, check_access: Callable[[Any], None]) -> None:
    for name in ("index", "guide/first-five-minutes", "reference/rules"):
        page = open_page((site / f"{name}.html").as_uri(), width=390, dark=True, ignore_errors=OF_AXE)
        assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        check_access(page)


def test_tables_are_sorted_with_the_keyboard(site: Path, open_page: OpenPage) -> None:
    page = open_page((site / "results" / "defaults.html").as_uri())
    table = page.locator(".md-typeset table").first
    head = table.locator("th", has_text="MB").first
    column = head.evaluate("cell => cell.cellIndex") + 1

    def numbers() -> list[float]:
        texts = table.locator(f"tbody td:nth-child({column})").all_inner_texts()
        return [float(text.replace(",", "")) for text in texts]

    written = numbers()
    head.locator("button").focus()
    for order, expected in (("ascending", sorted(written)), ("descending", sorted(written)[::-1]), (None, written)):
        page.keyboard.press("Enter")
        assert numbers() == expected
        assert head.get_attribute("aria-sort") == order


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["2 min", "30 s", "1 h"], [1, 0, 2]),
        (["1,000", "–", "20.5"], [2, 0, 1]),
        (["−3", "2", "-10"], [2, 0, 1]),
        (["9 of 10", "10 of 10", "2 of 10"], [2, 0, 1]),
        (["ky10", "ky4", "net1"], [1, 0, 2]),
        (["97 sensors, ≤ 2 items", "20 sensors, ≤ 3 items", "20 sensors, ≤ 2 items"], [2, 1, 0]),
        (["Exact", "", "Aerial"], [2, 0, 1]),
    ],
)
def test_cells_are_sorted_by_what_they_say(
    open_page: OpenPage, tmp_path: Path, cells: list[str], order: list[int]
) -> None:
    rows = "".join(f"<tr><td>{cell}</td><td>{number}</td></tr>" for number, cell in enumerate(cells))
    script = (ROOT / "docs" / "assets" / "sortable.js").as_uri()
    (tmp_path / "table.html").write_text(
        f'<meta charset="utf-8"><div class="md-typeset"><table><thead><tr><th>x</th><th>i</th></tr></thead>'
        f'<tbody>{rows}</tbody></table></div><script src="{script}"></script>',
        encoding="utf-8",
    )
    page = open_page((tmp_path / "table.html").as_uri())
    page.locator("th button").first.click()
    assert [int(text) for text in page.locator("td:nth-child(2)").all_inner_texts()] == order


def test_the_script_is_small() -> None:
    assert (ROOT / "docs" / "assets" / "sortable.js").stat().st_size <= 3000
