"""How end points are served: parameters checked, answers as JSON, errors as a ``Problem`` with a status below 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from thence.errors import ConfigError, MiningError, ThenceError, require
from thence.show.explorer.parameters import Parameters, as_integer, read_json
from thence.show.explorer.problems import RequestError
from thence.show.explorer.security import LARGEST_BODY

__all__ = ["Routes"]

Serve = Callable[[Callable[..., Any]], None]


class Routes:
    """A web application and the ways to add end points to it.

    Raises:
        MissingExtraError: If FastAPI is not installed.
    """

    def __init__(self) -> None:
        require("fastapi", extra="explorer")
        from fastapi import FastAPI
        from starlette.exceptions import HTTPException
        from starlette.responses import Response, StreamingResponse

        self._response, self._stream = Response, StreamingResponse
        self.app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
        for kind, explain in (
            (RequestError, self._refuse),
            (ThenceError, self._explain),
            (OSError, self._report_disk),
            (HTTPException, self._unknown),
        ):
            self.app.add_exception_handler(kind, explain)

    def answer(self, data: Any, status: int = 200) -> Any:
        """Return data as an answer in JSON."""
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Names from files may hold what UTF-8 cannot.
        return self._response(text.encode("utf-8", "replace"), status, media_type="application/json")

    def attachment(self, data: bytes, name: str) -> Any:
        """Return bytes as a file to be saved."""
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return self._response(data, headers=headers, media_type="application/octet-stream")

    def text(self, text: str, kind: str, status: int = 200) -> Any:
        """Return a text as an answer of a media type."""
        return self._response(text, status, media_type=kind)

    def events(self, parts: Any) -> Any:
        """Return an answer that goes on: events, as they come."""
        return self._stream(parts, media_type="text/event-stream")

    def get(self, path: str, known: tuple[str, ...], *names: str) -> Serve:
        """Serve a function of the query and of the parts of the path that are numbers.

        Args:
            path: The path, with its parts in braces.
            known: The parameters that a query may have.
            *names: The parts of the path that are numbers.
        """

        def serve(make: Callable[..., Any]) -> None:
            def handle(request: Any) -> Any:
                given = Parameters(request.query_params, known)
                return self._finish(make(given, *_numbers(request, names)))

            self.app.add_route(path, handle, methods=["GET"])

        return serve

    def post(self, path: str, *names: str) -> Serve:
        """Serve a function of the body and of the parts of the path that are numbers.

        Args:
            path: The path, with its parts in braces.
            *names: The parts of the path that are numbers.
        """

        def serve(make: Callable[..., Any]) -> None:
            async def handle(request: Any) -> Any:
                Parameters(request.query_params, ())
                numbers = _numbers(request, names)
                body = await _body_of(request)
                return self._finish(await asyncio.to_thread(make, body, *numbers))

            self.app.add_route(path, handle, methods=["POST"])

        return serve

    def _finish(self, made: Any) -> Any:
        return made if isinstance(made, self._response) else self.answer(made)

    def _problem(self, error: RequestError) -> Any:
        return self.answer(error.to_dict(), error.status)

    async def _refuse(self, _: Any, error: Exception) -> Any:
        assert isinstance(error, RequestError)
        return self._problem(error)

    async def _explain(self, _: Any, error: Exception) -> Any:
        assert isinstance(error, ThenceError)
        return self._problem(_as_problem(error))

    async def _report_disk(self, _: Any, error: Exception) -> Any:
        assert isinstance(error, OSError)
        reason = error.strerror or type(error).__name__
        return self._problem(RequestError(f"a file cannot be read or written: {reason}", status=409))

    async def _unknown(self, _: Any, error: Any) -> Any:
        words = {404: "there is nothing at this address", 405: "this address does not take this method"}
        return self.answer({"error": words.get(error.status_code, str(error.detail)), "hint": ""}, error.status_code)


def _numbers(request: Any, names: tuple[str, ...]) -> list[int]:
    return [as_integer(name, request.path_params[name]) for name in names]


async def _body_of(request: Any) -> dict[str, Any]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise RequestError("the body is too large", hint=f"send at most {LARGEST_BODY:,} bytes", status=413)
    return read_json(data)


def _as_problem(error: ThenceError) -> RequestError:
    """What a client is told of an error; no path of this machine."""
    missing = isinstance(error, ConfigError) and error.message.startswith("there is no ")
    status = 404 if missing or isinstance(error, MiningError) else 422 if isinstance(error, ConfigError) else 400
    return RequestError(error.message, hint=error.hint or "", status=status)
