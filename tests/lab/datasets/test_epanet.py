"""The stepwise simulation against WNTR's two simulators, on WNTR's own networks and a small one of ours."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest

from thence.errors import InputError
from thence.lab.datasets.epanet import Network, Probe, SimulationError
from thence.lab.datasets.library import LIBRARY

SMALL = """
[JUNCTIONS]
 A  10  20
 B  12  30
 C  8   25
[RESERVOIRS]
 R  60
[PIPES]
 RA  R  A  500  250  120  0  Open
 AB  A  B  400  200  120  0  Open
 BC  B  C  300  150  120  0  Open
[OPTIONS]
 Units  CMH
 Headloss  H-W
[TIMES]
 Duration  0
[END]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.inp"
    file.write_text(SMALL)
    return file


def test_net3_is_solved_as_wntr_solves_it(tmp_path: Path) -> None:
    import wntr

    model = wntr.network.WaterNetworkModel(str(LIBRARY["net3"].path))
    time = model.options.time
    time.duration, time.hydraulic_timestep, time.report_timestep = 24 * 3600, 3600, 3600
    theirs = wntr.sim.EpanetSimulator(model).run_sim(file_prefix=str(tmp_path / "theirs"))
    with Network(LIBRARY["net3"].path) as network:
        nodes, links = network.nodes, network.links
        probes = [
            *(Probe("pressure", name) for name in nodes),
            *(Probe("demand", name) for name in nodes),
            *(Probe("flow", name) for name in links),
        ]
        ours = network.simulate(probes, steps=24, step_s=3600)
    pressure, demand, flow = np.split(ours, [len(nodes), 2 * len(nodes)], axis=1)
    assert np.abs(pressure - theirs.node["pressure"][list(nodes)].to_numpy()[:24]).max() < 1e-3
    assert np.abs(demand - theirs.node["demand"][list(nodes)].to_numpy()[:24] * 3600).max() < 0.05
    assert np.abs(flow - theirs.link["flowrate"][list(links)].to_numpy()[:24] * 3600).max() < 0.05


def test_a_leak_that_comes_and_goes_is_what_wntr_calls_a_leak(small: Path) -> None:
    import wntr

    steps, start, end, diameter = 12, 3, 8, 0.03
    area = math.pi * diameter**2 / 4
    coefficient = 0.75 * area * math.sqrt(2 * 9.81) * 3600
    model = wntr.network.WaterNetworkModel(str(small))
    time = model.options.time
    time.duration, time.hydraulic_timestep, time.report_timestep = steps * 1800, 1800, 1800
    model.options.hydraulic.demand_model = "PDD"
    model.options.hydraulic.required_pressure = 20
    model.get_node("B").add_leak(model, area=area, discharge_coeff=0.75, start_time=start * 1800, end_time=end * 1800)
    theirs = wntr.sim.WNTRSimulator(model).run_sim()
    with Network(small) as network:
        network.use_pressure_driven_demand(required_m=20)
        network.set_accuracy(1e-6, trials=100)
        node = network.node_index("B")

        def before(step: int) -> None:
            if step in (start, end):
                network.set_emitter(node, coefficient if step == start else 0.0)

        names = ("A", "B", "C")
        probes = [*(Probe("pressure", name) for name in names), Probe("flow", "AB"), Probe("flow", "BC")]
        ours = network.simulate(probes, steps=steps, step_s=1800, before=before)
    assert np.abs(ours[:, :3] - theirs.node["pressure"][list(names)].to_numpy()[:steps]).max() < 1e-3
    assert np.abs(ours[:, 3:] - theirs.link["flowrate"][["AB", "BC"]].to_numpy()[:steps] * 3600).max() < 0.02
    leaked = theirs.node["leak_demand"]["B"].to_numpy()[:steps] * 3600
    assert np.flatnonzero(leaked > 1).tolist() == list(range(start, end))
    assert ours[:, 3] - ours[:, 4] - 30 == pytest.approx(leaked, abs=0.02)


