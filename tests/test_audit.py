"""The audit of packages: versions that advisories name are found, others are not, and nothing is fetched."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.audit import ROOT, find_weaknesses, iter_advisories, read_lock


def advisory(events: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    about = {"ecosystem": "PyPI", "name": more.pop("name", "Some_Package")}
    ranges = [{"type": "ECOSYSTEM", "events": events}]
    return {"id": "PYSEC-1", "affected": [{"package": about, "ranges": ranges, **more.pop("affected", {})}], **more}


TWICE = [{"introduced": "0"}, {"fixed": "1.5"}, {"introduced": "2.0"}, {"fixed": "2.1.1"}]


@pytest.mark.parametrize(
    ("version", "record", "expected"),
    [
        ("1.4.9", advisory(TWICE), True),
        ("1.5", advisory(TWICE), False),
        ("1.10", advisory(TWICE), False),
        ("2.1", advisory(TWICE), True),
        ("2.1.1", advisory(TWICE), False),
        ("3.0", advisory([{"introduced": "0"}, {"last_affected": "3.0"}]), True),
        ("3.0.1", advisory([{"introduced": "0"}, {"last_affected": "3.0"}]), False),
        ("9", advisory([{"introduced": "0"}]), True),
        ("9", advisory([], affected={"versions": ["8", "9"]}), True),
        ("9", advisory([{"introduced": "0"}], withdrawn="2024-01-01T00:00:00Z"), False),
        ("9", advisory([{"introduced": "0"}], name="other"), False),
    ],
)
def test_versions_that_are_affected(version: str, record: dict[str, Any], expected: bool) -> None:
    assert bool(find_weaknesses({"some-package": version}, iter([record]))) == expected


def test_records_of_one_weakness_count_once() -> None:
    records = [
        advisory([{"introduced": "0"}], id="PYSEC-1", aliases=["CVE-1"]),
        advisory([{"introduced": "0"}], id="GHSA-1", aliases=["CVE-1"]),
    ]
    assert len(find_weaknesses({"some-package": "1"}, iter(records))) == 1


def test_archives_and_folders_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number in range(3):
            text = json.dumps(advisory(TWICE, id=f"X-{number}"))
            (tmp_path / "folder" / f"{number}.json").write_text(text)
            archive.writestr(f"{number}.json", text)
    assert list(iter_advisories(tmp_path / "all.zip")) == list(iter_advisories(tmp_path / "folder"))


def test_lines_without_a_hash_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "requirements.lock"
    path.write_text(f"# note\na==1 \\\n    --hash=sha256:{'0' * 64}\n")
    assert read_lock(path) == {"a": "1"}
    path.write_text("a==1\n")
    with pytest.raises(ValueError, match=r"requirements\.lock: not one package"):
        read_lock(path)


@pytest.mark.parametrize(("below", "code"), [("0.0.1", 0), ("99999", 1)])
def test_the_command(tmp_path: Path, below: str, code: int) -> None:
    record = advisory([{"introduced": "0"}, {"fixed": below}], name="numpy")
    (tmp_path / "a.json").write_text(json.dumps(record))
    command = [sys.executable, "-m", "tools.audit", "--advisories", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (code, "")
    assert ("numpy" in done.stdout) == bool(code)
    assert f"audit: {code} weaknesses, by 1 advisories" in done.stdout


def test_without_advisories_this_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.audit", "--advisories", str(tmp_path / "missing.zip")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and "weaknesses are not looked up" in done.stdout
