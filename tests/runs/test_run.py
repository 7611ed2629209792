"""Run folders: what is in them, what is refused, and what a kill leaves behind."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thence as th
from thence._base.atomic import INCOMPLETE
from thence.errors import RunError
from thence.runs.run import Run, load_run


@pytest.fixture(scope="module")
def run() -> Run:
    data = th.datasets.load("toy")
    return th.mine(data, windows="1h", bins=3, enrich="none", refine=None, seed=5, progress="off")


def test_a_folder_holds_everything_and_reads_back(run: Run, tmp_path: Path) -> None:
    saved = run.save(tmp_path / "a")
    assert saved.path == tmp_path / "a"
    assert {path.name for path in saved.path.iterdir()} == {
        "config.toml",
        "discretizer.json",
        "manifest.json",
        "provenance.json",
        "rules.json",
        "rules.parquet",
        "summary.json",
    }
    back = load_run(tmp_path / "a")
    assert list(back.rules) == list(run.rules)
    assert back.rules.counts.n_both.tolist() == run.rules.counts.n_both.tolist()
    assert back.summary == saved.summary
    assert saved.summary["seconds"].keys() - run.summary["seconds"].keys() == {"write"}
    assert back.provenance == run.provenance
    assert back.config == saved.config
    assert back.discretizer is not None and run.discretizer is not None
    assert back.discretizer.to_dict() == run.discretizer.to_dict()
    assert back.table is None
    assert (back.complete, back.interrupted) == (True, False)


def test_rules_json_holds_the_first_rules_only(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.runs.run._MOST_JSON_RULES", 3)
    assert len(run.rules) > 3
    run.save(tmp_path / "a")
    assert list(load_run(tmp_path / "a").rules) == list(run.rules)
    first = th.read_rules(tmp_path / "a" / "rules.json")
    assert list(first) == list(run.rules)[:3]
    assert first.notes[-1] == f"the first 3 of {len(run.rules):,} rules; rules.parquet has all of them"
    assert load_run(tmp_path / "a").rules.notes == run.rules.notes


def test_the_summary_has_the_promised_keys(run: Run) -> None:
    promised = {"rules", "mean_support", "mean_rule_coverage", "mean_confidence", "mean_zhang", "data_coverage"}
    assert promised | {"n_transactions", "n_features", "n_items", "seconds"} <= set(run.summary)
    described = run.rules.describe()
    assert {key: run.summary[key] for key in described} == described
    assert set(run.summary["seconds"]) == {"read", "windows", "transactions", "mine", "refine"}


def test_provenance_says_versions_seed_and_hashes(run: Run) -> None:
    assert run.provenance["thence"] == th.__version__
    assert run.provenance["seed"] == 5
    assert len(run.provenance["inputs"]["table_sha256"]) == 64
    assert run.provenance["packages"]["polars"]


def test_the_bins_of_a_run_cut_later_data_alike(run: Run, tmp_path: Path) -> None:
    data = th.datasets.load("toy")
    back = load_run(run.save(tmp_path / "a").path or "")
    later = data.sensors.between("2024-01-02")
    table = th.transactions(later, data.graph, data.binding, windows="1h", like=back)
    assert run.table is not None and isinstance(run.table, th.TransactionTable)
    assert np.array_equal(table.codes, run.table.codes[24:])
    # Bins of their own would have been others.
    own = th.transactions(later, data.graph, data.binding, windows="1h", bins=3)
    assert not np.array_equal(own.codes, table.codes)


def test_an_existing_place_is_refused_unless_forced(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "a")
    with pytest.raises(RunError, match="already exists"):
        run.save(tmp_path / "a")
    fewer = replace(run, rules=run.rules.take(np.arange(3)))
    fewer.save(tmp_path / "a", force=True)
    assert len(load_run(tmp_path / "a").rules) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_force_never_replaces_what_is_not_a_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("")
    for name in ("home", "file"):
        with pytest.raises(RunError, match="not a folder that Thence wrote"):
            run.save(tmp_path / name, force=True)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


def test_a_refused_place_is_noticed_before_mining(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("")
    told: list[str] = []
    data = th.datasets.load("toy")
    with pytest.raises(RunError, match="already"):
        th.mine(data.sensors, out=tmp_path / "a", progress=lambda stage, *rest: told.append(stage))
    assert told == []


class Stored:
    """A model that writes one file."""

    def save(self, path: Path) -> None:
        (path / "weights").write_text("3.14")


def test_a_model_travels_with_the_run(run: Run, tmp_path: Path) -> None:
    assert run.model_path is None
    saved = replace(run, model=Stored()).save(tmp_path / "a")
    folder = load_run(saved.path or "").model_path
    assert folder is not None
    assert (folder / "weights").read_text() == "3.14"


def test_further_files_are_written_into_the_run(run: Run, tmp_path: Path) -> None:
    config = replace(run.config, output=replace(run.config.output, also=("rules.md", "all.json")))
    replace(run, config=config).save(tmp_path / "a")
    assert (tmp_path / "a" / "rules.md").read_text(encoding="utf-8").startswith("# Rules")
    assert len(th.read_rules(tmp_path / "a" / "all.json")) == len(run.rules)


@pytest.mark.parametrize("missing", ["summary.json", "rules.parquet", "rules.json", "config.toml", "provenance.json"])
def test_a_folder_that_lacks_something_is_incomplete(missing: str, run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "a")
    (tmp_path / "a" / missing).unlink()
    with pytest.raises(RunError, match=f"incomplete: {missing} is missing"):
        load_run(tmp_path / "a")


def test_a_marked_folder_is_incomplete_whatever_it_holds(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "a")
    (tmp_path / "a" / INCOMPLETE).write_text("")
    with pytest.raises(RunError, match="was stopped"):
        load_run(tmp_path / "a")


def test_damaged_and_foreign_folders_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no such run folder.*did you mean 'run-a'"):
        run.save(tmp_path / "run-a")
        load_run(tmp_path / "run-b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="not a run folder"):
        load_run(tmp_path / "empty")
    # Without checksums, as earlier versions wrote runs; with them, see test_checksums.py.
    (tmp_path / "run-a" / "manifest.json").unlink()
    (tmp_path / "run-a" / "rules.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(RunError, match="the rules cannot be read"):
        load_run(tmp_path / "run-a")
    (tmp_path / "run-a" / "summary.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        load_run(tmp_path / "run-a")
    (tmp_path / "run-a" / "summary.json").write_text(json.dumps({"complete": True, "format": 99}))
    with pytest.raises(RunError, match="unknown format"):
        load_run(tmp_path / "run-a")


ARGUMENTS = ["mine", "--dataset", "toy", "--windows", "30min", "--bins", "6", "--max-antecedents", "3", "--quiet"]
ARGUMENTS += ["--min-support", "0.0", "--min-confidence", "0.05", "--enrich", "none", "--all"]

# A process that has everything imported and forks a child per line of arguments: a kill then meets the run, not the
# import of Python modules. It must run nothing itself, since threads do not survive a fork.
NURSERY = """
import json, os, sys
import pyarrow.parquet
import thence.statements.files.rules_json
import thence.statements.files.rules_parquet
import thence.search.exact.miner
import thence.runs.pipeline
from thence.cli.app import app

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        app(json.loads(line), standalone_mode=False)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def start(out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "thence", *ARGUMENTS, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_whole_or_refused(folder: Path, expected: bytes) -> int:
    """Whatever a kill left: every folder is either refused or holds exactly the rules of a whole run."""
    whole = 0
    for path in folder.iterdir():
        try:
            found = load_run(path)
        except RunError as error:
            assert "incomplete" in error.message or "not a run folder" in error.message
            assert path.name.startswith("."), "a visible folder must never be refused"
            continue
        whole += 1
        assert found.complete
        assert (path / "rules.json").read_bytes() == expected
        assert len(found.rules) == json.loads(expected)["count"]
    return whole


@pytest.mark.skipif(os.name == "nt", reason="kill -9 needs a POSIX system")
def test_a_killed_run_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert start(tmp_path / "reference").wait() == 0
    duration = time.monotonic() - begin
    expected = (tmp_path / "reference" / "rules.json").read_bytes()
    rng = random.Random(20)

    # Any moment of a process of its own; tests/faults does the same many times.
    for number in range(2):
        folder = tmp_path / f"any{number}"
        folder.mkdir()
        process = start(folder / "run")
        time.sleep(rng.uniform(0, duration))
        process.kill()
        process.wait()
        check_whole_or_refused(folder, expected)

    # While the folder is being written: onto an empty place, and over a run that is there.
    caught = 0
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as nursery:
        assert nursery.stdin is not None and nursery.stdout is not None
        for number in range(6):
            folder = tmp_path / f"writing{number}"
            folder.mkdir()
            replacing = number % 2 == 1
            if replacing:
                shutil.copytree(tmp_path / "reference", folder / "run")
            nursery.stdin.write(json.dumps([*ARGUMENTS, "--out", str(folder / "run"), "--force"]) + "\n")
            child = int(nursery.stdout.readline())
            with suppress(ProcessLookupError):
                while not any(path.name.endswith(".partial") for path in folder.iterdir()):
                    os.kill(child, 0)
                    time.sleep(0.001)
                time.sleep(rng.uniform(0, 0.12))
                os.kill(child, signal.SIGKILL)
            caught += int(nursery.stdout.readline()) == signal.SIGKILL
            whole = check_whole_or_refused(folder, expected)
            if replacing:
                assert whole >= 1, "the run that was to be replaced, or the one that replaces it, must be there"
                assert load_run(folder / "run").complete
    assert caught > 0, "no kill came in time: the run is too short for this test"


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C needs a POSIX system")
def test_ctrl_c_while_writing_saves_the_run_first(tmp_path: Path) -> None:
    statuses = []
    for number in range(20):
        process = start(tmp_path / f"run{number}")
        # A draft with a file in it is being written; an empty one only tests whether the folder can be written.
        while process.poll() is None and not list(tmp_path.glob(".*.partial/*")):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        statuses.append(process.wait())
        assert load_run(tmp_path / f"run{number}").complete
        if statuses[-1] == 130:
            break
    assert set(statuses) <= {0, 130}
    assert 130 in statuses, "no signal came in time: the run is too short for this test"