def test_a_junction_in_the_middle_of_a_pipe_changes_nothing_until_it_is_used(small: Path) -> None:
    probes = [Probe("pressure", "C"), Probe("flow", "AB"), Probe("flow", "RA")]
    with Network(small) as network:
        whole = network.simulate(probes, steps=2, step_s=300)
    with Network(small) as network:
        network.split_pipe("AB", junction="hole")
        series = network.replace_demand("hole")
        network.set_demand(series, np.array([0.0, 7.0]))
        split = network.simulate(probes, steps=2, step_s=300)
    assert split[0] == pytest.approx(whole[0], abs=1e-3)
    assert split[1, 1:] - whole[1, 1:] == pytest.approx([7.0, 7.0], abs=0.01)
    assert split[1, 0] < whole[1, 0]


def test_pipes_can_be_scaled_and_demands_replaced(small: Path) -> None:
    with Network(small) as network:
        assert network.demands("A")[0][0] == pytest.approx(20)
        assert (network.junctions, network.reservoirs, network.tanks) == (("A", "B", "C"), ("R",), ())
        network.set_demand(network.replace_demand("A"), np.array([5.0, 6.0, 7.0]))
        network.scale_link("BC", length=1.0, diameter=0.5, roughness=1.0)
        narrow = network.simulate([Probe("demand", "A"), Probe("pressure", "C")], steps=4, step_s=300)
    with Network(small) as network:
        wide = network.simulate([Probe("pressure", "C")], steps=1, step_s=300)
    assert narrow[:, 0] == pytest.approx([5.0, 6.0, 7.0, 5.0])
    assert narrow[0, 1] < wide[0, 0] - 5


def test_errors_name_the_file_and_the_nearest_name(small: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.inp: no such EPANET file"):
        Network(tmp_path / "absent.inp")
    with Network(small) as network, pytest.raises(InputError, match=r"no link 'ABB'.*did you mean 'AB'"):
        network.simulate([Probe("flow", "ABB")], steps=1, step_s=300)
    broken = tmp_path / "broken.inp"
    broken.write_text(SMALL.replace("AB  A  B", "AB  A  Z"))
    with pytest.raises(SimulationError, match=r"broken.inp: EPANET"), Network(broken):
        pass


def test_nothing_is_left_behind(small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch, here = tmp_path / "scratch", tmp_path / "here"
    scratch.mkdir()
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.chdir(here)
    with Network(small) as network:
        network.simulate([Probe("pressure", "A")], steps=3, step_s=300)
    assert not list(scratch.iterdir()) and not list(here.iterdir())


def test_links_that_can_switch_are_pumps_valves_and_pipes_with_a_control(small: Path) -> None:
    text = small.read_text().replace("[OPTIONS]", "[CONTROLS]\n LINK BC CLOSED IF NODE A ABOVE 90\n[OPTIONS]")
    text = text.replace("[OPTIONS]", "[VALVES]\n V  A  C  100  PRV  20  0\n[OPTIONS]")
    small.write_text(text.replace("[TIMES]", "[TIMES]\n Pattern Timestep  2:00"))
    with Network(small) as network:
        assert network.switched_links == ("BC", "V")
        assert network.pattern_step_s == 7200
        status = network.simulate([Probe("status", name) for name in ("BC", "AB")], steps=2, step_s=3600)
    assert status.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_closed_link_reads_zero(small: Path) -> None:
    open_pipe = " BC  B  C  300  150  120  0  Open"
    closed = " BD  B  A  300  150  120  0  Closed"
    small.write_text(small.read_text().replace(open_pipe, f"{open_pipe}\n{closed}"))
    with Network(small) as network:
        assert network.switched_links == ()
        status = network.simulate([Probe("status", "BD"), Probe("flow", "BD")], steps=1, step_s=3600)
    assert status[0, 0] == 0 and abs(status[0, 1]) < 1e-3
