"""Manifests: files are what was written, in the folder, and no links; a kill at any moment leaves a true manifest."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from thence._base.integrity import manifest as manifests
from thence._base.integrity.checksums import seal
from thence._base.integrity.manifest import (
    MANIFEST,
    CheckedFolder,
    drop_listed_file,
    new_listed_file,
    read_manifest,
    write_manifest,
)
from thence.errors import RunError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "a"
    (place / "inner").mkdir(parents=True)
    (place / "one.txt").write_text("one")
    (place / "inner" / "two.txt").write_text("two")
    (place / "later.json").write_text("{}")
    write_manifest(place, leave_out=["later.json"])
    return place


def test_every_file_is_listed_and_read_once_it_has_been_compared(folder: Path) -> None:
    found = read_manifest(folder)
    assert found is not None and set(found.files) == {"one.txt", "inner/two.txt"}
    checked = CheckedFolder.open(folder)
    assert checked.read("inner/two.txt") == b"two" and checked.require("one.txt") == folder / "one.txt"
    assert checked.find("none.txt") is None


@pytest.mark.parametrize("name", ["one.txt", "inner/two.txt"])
@pytest.mark.parametrize("how", ["longer", "other", "gone", "link", "folder"])
def test_a_file_that_is_not_what_was_written_is_refused(folder: Path, name: str, how: str) -> None:
    path = folder / name
    if how == "longer":
        path.write_text("one and more")
    elif how == "other":
        path.write_text("eno")
    else:
        content = path.read_text()
        path.unlink()
        if how == "link":
            (folder.parent / "same").write_text(content)
            path.symlink_to(folder.parent / "same")
        elif how == "folder":
            path.mkdir()
    checked = CheckedFolder.open(folder, again="mine again")
    for use in (checked.require, checked.read, checked.find):
        with pytest.raises(RunError) as found:
            use(name)
        assert found.value.where == str(path) and "mine again" in (found.value.hint or "")
        assert f"thence verify {folder}" in (found.value.hint or "")


def test_a_subfolder_that_became_a_link_is_refused(folder: Path) -> None:
    (folder / "inner").rename(folder.parent / "elsewhere")
    (folder / "inner").symlink_to(folder.parent / "elsewhere")
    with pytest.raises(RunError, match="symbolic link"):
        CheckedFolder.open(folder).require("inner/two.txt")


def test_a_file_that_was_put_there_is_refused(folder: Path) -> None:
    (folder / "laws.json").write_text("{}")
    with pytest.raises(RunError, match="is not listed in manifest"):
        CheckedFolder.open(folder).find("laws.json")


@pytest.mark.parametrize("name", ["../one.txt", "/etc/passwd", "inner/../../one.txt", "", "a\0b"])
def test_names_that_lead_out_of_the_folder_are_refused(folder: Path, name: str) -> None:
    record: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    record["files"][name] = {"size": 1, "sha256": "0" * 64}
    (folder / MANIFEST).write_text(json.dumps(seal(record)))
    with pytest.raises(RunError, match="is not a manifest of Thence"):
        read_manifest(folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "thence manifest", "version": 1, "files": {}}'])
def test_a_manifest_without_its_own_checksum_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(RunError):
        read_manifest(folder)


def test_a_folder_without_a_manifest_refuses_links_only(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    checked = CheckedFolder.open(folder)
    assert checked.manifest is None and checked.read("one.txt") == b"one"
    (folder / "three.txt").symlink_to(folder / "one.txt")
    with pytest.raises(RunError, match="symbolic link"):
        checked.read("three.txt")


def test_links_are_not_listed(folder: Path) -> None:
    (folder / "three.txt").symlink_to(folder / "one.txt")
    with pytest.raises(RunError, match="symbolic link"):
        write_manifest(folder)


def test_a_file_is_replaced_with_its_entry(folder: Path) -> None:
    for text in ("new", "newer"):
        with new_listed_file(folder / "one.txt") as draft:
            draft.write_text(text)
        assert CheckedFolder.open(folder).read("one.txt") == text.encode()
    assert not json.loads((folder / MANIFEST).read_text()).get("pending")
    drop_listed_file(folder / "one.txt")
    assert not (folder / "one.txt").exists() and CheckedFolder.open(folder).find("one.txt") is None


@pytest.mark.parametrize("name", ["one.txt", "new.txt"])
@pytest.mark.parametrize("stop", range(5))
def test_a_kill_while_a_file_is_replaced_leaves_a_true_manifest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, stop: int
) -> None:
    """Without the promise, a kill between the two renames would have left a whole run that is called damaged."""
    calls = 0
    replace = Path.replace

    def replace_or_die(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls > stop:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replace_or_die)
    try:
        with new_listed_file(folder / name) as draft:
            draft.write_text("new")
    except KeyboardInterrupt:
        assert stop < 3
    monkeypatch.undo()
    checked = CheckedFolder.open(folder)
    found = checked.find(name)
    assert (None if found is None else found.read_text()) in {"new", "one" if name == "one.txt" else None}
    with new_listed_file(folder / name) as draft:
        draft.write_text("at last")
    assert CheckedFolder.open(folder).read(name) == b"at last"


def test_threads_and_processes_take_turns(folder: Path) -> None:
    def write(number: int) -> None:
        for _ in range(5):
            with new_listed_file(folder / f"{number % 3}.txt") as draft:
                draft.write_text(f"{number} {os.getpid()}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read_manifest(folder)
    assert found is not None and not found.pending
    assert [found.find_problem(name) for name in found.files] == [None] * 5


def test_a_damaged_manifest_is_not_written_over(folder: Path) -> None:
    (folder / MANIFEST).write_text("{")
    with pytest.raises(RunError), new_listed_file(folder / "one.txt") as draft:
        draft.write_text("new")
    assert (folder / "one.txt").read_text() == "one" and (folder / MANIFEST).read_text() == "{"


def test_in_a_folder_without_a_manifest_a_file_is_written_as_ever(tmp_path: Path) -> None:
    with new_listed_file(tmp_path / "a.txt") as draft:
        draft.write_text("a")
    drop_listed_file(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
    assert manifests.read_manifest(tmp_path) is None
