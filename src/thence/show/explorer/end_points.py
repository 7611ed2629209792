"""The end points of the explorer: what each address under ``/api`` answers.

Each function checks its parameters and asks the state. Nothing that a client sends is opened as a path.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thence.runs.reviews import with_reviews
from thence.show.explorer.listing import KINDS
from thence.show.explorer.open_run import OpenRun
from thence.show.explorer.parameters import QueryParameters, as_integer, filter_names, read_mapping
from thence.show.explorer.problems import RequestError
from thence.show.explorer.routing import Routes, attachment, events
from thence.show.explorer.schema import FindingsPage
from thence.show.explorer.series_view import MOST_POINTS, series_page
from thence.show.explorer.state import State
from thence.show.reports.choosing import Aim
from thence.statements.files import FORMATS, find_format
from thence.statements.findings import Findings

_MOST_ROWS = 500
_MOST_EXPORTED = 100_000
"""Rules that are exported in a format with sentences; Parquet takes any number."""
_MOST_CHOSEN = 2_000
"""Rules that an address can name."""
_SORTS = ("sort", "descending")
_PAUSE = 0.5


def add_runs(routes: Routes, state: State) -> None:
    """Add what is asked about a run as a whole: outline, report, graph and series.

    Args:
        routes: Where to add it.
        state: What is open.
    """

    @routes.get("/api/runs", ())
    def runs(_: QueryParameters) -> Any:
        return state.describe()

    @routes.get("/api/runs/{run}/outline", (), "run")
    def outline(_: QueryParameters, run: int) -> Any:
        return state.run(run).outline()

    @routes.get("/api/runs/{run}/report", (), "run")
    def report(_: QueryParameters, run: int) -> Any:
        return state.run(run).report()

    @routes.get("/api/runs/{run}/drawing", (), "run")
    def drawing(_: QueryParameters, run: int) -> Any:
        return state.run(run).drawing()

    @routes.get("/api/runs/{run}/node", ("id",), "run")
    def node(given: QueryParameters, run: int) -> Any:
        return state.node(run, given.text("id"))

    @routes.get("/api/runs/{run}/series", ("sensor", "start", "end", "points"), "run")
    def series(given: QueryParameters, run: int) -> Any:
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

    @routes.get("/api/compare", ("a", "b"))
    def compare(given: QueryParameters) -> Any:
        return state.compare(*(_needed(given.integer(name, None), name) for name in ("a", "b")))


def add_findings(routes: Routes, state: State) -> None:
    """Add what is asked about findings: pages of them, their evidence at any place, and files.

    Args:
        routes: Where to add it.
        state: What is open.
    """

    @routes.get("/api/runs/{run}/findings", (*filter_names(), *_SORTS, "what", "offset", "limit"), "run")
    def findings(given: QueryParameters, run: int) -> Any:
        return _findings_page(state.run(run), given)

    @routes.get("/api/runs/{run}/scatter", filter_names(), "run")
    def scatter(given: QueryParameters, run: int) -> Any:
        opened = state.run(run)
        return opened.scatter(opened.select(given.rule_filter())[0])

    def row_and_card(about: str) -> None:
        @routes.get(f"/api/runs/{{run}}/{about}s/{{position}}", (), "run", "position")
        def row(_: QueryParameters, run: int, position: int) -> Any:
            return state.run(run).row(about, position)

        @routes.get(f"/api/runs/{{run}}/{about}s/{{position}}/card", ("spot", "node", "moment"), "run", "position")
        def one(given: QueryParameters, run: int, position: int) -> Any:
            opened = state.run(run)
            aim = Aim(given.integer("spot", None), given.text("node"), given.integer("moment", None))
            found = opened.card(about, position, aim)
            if found is None:
                why = opened.material.why or "There are no readings over time to show."
                raise RequestError(why, status=404)
            return found

    for about in ("rule", "law", "control"):
        row_and_card(about)

    @routes.get("/api/runs/{run}/export", (*filter_names(), *_SORTS, "what", "format", "rule"), "run")
    def export(given: QueryParameters, run: int) -> Any:
        opened = state.run(run)
        named = [as_integer("rule", text) for text in given.texts("rule", most=_MOST_CHOSEN)]
        found = opened.chosen(rules=named) if named else _found(opened, given)
        return attachment(*_exported(opened, given.text("format"), found))

    @routes.post("/api/runs/{run}/export", "run")
    def export_chosen(body: dict[str, Any], run: int) -> Any:
        kinds = ("rules", "laws", "controls")
        wanted = read_mapping(body, {"format": str, **dict.fromkeys(kinds, list[int])})
        named = {kind: wanted.get(kind) or [] for kind in kinds}
        opened = state.run(run)
        _needed(any(named.values()) or None, "rules")
        return attachment(*_exported(opened, wanted.get("format", ""), opened.chosen(**named)))


def add_changes(routes: Routes, state: State) -> None:
    """Add what changes something: reviews.

    Args:
        routes: Where to add it.
        state: What is open.
    """

    @routes.post("/api/runs/{run}/review", "run")
    def review(body: dict[str, Any], run: int) -> Any:
        given = {"verdict": "", "note": "", **read_mapping(body, {"key": str, "verdict": str, "note": str})}
        return state.run(run).review(_needed(given.get("key"), "key"), given["verdict"], given["note"])


def add_monitors(routes: Routes, state: State) -> None:
    """Add the alerts of monitors: those that are there, and those that come.

    Args:
        routes: Where to add it.
        state: What is open.
    """

    @routes.get("/api/monitors/{monitor}/alerts", ("after",), "monitor")
    def alerts(given: QueryParameters, monitor: int) -> Any:
        return state.alerts(monitor, given.integer("after", 0) or 0)

    async def live(request: Request) -> Response:
        given = QueryParameters(request.query_params, ("after",))
        watched = state.monitor(as_integer("monitor", request.path_params["monitor"])).number
        # A browser that connects again says what it had last.
        resumed = request.headers.get("last-event-id", "")
        after = as_integer("after", resumed) if resumed else given.integer("after", 0) or 0
        return events(_follow(state, request, watched, after))

    routes.add("/api/monitors/{monitor}/events", live)


async def _follow(state: State, request: Request, watched: int, last: int) -> AsyncIterator[str]:
    """Yield alerts as they come, until the client or the explorer goes."""
    silent = 0.0
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


def _needed(value: Any, name: str) -> Any:
    if value is None or value == "":
        raise RequestError(f"'{name}' is missing", status=422)
    return value


def _kind_of(given: QueryParameters) -> str:
    what = given.text("what")
    if what not in ("", *KINDS):
        raise RequestError(f"the list has no kind '{what[:40]}'", hint=f"known: {', '.join(KINDS)}", status=422)
    return what


def _findings_page(opened: OpenRun, given: QueryParameters) -> FindingsPage:
    limit = given.integer("limit", 50, high=_MOST_ROWS)
    return opened.page(
        given.rule_filter(),
        what=_kind_of(given),
        sort=given.text("sort"),
        descending=given.boolean("descending", default=True),
        offset=given.integer("offset", 0) or 0,
        limit=50 if limit is None else limit,
    )


def _found(opened: OpenRun, given: QueryParameters) -> Findings:
    """The findings of a filter, with all variants of each."""
    down = given.boolean("descending", default=True)
    return opened.found(given.rule_filter(), what=_kind_of(given), sort=given.text("sort"), descending=down)


def _exported(opened: OpenRun, format_name: str, found: Findings) -> tuple[bytes, str]:
    """Findings as a file and its name. Rules alone have all measures and the reviews."""
    wanted = format_name.lower() or "json"
    name = {"md": "markdown"}.get(wanted, wanted)
    if name not in FORMATS:
        raise RequestError(f"there is no format '{name[:40]}'", hint=f"known: {', '.join(FORMATS)}", status=422)
    only_rules = len(found) == len(found.rules)
    if len(found) > _MOST_EXPORTED and not (only_rules and name == "parquet"):
        raise RequestError(
            f"{len(found):,} findings are too many for {name}, which takes {_MOST_EXPORTED:,}",
            hint="narrow the filter, or take parquet",
            status=413,
        )
    form = find_format("", name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{'rules' if only_rules else 'findings'}{form.suffixes[0]}"
        if only_rules:
            form.write(with_reviews(found.rules, opened.reviews), path)
        else:
            found.export(path, name)
        return path.read_bytes(), path.name
