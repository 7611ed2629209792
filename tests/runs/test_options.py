"""The table of options: the configuration, the keywords of Python and the command line are the same, made from it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import typer

import thence as th
from tests.helpers.commands import fail, succeed
from thence.cli.app import app
from thence.cli.job import configure
from thence.language.patterns import Pattern
from thence.runs.configuration import SECTIONS
from thence.runs.options import (
    COMMON,
    OPTIONS,
    OTHER_DEFAULTS,
    FeatureOptions,
    MineOptions,
    Option,
    TableOptions,
    alternatives,
    with_options,
)
from tools.options_page import PAGE, page

COMMANDS: Any = typer.main.get_command(app)
IN_PYTHON = [option for option in OPTIONS if option.in_python]
# Keywords of ``mine`` that also take objects, so that they are parameters of its own.
OBJECTS = ("sensors", "graph", "binding", "ontology", "miner", "executor", "refine")
KEYWORDS = {"mine": MineOptions, "transactions": TableOptions, "baselines.feature_table": FeatureOptions}


def stored(annotation: Any) -> set[Any]:
    """The types of a keyword as the configuration stores them: sequences as tuples, paths and patterns as texts."""
    out: set[Any] = set()
    for one in alternatives(annotation):
        origin, inner = get_origin(one), get_args(one)
        if origin in (Iterable, Sequence, tuple):
            out.add((tuple, *(stored(inner[0]))))
        elif origin is Mapping:
            out.add((Mapping, *(stored(inner[1]))))
        else:
            out.add(str if one in (Path, Pattern) else one)
    return out - {type(None)}


@pytest.mark.parametrize("option", [one for one in IN_PYTHON if one.name not in OBJECTS], ids=lambda one: one.name)
def test_a_keyword_has_the_type_of_its_setting(option: Option) -> None:
    typed = stored(get_type_hints(MineOptions)[option.name])
    if typed != {Any}:  # a constraint or known rules, which are objects too
        assert stored(option.type) <= typed
        # One name stands for a list of one.
        assert typed - stored(option.type) <= {str}


def test_all_three_have_the_same_names() -> None:
    listed = {option.name for option in IN_PYTHON}
    assert listed == {*get_type_hints(MineOptions), *OBJECTS}
    assert listed <= inspect.signature(th.mine).parameters.keys()
    flags = {flag for option in OPTIONS for flag in option.flags}
    for command in ("mine", "check"):
        known = {flag for one in COMMANDS.commands[command].params for flag in (*one.opts, *one.secondary_opts)}
        assert flags <= known
        assert known - flags <= {"config", "--strict", "--json", "--quiet", "-q", "--help-all"}


@pytest.mark.parametrize("function", KEYWORDS)
def test_functions_show_the_defaults_of_the_configuration(function: str) -> None:
    shown = inspect.signature(attrgetter(function)(th)).parameters
    other = OTHER_DEFAULTS["transactions"] if function != "mine" else {}
    for option in OPTIONS:
        section, _, name = option.places[0].partition(".")
        if option.name in KEYWORDS[function].__annotations__ and section in SECTIONS and "." not in name:
            # The settings of miners are no fields of their section.
            default = option.default if section == "miner" else getattr(getattr(th.Config(), section), name, None)
            assert (shown[option.name].default or {}) == (other.get(option.name, default) or {}), option.name


def test_every_setting_of_a_section_is_declared_with_help() -> None:
    for cls in SECTIONS.values():
        for one in fields(cls):
            assert one.metadata["help"], one.name
            assert not one.metadata["help"].endswith("."), one.name


def sample(option: Option) -> tuple[Any, list[str]]:
    """A value of an option in Python, and the same on the command line."""
    special: dict[str, tuple[Any, list[str]]] = {
        "bin_edges": ({"flow": [1, 2]}, ["flow=[1,2]"]),
        "also": (["rules.md"], ["rules.md"]),
        "formulas": (["power = k * flow"], ["power = k * flow"]),
        "known": (["a < 3 => b = on"], ["a < 3 => b = on"]),
        "executor": ("local", ["local"]),
        "timezone": ("Europe/Berlin", ["Europe/Berlin"]),
        "memory_limit": ("2GiB", ["2GiB"]),
        "derive": ("change", ["change"]),
        "enrich": ("grounded", ["grounded"]),
        "miner": ("aerial", ["aerial"]),
        "empty": ("keep", ["keep"]),
        "by": ("lift", ["lift"]),
        "out": (str(Path("a").absolute()), ["a"]),
        "patterns": ("stars", ["stars"]),
        "read_sensors": ({"on_error": "repair"}, ["on_error=repair"]),
        "read_graph": ({"format": "rdf"}, ["format=rdf"]),
        "read_binding": ({"format": "csv"}, ["format=csv"]),
    }
    if option.name in special:
        return special[option.name]
    kinds = alternatives(option.type)
    if option.is_switch:
        return True, []
    if any(get_origin(one) is Mapping for one in kinds):
        return {"a": "b"}, ["a=b"]
    if option.is_listed:
        return "a", ["a"]
    return (0.5, ["0.5"]) if float in kinds else (2, ["2"]) if int in kinds else ("a", ["a"])


# A similarity is a setting of neural miners only, and the others need folders or data sets.
ALIKE = [one for one in IN_PYTHON if one.name not in ("similarity", "system", "dataset", "options", "address", "force")]


@pytest.mark.parametrize("option", ALIKE, ids=lambda one: one.name)
def test_python_and_the_command_line_give_the_same_configuration(
    option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    value, texts = sample(option)
    seen: list[th.Config] = []
    # What the command line has read, without mining.
    monkeypatch.setattr("thence.cli.job.Config.check", lambda config: seen.append(config) or config)
    job = COMMANDS.commands["mine"]
    other = [] if option.name == "sensors" else ["--sensors", "a.csv"]
    context = job.make_context("mine", [*other, option.flags[0], *texts])
    given = {one.name: context.params[one.name] for one in OPTIONS}
    configure(None, {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()})
    source = {} if option.name == "sensors" else {"sensors": "a.csv"}
    assert seen[-1] == with_options(th.Config(), {**source, option.name: value})
    assert seen[-1] != with_options(th.Config(), source) or option.name in ("executor", "report")


def test_mine_takes_what_the_command_line_takes(tmp_path: Path) -> None:
    found = th.mine(
        dataset="toy",
        windows="1h",
        aggregate="max",
        digest=7,
        by="lift",
        out=tmp_path / "run",
        also="rules.md",
        report=False,
        progress="off",
    )
    assert found.config.windows.aggregate == "max"
    assert (found.config.refine.digest, found.config.refine.by) == (7, "lift")
    assert len(found.rules) <= 7
    assert (tmp_path / "run" / "rules.md").is_file()


def test_transactions_and_mine_read_the_same_options() -> None:
    toy = th.datasets.load("toy")
    table = th.transactions(toy, windows="1h", bin_edges={"flow": [5.0]}, aggregate={"flow": "max"}, derive="change")
    mined = th.mine(
        toy, windows="1h", bin_edges={"flow": [5.0]}, aggregate={"flow": "max"}, derive="change", enrich="none",
        progress="off",
    )  # fmt: skip
    assert mined.discretizer is not None
    assert mined.discretizer.binnings.keys() == table.discretizer.binnings.keys()  # type: ignore[union-attr]


def test_auto_is_the_enrichment_for_the_data() -> None:
    toy = th.datasets.load("toy")
    assert th.transactions(toy, windows="1h", enrich="auto").blocks[0].pattern is not None
    assert th.transactions(toy.sensors, windows="1h", enrich="auto").blocks[0].pattern is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "'top' must be at least 1, got 0"),
        ({"digest": -1}, "'digest' must be at least 0, got -1"),
        ({"hops": -1}, "'hops' must be at least 0, got -1"),
        ({"cover": 2}, "'cover' must lie between 0 and 1, got 2"),
        ({"significance": 0.0}, "'significance' must lie between 0 and 1, got 0.0"),
        ({"bins": "many"}, "'bins' must be an integer, got 'many'"),
        ({"empty": "lose"}, "'empty' must be one of 'drop', 'keep', got 'lose'"),
        ({"method": ""}, "'method' must not be empty"),
        ({"derive": 3}, "'derive' must be a name or a list of names, got 3"),
        ({"also": "summary.json"}, "which every run writes itself"),
    ],
)
def test_values_that_are_not_allowed_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(th.errors.ConfigError, match=message.replace(".", r"\.")):
        th.mine(th.datasets.load("toy"), progress="off", **options)


def test_the_page_of_the_guide_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.options_page"


def pages(command: str) -> tuple[str, str]:
    return succeed(command, "--help"), succeed(command, "--help-all")


@pytest.mark.parametrize("command", ["mine", "check", "apply", "detect", "generalise", "compare", "import"])
def test_help_is_short_unless_all_is_asked_for(command: str) -> None:
    short, everything = pages(command)
    for option in OPTIONS:
        flag = option.flags[0]
        if any(flag in one.opts for one in COMMANDS.commands[command].params):
            assert flag in everything
            assert flag in short or option.name not in COMMON
    assert "--sensors" in short
    assert "--time-format" not in short
    assert "--help-all" in short


def test_the_help_of_mine_shows_about_a_dozen() -> None:
    assert 12 <= len(COMMON) <= 16
    assert "--hops" not in pages("mine")[0]
    # The options of other commands that are called like one of the table are their own.
    assert "--hops" in pages("generalise")[0]


def test_a_misspelt_option_is_named_though_it_is_not_on_the_short_page() -> None:
    assert "--time-format" in fail("mine", "--time-formt", "x", code=2)
