"""``thence explore``: look at runs in the browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from thence.cli.screen import say


def explore(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    monitor: Annotated[
        list[Path] | None,
        typer.Option(help="File of alerts of 'thence monitor --alerts', or its --state folder; may be repeated."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the address in the browser.")] = True,
    host: Annotated[str, typer.Option(help="Host to listen on; other than this machine needs --token.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="Token of the address, at least 16 characters (default: a random one).")
    ] = None,
) -> None:
    """Explore runs in the browser: search, graph, series, comparison, reviews and live alerts. Ctrl-C ends it."""
    from thence.errors import require

    require("starlette", extra="explorer")
    require("uvicorn", extra="explorer")
    from thence.show.explorer.serve import Explorer, open_browser
    from thence.show.explorer.state import open_state

    explorer = Explorer(open_state(runs, monitors=monitor or ()), host=host, port=port, token=token)
    say(f"Explorer at {explorer.address} (Ctrl-C ends it)")
    if browser:
        open_browser(explorer.address)
    with suppress(KeyboardInterrupt):
        explorer.serve()
