"""The explorer as a web application: end points under ``/api``, and the files of its page.

A request that cannot be answered gets a ``Problem`` with a status below 500.
"""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from thence.show.explorer.end_points import add_changes, add_findings, add_monitors, add_runs
from thence.show.explorer.routing import Routes
from thence.show.explorer.security import Guard
from thence.show.explorer.state import State

_STATIC = {"explorer.js": "text/javascript; charset=utf-8", "explorer.css": "text/css; charset=utf-8"}
_PAGE = "index.html"
_MISSING = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Thence</title><h1>Thence</h1>"
    "<p>This installation lacks the page of the explorer. Its data are under <code>/api</code>.</p></html>"
)


def create_app(state: State, token: str, *, host: str = "127.0.0.1") -> Guard:
    """Return the explorer as an ASGI application.

    Args:
        state: What is open.
        token: The token that every answer with data needs.
        host: The host that the server listens on, which the Host header may name.
    """
    routes = Routes()
    for add in (add_runs, add_findings, add_changes, add_monitors):
        add(routes, state)
    _add_page(routes)
    return Guard(routes.application(), token=token, host=host, open_paths=[f"/static/{name}" for name in _STATIC])


def _add_page(routes: Routes) -> None:
    def page(_: Request) -> Response:
        return Response(_file(_PAGE) or _MISSING, media_type="text/html; charset=utf-8")

    def static(request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        text = _file(name)
        return Response(text or "", 200 if text is not None else 404, media_type=_STATIC[name])

    routes.add("/", page)
    for name in _STATIC:
        routes.add(f"/static/{name}", static)


def _file(name: str) -> str | None:
    """A file of the page, if this installation has it."""
    found = resources.files("thence.show.explorer") / "static" / name
    return found.read_text(encoding="utf-8") if found.is_file() else None
