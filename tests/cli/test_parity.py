"""Python and the command line: what one can do, the other can, and the exceptions are listed with their reasons."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import typer

import thence as th
from tests.helpers.commands import fail
from thence.cli.app import app
from thence.cli.job import configure, read_values
from thence.cli.selection import Selection
from thence.runs.options import OPTIONS, with_options

COMMANDS: Any = typer.main.get_command(app)
MINE = {name for option in COMMANDS.commands["mine"].params for name in (*option.opts, *option.secondary_opts)}

# The options for the parameters of each function, where they are not spelled alike.
SPELLED: dict[str, dict[str, str]] = {
    "mine": {"config": "CONFIG.toml", "options": "--option", "patterns": "--pattern", "formulas": "--form"},
    "transactions": {"patterns": "--pattern"},
    "baselines.feature_table": {},
    "read_system": {
        "sensor_options": "--read-sensors",
        "graph_options": "--read-graph",
        "binding_options": "--read-binding",
        "bind_options": "--bind",
        "name": "--system",
    },
    "read_sensors": {"source": "--sensors"},
    "read_graph": {"source": "--graph"},
    "read_binding": {"source": "--binding"},
    "graph.bind": {"sensors": "--sensors", "graph": "--graph", "rule": "--bind-rule", "table": "--bind"},
}
# Keywords that are given through an option for all keywords of a function, as key=value.
THROUGH = {"read_sensors": "--read-sensors", "read_graph": "--read-graph", "read_binding": "--read-binding"}
ONLY_IN_PYTHON: dict[str, dict[str, str]] = {
    "mine": {"progress": "bars are drawn on a terminal, and --quiet switches them off"},
    "transactions": {
        "like": "another table is an object; 'thence generalise' measures rules on later readings",
        "same_system": "belongs to 'like'",
    },
    "read_system": {"labels": "labelled periods are a data frame", "name": "a run is named by its folder"},
    "baselines.feature_table": {},
    "read_sensors": {},
    "read_graph": {},
    "read_binding": {},
    "graph.bind": {},
    "filter": {"where": "a function", "more_bounds": "--bound, and the named bounds"},
}
ONLY_ON_THE_COMMAND_LINE = {
    "--json": "Python returns objects",
    "--quiet": "Python prints nothing",
    "-q": "Python prints nothing",
    "--strict": "Ontology.validate lists the violations",
    "--help-all": "help(th.mine)",
    "--all": "refine=None",
    "--refine-set": "refine={…}",
    "--set": "every keyword that is no option is a setting of the miner",
    "--no-basket": "basket=False",
    "--no-codes": "codes=False",
    "--no-confirm": "confirm=False",
    "--no-sharpen": "sharpen=False",
    "--no-laws": "laws=False",
    "--no-controls": "controls=False",
    "--no-report": "report=False",
}


def options_of(function: str) -> dict[str, str]:
    """The option for each parameter of a public function."""
    called: Callable[..., Any] = attrgetter(function)(th)
    alike = {name: f"--{name.replace('_', '-')}" for name in inspect.signature(called).parameters}
    return {name: SPELLED[function].get(name, option) for name, option in alike.items()}


@pytest.mark.parametrize("function", SPELLED)
def test_every_parameter_has_an_option(function: str) -> None:
    for name, option in options_of(function).items():
        if name in ONLY_IN_PYTHON[function]:
            continue
        assert option in MINE | {"CONFIG.toml", "--system"} or function in THROUGH, f"th.{function}({name}=…): {option}"


@pytest.mark.parametrize("function", THROUGH)
def test_keywords_of_readers_can_all_be_given(function: str) -> None:
    for name in list(inspect.signature(attrgetter(function)(th)).parameters)[1:]:
        values = read_values({"sensors": ["a.csv"], function: [f"{name}=1"]})
        assert getattr(with_options(th.Config(), values).input, function) == {name: 1}
    with pytest.raises(th.errors.ConfigError, match="laout"):
        configure(None, {"sensors": ["a.csv"], "read_sensors": ["laout=wide"]})


def test_every_option_has_a_parameter() -> None:
    known = {option for function in SPELLED for option in options_of(function).values()} | set(THROUGH.values())
    unknown = {name for name in MINE if name.startswith("-")} - known - ONLY_ON_THE_COMMAND_LINE.keys()
    assert not unknown, "give these to a function, or say why not in ONLY_ON_THE_COMMAND_LINE"


def test_no_exception_is_out_of_date() -> None:
    assert ONLY_ON_THE_COMMAND_LINE.keys() <= MINE | {"--system"}
    for function, names in ONLY_IN_PYTHON.items():
        called = th.RuleSet.filter if function == "filter" else attrgetter(function)(th)
        assert names.keys() <= inspect.signature(called).parameters.keys(), function


def test_every_option_sets_something_that_a_configuration_file_can_set() -> None:
    config = th.Config()
    for option in OPTIONS:
        for path in option.places:
            section, _, key = path.partition(".")
            assert section in {field.name for field in fields(config)}, option.name
            if section not in ("seed", "miner", "system") and key:
                assert key.partition(".")[0] in {field.name for field in fields(getattr(config, section))}, option.name


def test_every_setting_of_a_configuration_file_has_an_option() -> None:
    reachable = {path for option in OPTIONS for path in option.places}
    tables = tuple(path for path in reachable if path.endswith("."))
    for section in fields(th.Config()):
        if section.name in ("seed", "miner", "system", "known"):
            continue
        for field in fields(getattr(th.Config(), section.name)):
            path = f"{section.name}.{field.name}"
            inside = any(one.startswith(f"{path}.") for one in reachable)
            assert path in reachable or inside or path.startswith(tables), path


@pytest.mark.parametrize("command", ["show", "export"])
def test_rules_are_selected_alike_in_python_and_on_the_command_line(command: str) -> None:
    options = {name for option in COMMANDS.commands[command].params for name in option.opts}
    for name in inspect.signature(th.RuleSet.filter).parameters:
        if name not in ("self", *ONLY_IN_PYTHON["filter"]):
            assert {"bounds": "--bound"}.get(name, f"--{name}") in options
    assert {"--top", "--by"} <= options
    # Reviews belong to the run: run.reviewed_rules(…).
    assert {field.name for field in fields(Selection)} - {"top", "by", "reviewed"} <= set(
        inspect.signature(th.RuleSet.filter).parameters
    )


def test_options_reach_the_configuration() -> None:
    given: dict[str, Any] = {
        "sensors": ["a.csv"],
        "graph": ["g.json"],
        "ignore": ["*_flag"],
        "time": "when",
        "time_format": "%d/%m/%y",
        "timezone": "Europe/Berlin",
        "kinds": ["a=flow", 'b=["level", "m"]'],
        "units": ["flow=m³/h"],
        "categorical": ["pump*"],
        "read_sensors": ["on_error=repair", "decimal=','"],
        "read_graph": ["fold=false"],
        "bind": ["a=n=1", "b = 7"],
        "bind_rule": ["{node}_{kind}"],
        "partial": True,
        "origin": "2024-01-01",
        "enrich": "lifted",
        "properties": ["length"],
        "edges": True,
        "min_embeddings": 2,
        "max_embeddings": 50,
        "bin_edges": ["flow=[1, 2]"],
        "fit_until": "2024-02-01",
        "consequent": "flow",
        "antecedent": "level",
        "refine": False,
    }
    config = configure(None, given)
    assert config.input.read_sensors == {
        "ignore": ["*_flag"],
        "time": "when",
        "time_format": "%d/%m/%y",
        "timezone": "Europe/Berlin",
        "kinds": {"a": "flow", "b": ["level", "m"]},
        "units": {"flow": "m³/h"},
        "categorical": ["pump*"],
        "on_error": "repair",
        "decimal": ",",
    }
    assert config.input.read_graph == {"fold": False}
    # Ids stay text, even if they look like numbers, and the last '=' separates them.
    assert config.input.bind == {"table": {"a=n": "1", "b": "7"}, "rule": "{node}_{kind}", "partial": True}
    assert (config.windows.origin, config.windows.timezone) == ("2024-01-01", "Europe/Berlin")
    enrich = config.enrich
    assert (enrich.properties, enrich.edges, enrich.min_embeddings, enrich.max_embeddings) == (("length",), True, 2, 50)
    assert (dict(config.discretize.bin_edges), config.discretize.fit_until) == ({"flow": (1, 2)}, "2024-02-01")
    assert {name: config.miner.settings[name] for name in ("consequent", "antecedent")} == {
        "consequent": "flow",
        "antecedent": "level",
    }
    assert config.refine.apply is False


def test_a_file_of_kinds_starts_at_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = configure(None, {"sensors": ["a.csv"], "kinds": ["kinds.csv"]})
    assert config.input.read_sensors["kinds"] == str(tmp_path / "kinds.csv")
    with pytest.raises(th.errors.ConfigError, match="--kinds takes one file, or sensor=kind"):
        configure(None, {"sensors": ["a.csv"], "kinds": ["kinds.csv", "a=flow"]})


def test_options_add_to_tables_of_a_file(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        "[input]\nsensors = 'a.csv'\n[input.read_sensors]\ntimezone = 'UTC'\n[input.bind.table]\na = 'x'\nb = 'y'\n"
        "[refine]\nsignificance = 0.05\nby = 'lift'\n"
    )
    config = configure(job, {"time": "when", "bind": ["b=z"]})
    assert config.input.read_sensors == {"timezone": "UTC", "time": "when"}
    assert config.input.bind == {"table": {"a": "x", "b": "z"}}
    assert config.refine.significance == 0.05
    # All rules, whatever steps the file asks for; their order is no step.
    config = configure(job, {"refine": False})
    assert (config.refine.apply, config.refine.significance, config.refine.by) == (False, None, "lift")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--time", "when"], "--time is for files, but --dataset is given (leave out --time)"),
        (["--all", "--cover", "1"], "--all keeps all rules, but --cover selects some (leave out --all or --cover)"),
        (["--all", "--digest", "9"], "--all keeps all rules, but --digest selects some"),
        (["--ignore", "flow_AA"], "no sensor has this name (did you mean 'flow_AB'?)"),
        (["--bin-edges", "flow=3"], "--bin-edges takes KIND=[NUMBER,…], got 'flow=3'"),
        (["--option", "days"], "--option takes key=value, got 'days'"),
    ],
)
def test_options_that_cannot_be_followed_are_errors(flags: list[str], message: str, tmp_path: Path) -> None:
    assert message in fail("mine", "--dataset", "toy", *flags, "--out", tmp_path / "run")


def test_ignore_leaves_out_sensors_of_a_data_set(tmp_path: Path) -> None:
    from thence.runs.inputs import load_system

    ids = load_system(configure(None, {"dataset": "toy", "ignore": ["flow*"]}).input).sensors.ids
    assert ids
    assert not any(name.startswith("flow") for name in ids)
