"""Who may talk to the explorer: a token, the name in the Host header, the origin of changes; and headers of answers.

The explorer is reachable by every program and every web page on the machine. A page of another site could send requests
to it, or have its own name point to this machine (DNS rebinding). So every answer with data needs the token, the Host
header must name this machine, and a change must come from the explorer's own page or from a program with the token.
Scripts and styles of the page need no token: they are the same in every installation and hold no data. Plain ASGI.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from thence.errors import ConfigError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SHORTEST_TOKEN = 16
"""Number of characters that a token must have."""
LARGEST_BODY = 1 << 16
"""Bytes of the body of a request."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers of every answer."""
_ANY = ("0.0.0.0", "::", "")
_REFUSED = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Thence</title><h1>Thence</h1>"
    "<p>This page needs the whole address that <code>thence explore</code> printed, with its token.</p></html>"
)


def make_token() -> str:
    """Return a new random token.

    Examples:
        >>> len(make_token()) >= SHORTEST_TOKEN
        True
    """
    return secrets.token_urlsafe(24)


def require_token(token: str) -> None:
    """Raise unless a token is long enough and can be part of an address.

    Args:
        token: The token.

    Raises:
        ConfigError: If it is not.

    Examples:
        >>> require_token("0123456789abcdef")
    """
    plain = token.isascii() and all(sign.isalnum() or sign in "-_." for sign in token)
    if len(token) < SHORTEST_TOKEN or not plain:
        raise ConfigError(
            f"a token must have at least {SHORTEST_TOKEN} letters, digits, '-', '_' or '.'",
            hint="leave out --token on this machine, or make one with: "
            'python -c "import secrets; print(secrets.token_urlsafe(24))"',
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only.

    Args:
        host: A name or an address.

    Examples:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets requests through to an application only if they may be answered.

    Args:
        app: The application.
        token: The token.
        host: The host that the server listens on.
        open_paths: Paths that need no token: files of the page, which hold no data.
    """

    def __init__(self, app: App, *, token: str, host: str = "127.0.0.1", open_paths: Iterable[str] = ()) -> None:
        self.app = app
        self._token = token.encode()
        self._host = host.strip("[]").lower()
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        headers = _headers(scope)
        problem = self._problem(scope, headers)
        if problem is not None:
            await self._refuse(scope, send, *problem)
            return
        if scope["path"] == "/" and _matches(self._token, _query_token(scope)):
            send = self._with_cookie(scope, send)
        await self.app(scope, receive, send)

    def _problem(self, scope: Scope, headers: MutableMapping[str, str]) -> tuple[int, str, str] | None:
        host = headers.get("host", "")
        if not self._is_own(host):
            return 421, "the Host header does not name this machine", "open the address that was printed"
        if not _is_short(headers.get("content-length", "0")):
            return 413, "the body is too large", f"send at most {LARGEST_BODY:,} bytes"
        if scope["method"] in ("GET", "HEAD") and scope["path"] in self._open:
            return None
        how = self._proof(scope, headers)
        if how is None:
            return 401, "the token is missing or wrong", "open the whole address that was printed"
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if origin is None and how == "cookie":
                return 403, "a change needs an Origin header", "send the token as 'Authorization: Bearer …' instead"
            if origin is not None and origin != f"{scope.get('scheme', 'http')}://{host}":
                return 403, "the request comes from another page", "use the explorer's own page"
        return None

    def _proof(self, scope: Scope, headers: MutableMapping[str, str]) -> str | None:
        """How a request shows the token, if it does."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _matches(self._token, given.strip()):
            return "header"
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
        except CookieError:
            cookie = None
        if cookie is not None and _matches(self._token, cookie.value):
            return "cookie"
        # The address that was printed; it is exchanged for a cookie.
        shown = scope["path"] == "/" and scope["method"] == "GET" and _matches(self._token, _query_token(scope))
        return "address" if shown else None

    def _is_own(self, host: str) -> bool:
        """Whether the Host header names this machine. A name that somebody else owns could point here, a number not."""
        name = host.strip().lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if not name:
            return False
        if is_loopback(name) or name == self._host:
            return True
        if self._host not in _ANY:
            return False
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return name == socket.gethostname().lower()

    def _with_cookie(self, scope: Scope, send: Send) -> Send:
        value = f"{_cookie_name(scope)}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"set-cookie", value.encode())]
            await send(message)

        return sending

    async def _refuse(self, scope: Scope, send: Send, status: int, error: str, hint: str) -> None:
        page = scope["path"] == "/" and status == 401
        body = _REFUSED if page else json.dumps({"error": error, "hint": hint})
        kind = b"text/html; charset=utf-8" if page else b"application/json"
        headers = [(b"content-type", kind), (b"content-length", str(len(body.encode())).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body.encode()})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower().decode() not in HEADERS]
            message["headers"] = [*kept, *own]
        await send(message)

    return sending


def _headers(scope: Scope) -> dict[str, str]:
    """The headers; a Host header that is given twice is none."""
    out: dict[str, str] = {}
    for name, value in scope.get("headers", []):
        key = name.decode("latin-1").lower()
        out[key] = "" if key in out and key in ("host", "origin") else value.decode("latin-1")
    return out


def _query_token(scope: Scope) -> str:
    try:
        query: dict[str, list[str]] = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=20)
    except ValueError:
        return ""
    return query.get("token", [""])[0]


def _matches(token: bytes, given: str) -> bool:
    """Compare in a time that does not depend on how much of the token is right."""
    return hmac.compare_digest(token, given.encode("utf-8", "surrogateescape"))


def _cookie_name(scope: Scope) -> str:
    """Cookies are shared by all ports of a host, and two explorers may run."""
    server = scope.get("server") or ("", 0)
    return f"thence_{server[1] or 0}"


def _is_short(length: str) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= LARGEST_BODY
