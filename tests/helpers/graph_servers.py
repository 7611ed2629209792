"""Real graph servers on loopback, each a process of its own: ArcadeDB for Bolt, Oxigraph for SPARQL."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.helpers.needs import find_program
from tests.helpers.processes import PATIENCE, end, free_port, until

PASSWORD = "pl@y/with:d4ta"
"""A password that must be escaped in a URL."""
OXIGRAPH = find_program("oxigraph")

_SERVE = """
import pathlib, sys
import arcadedb_embedded as arcade

folder, password, bolt, http = sys.argv[1:5]
config = {
    "http_port": http,
    "bolt_port": int(bolt),
    "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
}
server = arcade.ArcadeDBServer(folder, password, config, jvm_kwargs={"heap_size": "512m"})
server.start()
for name in sys.argv[5:]:
    server.create_database(name)
pathlib.Path(folder, "ready").touch()
sys.stdin.read()
server.stop()
"""


class BoltProcess:
    """ArcadeDB with its Bolt protocol: it answers as Neo4j 5.26."""

    user, password = "root", PASSWORD

    def __init__(self, folder: Path, databases: Sequence[str]) -> None:
        self.port = free_port()
        self._log = (folder / "output.txt").open("wb")
        command = [sys.executable, "-c", _SERVE, str(folder), PASSWORD, str(self.port), str(free_port()), *databases]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=subprocess.STDOUT, cwd=folder
        )
        self._folder = folder
        try:
            until(self._is_ready)
        except BaseException:
            self.stop()
            raise

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, (self._folder / "output.txt").read_text()
        return (self._folder / "ready").exists()

    @property
    def plain(self) -> str:
        """The URL without credentials."""
        return f"bolt://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The URL with credentials."""
        from urllib.parse import quote

        return f"bolt://{self.user}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}"

    def run(self, database: str, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run a statement as the tests need it, not as the package does."""
        import neo4j

        with (
            neo4j.GraphDatabase.driver(self.plain, auth=(self.user, PASSWORD)) as driver,
            driver.session(database=database) as session,
        ):
            return [record.data() for record in session.run(query, parameters)]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(60)
        end(self._process)
        self._log.close()


class OxigraphProcess:
    """An Oxigraph server with an empty store in memory."""

    def __init__(self) -> None:
        assert OXIGRAPH is not None
        self.port = free_port()
        self._process = subprocess.Popen(
            [OXIGRAPH, "serve", "--bind", f"127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(self._answers)
        except BaseException:
            self.stop()
            raise

    def _answers(self) -> bool:
        assert self._process.poll() is None, "oxigraph does not start"
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=60).close()
        return True

    @property
    def url(self) -> str:
        return f"sparql+http://127.0.0.1:{self.port}/query"

    def load(self, file: Path, *, graph: str | None = None) -> None:
        """Replace the default graph, or a named one, by a Turtle file."""
        from urllib.parse import quote

        which = "default" if graph is None else f"graph={quote(graph, safe='')}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/store?{which}",
            data=file.read_bytes(),
            method="PUT",
            headers={"Content-Type": "text/turtle"},
        )
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def stop(self) -> None:
        end(self._process)
