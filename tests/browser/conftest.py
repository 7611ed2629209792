"""A real browser for the pages: headless chromium that may load nothing but local files and the server under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.helpers.needs import find_program

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SERIOUS = ("serious", "critical")
PATIENCE = 60_000
"""Milliseconds that a page may take for a step: many, since the machine may be busy with other tests."""
OpenPage = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless chromium of the system; tests that need it are skipped where there is none."""
    path = find_program("chromium", "chromium-browser", "google-chrome")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[OpenPage]:
    """Return a function that opens an address in a page of its own.

    The test fails at its end if a page wrote an error to its console, or asked for anything that is neither a local
    file nor at the host and port of an address in ``allowed``.
    """
    contexts: list[Any] = []
    foreign: list[str] = []
    errors: list[str] = []

    def open_it(
        address: str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        allowed: tuple[str, ...] = (),
        reduced_motion: bool = True,
        ignore_errors: tuple[str, ...] = (),
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
        )
        contexts.append(context)
        hosts = {urlsplit(one).netloc for one in allowed}

        def guard(route: Any) -> None:
            url = urlsplit(route.request.url)
            if url.scheme in ("file", "data", "blob") or url.netloc in hosts:
                route.continue_()
            else:
                foreign.append(route.request.url)
                route.abort()

        context.route("**/*", guard)
        page = context.new_page()

        def note(message: Any) -> None:
            if message.type == "error" and not any(part in message.text for part in ignore_errors):
                errors.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not foreign, f"requests to other hosts: {foreign}"
    assert not errors, f"errors in the console: {errors}"


@pytest.fixture(scope="session")
def check_access() -> Callable[[Any], None]:
    """Return a function that fails if axe has serious or critical findings on a page."""
    axe_module = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

    def check(page: Any) -> None:
        violations = axe_module.Axe().run(page).response["violations"]
        found = [
            f"{violation['id']} ({violation['impact']}): {violation['help']}: "
            + "; ".join(node["html"][:160] for node in violation["nodes"][:3])
            for violation in violations
            if violation["impact"] in SERIOUS
        ]
        assert not found, "\n".join(found)

    return check
