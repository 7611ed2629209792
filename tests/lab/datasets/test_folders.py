from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from thence.data.datasets.published import Published, Remote
from thence.errors import InputError, MissingExtraError
from thence.lab.datasets import folders


def find(path: Path | None = None, files: tuple[str, ...] = ("a.csv", "b.csv")) -> Path:
    remotes = tuple(Remote(name, size=0, sha256="") for name in files)
    published = Published("things", remotes, "The Publisher", "https://example.org", "CC0", "Somebody (2020)")
    return folders.find_folder("things", published, files, path=path)


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


def test_only_a_checkout_has_a_neighbour(complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package searched beside its environment, and any program beside its current folder."""
    module = tmp_path / "project" / "src" / "thence" / "lab" / "datasets" / "folders.py"
    (tmp_path / "shared").mkdir()
    complete.parent.rename(tmp_path / "shared" / "data")
    monkeypatch.setattr(folders, "__file__", str(module))
    assert tmp_path / "shared" / "data" not in folders.data_folders()
    module.parent.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    assert find() == tmp_path / "shared" / "data" / "things"


def test_the_cache_folder_is_the_last_resort(complete: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert find() == complete


def test_absent_data_are_an_error_that_says_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path}: .*'things' are missing: a.csv, b.csv .*The Publisher"):
        find(tmp_path)
    with pytest.raises(InputError, match=r"'things' are not here(.|\n)*a.csv(.|\n)*The Publisher.*THENCE_DATA"):
        find()


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


def test_the_package_epyt_is_searched_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of EPyT keep their networks in different folders."""
    package = tmp_path / "epyt"
    (package / "some" / "where").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "some" / "where" / "TOWN.inp").touch()
    monkeypatch.delitem(sys.modules, "epyt", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert folders.find_in_epyt("Town.inp") == (package / "some" / "where" / "TOWN.inp",)
    with pytest.raises(MissingExtraError, match=r"City.inp comes with the package 'epyt' \(epyt .* has none\)"):
        folders.find_in_epyt("City.inp")
    monkeypatch.setattr(folders.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"which is not installed.*pip install 'thence\[water\]'"):
        folders.find_in_epyt("Town.inp")
