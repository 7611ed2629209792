"""th.health, thence check, and mining without unhealthy readings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import thence as th
from thence.cli.app import app
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import Edge, KnowledgeGraph, Node
from thence.runs.preparation import prepare

N = 1200


def frame(*, stuck: bool = True) -> pl.DataFrame:
    """A room, its heating and the outdoor air; the room's sensor holds its value from the half on."""
    rng = np.random.default_rng(0)
    outdoor = np.round(5 + 5 * np.sin(np.arange(N) * 2 * np.pi / 96) + 0.2 * rng.normal(size=N), 2)
    heating = np.round(40 - 2 * outdoor + rng.normal(size=N), 1)
    room = np.round(20 + 0.1 * outdoor + 0.05 * rng.normal(size=N), 2)
    if stuck:
        room[600:] = room[599]
    start = pl.datetime(2024, 1, 1, time_zone="UTC")
    times = pl.datetime_range(start, start + pl.duration(minutes=15 * (N - 1)), "15m", eager=True)
    return pl.DataFrame({"time": times, "room": room, "heating": heating, "outdoor": outdoor})


def test_health_of_a_frame() -> None:
    found = th.health(frame())
    assert [(one.sensor, one.what, one.readings) for one in found] == [("room", "stuck", 601)]
    assert len(th.health(frame(stuck=False))) == 0


def test_points_without_data_and_series_without_a_point() -> None:
    nodes = [Node("AHU", frozenset({"AHU"}))]
    nodes += [Node(name, frozenset({"Air_Temperature_Sensor"})) for name in ("T1", "T2", "T3")]
    edges = [Edge(f"e{node.id}", "AHU", node.id, frozenset({"hasPoint"})) for node in nodes[1:]]
    data = th.SensorData.from_wide(frame(stuck=False))
    binding = Binding({"room": "T1", "heating": "T2"}, left_out={"outdoor": "no node has this name"})
    found = th.health(th.System(data.select(["room", "heating"]), KnowledgeGraph(nodes, edges), binding))
    listed = {(one.sensor, one.what) for one in found}
    assert ("T3", "no data") in listed and ("T1", "no data") not in listed


def test_several_systems() -> None:
    sites = []
    for name in ("north", "south"):
        node = Node("R", frozenset({"Room"}))
        data = th.SensorData.from_wide(frame(stuck=name == "south"))
        sites.append(th.System(data, KnowledgeGraph([node]), Binding(dict.fromkeys(data.ids, "R")), name=name))
    (found,) = th.health(sites)
    assert found.sensor == "south/room" and found.what == "stuck"


@pytest.mark.parametrize("keep", [False, True])
def test_unhealthy_readings_are_left_out_of_mining_unless_they_are_kept(keep: bool) -> None:
    run = th.mine(frame(), keep_unhealthy=keep, confirm=False, progress="off")
    column = [sensor.id for sensor in run.readings.numeric].index("room")
    assert np.isnan(run.readings.values[600:, column]).all() != keep
    notes = [note for note in run.summary["notes"] if "cannot be trusted" in note]
    assert bool(notes) != keep
    assert run.config.windows.keep_unhealthy == keep
    if not keep:
        assert run.summary["health"][0]["sensor"] == "room"
        assert "room holds" in notes[0]


def test_later_readings_are_checked_as_they_are() -> None:
    """What is stuck now must break rules, not vanish from them."""
    run = th.mine(frame(stuck=False), confirm=False, progress="off")
    later = prepare(th.System(th.SensorData.from_wide(frame())), run).readings
    assert not np.isnan(later.values).any() and later.health == ()


def test_check_has_a_section_of_health(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "readings.csv")
    arguments = ["check", "--sensors", str(tmp_path / "readings.csv")]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "1 stuck" in " ".join(shown.output.split())
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [(one["sensor"], one["what"]) for one in found["health"]] == [("room", "stuck")]


def test_rules_are_applied_to_readings_in_another_unit() -> None:
    def readings(unit: str) -> th.SensorData:
        data = frame(stuck=False)
        if unit == "°F":
            data = data.with_columns((pl.col("room", "outdoor") * 1.8 + 32).round(2))
        kinds = {"room": ("room temperature", unit), "outdoor": ("outdoor temperature", unit)}
        return th.SensorData.from_wide(data).with_kinds({**kinds, "heating": ("power", "kW")})

    run = th.mine(readings("°C"), scope="kind", confirm=False, progress="off")
    assert len(run.rules)
    plain, other = (th.transactions(readings(unit), like=run) for unit in ("°C", "°F"))
    assert plain.n_rows == other.n_rows
    assert str(th.apply(run, readings("°F"))).splitlines()[1] == str(th.apply(run, readings("°C"))).splitlines()[1]
