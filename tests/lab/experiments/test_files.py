"""Experiment files: they are valid, have the published numbers, and mistakes in them are reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thence.errors import ConfigError
from thence.lab.experiments.files import (
    FOLDER,
    METRICS,
    Parameters,
    experiment_names,
    parse_experiment,
    read_experiment,
    read_setup,
)
from thence.lab.experiments.procedures import PROCEDURES

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "records" / "experiments.md"


@pytest.mark.parametrize("name", experiment_names())
def test_file_is_valid(name: str) -> None:
    experiment = read_experiment(name)
    assert experiment.id == name
    assert experiment.claims
    assert isinstance(experiment.resolve_parameters(), Parameters)
    assert isinstance(experiment.resolve_parameters(quick=True), Parameters)


def test_published_numbers_are_complete() -> None:
    # Rows of the tables of the paper: 4 rows × 3 data sets, 5 optimisers × 3 numbers, and so on.
    counts = {name: len(read_experiment(name).published) for name in experiment_names()}
    assert counts.pop("ablation") == counts.pop("complexity") == 0
    assert counts == {"1.1": 12, "1.2": 0, "2.1": 15, "2.2": 21, "3": 15, "4": 36, "5": 40, "6": 3}


@pytest.mark.parametrize(
    ("name", "dataset", "row", "at", "metric", "value"),
    [
        ("1.1", "hanoi", "Aerial w-s", None, "support", 0.54),
        ("1.1", "lbnl-ahu", "FP-Growth wo-s", None, "rule_coverage", 0.75),
        ("2.1", "hanoi", "LSHADE", 50_000, "seconds", 981.07),
        ("2.2", "ltown", "Exhaustive", None, "zhang", -0.18),
        ("2.2", "hanoi", "Exhaustive", None, "rules", 103_283),
        ("3", "lbnl-ahu", "Aerial w-s", 0.9, "data_coverage", 0.71),
        ("4", "hanoi", "FP-Growth w-s", 15, "rules", 130_000),
        ("5", "ltown", "jDE", 1_000, "confidence", 0.5),
        ("6", "lbnl-ahu", "ARM-AE", None, "zhang", -0.41),
    ],
)
def test_published_number(name: str, dataset: str, row: str, at: float | None, metric: str, value: float) -> None:
    found = [p for p in read_experiment(name).published if (p.dataset, p.row, p.at) == (dataset, row, at)]
    assert [line.values[metric] for line in found] == [value]


def test_shares_are_between_0_and_1() -> None:
    for name in experiment_names():
        for line in read_experiment(name).published:
            for metric, value in line.values.items():
                if metric in ("support", "rule_coverage", "confidence", "data_coverage"):
                    assert 0 <= value <= 1, (name, line)


def test_two_tables_of_the_paper_agree_where_they_overlap() -> None:
    quality = {(p.dataset, p.row): p for p in read_experiment("2.2").published}
    for line in read_experiment("4").published:
        if line.at == 20 and line.row == "Aerial w-s":
            assert quality[line.dataset, "Aerial"].rules == line.rules
            assert quality[line.dataset, "Aerial"].support == line.support


def test_every_parameter_is_used_by_a_procedure_and_described_in_the_guide() -> None:
    used = {name for procedure in PROCEDURES.values() for name in procedure.uses}
    assert used == set(Parameters.__dataclass_fields__)
    described = set(re.findall(r"^\| `(\w+)` \|", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert described >= used


def test_guide_states_the_defaults() -> None:
    common, _ = read_setup()
    text = GUIDE.read_text(encoding="utf-8")
    for name, value in common.items():
        if isinstance(value, (int, float)):
            row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
            stated = row.split("|")[2].strip().replace(",", "").replace("_", "")
            assert float(stated) == float(value), row


BASE = (FOLDER / "6.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "ARM-AE"', 'titel = "ARM-AE"', "unknown setting 'titel'"),
        ('work = ["arm-ae"]', 'work = ["arm-ea"]', "did you mean 'arm-ae'"),
        ('metrics = ["rules",', 'metrics = ["rulez",', "unknown value 'rulez' of 'metrics'"),
        ('test = "at-most"', 'test = "at-moost"', "unknown 'test' 'at-moost'"),
        ('metric = "zhang"', 'metric = "zang"', "unknown 'metric' 'zang'"),
        ('dataset = "ltown"', 'dataset = "hanoi"', "'published' has duplicates: hanoi, ARM-AE, None"),
        ('dataset = "ltown"', 'dataset = "leakdb"', "unknown value 'leakdb' of 'published'"),
        ("rules = 4400", 'rules = "many"', "'rules' must be"),
        ('id = "dissociated"', 'id = "not-confident"', "'claims' has duplicates: not-confident"),
        ("training_rows = 5_000", "trainings_rows = 5_000", "'training_rows'"),
        ("training_rows = 5_000", "similarity = 1.5", "'similarity' must be above 0"),
        ('id = "6"', 'id = "6.1"', "'id' must be the name of the file, '6', got '6.1'"),
        ('id = "6"', 'id = "6', "not a valid TOML file"),
    ],
)
def test_mistake_is_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BASE
    broken = tmp_path / "6.toml"
    broken.write_text(BASE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        parse_experiment(broken)
    assert "6.toml" in str(caught.value)


def test_claim_needs_the_right_number_of_rows() -> None:
    from thence.lab.experiments.files import Claim

    with pytest.raises(ConfigError, match="needs 'right'"):
        Claim(id="a", text="", test="greater", metric="support", left="x")
    with pytest.raises(ConfigError, match="must not have 'right'"):
        Claim(id="a", text="", test="rising", metric="support", left="x", right="y")


def test_unknown_experiment_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"known: 1\.1"):
        read_experiment("7")


def test_metrics_of_published_lines_are_metrics() -> None:
    for name in experiment_names():
        assert set(read_experiment(name).metrics) <= set(METRICS)
