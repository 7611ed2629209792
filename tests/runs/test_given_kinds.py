"""Kinds, units and states that a user gives: they reach every sensor that they name, wherever its kind is from."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from tests.helpers.commands import fail, succeed
from thence.data.graph.records import Node
from thence.errors import ConfigError, InputError
from thence.runs.configuration import Config
from thence.runs.inputs import load_job

GRAPH = th.graph.KnowledgeGraph(
    [Node("tank", frozenset({"Tank"})), Node("J1", frozenset({"Junction"})), Node("J2", frozenset({"Junction"}))]
)
BIND = {"rule": ["{node}_{kind}", "{kind}_{node}"]}
UNITS = {"level": "m", "P_J1": "bar"}


@pytest.fixture
def readings(tmp_path: Path) -> Path:
    rows = [f"2024-01-{day:02},{day / 4},{day % 3 + 0.5},{day + 0.25}\n" for day in range(1, 29)]
    path = tmp_path / "plant.csv"
    path.write_text("time,tank_level,J2_level,P_J1\n" + "".join(rows))
    return path


def units_of(system: th.System) -> dict[str, str]:
    return {sensor.id: sensor.unit for sensor in system.sensors.sensors}


def write_graph(folder: Path) -> Path:
    path = folder / "graph.json"
    path.write_text('{"nodes": [{"id": "tank"}, {"id": "J1", "labels": ["Junction"]}, {"id": "J2"}], "edges": []}')
    return path


def test_units_act_on_kinds_that_the_graph_gives(readings: Path) -> None:
    """Units were given to sensors before these had their kinds, so that of a kind was passed over in silence."""
    wanted = {"tank_level": "m", "J2_level": "m", "P_J1": "bar"}
    for sensors in (readings, th.read_sensors(readings)):
        system = th.read_system(sensors, GRAPH, sensor_options={"units": UNITS}, bind_options=BIND)
        assert units_of(system) == wanted
    part = th.read_system(readings, GRAPH, sensor_options={"units": UNITS}, bind_options=BIND, select=["J2_level"])
    assert units_of(part) == {"J2_level": "m"}


def test_the_unit_of_a_kind_reaches_the_rules_of_the_command_line(readings: Path, tmp_path: Path) -> None:
    """``--units level=m`` of a kind that the graph gives left no trace in the run."""
    graph = write_graph(tmp_path)
    given = ["--sensors", readings, "--graph", graph, "--bind-rule", "{node}_{kind}", "--bind-rule", "{kind}_{node}"]
    succeed("import", *given, "--units", "level=m", "--units", "P_J1=bar", "--out", tmp_path / "copy")
    lines = (tmp_path / "copy" / "kinds.csv").read_text().splitlines()
    assert lines[1:] == ["tank_level,level,m", "J2_level,level,m", "P_J1,pressure,bar"]
    told = fail("mine", *given, "--units", "levl=m", "--out", tmp_path / "run")
    assert "units names 'levl', but no sensor or kind has this name (did you mean 'level'?" in told
    assert "kinds: 'level', 'pressure'; sensors: 'tank_level', 'J2_level', 'P_J1')" in told


def test_units_that_name_nothing_are_errors(readings: Path) -> None:
    """A misspelt name in units was passed over in silence, whatever was read."""
    toy, wrong = th.datasets.load("toy"), {"presure": "m"}
    for read in (
        lambda: th.read_sensors(readings, units=wrong),
        lambda: th.read_system(readings, sensor_options={"units": wrong}),
        lambda: th.read_system(toy.sensors, toy.graph, toy.binding, sensor_options={"units": wrong}),
        lambda: load_job(Config.from_mapping({"input": {"dataset": "toy", "read_sensors": {"units": wrong}}})),
    ):
        with pytest.raises(InputError, match="units names 'presure', but no sensor or kind"):
            read()


def test_units_for_several_systems_need_not_name_something_in_each(readings: Path, tmp_path: Path) -> None:
    files = {"sensors": str(readings), "graph": str(write_graph(tmp_path)), "bind": BIND}
    mapping = {"system": [{"name": "a", **files}, {"name": "b", "dataset": "toy"}]}
    shared = {"input": {"read_sensors": {"units": {"flow": "L/s", "level": "m"}}}}
    sites = load_job(Config.from_mapping(mapping | shared))
    assert [set(units_of(system).values()) for system in sites.sites] == [{"m", ""}, {"m", "L/s"}]
    shared["input"]["read_sensors"]["units"]["flwo"] = "m3/h"
    with pytest.raises(InputError, match=r"units names 'flwo'.*did you mean 'flow'"):
        load_job(Config.from_mapping(mapping | shared))


def test_what_sensors_are_can_be_said_of_readings_that_are_read_already() -> None:
    """Options beside a System, readings or a data set were passed over, even names that do not exist."""
    toy = th.datasets.load("toy")
    for given in (toy, toy.sensors):
        with pytest.raises(ConfigError, match="categorical: no column matches 'flow_AA'"):
            th.mine(given, categorical=["flow_AA"], windows="1h", progress="off")
    options = {"kinds": {"flow_AB": "stream"}, "categorical": ["flow_BC"], "ignore": ["pressure_*"]}
    system = th.read_system(toy.sensors, sensor_options=options)
    assert [(s.id, s.kind, s.categorical) for s in system.sensors.sensors] == [
        ("flow_AB", "stream", False),
        ("flow_BC", "flow", True),
    ]


def test_options_for_files_beside_a_data_set_are_errors() -> None:
    """The command line refused them, a configuration passed over them in silence."""
    for section, option in (("read_sensors", {"separator": ";"}), ("bind", {"partial": True})):
        with pytest.raises(ConfigError, match="is for files, but a data set is given"):
            Config.from_mapping({"input": {"dataset": "toy", section: option}})
    assert "--bind is for files" in fail("mine", "--dataset", "toy", "--bind", "a=b")


def test_a_data_set_instead_of_files_leaves_their_options_behind(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text("[input]\nsensors = 'a.csv'\n[input.read_sensors]\nseparator = ';'\n")
    succeed("check", job, "--dataset", "toy", "--quiet")


def test_units_of_a_run_need_not_fit_other_data(readings: Path, tmp_path: Path) -> None:
    """What a run records of its own sensors is no mistake in other data."""
    run = th.mine(
        readings, config=Config.from_mapping({"input": {"read_sensors": {"units": {"tank_level": "m"}}}}),
        bins=2, min_support=0.01, min_confidence=0.5, refine=None, progress="off", out=tmp_path / "run",
    )  # fmt: skip
    later = tmp_path / "later.csv"
    later.write_text(readings.read_text().replace("tank_level", "tower_level"))
    assert th.apply(run, later).describe()


def test_patterns_of_kinds_that_match_nothing_are_noted(readings: Path) -> None:
    data = th.read_sensors(readings, kind_pattern={"level$": "level", "flow$": "flow"})
    assert "kind_pattern matches no sensor with 'flow$'" in data.report.notes
