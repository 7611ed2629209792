"""Where a run is made: the section ``executor`` of configurations, the options of the command line, and ``th.mine``."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from tests.helpers.executors import Elsewhere
from thence.cli.job import configure
from thence.errors import ConfigError


def test_the_default_is_not_written() -> None:
    assert "executor" not in th.Config().to_mapping()
    config = th.Config.from_mapping({"executor": {"name": "ray", "address": "10.0.0.4:6379"}})
    assert th.Config.from_mapping(config.to_mapping()) == config


@pytest.mark.parametrize(
    ("section", "message"),
    [({"name": "rey"}, "did you mean 'ray'"), ({"address": "h:1"}, "executor is 'local'"), ({"nam": "ray"}, "'name'")],
)
def test_mistakes_are_told(section: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        th.Config.from_mapping({"executor": section})


def test_options_override_the_file(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('[input]\ndataset = "toy"\n[executor]\nname = "ray"\naddress = "a:1"\n', encoding="utf-8")
    assert configure(job, {}).executor.address == "a:1"
    assert configure(job, {"address": "b:2"}).executor.address == "b:2"
    # The address of the file belongs to its executor.
    assert configure(job, {"executor": "local"}).executor.address is None


def test_a_run_elsewhere_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    executor = Elsewhere()
    for name, options in (("here", {}), ("there", {"executor": executor})):
        th.mine(th.datasets.load("toy"), out=tmp_path / name, report=False, confirm=False, progress="off", **options)
    assert executor.tasks > 0
    assert (tmp_path / "there" / "rules.json").read_bytes() == (tmp_path / "here" / "rules.json").read_bytes()


def test_a_miner_that_cannot_be_spread_is_refused_before_anything_is_read() -> None:
    with pytest.raises(ConfigError, match="'fpgrowth' cannot be spread"):
        th.mine("no-such-file.csv", miner="fpgrowth", executor=Elsewhere(), progress="off")
