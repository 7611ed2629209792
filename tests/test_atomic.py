"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from thence._base import atomic as _atomic
from thence._base.atomic import INCOMPLETE, claim, finish_first, hold_interrupts, new_file, new_folder, require_writable
from thence.errors import RunError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    with new_folder(tmp_path / "deep" / "a") as draft:
        (draft / "x").write_text("1")
        assert (draft / INCOMPLETE).exists()
        assert not (tmp_path / "deep" / "a").exists()
    assert names(tmp_path / "deep" / "a") == ["x"]
    assert names(tmp_path / "deep") == ["a"]


def test_nothing_is_left_of_a_folder_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "a") as draft:
        (draft / "x").write_text("1")
        raise ZeroDivisionError
    assert names(tmp_path) == []


@pytest.mark.parametrize("swap", [True, False])
def test_force_replaces_a_folder(swap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not swap:
        monkeypatch.setattr(_atomic, "_exchange", lambda one, other: False)
    for content in ("1", "2"):
        with new_folder(tmp_path / "a", force=True) as draft:
            (draft / content).write_text(content)
    assert names(tmp_path / "a") == ["2"]
    assert names(tmp_path) == ["a"]


def test_a_failed_replacement_keeps_the_old_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a") as draft:
        (draft / "old").write_text("1")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "a", force=True):
        raise ZeroDivisionError
    assert names(tmp_path / "a") == ["old"]


def test_a_folder_that_came_up_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"), new_folder(tmp_path / "a"):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "somebody's").write_text("1")
    assert names(tmp_path / "a") == ["somebody's"]
    assert names(tmp_path) == ["a"]


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with new_file(target) as draft:
        draft.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(target) as draft:
        draft.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_room_is_looked_for_without_leaving_anything(tmp_path: Path) -> None:
    require_writable(tmp_path / "a" / "b" / "run")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunError):
        require_writable(tmp_path / "file" / "run")


def test_a_place_that_cannot_be_written_is_a_run_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be created"), new_folder(tmp_path / "file" / "a"):
        pass


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal; a test run that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_until_the_folder_is_whole(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt, match="written"),
        finish_first("written"),
        new_folder(tmp_path / "a") as draft,
    ):
        signal.raise_signal(signal.SIGINT)
        (draft / "x").write_text("1")
    assert names(tmp_path / "a") == ["x"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("1")
    with pytest.raises(KeyboardInterrupt), finish_first("written"), new_folder(tmp_path / "a", force=True) as draft:
        (draft / "x").write_text("1")
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["old"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_an_error_comes_before_ctrl_c() -> None:
    with pytest.raises(ZeroDivisionError), finish_first("written"):
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    seen: list[int] = []

    def work() -> None:
        with finish_first("written"):
            seen.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1]
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with finish_first("written"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1, signal.SIGINT]


def test_a_target_is_claimed_once(tmp_path: Path) -> None:
    """Two runs with the same output both mined to their ends before the second failed."""
    with claim(tmp_path / "a"):
        with claim(tmp_path / "b"):
            pass
        (tmp_path / "link").symlink_to(tmp_path)
        with (
            pytest.raises(RunError, match=r"a: another process is writing here \(wait for it"),
            claim(tmp_path / "link" / "a"),
        ):
            pass
    with claim(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_a_claim_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claim(tmp_path / "a"):
        raise ZeroDivisionError
    with claim(tmp_path / "a"):
        pass


def test_interrupts_are_held_back_and_told() -> None:
    with hold_interrupts() as held:
        assert not held.pressed
        signal.raise_signal(signal.SIGINT)
    assert held.pressed
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
