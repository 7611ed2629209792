"""No file makes Thence open a connection: a listener on this machine hears nothing."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import thence as th
from thence.errors import ThenceError


class Listener:
    """Counts connections to a port of this machine."""

    def __init__(self) -> None:
        self.heard = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.heard += 1
                connection.close()

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    opened = Listener()
    yield opened
    opened.close()


def test_the_listener_hears(listener: Listener) -> None:
    host, _, port = listener.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.recv(1)
    assert listener.heard == 1


def hostile_files(address: str) -> dict[str, str]:
    """Files that name an address in every way that their format has."""
    rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"'
    return {
        "imports.ttl": f"@prefix owl: <http://www.w3.org/2002/07/owl#> .\n<{address}/o> a owl:Ontology ;"
        f" owl:imports <{address}/imported> .\n<{address}/A> a owl:Class .\n",
        "base.ttl": f"@base <{address}/> .\n@prefix x: <{address}/x#> .\n<a> a x:Pipe ; x:at <b> .\n",
        "context.jsonld": json.dumps({"@context": f"{address}/context.jsonld", "@id": "a", "name": "b"}),
        "contexts.jsonld": json.dumps({"@context": [{"@import": f"{address}/c"}, f"{address}/d"], "@id": "x:a"}),
        "entity.rdf": f'<?xml version="1.0"?><!DOCTYPE r SYSTEM "{address}/r.dtd" [<!ENTITY e SYSTEM "{address}/e">]>'
        f'<rdf:RDF {rdf}><owl:Ontology rdf:about="{address}"><owl:imports rdf:resource="{address}/i"/>&e;'
        "</owl:Ontology></rdf:RDF>",
        "entity.graphml": f'<!DOCTYPE g SYSTEM "{address}/g.dtd" [<!ENTITY e SYSTEM "{address}/e">]>'
        f'<graphml xmlns="{address}/ns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{address}/ns {address}/ns.xsd"><graph><node id="a">&e;</node></graph></graphml>',
        "remote.json": json.dumps({"nodes": [{"id": address, "properties": {"see": address}}], "edges": []}),
        "remote.csv": f"time,{address}\n2024-01-01,1\n2024-01-02,2\n",
    }


@pytest.mark.parametrize("name", hostile_files("http://127.0.0.1:1"))
def test_no_reader_opens_a_connection(name: str, listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(hostile_files(listener.address)[name], encoding="utf-8")
    for read in (th.read_graph, th.read_ontology, th.read_binding, th.read_rules, th.read_sensors):
        with suppress(ThenceError):
            read(path)
    assert listener.heard == 0


@pytest.mark.parametrize("name", ["../evil.csv", "/tmp/evil.csv", "a/../../evil.csv", "a/b.csv"])
def test_a_run_writes_into_its_folder_only(name: str, tmp_path: Path) -> None:
    """Names of further files of a run come from a configuration, which may come from elsewhere."""
    target = tmp_path / "a" / "run"
    job = {"input": {"dataset": "toy"}, "windows": {"every": "1h"}, "output": {"also": [name]}}
    with pytest.raises(ThenceError):
        th.mine(config=th.Config.from_mapping(job), out=target, progress="off")
    assert not list(tmp_path.rglob("*evil*")) and not Path("/tmp/evil.csv").exists()
