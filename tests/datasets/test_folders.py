from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from thence.datasets import folders
from thence.errors import InputError


def find(path: Path | None = None, files: tuple[str, ...] = ("a.csv", "b.csv")) -> Path:
    return folders.find_folder("things", folder="things", files=files, path=path, publisher="The Publisher")


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "things"
    folder.mkdir(parents=True)
    for name in ("a.csv", "b.csv"):
        (folder / name).touch()
    return folder


def test_a_path_is_the_folder_itself_or_its_parent(complete: Path) -> None:
    assert find(complete) == complete
    assert find(complete.parent) == complete


def test_the_environment_comes_first(complete: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_DATA", str(complete.parent))
    assert find() == complete


def test_the_neighbour_of_the_current_folder_is_searched(
    complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    complete.parent.rename(tmp_path / "shared" / "data")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    assert find() == tmp_path / "shared" / "data" / "things"


def test_the_cache_folder_is_the_last_resort(complete: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert find() == complete


def test_absent_data_are_an_error_that_says_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'things' not found: a.csv, b.csv; searched .*The Publisher.*THENCE_DATA"):
        find(tmp_path)


def test_one_missing_file_is_named_with_its_folder(complete: Path) -> None:
    with pytest.raises(InputError, match=f"^{complete}: files of the data set 'things' are missing: c.csv"):
        find(complete, files=("a.csv", "b.csv", "c.csv"))


def test_the_cache_is_in_the_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("THENCE_CACHE")
    assert folders.cache_folder() == platformdirs.user_cache_path("thence", appauthor=False)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert folders.cache_folder() == tmp_path / "thence"


def test_an_environment_variable_overrides_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "own"))
    assert folders.cache_folder() == tmp_path / "own"
