"""A Bolt server for the tests of this folder: it takes seconds to start, so each process of pytest starts one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.graph_servers import BoltProcess

DATABASES = ("empty", "plant", "toy", "values", "hostile", "repeated", "rules", "stored", "other")
"""Each is written by the tests of one module only."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltProcess]:
    process = BoltProcess(tmp_path_factory.mktemp("arcadedb"), DATABASES)
    try:
        yield process
    finally:
        process.stop()
