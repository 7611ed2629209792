"""State on disk: whole or not there, whatever happened to the process."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.checks.monitor.alerts import Alert
from thence.checks.monitor.outlets import AlertFile
from thence.checks.monitor.store import Store, pack_record, unpack_record
from thence.errors import RunError


def test_a_torn_record_is_cut_off(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.save({"a": 1}, {})
        store.append(b"first")
        store.append(b"second")
    journal = tmp_path / "journal-1.log"
    journal.write_bytes(journal.read_bytes()[:-3])
    with Store(tmp_path) as store:
        assert store.load() is not None
        assert list(store.replay()) == [b"first"]
        store.append(b"third")
        assert list(store.replay()) == [b"first", b"third"]


def test_a_snapshot_starts_a_new_journal(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.save({}, {})
        store.append(b"old")
        store.save({}, {"x": np.arange(3)})
        assert list(store.replay()) == []
        store.append(b"new")
    with Store(tmp_path) as store:
        found = store.load()
        assert found is not None and found[1]["x"].tolist() == [0, 1, 2]
        assert list(store.replay()) == [b"new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal-2.log", "lock", "state.npz"]


def test_two_monitors_do_not_share_a_state(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(RunError, match="another monitor uses this folder"):
        Store(tmp_path)


@given(content=st.binary(max_size=100))
def test_a_damaged_snapshot_is_said(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("state")
    (folder / "state.npz").write_bytes(content)
    with Store(folder) as store, pytest.raises(RunError, match="cannot be read"):
        store.load()


@given(st.dictionaries(st.text(max_size=5), st.integers()), st.lists(st.floats(allow_nan=False)))
def test_records_read_back(facts: dict[str, int], numbers: list[float]) -> None:
    found, arrays = unpack_record(pack_record(facts, {"a": np.array(numbers), "b": np.arange(2)}))
    assert found == facts and arrays["a"].tolist() == numbers and arrays["b"].tolist() == [0, 1]


def test_alerts_are_written_once(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    alerts = [Alert(number, "silent", "2024-01-01T00:00:00Z", "x") for number in (1, 2, 3)]
    first = AlertFile(path)
    first.require_new()
    first.send(alerts[:2])
    first.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"alert": 3, "ki')
    again = AlertFile(path)
    assert again.last == 2 and path.read_bytes() == whole
    again.send(alerts)
    again.close()
    assert len(path.read_text().splitlines()) == 3
    last = AlertFile(path)
    with pytest.raises(RunError, match="already holds 3 alerts"):
        last.require_new()
    last.close()


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("important\n")
    with pytest.raises(RunError, match="not a file of alerts"):
        AlertFile(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "important\n"


def test_a_damaged_record_that_others_follow_is_not_taken_for_a_torn_one(tmp_path: Path) -> None:
    """All records after it had been acknowledged, and were cut off without a word."""
    with Store(tmp_path) as store:
        store.save({"a": 1}, {})
        for record in (b"first", b"second", b"third"):
            store.append(record)
    journal = tmp_path / "journal-1.log"
    content = journal.read_bytes()
    journal.write_bytes(content.replace(b"second", b"sXcond"))
    with Store(tmp_path) as store:
        store.load()
        with pytest.raises(RunError, match="was changed or damaged"):
            list(store.replay())
    assert len(journal.read_bytes()) == len(content)
    journal.write_bytes(content.replace(b"third", b"tXird"))
    with Store(tmp_path) as store:
        store.load()
        assert list(store.replay()) == [b"first", b"second"]


def test_a_changed_snapshot_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.save({"a": 1}, {"b": np.arange(3)})
    with np.load(tmp_path / "state.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["b"] = arrays["b"] + 1
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    (tmp_path / "state.npz").write_bytes(buffer.getvalue())
    with Store(tmp_path) as store, pytest.raises(RunError, match="its checksum does not match"):
        store.load()
