"""How end points are served: parameters checked, answers as JSON, errors as a ``Problem`` with a status below 500.

Imported once Starlette is known to be installed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from thence.errors import ConfigError, MiningError, ThenceError
from thence.show.explorer.parameters import QueryParameters, as_integer, read_json
from thence.show.explorer.problems import NotFoundError, RequestError
from thence.show.explorer.security import LARGEST_BODY

Serve = Callable[[Callable[..., Any]], None]


def answer(data: Any, status: int = 200) -> Response:
    """Return data as an answer in JSON."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Names from files may hold what UTF-8 cannot.
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def attachment(data: bytes, name: str) -> Response:
    """Return bytes as a file to be saved."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(data, headers=headers, media_type="application/octet-stream")


def events(parts: AsyncIterator[str]) -> Response:
    """Return texts as an answer of server-sent events, as they come."""
    return StreamingResponse(parts, media_type="text/event-stream")


class Routes:
    """The end points of an application."""

    def __init__(self) -> None:
        self._routes: list[Route] = []

    def add(self, path: str, handle: Callable[[Request], Any], method: str = "GET") -> None:
        """Serve a function of the request.

        Args:
            path: The path, with its parts in braces.
            handle: The function.
            method: The method of HTTP.
        """
        self._routes.append(Route(path, handle, methods=[method]))

    def get(self, path: str, known: tuple[str, ...], *names: str) -> Serve:
        """Serve a function of the query and of the parts of the path that are numbers.

        Args:
            path: The path, with its parts in braces.
            known: The parameters that a query may have.
            *names: The parts of the path that are numbers.
        """

        def serve(make: Callable[..., Any]) -> None:
            def handle(request: Request) -> Response:
                given = QueryParameters(request.query_params, known)
                return _finish(make(given, *_numbers(request, names)))

            self.add(path, handle)

        return serve

    def post(self, path: str, *names: str) -> Serve:
        """Serve a function of the body and of the parts of the path that are numbers.

        Args:
            path: The path, with its parts in braces.
            *names: The parts of the path that are numbers.
        """

        def serve(make: Callable[..., Any]) -> None:
            async def handle(request: Request) -> Response:
                QueryParameters(request.query_params, ())
                numbers = _numbers(request, names)
                body = await _body_of(request)
                return _finish(await asyncio.to_thread(make, body, *numbers))

            self.add(path, handle, "POST")

        return serve

    def application(self) -> Starlette:
        """Return the application that serves the end points."""
        refusals = dict.fromkeys((RequestError, ThenceError, OSError, HTTPException), _refuse)
        app = Starlette(routes=self._routes, exception_handlers=refusals)
        app.router.redirect_slashes = False
        return app


def _finish(made: Any) -> Response:
    return made if isinstance(made, Response) else answer(made)


def _numbers(request: Request, names: tuple[str, ...]) -> list[int]:
    return [as_integer(name, request.path_params[name]) for name in names]


async def _body_of(request: Request) -> dict[str, Any]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise RequestError("the body is too large", hint=f"send at most {LARGEST_BODY:,} bytes", status=413)
    return read_json(data)


async def _refuse(_: Request, error: Exception) -> Response:
    problem = _as_problem(error)
    return answer(problem.to_dict(), problem.status)


def _as_problem(error: Exception) -> RequestError:
    """An error as the problem that a client gets; names no path of this machine."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, ThenceError):
        missing = isinstance(error, (NotFoundError, MiningError))
        status = 404 if missing else 422 if isinstance(error, ConfigError) else 400
        return RequestError(error.message, hint=error.hint or "", status=status)
    if isinstance(error, HTTPException):
        words = {404: "there is nothing at this address", 405: "this address does not take this method"}
        return RequestError(words.get(error.status_code, str(error.detail)), status=error.status_code)
    reason = getattr(error, "strerror", None) or type(error).__name__
    return RequestError(f"a file cannot be read or written: {reason}", status=409)
