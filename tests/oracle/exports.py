"""Exported SPARQL queries and SHACL shapes, run on a graph store that holds the readings."""

from __future__ import annotations

import re
from typing import Any

import pyoxigraph as ox
import rdflib

import thence as th
from tests.oracle.rules import Counter, Test
from tests.oracle.tables import Setup
from thence.data.readings.windows import window
from thence.show.export import graph_rdf, shacl, sparql

SELECT, TARGET = (rdflib.URIRef(f"http://www.w3.org/ns/shacl#{name}") for name in ("select", "targetNode"))


def store_of(system: th.System, setup: Setup, table: th.TransactionTable) -> ox.Store:
    """A graph store with the graph, the ontology, the windows, and the ranks and aggregates of a table."""
    readings = window(system.sensors, "30min", aggregate=setup.aggregate, hold=setup.hold, derive=setup.derive)
    assert system.graph is not None
    lines = graph_rdf.triples(
        system.graph,
        binding=system.binding,
        sensors=system.sensors,
        ontology=system.ontology,
        readings=readings,
        table=table,
    )
    store = ox.Store()
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store


def found_by_query(store: ox.Store, rule: th.Rule) -> tuple[int, int]:
    """How many matches and violations the queries of a rule find."""
    return tuple(len(_rows(store, sparql.query(rule, find=find))) for find in ("matches", "violations"))  # type: ignore[return-value]


def found_by_shape(store: ox.Store, rule: th.Rule) -> int:
    """How many violations the shape of a rule reports: pairs of what the consequent is about and a time."""
    graph = rdflib.Graph().parse(data=shacl.shapes([rule]), format="turtle")
    select = str(next(graph.objects(predicate=SELECT)))
    prefixes = re.findall(r"^@prefix (\S+) (<\S+>) \.$", shacl.shapes([rule]), flags=re.MULTILINE)
    # A validator runs the query once for each target, which it binds to $this.
    for target in graph.objects(predicate=TARGET):
        select = select.replace("WHERE {", f"WHERE {{ VALUES $this {{ {target.n3()} }}", 1)
    head = "\n".join(f"PREFIX {prefix} {namespace}" for prefix, namespace in prefixes)
    return len(_rows(store, f"{head}\n{select.replace('$this', '?this')}"))


def _rows(store: ox.Store, query: str) -> list[Any]:
    return list(store.query(query))  # type: ignore[arg-type]


def expected_by_shape(counter: Counter, antecedent: tuple[Test, ...], consequent: Test, variables: list[str]) -> int:
    """The violations by what the consequent is about: a sensor or focus may be in several embeddings."""
    block = counter.block
    left = counter.present(consequent[0]) & ~counter.rows(*consequent)
    for test in antecedent:
        left &= counter.rows(*test)
    found = re.match(r"\(\?(`[^`]*`|\w+)", consequent[0])
    at = variables.index(found[1].strip("`")) if found else None
    pairs = set()
    for row in range(block.rows):
        if left >> row & 1:
            place, frame = divmod(row, block.frames)
            pairs.add((None if at is None else block.places[place][at], frame))
    return len(pairs)
