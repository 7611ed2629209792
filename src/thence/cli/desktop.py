"""Pages on a desktop: their address, whether there is a desktop, and opening a page there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["has_desktop", "open_on_desktop", "page_address"]

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def page_address(page: Path) -> str:
    """Return the address of a file, to be printed and opened.

    Args:
        page: The file.

    Examples:
        >>> page_address(Path("/tmp/a b/report.html"))
        'file:///tmp/a%20b/report.html'
    """
    return page.absolute().as_uri()


def has_desktop() -> bool:
    """Return whether a person sits at a desktop: standard output is a terminal, and there is a display, and no CI."""
    if os.environ.get("CI") or not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _DISPLAYS)


def open_on_desktop(page: Path) -> bool:
    """Open a file in the browser, if there is a desktop, and return whether that was tried.

    Args:
        page: The file.
    """
    if not has_desktop():
        return False
    import webbrowser

    return webbrowser.open(page_address(page))
