"""Graphs from EPANET networks: compared with WNTR, and errors about files with mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
import wntr

from thence.data.loaders import read_graph, read_ontology
from thence.errors import GraphError

NETWORKS = Path(wntr.__file__).parent / "library" / "networks"

SMALL = """
[JUNCTIONS]
 J1  10  36
 J2  12  0
 J3  12.5
[RESERVOIRS]
 R1  50
[TANKS]
 T1  30  2  1  5  8  0
[PIPES]
 1   R1  J1  1000  300  120  0.5  CV
 J1  J1  T1  500   200  110  0    Closed
[PUMPS]
 P1  J1  J2  POWER 7.5
[VALVES]
 V1  J2  J3  150  FCV  36  2
 V2  J1  J2  150  PRV  20  0
 V3  J1  J3  150  GPV  C1  0
[CURVES]
 C1  0  0
 C1  10  5
[DEMANDS]
 J2  18  PAT
 J2  -3.6
[PATTERNS]
 PAT 1 2
[TAGS]
 NODE J1 north
[COORDINATES]
 J1  5  7
[OPTIONS]
 Units  {units}
 Headloss  {headloss}
[END]
"""


def small(folder: Path, units: str = "CMH", headloss: str = "H-W") -> Path:
    file = folder / "small.inp"
    file.write_text(SMALL.format(units=units, headloss=headloss), encoding="utf-8")
    return file


def test_every_element_with_its_properties(tmp_path: Path) -> None:
    graph = read_graph(small(tmp_path))
    found = {node.id: dict(node.properties) for node in graph.nodes.values()}
    assert found == {
        "Junction J1": {"name": "J1", "elevation": 10.0, "base_demand": 36.0, "x": 5.0, "y": 7.0, "tag": "north"},
        "Junction J2": {"name": "J2", "elevation": 12.0, "base_demand": 14.4, "demand_pattern": "PAT"},
        "Junction J3": {"name": "J3", "elevation": 12.5, "base_demand": 0.0},
        "Reservoir R1": {"name": "R1", "head": 50.0},
        "Tank T1": {
            "name": "T1",
            "elevation": 30.0,
            "initial_level": 2.0,
            "min_level": 1.0,
            "max_level": 5.0,
            "diameter": 8.0,
            "min_volume": 0.0,
        },
        "Pipe 1": {
            "name": "1",
            "length": 1000.0,
            "diameter": 0.3,
            "roughness": 120.0,
            "minor_loss": 0.5,
            "status": "open",
            "check_valve": True,
        },
        "Pipe J1": {
            "name": "J1",
            "length": 500.0,
            "diameter": 0.2,
            "roughness": 110.0,
            "minor_loss": 0.0,
            "status": "closed",
            "check_valve": False,
        },
        "Pump P1": {"name": "P1", "pump_type": "power", "power": 7.5, "speed": 1.0, "status": "open"},
        "Valve V1": {
            "name": "V1",
            "valve_type": "FCV",
            "diameter": 0.15,
            "minor_loss": 2.0,
            "setting": 36.0,
            "status": "active",
        },
        "Valve V2": {
            "name": "V2",
            "valve_type": "PRV",
            "diameter": 0.15,
            "minor_loss": 0.0,
            "setting": 20.0,
            "status": "active",
        },
        "Valve V3": {
            "name": "V3",
            "valve_type": "GPV",
            "diameter": 0.15,
            "minor_loss": 0.0,
            "curve": "C1",
            "status": "active",
        },
    }
    assert "roughness" not in graph.property_units and graph.property_units["base_demand"] == "m3/h"
    assert read_ontology("water").validate(graph) == ()


def test_links_are_directed(tmp_path: Path) -> None:
    graph = read_graph(small(tmp_path))
    assert [(e.id, e.target) for e in graph.out_edges("Pipe 1")] == [
        ("Pipe 1 starts_at Reservoir R1", "Reservoir R1"),
        ("Pipe 1 ends_at Junction J1", "Junction J1"),
    ]
    assert graph.neighbours("Reservoir R1", hops=2) == {"Pipe 1": 1, "Junction J1": 2}


def test_units_are_metric_whatever_the_file_uses(tmp_path: Path) -> None:
    graph = read_graph(small(tmp_path, "GPM", "D-W"))
    assert graph.value("Junction J1", "elevation") == pytest.approx(10 * 0.3048, rel=1e-9)
    assert graph.value("Junction J1", "base_demand") == pytest.approx(36 * 3.785411784e-3 * 60, rel=1e-6)
    assert graph.value("Pipe 1", "diameter") == pytest.approx(300 * 0.0254, rel=1e-9)
    assert graph.value("Pump P1", "power") == pytest.approx(7.5 * 0.745699872, rel=1e-6)
    assert graph.property_units["roughness"] == "m"


def test_a_model_in_memory_is_read_as_it_is_now(tmp_path: Path) -> None:
    model = wntr.network.WaterNetworkModel(str(small(tmp_path)))
    model.get_link("1").length = 1200.0
    assert read_graph(model).value("Pipe 1", "length") == 1200.0


@pytest.mark.parametrize("name", ["Net1", "Net2", "Net3", "Net6", "ky4", "ky10"])
def test_networks_of_wntr(name: str) -> None:
    model = wntr.network.WaterNetworkModel(str(NETWORKS / f"{name}.inp"))
    graph = read_graph(NETWORKS / f"{name}.inp")
    counts = {
        label: len(graph.with_label(label)) for label in ("Junction", "Tank", "Reservoir", "Pipe", "Pump", "Valve")
    }
    assert counts == {
        "Junction": model.num_junctions,
        "Tank": model.num_tanks,
        "Reservoir": model.num_reservoirs,
        "Pipe": model.num_pipes,
        "Pump": model.num_pumps,
        "Valve": model.num_valves,
    }
    assert len(graph.edges) == 2 * model.num_links
    for link, pipe in model.pipes():
        assert graph.value(f"Pipe {link}", "length") == pytest.approx(pipe.length, rel=1e-11)
        ends = [e.target.split(" ", 1)[1] for e in graph.out_edges(f"Pipe {link}")]
        assert ends == [pipe.start_node_name, pipe.end_node_name]
    assert read_ontology("water").validate(graph) == ()


def message(folder: Path, text: str) -> str:
    file = folder / "bad.inp"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GraphError) as caught:
        read_graph(file)
    return str(caught.value)


def test_mistakes_are_listed_by_line(tmp_path: Path) -> None:
    text = message(
        tmp_path,
        "[JUNCTIONS]\n J1 high\n J2 5 ; a note\n"
        "[PIPES]\n P1 J1 J9 10 12 100\n P2 J1\n P3 J8 J2 10 wide 100\n P3 J1 J2 1 1 1\n",
    )
    for part in (
        "bad.inp: EPANET file cannot be read",
        "missing units in the section [OPTIONS]: add a line such as 'Units  LPS'",
        "line 2: [JUNCTIONS] 'high' of 'J1' is not a number",
        "line 5: [PIPES] 'P1' refers to 'J9', which is not a node",
        "line 6: [PIPES] row has 2 fields, needs 3",
        "line 7: [PIPES] 'P3' refers to 'J8', which is not a node",
        "line 7: [PIPES] 'wide' of 'P3' is not a number",
        "line 8: [PIPES] duplicate name 'P3' (first on line 7)",
    ):
        assert part in text, part


def test_duplicate_names_are_refused(tmp_path: Path) -> None:
    text = message(tmp_path, "[OPTIONS]\n Units CMH\n[JUNCTIONS]\n J1 1\n J1 2\n[TANKS]\n J1 1 1 1 1 1 0\n")
    assert "duplicate names" in text
    assert "line 5: [JUNCTIONS] duplicate name 'J1' (first on line 4)" in text
    assert "line 7: [TANKS] duplicate name 'J1' (first on line 4)" in text


def test_files_that_are_not_networks(tmp_path: Path) -> None:
    assert "this does not look like an EPANET file" in message(tmp_path, "hello\n")
    odd = SMALL.format(units="CMH", headloss="H-W").replace("[TAGS]", "[NONSENSE]")
    assert "EPANET file cannot be read" in message(tmp_path, odd)


def test_hanoi_has_nodes_and_pipes_of_the_same_names(published: Path) -> None:
    graph = read_graph(published / "leakdb" / "Hanoi_CMH.inp")
    assert (len(graph.with_label("Junction")), len(graph.with_label("Pipe")), len(graph.with_label("Reservoir"))) == (
        31,
        34,
        1,
    )
    assert graph.value("Reservoir 1", "head") == 100.0 and graph.value("Pipe 1", "diameter") == 1.016
    assert graph.value("Junction 2", "base_demand") == 247.22
    assert read_ontology("water").validate(graph) == ()


def test_l_town_sums_its_demand_categories(published: Path) -> None:
    graph = read_graph(published / "ltown" / "L-TOWN.inp")
    assert (len(graph.with_label("Junction")), len(graph.with_label("Pipe")), len(graph.with_label("Valve"))) == (
        782,
        905,
        3,
    )
    assert graph.value("Junction n1", "base_demand") == pytest.approx(0.0001834 * 3600)
    assert graph.value("Junction n1", "demand_pattern") == "P-Industrial"
    assert read_ontology("water").validate(graph) == ()


def test_files_that_epanet_accepts(tmp_path: Path) -> None:
    """A byte order mark, Latin-1 and section names of four letters were refused, although EPANET accepts them."""
    file = small(tmp_path)
    expected = read_graph(file).to_dict()
    text = file.read_text(encoding="utf-8")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_graph(file).to_dict() == expected
    short = (
        text.replace("[JUNCTIONS]", "[JUNC]").replace("[PIPES]", "[pipe]").replace("[COORDINATES]", " [Coor] ; here")
    )
    file.write_text(short, encoding="utf-8")
    assert read_graph(file).to_dict() == expected
    file.write_bytes(text.replace(" north", " M\u00fcnchen").encode("latin-1"))
    assert read_graph(file).value("Junction J1", "tag") == "M\u00fcnchen"


def test_files_without_a_network_are_refused(tmp_path: Path) -> None:
    """An empty file silently became an empty graph."""
    file = tmp_path / "empty.inp"
    for text in ("", "; nothing\n", "[OPTIONS]\nUnits LPS\n"):
        file.write_text(text)
        with pytest.raises(GraphError, match="no junction, reservoir or tank"):
            read_graph(file)
    file.write_text(SMALL.format(units="LPS", headloss="H-W").replace("[TAGS]", "[FLAGS]"))
    with pytest.raises(GraphError, match=r"unknown section \[FLAGS\] \(did you mean 'TAGS'\?\)"):
        read_graph(file)


NETWORK = """[JUNCTIONS]
j1 10 0
j2 10 0
[RESERVOIRS]
r1 50
[PIPES]
p1 r1 j1 100 200 100 0 CV
p2 j1 j2 100 200 100 {}
[OPTIONS]
Units LPS
Headloss H-W
[END]
"""


@pytest.mark.parametrize(
    ("fields", "check_valve", "status"),
    [("0 CV", True, "open"), ("CV ; a comment", True, "open"), ("Closed", False, "closed"), ("0 Open", False, "open")],
)
def test_the_status_of_a_pipe(tmp_path: Path, fields: str, check_valve: bool, status: str) -> None:
    """EPANET reads a status in the place of the loss coefficient; WNTR does not."""
    (tmp_path / "a.inp").write_text(NETWORK.format(fields), encoding="utf-8")
    pipe = read_graph(tmp_path / "a.inp").node("Pipe p2")
    assert (pipe.properties["check_valve"], pipe.properties["status"]) == (check_valve, status)


@pytest.mark.parametrize("fields", ["0 CV extra", "0 Closed extra"])
def test_a_pipe_with_further_fields_is_refused(tmp_path: Path, fields: str) -> None:
    """WNTR took the status of the row before: a check valve was lost, and a closed pipe became a check valve."""
    (tmp_path / "a.inp").write_text(NETWORK.format(fields), encoding="utf-8")
    with pytest.raises(GraphError, match=r"line 8: .* row of 'p2' has 9 fields, at most 8 are read: remove 'extra'"):
        read_graph(tmp_path / "a.inp")


@pytest.mark.parametrize(("old", "new"), [("j2 10", "j2 nan"), ("j2 10", "j2 1e400"), ("100 0 CV", "100 0 shut")])
def test_values_that_are_none_are_told_with_the_file(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "a.inp").write_text(NETWORK.format("0").replace(old, new), encoding="utf-8")
    with pytest.raises(GraphError, match=r"a\.inp"):
        read_graph(tmp_path / "a.inp")


def test_emitters_are_properties(tmp_path: Path) -> None:
    """WNTR gives their coefficients as numpy numbers, at which reading stopped."""
    file = small(tmp_path)
    file.write_text(file.read_text().replace("[END]", "[EMITTERS]\n J3  0.5\n[END]"), encoding="utf-8")
    coefficient = read_graph(file).value("Junction J3", "emitter_coefficient")
    assert type(coefficient) is float and coefficient > 0
