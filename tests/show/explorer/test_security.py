"""Who may talk to the explorer."""

from __future__ import annotations

from typing import Any

import pytest

import thence as th
from tests.show.explorer.conftest import TOKEN, Client, run_apart
from thence.errors import ConfigError
from thence.show.explorer.app import create_app
from thence.show.explorer.security import Guard, is_loopback, make_token, require_token
from thence.show.explorer.serve import Explorer
from thence.show.explorer.state import State

PATHS = [
    *("/", "/api/runs", "/api/runs/0/findings", "/api/runs/0/drawing", "/api/runs/0/export", "/api/compare?a=0&b=0"),
    *("/api/monitors/0/alerts", "/api/monitors/0/events", "/api/runs/0/report", "/nothing"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer "},
        {"cookie": "thence_8000=wrong"},
        {"cookie": f"other={TOKEN}"},
        {"cookie": f"thence_9999={TOKEN}"},
        {"cookie": 'thence_8000="; broken\x01'},
        {"authorization": "Bearer ÿþ"},
    ],
)
def test_every_answer_with_data_needs_the_token(state: State, path: str, headers: dict[str, str]) -> None:
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    client = Client(create_app(state, TOKEN), headers=raw)  # type: ignore[arg-type]
    answer = client.get(path)
    assert answer.status_code == 401
    assert TOKEN not in answer.text


def test_the_address_is_exchanged_for_a_cookie(state: State) -> None:
    app = create_app(state, TOKEN)
    answer = Client(app, headers={}).get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    name = cookie.partition(";")[0]
    assert Client(app, headers={"cookie": name}).get("/api/runs").status_code == 200
    assert Client(app, headers={"cookie": f"a=b; {name}; c=d"}).get("/").status_code == 200
    # The token in the address opens the page only, so that no link to data carries it.
    assert Client(app, headers={}).get(f"/api/runs?token={TOKEN}").status_code == 401
    wrong = Client(app, headers={}).get("/?token=wrong")
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers


def test_files_of_the_page_need_no_token(state: State) -> None:
    client = Client(create_app(state, TOKEN), headers={})
    for name in ("explorer.js", "explorer.css"):
        assert client.get(f"/static/{name}").status_code in (200, 404)
    for path in ("/static/index.html", "/static/../app.py", "/static/%2e%2e/app.py", "/static/explorer.js/x"):
        assert client.get(path).status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("127.0.0.2", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("192.168.1.5:8000", 421),
        ("", 421),
        ("::::", 421),
        ("[::1", 200),
        ("user@127.0.0.1", 421),
    ],
)
def test_the_host_header_names_this_machine(state: State, host: str, status: int) -> None:
    answer = Client(create_app(state, TOKEN)).get("/api/runs", headers={"host": host})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "given", "status"),
    [
        ("0.0.0.0", "192.168.1.5:8000", 200),
        ("0.0.0.0", "evil.example", 421),
        ("plant.example", "plant.example:8000", 200),
        ("plant.example", "evil.example", 421),
        ("plant.example", "192.168.1.5", 421),
    ],
)
def test_a_host_of_the_users_choice(state: State, host: str, given: str, status: int) -> None:
    answer = Client(create_app(state, TOKEN, host=host)).get("/api/runs", headers={"host": given})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("origin", "how", "status"),
    [
        ("http://127.0.0.1:8000", "cookie", 422),
        ("http://evil.example", "cookie", 403),
        ("null", "cookie", 403),
        ("https://127.0.0.1:8000", "cookie", 403),
        ("http://127.0.0.1:9999", "cookie", 403),
        (None, "cookie", 403),
        (None, "bearer", 422),
        ("http://evil.example", "bearer", 403),
    ],
)
def test_changes_come_from_the_page_itself(state: State, origin: str | None, how: str, status: int) -> None:
    app = create_app(state, TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}"}
    if how == "cookie":
        cookie = Client(app, headers={}).get(f"/?token={TOKEN}").headers["set-cookie"].partition(";")[0]
        headers = {"cookie": cookie}
    if origin is not None:
        headers["origin"] = origin
    for path in ("/api/runs/0/review",):
        assert Client(app, headers=headers).request("POST", path, json={}).status_code == status


def test_headers_of_every_answer(client: Client) -> None:
    for path in ("/", "/api/runs", "/nothing", "/static/explorer.js"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            assert part in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_no_path_of_this_machine_is_told(client: Client, runs: list[th.Run]) -> None:
    folder = str(runs[1].path)
    for path in (
        "/api/runs",
        "/api/runs/1/rules",
        "/api/runs/1/report",
        "/api/runs/9/report",
        "/api/monitors/0/alerts",
    ):
        assert folder not in client.get(path).text


def test_websockets_are_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(*_: Any) -> None:
        raise AssertionError

    run_apart(Guard(app, token=TOKEN)({"type": "websocket"}, send, send))  # type: ignore[arg-type]
    assert sent[0]["type"] == "websocket.close"


def test_tokens() -> None:
    assert make_token() != make_token()
    require_token(make_token())
    for short in ("", "short", "x" * 15, "a b" * 10, "ä" * 20, "x" * 20 + "\n"):
        with pytest.raises(ConfigError, match="at least 16"):
            require_token(short)


def test_loopback() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "[::1]", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "", "example.org", "10.0.0.1")] == [False] * 5


def test_other_machines_need_a_token(state: State) -> None:
    with pytest.raises(ConfigError, match="needs a token"):
        Explorer(state, host="0.0.0.0")
    with pytest.raises(ConfigError, match="at least 16"):
        Explorer(state, host="0.0.0.0", token="short")
