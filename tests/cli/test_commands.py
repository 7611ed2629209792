"""Every command: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import thence as th
from tests.helpers.commands import TOY, fail, succeed, thence
from tests.helpers.processes import PATIENCE
from thence._base.atomic import INCOMPLETE
from thence.cli.app import app
from thence.cli.check import _combinations
from thence.cli.options import parse_assignments
from thence.errors import ConfigError
from thence.statements.files import find_format

COMMANDS = ("demo", "mine", "check", "show", "export", "generalise", "compare", "reproduce")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    succeed("mine", *TOY, "--enrich", "none", "--all", "--out", folder, "--quiet")
    return folder


@pytest.fixture(scope="module")
def count(run: Path) -> int:
    """The number of rules in the run."""
    return len(th.load_run(run).rules)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "toy"
    succeed("datasets", "make", "toy", "--out", folder, "--quiet")
    return folder


def test_mine_says_what_came_out_and_where(tmp_path: Path) -> None:
    flags = ["--enrich", "none", "--all", "--min-confidence", "0.9", "--top", "7"]
    out = succeed("mine", *TOY, *flags, "--out", tmp_path / "a")
    run = th.load_run(tmp_path / "a")
    assert f"thence show {tmp_path / 'a'}" in out
    assert f"7 of {run.summary['rules_found']:,} found" in out
    assert "if the pressure sensor in Junction" in out
    assert len(run.rules) == 7 < run.summary["rules_found"]


def test_generalise_reports_wholly_unseen_places_and_no_number_where_no_rule_applied() -> None:
    """Coverage was 0 where rules cannot apply, and hidden places next to seen ones were counted as unseen."""
    options = ("--dataset", "toy", "--enrich", "none", "--unseen", "0.4", "--min-support", "0.05")
    found = json.loads(succeed("generalise", *options, "--json"))
    assert (found["split"], found["choose"]) == ("region", "seen")
    unseen = found["modes"]["none"]["wholly_unseen"]
    assert unseen["places"] == found["wholly_unseen_nodes"]
    assert (unseen["coverage"], unseen["covered"]) == (None, 0)
    assert "wholly unseen" in succeed("generalise", *options, "--choose", "transductive")


def test_what_is_sure_is_kept_and_shown(tmp_path: Path) -> None:
    out = succeed("mine", *TOY, "--out", tmp_path / "a", "--min-confidence", "0.7", "--assurance", "0.9")
    assert "assured" in out
    rules = th.load_run(tmp_path / "a").rules
    assert len(rules) > 0
    assert rules.measure("assured_confidence").min() >= 0.7
    plain = succeed("mine", *TOY, "--out", tmp_path / "b", "--min-confidence", "0.7")
    assert "assured" not in plain


def test_an_assurance_in_per_cent_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    told = fail("mine", "--sensors", tmp_path / "nowhere.csv", "--assurance", "95")
    assert "[refine]: assurance must be at least 0.5 and below 1, got 95" in told


def test_a_neural_miner_keeps_its_promise_through_refinement(tmp_path: Path) -> None:
    succeed("mine", *TOY, "--out", tmp_path / "a", "--miner", "aerial", "--refine", "--similarity", "0.6", "--quiet")
    rules = th.load_run(tmp_path / "a").rules
    assert len(rules) > 0
    assert rules.measure("assured_confidence").min() >= 0.6


def test_mine_as_json_is_the_summary(tmp_path: Path) -> None:
    told = json.loads(succeed("mine", *TOY, "--out", tmp_path / "a", "--json"))
    assert told["path"] == str(tmp_path / "a")
    assert told["rules"] == len(th.load_run(tmp_path / "a").rules)
    assert {"mean_support", "data_coverage", "seconds", "complete"} <= set(told)


def test_mine_is_quiet_when_told(tmp_path: Path) -> None:
    assert succeed("mine", *TOY, "--out", tmp_path / "a", "--quiet") == ""


def test_mine_twice_gives_the_same_bytes_and_other_seeds_do_not_matter_to_exact(tmp_path: Path) -> None:
    for name, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        succeed("mine", *TOY, "--out", tmp_path / name, "--seed", seed, "--quiet")
    contents = {(tmp_path / name / "rules.json").read_bytes() for name in "abc"}
    assert len(contents) == 1


def test_mine_from_files_and_from_a_configuration_agree(files: Path, tmp_path: Path) -> None:
    flags = ["--windows", "1h", "--bins", "3", "--enrich", "grounded", "--quiet"]
    succeed("mine", files / "config.toml", *flags, "--out", tmp_path / "config")
    sources = ["--sensors", files / "sensors.parquet", "--graph", files / "graph.json"]
    sources += ["--binding", files / "binding.csv", "--ontology", files / "ontology.json"]
    reader, kinds = tmp_path / "reader.toml", files / "kinds.csv"
    reader.write_text(f"[input.read_sensors]\nkinds = '{kinds}'\n")
    succeed("mine", reader, *sources, *flags, "--out", tmp_path / "flags")
    assert (tmp_path / "config" / "rules.json").read_bytes() == (tmp_path / "flags" / "rules.json").read_bytes()
    recorded = th.load_run(tmp_path / "flags").provenance["inputs"]
    assert recorded["sensors"][0]["path"] == str(files / "sensors.parquet")


def test_flags_set_what_their_names_say(tmp_path: Path) -> None:
    flags = ["--windows", "2h", "--aggregate", "max", "--derive", "hour", "--derive", "change", "--bins", "4"]
    flags += ["--scope", "sensor", "--method", "width", "--enrich", "grounded", "--hops", "1", "--miner", "exact"]
    flags += ["--min-support", "0.2", "--min-confidence", "0.7", "--max-antecedents", "1", "--seed", "4"]
    flags += [
        "--set",
        "max_rules=1000",
        "--top",
        "9",
        "--by",
        "lift",
        "--also",
        "rules.md",
        "--start",
        "2024-01-01T06:00",
    ]
    flags += ["--end", "2024-01-02", "--select", "flow_AB", "--select", "pressure_A"]
    succeed("mine", "--dataset", "toy", *flags, "--out", tmp_path / "a", "--quiet")
    config = th.load_run(tmp_path / "a").config
    assert (config.windows.every, config.windows.aggregate, config.windows.derive) == ("2h", "max", ("hour", "change"))
    assert (config.discretize.bins, config.discretize.scope, config.discretize.method) == (4, "sensor", "width")
    assert (config.enrich.mode, config.enrich.hops, config.seed) == ("grounded", 1, 4)
    assert config.miner.settings == {
        "max_antecedents": 1,
        "min_support": 0.2,
        "min_confidence": 0.7,
        "context_consequents": False,
        "max_rules": 1000,
        "on_limit": "raise",
        "denominator": "present",
        "device": "cpu",
    }
    assert (config.refine.top, config.refine.by, config.output.also) == (9, "lift", ("rules.md",))
    assert (config.input.start, config.input.end) == ("2024-01-01T06:00", "2024-01-02")
    assert config.input.select == ("flow_AB", "pressure_A")
    assert (tmp_path / "a" / "rules.md").is_file()


def test_a_neural_miner_leaves_its_model_and_the_same_rules_twice(tmp_path: Path) -> None:
    flags = ["--miner", "aerial", "--similarity", "0.6", "--set", "epochs=3", "--set", "near=2", "--seed", "5"]
    for name in ("a", "b"):
        succeed("mine", *TOY, *flags, "--out", tmp_path / name, "--quiet")
    assert (tmp_path / "a" / "rules.json").read_bytes() == (tmp_path / "b" / "rules.json").read_bytes()
    run = th.load_run(tmp_path / "a")
    assert run.model_path is not None
    assert any(run.model_path.iterdir())
    assert (run.config.miner.settings["seed"], run.config.miner.settings["near"]) == (5, 2)


def test_refining_by_flags(tmp_path: Path) -> None:
    counts = {}
    for name, flags in (("all", ["--all"]), ("worth", []), ("told", ["--refine"]), ("cover", ["--cover", "1"])):
        told = json.loads(succeed("mine", *TOY, "--enrich", "none", *flags, "--out", tmp_path / name, "--json"))
        counts[name] = told["rules"]
        assert told["rules_found"] == counts["all"]
        assert (told["refine"] is None) == (name == "all")
    assert counts["all"] > counts["worth"] == counts["told"] > counts["cover"] > 0


def test_patterns_are_a_word_or_texts(tmp_path: Path) -> None:
    one, two = "(f:flow)-[in]->(p:Pipe)", "(g:pressure)-[in]->(j:Junction)"
    for name, flags, expected in (
        ("stars", ["--pattern", "stars"], "stars"),
        ("one", ["--pattern", one], one),
        ("two", ["--pattern", one, "--pattern", two], (one, two)),
    ):
        succeed("mine", *TOY, "--enrich", "lifted", *flags, "--out", tmp_path / name, "--quiet")
        assert th.load_run(tmp_path / name).config.enrich.patterns == expected


def test_options_override_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('[input]\ndataset = "toy"\n[windows]\nevery = "1h"\n[miner]\nname = "exact"\nmin_support = 0.3\n')
    succeed("mine", path, "--bins", "3", "--min-support", "0.2", "--out", tmp_path / "a", "--quiet")
    config = th.load_run(tmp_path / "a").config
    assert (config.windows.every, config.discretize.bins, config.miner.settings["min_support"]) == ("1h", 3, 0.2)


def test_another_source_replaces_that_of_the_configuration(files: Path, tmp_path: Path) -> None:
    told = json.loads(succeed("check", files / "config.toml", "--dataset", "toy", "--json"))
    assert told["sensors"]["sensors"] == 5


def test_an_existing_run_is_refused_and_then_replaced(tmp_path: Path) -> None:
    succeed("mine", *TOY, "--out", tmp_path / "a", "--quiet")
    assert "already exists" in fail("mine", *TOY, "--out", tmp_path / "a")
    succeed("mine", *TOY, "--out", tmp_path / "a", "--force", "--top", "3", "--quiet")
    assert len(th.load_run(tmp_path / "a").rules) == 3


def test_without_out_runs_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        succeed("mine", *TOY, "--quiet")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["toy", "toy-2", "toy-3"]


def test_ctrl_c_keeps_what_was_found_and_exits_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    def stop(stage: str, *rest: Any) -> None:
        if stage.startswith("mining"):
            raise KeyboardInterrupt

    monkeypatch.setattr("thence._base.progress.bars", lambda enabled: nullcontext(stop))
    told = fail("mine", *TOY, "--out", tmp_path / "a", code=130)
    assert "thence: interrupted: only the rules found so far are returned" in told
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert (summary["complete"], summary["interrupted"]) == (False, True)
    assert "This run was interrupted" in succeed("show", tmp_path / "a")


def test_ctrl_c_that_a_library_swallows_comes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swallow(*rest: Any, **more: Any) -> None:
        @ctypes.CFUNCTYPE(None)
        def called_back() -> None:
            raise KeyboardInterrupt

        called_back()  # ctypes cannot raise what its callback raises
        time.sleep(PATIENCE)

    monkeypatch.setattr("thence.runs.pipeline.load_job", swallow)
    usual = sys.unraisablehook
    assert fail("mine", *TOY, "--out", tmp_path / "a", code=130) == "thence: interrupted\n"
    assert sys.unraisablehook is usual
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turned into an error"])
def test_ctrl_c_before_mining_leaves_nothing_and_exits_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turned: bool
) -> None:
    def stop(*rest: Any, **more: Any) -> None:
        if turned:  # as Python does while a class is made
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("thence.runs.pipeline.load_job", stop)
    assert fail("mine", *TOY, "--out", tmp_path / "a", code=130) == "thence: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_show_prints_a_table_of_rules(run: Path, count: int) -> None:
    out = succeed("show", run, "--top", "2")
    assert "confidence" in out
    assert f"2 of {count} matching rules, {count} in the run" in out
    assert "(flow_AB:flow).value" in succeed("show", run, "--top", "3", "--text", "--by", "support")


def test_show_filters(run: Path, count: int) -> None:
    rules = th.load_run(run).rules
    expected = rules.filter(min_confidence=0.95, min_lift=1.5, kind="flow", consequent="pressure_C", max_support=0.3)
    flags = ["--min-confidence", "0.95", "--min-lift", "1.5", "--kind", "flow", "--consequent", "pressure_C"]
    told = json.loads(succeed("show", run, *flags, "--bound", "max_support=0.3", "--top", "0", "--json"))
    assert told["matching"] == len(expected) > 0
    assert [rule["english"] for rule in told["rules"]] == [rule.english for rule in expected.top(len(expected))]
    assert told["summary"]["complete"] is True
    some = json.loads(succeed("show", run, "--feature", "flow_BC", "--antecedent", "pressure_A", "--json"))
    assert 0 < some["matching"] < count
    bounds = ["--min-support", "0.3", "--min-zhang", "0.9"]
    strong = rules.filter(min_support=0.3, min_zhang=0.9)
    assert json.loads(succeed("show", run, *bounds, "--json"))["matching"] == len(strong) > 0


def test_show_orders_by_any_measure(run: Path) -> None:
    told = json.loads(succeed("show", run, "--by", "lift", "--json"))
    lifts = [rule["lift"] for rule in told["rules"]]
    assert lifts == sorted(lifts, reverse=True)
    assert "did you mean 'lift'" in fail("show", run, "--by", "lif")


def test_show_refuses_what_is_not_a_whole_run(run: Path, tmp_path: Path) -> None:
    assert "no such run folder" in fail("show", tmp_path / "none")
    assert "not a run folder" in fail("show", tmp_path)
    (tmp_path / INCOMPLETE).write_text("")
    assert "incomplete" in fail("show", tmp_path)


@pytest.mark.parametrize("suffix", ["json", "parquet", "csv", "md", "rq", "ttl"])
def test_export_writes_every_format(suffix: str, run: Path, tmp_path: Path) -> None:
    target = tmp_path / f"rules.{suffix}"
    told = json.loads(succeed("export", run, "--to", target, "--top", "5", "--json"))
    assert told == {"path": str(target), "format": find_format(target).name, "rules": 5, "left_out": 0}
    assert target.stat().st_size > 0


def test_export_selects_and_takes_options(run: Path, tmp_path: Path) -> None:
    out = succeed(
        "export", run, "--to", tmp_path / "x", "--format", "parquet", "--bound", "min_confidence=0.99", "--kind", "flow"
    )
    assert "rules as parquet" in out
    assert th.read_rules(tmp_path / "x", format="parquet").measure("confidence").min() >= 0.99
    succeed("export", run, "--to", tmp_path / "m.rq", "--option", "find=matches", "--top", "2", "--quiet")
    assert "!(" not in (tmp_path / "m.rq").read_text()
    assert "does not take these options" in fail("export", run, "--to", tmp_path / "y.csv", "--option", "finds=1")
    assert "no format has the suffix '.docx'" in fail("export", run, "--to", tmp_path / "y.docx")


def test_check_explains_without_mining(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(
        succeed("check", files / "config.toml", "--windows", "1h", "--bins", "3", "--enrich", "grounded", "--json")
    )
    assert told["sensors"]["sensors"] == 5
    assert told["graph"] == {"nodes": 5, "edges": 4}
    assert told["ontology"]["breaches"] == []
    assert told["binding"] == {"bound": 5, "nodes": 5, "left_out": {}}
    assert told["windows"]["count"] == 48
    assert told["table"]["features"] == 17
    sizes = _sizes()
    pairs = sum(a * b for i, a in enumerate(sizes) for b in sizes[i + 1 :])
    assert told["search"]["antecedents"] == sum(sizes) + pairs
    assert told["output"] == {"path": str(tmp_path / "runs" / "sensors"), "exists": False}
    assert list(tmp_path.iterdir()) == []
    text = succeed("check", *TOY)
    assert "48 of 1h" in text
    assert "the graph conforms to it" in text
    assert succeed("check", *TOY, "--quiet") == ""


def _sizes() -> list[int]:
    data = th.datasets.load("toy")
    table = th.transactions(data.sensors, data.graph, data.binding, windows="1h", bins=3, enrich="grounded")
    return [column.n_codes for column in table.blocks[0].columns]


def test_the_number_of_antecedents_is_counted_right() -> None:
    assert _combinations([2, 3, 4], 1) == 9
    assert _combinations([2, 3, 4], 2) == 9 + 6 + 8 + 12
    assert _combinations([2, 3, 4], 3) == 9 + 26 + 24
    assert _combinations([3, 3, 3], 2) == 9 + 27
    assert _combinations([5], 3) == 5
    assert _combinations([], 2) == 0


def test_check_lists_breaches_and_fails_when_strict(files: Path, tmp_path: Path) -> None:
    graph = json.loads((files / "graph.json").read_text())
    graph["nodes"][0]["labels"] = ["Junktion"]
    graph["nodes"][1]["properties"]["colour"] = "red"
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    sources = ["--sensors", files / "sensors.parquet", "--graph", tmp_path / "graph.json"]
    sources += ["--binding", files / "binding.csv", "--ontology", files / "ontology.json"]
    out = succeed("check", *sources)
    assert "Junktion" in out
    assert "colour" in out
    assert "violates its ontology" in fail("check", *sources, "--strict")
    assert "violates its ontology" in fail("mine", *sources, "--strict", "--out", tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_check_names_what_is_wrong_with_the_inputs(files: Path, tmp_path: Path) -> None:
    assert "nowhere.csv" in fail("check", "--sensors", tmp_path / "nowhere.csv")
    (tmp_path / "binding.csv").write_text("sensor,node\nflow_AB,Pipe XY\n")
    sources = ["--sensors", files / "sensors.parquet", "--graph", files / "graph.json"]
    told = fail("check", *sources, "--binding", tmp_path / "binding.csv", "--enrich", "grounded")
    assert "flow_AB" in told
    assert "pressure_C" in told


def test_datasets_list_info_and_make(files: Path, tmp_path: Path) -> None:
    assert "net3" in succeed("datasets", "list")
    listed = json.loads(succeed("datasets", "list", "--json"))
    assert [one["name"] for one in listed] == list(th.datasets.names())
    assert "options:" in succeed("datasets", "show", "hanoi")
    assert json.loads(succeed("datasets", "show", "hanoi", "--json"))["options"]["days"] == 365
    assert "5 sensors" in succeed("datasets", "make", "toy")
    told = json.loads(succeed("datasets", "make", "toy", "--out", tmp_path / "toy", "--json"))
    assert set(told["files"]) == {"binding", "config", "dataset", "graph", "kinds", "labels", "ontology", "sensors"}
    assert "already exists" in fail("datasets", "make", "toy", "--out", tmp_path / "toy")
    succeed("datasets", "make", "toy", "--out", tmp_path / "toy", "--force", "--quiet")
    assert "did you mean 'toy'" in fail("datasets", "show", "tyo")
    assert "has no option 'days'" in fail("datasets", "make", "toy", "--option", "days=3")


def test_a_data_set_as_files_is_the_same_data_set(files: Path) -> None:
    data = th.datasets.load("toy")
    back = th.read_sensors(files / "sensors.parquet", kinds=files / "kinds.csv")
    assert back.to_polars().equals(data.sensors.to_polars())
    assert back.sensors == data.sensors.sensors
    graph = th.read_graph(files / "graph.json")
    assert graph.nodes == data.graph.nodes
    assert graph.edges == data.graph.edges
    assert graph.property_units == data.graph.property_units
    ontology = th.read_ontology(files / "ontology.json")
    assert ontology.classes == data.ontology.classes
    assert ontology.relations == data.ontology.relations
    assert ontology.properties == data.ontology.properties
    assert th.read_binding(files / "binding.csv") == data.binding


def test_mistakes_are_one_line_and_exit_1(tmp_path: Path) -> None:
    assert fail("mine") == "thence: no input is given (pass a CONFIG.toml, --dataset NAME or --sensors FILE)\n"
    assert "did you mean 'toy'" in fail("mine", "--dataset", "toyy")
    assert "did you mean 'min_support'" in fail("mine", "--dataset", "toy", "--set", "min_suport=0.1")
    assert "--set takes key=value" in fail("mine", "--dataset", "toy", "--set", "min_support")
    assert "did you mean 'grounded'" in fail("mine", "--dataset", "toy", "--enrich", "grouned")
    assert "no setting 'similarity'" in fail("mine", "--dataset", "toy", "--similarity", "0.8")
    (tmp_path / "job.toml").write_text("[windows]\nevry = '1h'\n")
    told = fail("mine", tmp_path / "job.toml")
    assert (
        told == f"thence: {tmp_path / 'job.toml'}, line 2, [windows]: unknown setting 'evry' (did you mean 'every'?)\n"
    )


def test_wrong_usage_exits_2() -> None:
    assert "No such option" in fail("mine", "--bogus", code=2)
    assert "No such command" in fail("mien", code=2)
    assert "--bins" in fail("mine", "--dataset", "toy", "--bins", "many", code=2)
    assert "Missing" in fail("show", code=2)


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    result = thence("--debug", "show", tmp_path / "none")
    assert isinstance(result.exception, th.errors.RunError)


@pytest.mark.parametrize(
    "command",
    [[], *([one] for one in COMMANDS), ["datasets"], *(["datasets", one] for one in ("list", "show", "get", "make"))],
)
def test_every_command_and_every_option_has_help(command: list[str]) -> None:
    out = succeed(*command, "--help")
    known: Any = typer.main.get_command(app)
    for name in command:
        known = known.commands[name]
    assert known.help
    assert [option.name for option in known.params if not option.help] == []
    assert "Usage: " in out
    if command and command != ["datasets"]:
        assert "--json" in out
        assert succeed(*command, "-h") == out


def test_the_help_shows_the_defaults_that_hold() -> None:
    out = " ".join(succeed("mine", "--help-all").replace("│", " ").split())
    config = th.Config()
    holds = {
        "windows": config.windows.every,
        "aggregate": config.windows.aggregate,
        "enrich": config.enrich.mode,
        "method": config.discretize.method,
        "miner": config.miner.name,
        "seed": config.seed,
        "empty": config.windows.empty,
        "digest": config.refine.most,
        "executor": config.executor.name,
        "origin": config.windows.origin,
        "timezone": config.windows.timezone,
        "pattern": config.enrich.patterns,
        "min-embeddings": config.enrich.min_embeddings,
        "max-embeddings": config.enrich.max_embeddings,
        "hold": config.windows.hold,
        "max-antecedents": th.Exact().max_antecedents,
        "max-consequents": config.refine.max_consequents,
    }
    told = dict(re.findall(r"--([a-z-]+) <[a-z\[\]]+> [^<]*?\(default: (\w+)\)", out))
    assert told.pop("no-sharpen") == "no"
    told.pop("address")  # the default is a variable of the environment
    assert told == {option: str(value) for option, value in holds.items()}


def test_the_version_is_printed() -> None:
    assert succeed("--version") == f"thence {th.__version__}\n"


def test_values_on_the_command_line_are_toml_or_text() -> None:
    given = ["a=1", "b=0.5", "c=true", "d=[1, 2]", "e=plain text", 'f="quoted"', "g={kind='flow'}", "h=x=y"]
    assert parse_assignments(given, flag="--set") == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": [1, 2],
        "e": "plain text",
        "f": "quoted",
        "g": {"kind": "flow"},
        "h": "x=y",
    }
    with pytest.raises(ConfigError, match="--set takes key=value"):
        parse_assignments(["=3"], flag="--set")


def test_the_demo_twice_gives_the_same_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wntr", reason="the demo simulates a water network with the extra 'water'")
    monkeypatch.chdir(tmp_path)
    out = succeed("demo")
    assert re.search(r"^ *8\.? +for ", out, flags=re.MULTILINE)
    assert f"The run is in {tmp_path / 'runs' / 'demo'}" in out
    first = (tmp_path / "runs" / "demo" / "rules.json").read_bytes()
    told = json.loads(succeed("demo", "--json", "--out", tmp_path / "other"))
    assert (tmp_path / "other" / "rules.json").read_bytes() == first
    assert len(told["rules"]) == 10
    assert told["summary"]["enrichment"] == "lifted"


def real(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "thence", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_as_a_process_of_its_own(run: Path, count: int, tmp_path: Path) -> None:
    shown = real("show", run, "--top", "1")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"1 of {count} matching rules" in shown.stdout
    failed = real("show", tmp_path / "none")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("thence: ")
    assert failed.stderr.count("\n") == 1
    assert "Traceback" in real("--debug", "show", tmp_path / "none").stderr
    assert real("mine", "--bogus").returncode == 2


def test_a_closed_pipe_is_not_an_error(run: Path) -> None:
    command = f"{sys.executable} -m thence show {run} --top 0 --json | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("{\n", "", 0)


def test_completion_can_be_installed() -> None:
    # The variable makes typer take the shell as an argument instead of asking which one this process runs in.
    environment = {"PATH": "/usr/bin:/bin", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = real("--show-completion", "bash", env=environment)
    assert "complete" in script.stdout


GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"


def test_the_options_of_the_guide_are_those_of_the_command() -> None:
    command: Any = typer.main.get_command(app)
    options = {name for option in command.commands["mine"].params for name in option.opts if name.startswith("--")}
    pages = (GUIDE, GUIDE.with_name("options.md"))
    told = {flag for page in pages for flag in re.findall(r"--[a-z][a-z-]+", page.read_text(encoding="utf-8"))}
    assert options <= told, "not in the guide"


def test_the_configuration_of_the_guide_is_valid_and_complete(tmp_path: Path) -> None:
    first, second = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    path = tmp_path / "job.toml"
    path.write_text(first, encoding="utf-8")
    config = th.Config.from_toml(path)
    told = tomllib.loads(first)
    for section in fields(config):
        if section.name not in ("seed", "miner", "system", "known"):
            own = {field.name for field in fields(getattr(config, section.name))}
            own -= {"dataset", "options", "read_graph", "read_binding", "force", "target", "basket"}
            assert own == set(told[section.name]), section.name
    path.write_text(second, encoding="utf-8")
    assert th.Config.from_toml(path).input.dataset == "net3"


def test_check_says_how_long_windows_will_be_and_how_many_rules_there_are(tmp_path: Path) -> None:
    # It said "96 of auto".
    flags = ["--dataset", "toy", "--enrich", "none", "--bins", "5", "--all"]
    told = succeed("check", *flags, "--out", tmp_path / "a")
    assert "96 of 30min" in told
    assert "the step of all sensors" in told
    found = json.loads(succeed("mine", *flags, "--out", tmp_path / "a", "--json"))["rules_found"]
    assert f"{found:,} to be found, before refinement" in told


def test_check_and_mine_take_a_table_of_rows(tmp_path: Path) -> None:
    # 'check' asked for a time column, which 'mine' did without.
    sizes = [(7 * n) % 13 + 0.5 for n in range(400)]
    rows = ["size,shape,class", *(f"{x},{'flat' if x > 9 else 'round'},{'a' if x < 6 else 'b'}" for x in sizes)]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    flags = ["--sensors", tmp_path / "rows.csv", "--target", "class", "--out", tmp_path / "a"]
    assert "400 transactions × 3 features" in succeed("check", *flags, "--strict")
    told = json.loads(succeed("check", *flags, "--json"))
    assert told.keys() == {"table", "search", "output"}
    succeed("mine", *flags, "--quiet")
    rules = th.load_run(tmp_path / "a").rules
    assert len(rules) > 0
    assert {rule.consequent.feature.subject for rule in rules} == {"class"}
