"""Formats that another installed package adds through entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from tests.helpers.distributions import add_distribution
from thence.data.loaders import BINDING_LOADERS, LOADERS, ONTOLOGY_LOADERS
from thence.errors import GraphError

MODULE = """
import thence as th
from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
from thence.data.loaders import Loader


def read_graph(paths, options):
    pairs = [line.split() for line in paths[0].read_text().splitlines()]
    nodes = dict.fromkeys(name for pair in pairs for name in pair)
    return KnowledgeGraph(map(Node, nodes), [Edge(f"{a} {b}", a, b, {options.labels or "to"}) for a, b in pairs])


def read_ontology(paths, options):
    return th.graph.Ontology({name: () for path in paths for name in path.read_text().split()})


def read_binding(paths, options):
    return th.graph.Binding(dict(line.split() for line in paths[0].read_text().splitlines()))


class Network:
    pairs = [("a", "b")]


GRAPH = Loader(
    read_graph,
    suffixes=(".pairs", ".csv"),
    accepts=lambda source: isinstance(source, Network),
    convert=lambda source, options: KnowledgeGraph(map(Node, source.pairs[0])),
)
ONTOLOGY = Loader(read_ontology, suffixes=(".names",), several=True)
BINDING = Loader(read_binding, suffixes=(".pairs",))
WRONG = 3
"""
NAME = "thence_example_pairs"
ENTRY_POINTS = {
    "thence.loaders": {"pairs": f"{NAME}:GRAPH", "wrong": f"{NAME}:WRONG"},
    "thence.ontology_loaders": {"names": f"{NAME}:ONTOLOGY"},
    "thence.binding_loaders": {"pairs": f"{NAME}:BINDING"},
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with loaders."""
    site = tmp_path / "site"
    site.mkdir()
    add_distribution(site, NAME, MODULE, ENTRY_POINTS)
    monkeypatch.syspath_prepend(site)


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.usefixtures("package")
def test_a_graph_of_a_new_suffix(tmp_path: Path) -> None:
    file = write(tmp_path, "rooms.pairs", "hall kitchen\nhall attic\n")
    graph = th.read_graph(file, labels="door")
    assert graph.neighbours("hall") == {"kitchen": 1, "attic": 1} and graph.edge_labels == ("door",)
    assert list(th.read_graph(file.rename(tmp_path / "rooms.txt"), format="pairs").nodes) == list(graph.nodes)
    assert "pairs" in LOADERS and LOADERS.names()[-2:] == ("pairs", "wrong")


@pytest.mark.usefixtures("package")
def test_a_graph_from_a_new_type_of_object() -> None:
    import thence_example_pairs

    assert list(th.read_graph(thence_example_pairs.Network()).nodes) == ["a", "b"]


@pytest.mark.usefixtures("package")
def test_ontologies_and_bindings(tmp_path: Path) -> None:
    files = [write(tmp_path, "a.names", "Room Door"), write(tmp_path, "b.toml", "[classes]\nHouse = {}\n")]
    assert set(th.read_ontology(files).classes) == {"Room", "Door", "House"} and "names" in ONTOLOGY_LOADERS
    assert th.read_binding(write(tmp_path, "b.pairs", "s hall\n")) == {"s": "hall"} and "pairs" in BINDING_LOADERS


@pytest.mark.usefixtures("package")
def test_the_suffixes_of_this_package_take_precedence(tmp_path: Path) -> None:
    assert list(th.read_graph(write(tmp_path, "nodes.csv", "id\nx y\n")).nodes) == ["x y"]


@pytest.mark.usefixtures("package")
def test_an_entry_point_that_is_not_a_loader(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"of the group 'thence.loaders': must be a Loader, got a int"):
        th.read_graph(write(tmp_path, "a.pairs", ""), format="wrong")


def test_without_the_package_the_suffix_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="no graph format has the suffix of"):
        th.read_graph(write(tmp_path, "a.pairs", ""))
