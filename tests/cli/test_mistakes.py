"""Mistakes on the command line: found before the work, told in one line, and never passed over in silence."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import thence as th
from tests.helpers.commands import TOY, fail, succeed, thence
from thence._base.atomic import require_writable
from thence.cli.screen import console, print_error, print_rules
from thence.runs.configuration import Config


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    succeed("mine", *TOY, "--out", folder, "--quiet")
    return folder


def test_a_seed_overrides_that_of_a_recorded_configuration(tmp_path: Path) -> None:
    # The seed that a run records for its miner stayed, so another --seed gave the same rules in silence.
    small = ["--miner", "ts-narm", "--set", "evaluations=300", "--set", "population=30"]
    succeed("mine", *TOY, *small, "--seed", "0", "--out", tmp_path / "a", "--quiet")
    succeed("mine", tmp_path / "a" / "config.toml", "--seed", "5", "--out", tmp_path / "b", "--quiet")
    succeed("mine", *TOY, *small, "--seed", "5", "--out", tmp_path / "c", "--quiet")
    succeed("mine", tmp_path / "a" / "config.toml", "--out", tmp_path / "d", "--quiet")
    rules = {name: (tmp_path / name / "rules.json").read_bytes() for name in "abcd"}
    assert rules["a"] != rules["b"] == rules["c"]
    assert rules["a"] == rules["d"]
    again = th.mine(config=th.load_run(tmp_path / "a").config, seed=5, progress="off")
    assert list(again.rules) == list(th.load_run(tmp_path / "b").rules)


def test_another_enrichment_has_its_own_scope(tmp_path: Path) -> None:
    succeed("mine", *TOY, "--enrich", "grounded", "--out", tmp_path / "a", "--quiet")
    succeed("mine", tmp_path / "a" / "config.toml", "--enrich", "lifted", "--out", tmp_path / "b", "--quiet")
    assert th.load_run(tmp_path / "b").config.discretize.scope == "sensor"


@pytest.mark.parametrize("command", ["mine", "check"])
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--by", "zang"], "unknown measure 'zang' (did you mean 'zhang'?)"),
        (["--also", "rules.xyz"], "'also' names 'rules.xyz': no format has the suffix '.xyz'"),
        (["--also", "summary.json"], "which every run writes itself"),
        (["--cover", "2"], "'cover' must lie between 0 and 1"),
        (["--significance", "2"], "'significance' must lie between 0 and 1"),
        (["--seed", "-1"], "'seed' must be an integer >= 0"),
        (["--hops", "-1"], "'hops' must be at least 0"),
        (["--hops", "2"], "the enrichment 'none' does not use 'hops' (only grounded, lifted use it)"),
        (["--pattern", "(x:Pip"], "(x:Pip"),
        (["--enrich", "groundd"], "unknown enrichment 'groundd' (did you mean 'grounded'?)"),
        (["--set", "denominator=foo"], "unknown denominator 'foo'"),
        (["--set", "min_support=abc"], "min_support must be a finite number, got 'abc'"),
        (["--set", "bounds=3"], "'bounds' must be a table, got 3"),
    ],
)
def test_wrong_settings_are_found_before_anything_is_read(
    flags: list[str], message: str, command: str, tmp_path: Path
) -> None:
    # Several of these were found when all rules had been mined, which lost them, and 'check' passed them.
    assert message in fail(command, "--sensors", tmp_path / "nowhere.csv", *flags)


def test_a_place_that_cannot_be_written_is_found_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told = fail("mine", "--sensors", tmp_path / "nowhere.csv", "--out", tmp_path / "file" / "run")
    assert str(tmp_path / "file") in told
    assert "nowhere" not in told
    fail("mine", "--sensors", tmp_path / "nowhere.csv", "--out", tmp_path / "new" / "deep" / "run")
    assert not (tmp_path / "new").exists()
    assert "cannot be written" in succeed("check", *TOY, "--out", tmp_path / "file" / "run")
    assert "cannot be written" not in succeed("check", *TOY, "--out", tmp_path / "new" / "deep" / "run")


def test_runs_side_by_side_do_not_take_each_other_s_folder_away(tmp_path: Path) -> None:
    """Looking for room made the parents and removed them again, under the feet of another run."""
    (tmp_path / "runs").mkdir()
    require_writable(tmp_path / "runs" / "a")
    assert (tmp_path / "runs").is_dir()
    require_writable(tmp_path / "other" / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


def test_a_scope_that_was_given_counts_with_any_enrichment(tmp_path: Path) -> None:
    """A scope that the enrichment before would have had anyway was taken for one that nobody gave."""
    config = tmp_path / "c.toml"
    config.write_text('[input]\ndataset = "toy"\n[windows]\nevery = "1h"\n[discretize]\nbins = 3\nscope = "kind"\n')
    succeed("mine", config, "--enrich", "lifted", "--out", tmp_path / "a")
    assert th.load_run(tmp_path / "a").config.discretize.scope == "kind"
    succeed("mine", "--dataset", "toy", "--windows", "1h", "--bins", "3", "--out", tmp_path / "b")
    succeed("mine", tmp_path / "b" / "config.toml", "--enrich", "lifted", "--out", tmp_path / "c")
    assert th.load_run(tmp_path / "c").config.discretize.scope == "sensor"


def test_lifted_rules_are_ordered_and_bounded_by_all_their_columns(tmp_path: Path) -> None:
    lifted = ("mine", *TOY, "--enrich", "lifted", "--by", "confidence_low", "--out", tmp_path / "a")
    succeed(*lifted)
    assert len(th.load_run(tmp_path / "a").rules)


@pytest.mark.parametrize(
    "flags", [["--assurance", "0.95", "--by", "assured_confidence"], ["--significance", "0.05", "--by", "p_adjusted"]]
)
def test_no_rules_can_be_ordered_by_a_column_that_only_rules_have(flags: list[str], tmp_path: Path) -> None:
    succeed("mine", *TOY, "--min-support", "0.9", *flags, "--out", tmp_path / "a")
    assert len(th.load_run(tmp_path / "a").rules) == 0


@pytest.mark.parametrize("command", ["mine", "check"])
def test_a_period_without_readings_is_an_error(command: str, tmp_path: Path) -> None:
    told = fail(command, *TOY, "--start", "2030-01-01", "--out", tmp_path / "a")
    assert "there are no readings from 2030-01-01 on" in told
    assert not (tmp_path / "a").exists()


def test_check_lists_every_repair(tmp_path: Path) -> None:
    # Findings with one name overwrote each other, so of many sensors one was told.
    rows = "".join(f"2024-01-01T{h:02}:00,{','.join(str(h + s) if h else '' for s in range(24))}\n" for h in range(6))
    (tmp_path / "wide.csv").write_text("time," + ",".join(f"s{s}_flow" for s in range(24)) + "\n" + rows)
    out = succeed("check", "--sensors", tmp_path / "wide.csv", "--windows", "1h")
    assert all(re.search(rf"^  missing +1 s{s}_flow", out, re.MULTILINE) for s in range(20))
    assert "and 4 more" in out


def test_compare_says_why_a_method_failed(tmp_path: Path) -> None:
    # It printed dashes, gave no reason and ended well.
    both = ["--dataset", "toy", "--windows", "1h", "--method", "exact", "--method", "fpgrowth"]
    assert "exact: bins must be an integer between" in fail("compare", *both, "--bins", "0")
    assert "FP-Growth: the published parameters" in succeed("compare", *both, "--bins", "3")
    assert "no such folder" in fail("compare", *both, "--csv", tmp_path / "none" / "x.csv")
    assert "no such folder" in fail("compare", *both, "--plot", tmp_path / "none" / "x.html")
    assert "cannot be written as '.pdf'" in fail("compare", *both, "--plot", tmp_path / "x.pdf")


def test_values_of_the_wrong_kind_are_one_line(run: Path, tmp_path: Path) -> None:
    assert "takes a number, got 'abc'" in fail("show", run, "--bound", "min_confidence=abc")
    assert "takes a number, got ''" in fail("export", run, "--to", tmp_path / "x.csv", "--bound", "min_confidence=")
    assert "'seed' must be" in fail("datasets", "make", "net3", "--option", "seed=-1")
    assert "'days' must be an integer" in fail("datasets", "make", "net3", "--option", "days=abc")
    assert "a single ASCII character" in fail("export", run, "--to", tmp_path / "x.csv", "--option", "separator=;;")
    assert "'limit' must be" in fail("export", run, "--to", tmp_path / "x.md", "--option", "limit=abc")
    assert "--other-option is given without --other" in fail("generalise", "--dataset", "toy", "--other-option", "a=1")
    fail("compare", "--dataset", "toy", "--seed", "-1", code=2)
    assert "seed must be an integer" in fail("generalise", "--dataset", "toy", "--seed", "-1")


def test_a_damaged_run_is_one_line(run: Path, tmp_path: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    lacking = {name: value for name, value in summary.items() if name != "notes"}
    damages: dict[str, tuple[str, Any]] = {
        "bins": ("discretizer.json", {}),
        "keys": ("summary.json", lacking),
        "format": ("summary.json", {**summary, "format": "x"}),
    }
    for name, (file, content) in damages.items():
        shutil.copytree(run, tmp_path / name)
        (tmp_path / name / file).write_text(json.dumps(content))
        assert f"{tmp_path / name / file}: " in fail("show", tmp_path / name)


def test_kinds_are_found_in_any_case(run: Path) -> None:
    assert succeed("show", run, "--kind", "PRESSURE") == succeed("show", run, "--kind", "pressure")
    assert "no rule is about 'presure' (did you mean 'pressure'?)" in fail("show", run, "--kind", "presure")


def test_names_that_the_data_do_not_have_are_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        "[input]\ndataset = 'toy'\n[enrich]\nmode = 'none'\n[discretize]\nbin_edges = { presure = [20, 35] }\n"
    )
    assert "'bin_edges' are given for 'presure', which has no bins (did you mean 'pressure'?)" in fail("check", job)
    job.write_text("[input]\ndataset = 'toy'\n[enrich]\nmode = 'grounded'\nproperties = ['lenght']\n")
    assert "no node or edge of the graph has a property 'lenght' (did you mean 'length'?)" in fail("check", job)
    job.write_text("[input]\ndataset = 'toy'\n[enrich]\nmode = 'lifted'\n[discretize]\nbin_edges = { flow = [20] }\n")
    assert "set scope = 'kind'" in fail("check", job)


def test_a_folder_of_readings_may_be_called_water(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = th.datasets.load("toy")
    (tmp_path / "water").mkdir()
    data.sensors.to_polars().write_csv(tmp_path / "water" / "a.csv")
    monkeypatch.chdir(tmp_path)
    succeed("check", "--sensors", "water", "--quiet")
    run = th.mine("water", bins=2, windows="6h", progress="off")
    assert run.config.input.sensors == str(tmp_path / "water")


def test_a_hint_for_python_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,a_flow\n2024-01-01T00,1\n2024-01-01T00,2\n")
    assert "; on the command line: --read-sensors on_error=repair" in fail("check", "--sensors", tmp_path / "a.csv")


def test_rules_are_readable_on_a_narrow_screen(capsys: pytest.CaptureFixture[str]) -> None:
    # The column of the rule was 7 characters wide, since that of every number keeps its width.
    job = {"input": {"dataset": "toy"}, "windows": {"every": "1h"}, "discretize": {"bins": 3}}
    rules = th.mine(config=Config.from_mapping(job), enrich="lifted", confirm=False, progress="off").rules.top(2)
    for width in (40, 80, 200):
        screen = console()
        screen.width = width
        print_rules(screen, rules)
        lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
        assert max(map(len, lines)) <= width
        sentences = [line for line in lines if "every" in line]
        assert all(len(line) > min(30, width - 10) for line in sentences), lines


def real(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m thence"
    text = command.replace("thence", program, 1)
    return subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(run: Path) -> None:
    for flag in ("", "--json"):
        done = real(f"thence show {run} {flag} > /dev/full")
        assert done.returncode == 1
        assert done.stderr == "thence: standard output: No space left on device\n"


def test_a_reader_that_has_enough_is_no_failure(run: Path) -> None:
    # Rich ends the program with an error when a pipe is closed.
    done = real(f"set -o pipefail; thence show {run} -n 0 | head -1")
    assert (done.returncode, done.stderr) == (0, "")


def test_colours_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("typer.echo", lambda text, err: shown.append(text))
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_error("no")
    monkeypatch.setenv("NO_COLOR", "1")
    print_error("no")
    assert shown == ["\x1b[31mno\x1b[0m", "no"]


def test_ctrl_c_during_refinement_keeps_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("thence.runs.pipeline.refine_rules", stop)
    flags = ["--significance", "0.05", "--by", "p_adjusted", "--out", tmp_path / "a"]
    result = thence("mine", *TOY, *flags)
    assert result.exit_code == 130
    kept = th.load_run(tmp_path / "a")
    assert kept.interrupted
    assert len(kept.rules) == kept.summary["rules_found"] > 0
    assert "interrupted: these are the rules before refinement" in kept.summary["notes"]
    assert any("no column p_adjusted" in note for note in kept.summary["notes"])


@pytest.mark.parametrize("command", ["mine", "check"])
def test_force_without_a_place_is_an_error(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It was ignored: a new numbered folder was written beside the run that was meant to be replaced.
    monkeypatch.chdir(tmp_path)
    assert "--force replaces the run at --out, which is not given (pass --out FOLDER" in fail(command, *TOY, "--force")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["show"], ["export", "--to", "rules.csv"]])
def test_a_negative_number_of_rules_is_wrong_usage(command: list[str], run: Path) -> None:
    # -1 meant all rules.
    name, *flags = command
    assert "greater than or equal to 0" in fail(name, run, *flags, "--top", "-1", code=2)


def test_output_into_a_pipe_respects_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, width in (("60", 60), ("", 200), ("wide", 200), ("0", 200)):
        monkeypatch.setenv("COLUMNS", given)
        assert console().width == width
    monkeypatch.delenv("COLUMNS")
    assert console().width == 200


def test_files_in_the_wrong_place_are_told_where_they_belong(run: Path, tmp_path: Path) -> None:
    """A file of readings as the configuration was called TOML that is not valid, and a file no such run folder."""
    readings, empty = tmp_path / "plant.csv", tmp_path / "empty.csv"
    readings.write_text("time,a\n2024-01-01,1.5\n2024-01-02,2.5\n")
    empty.write_text("")
    (tmp_path / "empty.ttl").write_text("")
    sensors = ("--sensors", readings)
    for command, told in (
        (("mine", readings), f"a configuration file ends in .toml (for readings, pass --sensors {readings})"),
        (("apply", run, readings), f"(for readings, pass --sensors {readings})"),
        (("mine", run), f"(pass {run / 'config.toml'})"),
        (("show", readings), "plant.csv: a file, not a run folder"),
        (("show", tmp_path), "not a run folder (give a folder that 'thence mine' wrote)"),
        (("check", "--sensors", empty), "empty.csv: no rows (check that it is the right file)"),
        (("check", *sensors, "--kinds", empty), "the file of kinds has no column 'sensor'; it is empty"),
        (("check", *sensors, "--graph", tmp_path / "empty.ttl"), "no node in this RDF, which has no triples"),
    ):
        assert told in fail(*command)


def test_every_command_refuses_files_that_are_missing_empty_or_of_another_kind(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "page.pdf").write_bytes(b"%PDF-1.4")
    folders = [tmp_path / name for name in ("nowhere", "empty.csv", "page.pdf")]
    files = [tmp_path / name for name in ("nowhere.csv", "empty.csv", "page.pdf")]
    out = tmp_path / "out"
    for folder in folders:
        for command in ("show", "report", "review", "verify"):
            fail(command, folder)
        fail("export", folder, "--to", tmp_path / "x.csv")
        fail("apply", folder, "--dataset", "toy")
    for file in files:
        for command in (["mine", "--out", out], ["check"], ["import", "--out", out], ["apply", run], ["generalise"]):
            fail(*command, "--sensors", file)
        fail("report", run, "--applied", file)
        fail("report", run, "--detected", file)
        fail("detect", "--dataset", "toy", "--detector", file)
