"""An explorer on a small network with rules, laws, a monitor and hostile names, and a client that knows the token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

import thence as th
from tests.helpers.networks import network
from thence.show.explorer.alerts import open_monitor
from thence.show.explorer.app import create_app
from thence.show.explorer.state import State

Result = TypeVar("Result")
TOKEN = "a-token-of-this-test"
ALERT = {"alert": 1, "kind": "violated", "time": "2024-01-02T00:00:00Z", "message": "<b>x</b>", "places": ["P1"]}


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own: a browser of other tests may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Client:
    """Requests to an application, without a network."""

    def __init__(self, app: Any, headers: dict[str, str] | None = None, base: str = "http://127.0.0.1:8000") -> None:
        self.app, self.base = app, base
        self.headers = {"authorization": f"Bearer {TOKEN}"} if headers is None else headers

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=self.base, headers=self.headers) as client:
                return await client.request(method, url, **options)

        return run_apart(ask())

    def get(self, url: str, **options: Any) -> httpx.Response:
        return self.request("GET", url, **options)

    def post(self, url: str, body: Any) -> httpx.Response:
        return self.request("POST", url, json=body)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[th.Run]:
    folder = tmp_path_factory.mktemp("runs")
    toy = th.Config.from_mapping({"input": {"dataset": "toy"}, "windows": {"every": "1h"}})
    return [
        th.mine(network(), progress="off"),
        th.mine(config=toy, bins=3, out=folder / "toy", confirm=False, progress="off"),
        th.mine(config=toy, bins=3, enrich="grounded", refine=None, out=folder / "all", progress="off"),
    ]


@pytest.fixture
def state(runs: list[th.Run], tmp_path: Path) -> Iterator[State]:
    path = tmp_path / "alerts.jsonl"
    path.write_text(json.dumps(ALERT) + "\n", encoding="utf-8")
    opened = State([open_monitor(path, 0)])
    for run, name in zip(runs, ("network", "toy", "all"), strict=True):
        opened.add(run, name=name, load=False).load()
    yield opened
    opened.close()


@pytest.fixture
def client(state: State) -> Client:
    return Client(create_app(state, TOKEN))
