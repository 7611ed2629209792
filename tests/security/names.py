"""One set of hostile names, and a system in which everything that can have a name has one of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

import thence as th
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor

HOSTILE = {
    "html": '<script>alert("1")</script><img src=x onerror=alert(1)>',
    "html attribute": "\" onload='alert(1)' x=\"",
    "html end": "</td></table></style></script><!--",
    "markdown": "[a](javascript:alert(1)) | `b` | *c* | # d",
    "formula": '=HYPERLINK("http://127.0.0.1/";"x")',
    "formula of another sign": "@SUM(A1:A9)",
    "formula of a minus": "-2+3+cmd|' /C calc'!A0",
    "sparql": '" } UNION { ?s ?p ?o } SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } #',
    "iri": "a> <http://x> <b",
    "shacl": '""" ; sh:select "DROP ALL',
    "cypher": "a`}) DETACH DELETE n //",
    "sql": "'; DROP TABLE readings; --",
    "terminal": "\x1b[31mred\x1b]0;title\x07",
    "format": "{0} {x.__class__} %s %n ${x}",
    "template": "{{ 7 * 7 }} ${7*7} <%= 7 %>",
    "right to left": "\u202etxt.exe\u202c",
    "newline": "a\nb\r\nc\td",
    "zero": "nul\x00l",
    "entity": "&lt;&amp;&#x27;",
    "path": "../../etc/passwd",
}


def hostile_system() -> th.System:
    """Return readings of sensors with these names, on nodes with these names, labels, properties and values."""
    names = list(HOSTILE.values())
    frames = 60
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    rng = np.random.default_rng(0)
    switch = rng.integers(0, 2, frames)
    columns: dict[str, object] = {"time": [begin + timedelta(hours=hour) for hour in range(frames)]}
    sensors, nodes, edges, binding = [], [], [], {}
    for number, name in enumerate(names):
        after, state = names[(number + 1) % len(names)], number % 2 == 0
        columns[name] = [HOSTILE["html"] if on else after for on in switch] if state else switch * 5.0 + number
        kind = HOSTILE["sparql"] if state else HOSTILE["html end"]
        sensors.append(Sensor(name, kind=kind, unit=None if state else HOSTILE["entity"], categorical=state))
        labels = frozenset([f"label {names[number % 2]}"])
        nodes.append(Node(f"node {name}", labels, {f"property {names[number % 3]}": after, "length": number % 3}))
        binding[name] = f"node {name}"
        if number:
            source, label = f"node {names[number - 1]}", frozenset([f"to {names[5]}"])
            edges.append(Edge(f"edge {name}", source, f"node {name}", label, {f"since {name}": after}))
    data = th.SensorData.from_wide(pl.DataFrame(columns), sensors=sensors)
    return th.System(data, KnowledgeGraph(nodes, edges), th.graph.Binding(binding), name=HOSTILE["html"])
