"""The explorer as a web application: end points under ``/api``, and the files of its page.

Each end point checks its parameters, asks the state, and answers JSON. Nothing that a client sends is opened as a path.
A request that cannot be answered gets a ``Problem`` with a status below 500.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, MiningError, ThenceError, require
from thence.explorer.open_run import OpenRun
from thence.explorer.parameters import FILTERS, Parameters, as_integer, read_json, read_mapping
from thence.explorer.problems import RequestError
from thence.explorer.schema import RulePage
from thence.explorer.security import LARGEST_BODY, Guard
from thence.explorer.series_view import MOST_POINTS, series_page
from thence.explorer.state import State
from thence.export import FORMATS, find_format
from thence.runs.reviews import with_reviews

__all__ = ["create_app"]

Ints = npt.NDArray[np.int64]

_STATIC = {"explorer.js": "text/javascript; charset=utf-8", "explorer.css": "text/css; charset=utf-8"}
_PAGE = "index.html"
_MOST_ROWS = 500
_MOST_EXPORTED = 100_000
"""Rules that are exported in a format with sentences; Parquet takes any number."""
_MOST_CHOSEN = 2_000
"""Rules that an address can name."""
_SORTS = ("sort", "descending")
_PAUSE = 0.5
_MISSING = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Thence</title><h1>Thence</h1>"
    "<p>This installation lacks the page of the explorer. Its data are under <code>/api</code>.</p></html>"
)


def create_app(state: State, token: str, *, host: str = "127.0.0.1") -> Any:
    """Return the explorer as an ASGI application.

    Args:
        state: What is open.
        token: The token that every answer with data needs.
        host: The host that the server listens on, which the Host header may name.

    Raises:
        MissingExtraError: If FastAPI is not installed.
    """
    require("fastapi", extra="explorer")
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)

    def answer(data: Any, status: int = 200) -> Response:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Names from files may hold what UTF-8 cannot.
        return Response(text.encode("utf-8", "replace"), status, media_type="application/json")

    def problem(error: RequestError) -> Response:
        return answer(error.to_dict(), error.status)

    @app.exception_handler(RequestError)
    async def refuse(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return problem(error)

    @app.exception_handler(ThenceError)
    async def explain(_: Request, error: Exception) -> Response:
        assert isinstance(error, ThenceError)
        return problem(_as_problem(error))

    @app.exception_handler(OSError)
    async def report_disk(_: Request, error: Exception) -> Response:
        assert isinstance(error, OSError)
        reason = error.strerror or type(error).__name__
        return problem(RequestError(f"a file cannot be read or written: {reason}", status=409))

    @app.exception_handler(HTTPException)
    async def unknown(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        words = {404: "there is nothing at this address", 405: "this address does not take this method"}
        return answer({"error": words.get(error.status_code, str(error.detail)), "hint": ""}, error.status_code)

    def get(path: str, known: tuple[str, ...], *names: str) -> Callable[[Callable[..., Any]], None]:
        """Serve a function of the query and of the parts of the path that are numbers."""

        def serve(make: Callable[..., Any]) -> None:
            def handle(request: Request) -> Response:
                given = Parameters(request.query_params, known)
                numbers = [as_integer(name, request.path_params[name]) for name in names]
                made = make(given, *numbers)
                return made if isinstance(made, Response) else answer(made)

            app.add_route(path, handle, methods=["GET"])

        return serve

    async def body_of(request: Request) -> dict[str, Any]:
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > LARGEST_BODY:
                raise RequestError("the body is too large", hint=f"send at most {LARGEST_BODY:,} bytes", status=413)
        return read_json(data)

    def post(path: str, *names: str) -> Callable[[Callable[..., Any]], None]:
        """Serve a function of the body and of the parts of the path that are numbers."""

        def serve(make: Callable[..., Any]) -> None:
            async def handle(request: Request) -> Response:
                Parameters(request.query_params, ())
                numbers = [as_integer(name, request.path_params[name]) for name in names]
                body = await body_of(request)
                made = await asyncio.to_thread(make, body, *numbers)
                return made if isinstance(made, Response) else answer(made)

            app.add_route(path, handle, methods=["POST"])

        return serve

    def file(data: bytes, name: str) -> Response:
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(data, headers=headers, media_type="application/octet-stream")

    @get("/api/runs", ())
    def runs(_: Parameters) -> Any:
        return state.describe()

    @get("/api/runs/{run}/outline", (), "run")
    def outline(_: Parameters, run: int) -> Any:
        return state.run(run).outline()

    @get("/api/runs/{run}/report", (), "run")
    def report(_: Parameters, run: int) -> Any:
        return state.run(run).report()

    @get("/api/runs/{run}/rules", (*FILTERS, *_SORTS, "offset", "limit"), "run")
    def rules(given: Parameters, run: int) -> Any:
        return _rule_page(state.run(run), given)

    @get("/api/runs/{run}/scatter", FILTERS, "run")
    def scatter(given: Parameters, run: int) -> Any:
        opened = state.run(run)
        return opened.scatter(opened.select(given.rule_filter())[0])

    def card(about: str) -> None:
        @get(f"/api/runs/{{run}}/{about}/{{position}}/card", (), "run", "position")
        def one(_: Parameters, run: int, position: int) -> Any:
            opened = state.run(run)
            found = opened.card(about, position)
            if found is None:
                why = opened.material.why or "There are no readings over time to show."
                raise RequestError(why, status=404)
            return found

    for about in ("rules", "laws", "controls"):
        card(about)

    @get("/api/runs/{run}/drawing", (), "run")
    def drawing(_: Parameters, run: int) -> Any:
        return state.run(run).drawing()

    @get("/api/runs/{run}/places", ("rule",), "run")
    def places(given: Parameters, run: int) -> Any:
        return state.run(run).places(_needed(given.integer("rule", None), "rule"))

    @get("/api/runs/{run}/node", ("id",), "run")
    def node(given: Parameters, run: int) -> Any:
        return state.run(run).node(given.text("id"))

    @get("/api/runs/{run}/series", ("sensor", "start", "end", "points"), "run")
    def series(given: Parameters, run: int) -> Any:
        material = state.run(run).material
        if material.readings is None:
            raise RequestError(material.why or "The run has no readings over time.", status=404)
        limit = 1 << 53
        return series_page(
            material.readings,
            given.texts("sensor"),
            start=given.integer("start", None, low=-limit),
            end=given.integer("end", None, low=-limit),
            points=given.integer("points", 1000, low=1, high=MOST_POINTS) or 1000,
        )

    @get("/api/compare", ("a", "b"))
    def compare(given: Parameters) -> Any:
        return state.compare(*(_needed(given.integer(name, None), name) for name in ("a", "b")))

    @get("/api/runs/{run}/export", (*FILTERS, *_SORTS, "format", "rule"), "run")
    def export(given: Parameters, run: int) -> Any:
        opened = state.run(run)
        named = [as_integer("rule", text) for text in given.texts("rule", most=_MOST_CHOSEN)]
        found = _chosen(opened, named) if named else _found(opened, given)
        return file(*_exported(opened, given.text("format"), found))

    @post("/api/runs/{run}/export", "run")
    def export_chosen(body: dict[str, Any], run: int) -> Any:
        wanted = read_mapping(body, {"format": str, "rules": list[int]})
        opened, named = state.run(run), _needed(wanted.get("rules") or None, "rules")
        return file(*_exported(opened, wanted.get("format", ""), _chosen(opened, named)))

    @post("/api/runs/{run}/review", "run")
    def review(body: dict[str, Any], run: int) -> Any:
        given = {"verdict": "", "note": "", **read_mapping(body, {"key": str, "verdict": str, "note": str})}
        return state.run(run).review(_needed(given.get("key"), "key"), given["verdict"], given["note"])

    @post("/api/runs/{run}/mine", "run")
    def mine(body: dict[str, Any], run: int) -> Any:
        return state.jobs.start(state.run(run), body)

    @post("/api/runs/{run}/save", "run")
    def save(body: dict[str, Any], run: int) -> Any:
        read_mapping(body, {})
        return state.jobs.save(state.run(run))

    def job(request: Request) -> Response:
        Parameters(request.query_params, ())
        number = request.path_params["job"]
        return answer(state.jobs.cancel(number) if request.method == "DELETE" else state.jobs.get(number))

    app.add_route("/api/jobs/{job}", job, methods=["GET", "DELETE"])

    @get("/api/monitors/{monitor}/alerts", ("after",), "monitor")
    def alerts(given: Parameters, monitor: int) -> Any:
        return state.alerts(monitor, given.integer("after", 0) or 0)

    async def events(request: Request) -> Response:
        given = Parameters(request.query_params, ("after",))
        watched = state.monitor(as_integer("monitor", request.path_params["monitor"])).number
        # A browser that connects again says what it had last.
        resumed = request.headers.get("last-event-id", "")
        after = as_integer("after", resumed) if resumed else given.integer("after", 0) or 0

        async def follow() -> AsyncIterator[str]:
            last, silent = after, 0.0
            yield "retry: 1000\n\n"
            while not state.closing.is_set() and not await request.is_disconnected():
                page = await asyncio.to_thread(state.alerts, watched, last)
                for alert in page["alerts"]:
                    last = alert["id"]
                    yield f"id: {last}\ndata: {json.dumps(alert, ensure_ascii=True, allow_nan=False)}\n\n"
                silent = 0.0 if page["alerts"] else silent + _PAUSE
                if silent >= 15:
                    silent = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_PAUSE)

        return StreamingResponse(follow(), media_type="text/event-stream")

    app.add_route("/api/monitors/{monitor}/events", events, methods=["GET"])

    def page(_: Request) -> Response:
        return Response(_file(_PAGE) or _MISSING, media_type="text/html; charset=utf-8")

    app.add_route("/", page, methods=["GET"])
    for name, kind in _STATIC.items():
        app.add_route(f"/static/{name}", _serve_file(Response, name, kind), methods=["GET"])
    open_paths = [f"/static/{name}" for name in _STATIC]
    return Guard(app, token=token, host=host, open_paths=open_paths)


def _serve_file(response: Any, name: str, kind: str) -> Callable[[Any], Any]:
    def handle(_: Any) -> Any:
        text = _file(name)
        return response(text or "", 200 if text is not None else 404, media_type=kind)

    return handle


def _file(name: str) -> str | None:
    """A file of the page, if this installation has it."""
    found = resources.files("thence.explorer") / "static" / name
    return found.read_text(encoding="utf-8") if found.is_file() else None


def _needed(value: Any, name: str) -> Any:
    if value is None or value == "":
        raise RequestError(f"'{name}' is missing", status=422)
    return value


def _as_problem(error: ThenceError) -> RequestError:
    """What a client is told of an error; no path of this machine."""
    missing = isinstance(error, ConfigError) and error.message.startswith("there is no ")
    status = 404 if missing or isinstance(error, MiningError) else 422 if isinstance(error, ConfigError) else 400
    return RequestError(error.message, hint=error.hint or "", status=status)


def _rule_page(opened: OpenRun, given: Parameters) -> RulePage:
    begin = time.perf_counter()
    wanted = given.rule_filter()
    offset = given.integer("offset", 0) or 0
    limit = given.integer("limit", 50, high=_MOST_ROWS)
    mask, verdicts, about = opened.select(wanted)
    found = opened.index.positions(mask, sort=given.text("sort"), descending=given.boolean("descending", default=True))
    rows = opened.rows(found[offset : offset + (50 if limit is None else limit)])
    facets = opened.index.facets(mask, wanted, reviewed=verdicts, about=about)
    spent = round(1000 * (time.perf_counter() - begin), 1)
    return {"total": len(found), "offset": offset, "rules": rows, "facets": facets, "milliseconds": spent}


def _chosen(opened: OpenRun, named: Sequence[int]) -> Ints:
    """The positions that a client named, each once."""
    return np.array([opened.require_rule(position) for position in dict.fromkeys(named)], np.int64)


def _found(opened: OpenRun, given: Parameters) -> Ints:
    """The positions of the rules of a filter."""
    mask, _, _ = opened.select(given.rule_filter())
    down = given.boolean("descending", default=True)
    return opened.index.positions(mask, sort=given.text("sort"), descending=down)


def _exported(opened: OpenRun, format_name: str, found: Ints) -> tuple[bytes, str]:
    """Rules as a file and its name."""
    wanted = format_name.lower() or "json"
    name = {"md": "markdown"}.get(wanted, wanted)
    if name not in FORMATS:
        raise RequestError(f"there is no format '{name[:40]}'", hint=f"known: {', '.join(FORMATS)}", status=422)
    if len(found) > _MOST_EXPORTED and name != "parquet":
        raise RequestError(
            f"{len(found):,} rules are too many for {name}, which takes {_MOST_EXPORTED:,}",
            hint="narrow the filter, or take parquet",
            status=413,
        )
    form = find_format("", name)
    rules = with_reviews(opened.run.rules.take(found), opened.reviews)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rules{form.suffixes[0]}"
        form.write(rules, path)
        return path.read_bytes(), path.name
