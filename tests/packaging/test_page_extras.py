"""Pages name extras that exist, and the check of the wheel finds what is missing; neither builds anything."""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.dist import ADDED, ARCHIVED, METADATA, ROOT, DistError, find_problems, tracked
from tools.page_blocks import NEEDS, extras_of
from tools.page_extras import GUIDE, row_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("page", GUIDE)
def test_a_page_names_its_extras_below_its_title(page: str) -> None:
    assert set(extras_of(page)) <= PROJECT["optional-dependencies"].keys()
    if page != "README.md":
        assert NEEDS.match((ROOT / page).read_text(encoding="utf-8").splitlines()[2]), f"{page}: not on its third line"


def test_the_readme_names_the_wheel_that_is_built() -> None:
    assert f"dist/thence-{PROJECT['version']}-py3-none-any.whl" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_row_of_the_table_counts_blocks() -> None:
    blocks = [
        {"line": 3, "language": "python", "skipped": ""},
        {"line": 9, "language": "text", "skipped": ""},
        {"line": 12, "language": "sh", "skipped": "needs a server"},
        {"line": 12, "failed": "KeyError: 'x'"},
    ]
    row = row_of("a.md", ("sql", "water"), blocks)
    assert row == "| a.md | sql, water | 1 | 1 | 1 needs a server | FAILED after line 12: KeyError: 'x'"


def test_files_that_are_missing_or_do_not_belong_are_named(tmp_path: Path) -> None:
    try:
        package = {name.removeprefix("src/") for name in tracked("src/thence")}
        archived = tracked(*ARCHIVED) | ADDED
    except DistError:
        pytest.skip("not a git checkout")
    wheel, archive = tmp_path / "thence-9-py3-none-any.whl", tmp_path / "thence-9.tar.gz"
    packed = package - {"thence/py.typed"} | {f"thence-9.dist-info/{name}" for name in METADATA} | {"thence/notes.txt"}
    with zipfile.ZipFile(wheel, "w") as opened:
        for name in packed:
            opened.writestr(name, "")
    with tarfile.open(archive, "w:gz") as opened:
        for name in archived - {"LICENSE"} | {"tests/test_docs.py"}:
            opened.addfile(tarfile.TarInfo(f"thence-9/{name}"), io.BytesIO())
    assert find_problems(wheel, archive) == [
        "thence-9-py3-none-any.whl: thence/py.typed is missing",
        "thence-9-py3-none-any.whl: thence/notes.txt does not belong there",
        "thence-9.tar.gz: LICENSE is missing",
        "thence-9.tar.gz: tests/test_docs.py does not belong there",
    ]
