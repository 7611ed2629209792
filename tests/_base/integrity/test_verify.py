"""`th.integrity.verify` and `thence verify`: what is as it was, what is not, and what cannot be told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import thence as th
from thence._base.atomic import INCOMPLETE
from thence._base.integrity.arrays import dump_arrays
from thence._base.integrity.checksums import seal
from thence._base.integrity.manifest import write_manifest
from thence.cli.app import app
from thence.errors import RunError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / "cache" / name).mkdir(parents=True)
        (tmp_path / "cache" / name / "readings.parquet").write_bytes(name.encode())
        write_manifest(tmp_path / "cache" / name)
    (tmp_path / "cache" / "own.json").write_text(json.dumps(seal({"a": 1})))
    (tmp_path / "cache" / "own.npz").write_bytes(dump_arrays({}, {"a": np.arange(3)}))
    return tmp_path / "cache"


def test_everything_below_a_folder_is_compared(folder: Path) -> None:
    found = th.integrity.verify(folder)
    assert found.ok and not found.unchecked
    assert set(found.checked) == {
        *("one/manifest.json", "one/readings.parquet", "two/manifest.json", "two/readings.parquet"),
        *("own.json", "own.npz"),
    }
    assert str(found) == f"{folder}: 6 files are as they were written"


def test_each_problem_is_named(folder: Path) -> None:
    (folder / "one" / "readings.parquet").unlink()
    (folder / "two" / "readings.parquet").write_bytes(b"owt")
    (folder / "own.json").write_text((folder / "own.json").read_text().replace("1", "2", 1))
    (folder / "own.npz").write_bytes(b"PK")
    (folder / "link").symlink_to(folder / "one")
    (folder / INCOMPLETE).touch()
    (folder / "note.txt").touch()
    found = th.integrity.verify(folder)
    assert not found.ok and found.unchecked == ("note.txt",)
    assert set(found.damaged) == {
        *("one/readings.parquet", "two/readings.parquet", "own.json", "own.npz", "link", INCOMPLETE),
    }
    assert "one/readings.parquet is missing" in str(found)


def test_a_damaged_manifest_is_named_and_its_files_have_no_checksum(folder: Path) -> None:
    (folder / "one" / "manifest.json").write_text("{")
    found = th.integrity.verify(folder)
    assert list(found.damaged) == ["one/manifest.json"] and found.unchecked == ("one/readings.parquet",)


def test_a_single_file(folder: Path) -> None:
    for name in ("own.json", "own.npz", "one/readings.parquet", "one/manifest.json"):
        assert th.integrity.verify(folder / name).ok, name
    (folder / "one" / "readings.parquet").write_bytes(b"eno")
    assert th.integrity.verify(folder / "one" / "readings.parquet").damaged
    (folder / "plain.txt").touch()
    assert th.integrity.verify(folder / "plain.txt").unchecked == ("plain.txt",)
    with pytest.raises(RunError, match="no such folder or file"):
        th.integrity.verify(folder / "none")


def test_a_hostile_name_is_shortened_and_escaped(folder: Path) -> None:
    (folder / ("\x1b[31m" + "n" * 200)).touch()
    assert (
        "\x1b" not in str(th.integrity.verify(folder))
        and max(map(len, str(th.integrity.verify(folder)).splitlines()[1:])) < 120
    )


def test_the_command(folder: Path) -> None:
    fine = CliRunner().invoke(app, ["verify", str(folder)])
    assert fine.exit_code == 0 and "6 files are as they were written" in fine.output
    assert CliRunner().invoke(app, ["verify", str(folder), "--quiet"]).output == ""
    (folder / "own.json").write_text("{")
    bad = CliRunner().invoke(app, ["verify", str(folder), str(folder / "one"), str(folder / "none")])
    assert bad.exit_code == 1
    assert "own.json cannot be read" in bad.output and "2 files are as they were written" in bad.output
    assert "no such folder or file" in bad.output
    told = CliRunner().invoke(app, ["verify", str(folder), "--json"])
    assert told.exit_code == 1 and list(json.loads(told.stdout)[0]["damaged"]) == ["own.json"]


def test_a_folder_without_checksums_is_not_called_fine(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    found = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert found.exit_code == 1 and "has no checksums; it is unknown whether it was changed" in found.output


def test_a_path_that_is_too_long_is_our_error() -> None:
    with pytest.raises(RunError, match="cannot be read: File name too long"):
        th.integrity.verify("x" * 5_000)
