"""Checksums of records and arrays: what was written is accepted, whatever else is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence._base.integrity.arrays import dump_arrays, load_arrays
from thence._base.integrity.checksums import CHECKSUM, content_digest, read_sealed, require_seal, seal
from thence.errors import RunError

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(st.text(), VALUES))
def test_a_record_is_accepted_as_json_gives_it_back(record: dict[str, Any]) -> None:
    back = json.loads(json.dumps(seal(record), indent=3))
    assert require_seal(back, where="a.json")
    assert {**back, CHECKSUM: 0} == {**record, CHECKSUM: 0}


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1), VALUES, st.randoms())
def test_a_changed_value_is_refused(record: dict[str, Any], other: Any, random: Any) -> None:
    record.pop(CHECKSUM, None)
    if not record:
        return
    sealed = seal(record)
    key = random.choice(sorted(record))
    if json.dumps(record[key], sort_keys=True) == json.dumps(other, sort_keys=True):
        return
    with pytest.raises(RunError, match="its checksum does not match"):
        require_seal({**sealed, key: other}, where="a.json")


def test_keys_that_are_no_strings_in_memory_are_sorted_as_json_has_them() -> None:
    record = {"a": {10: "x", 9: "y"}, "b": (1, 2)}
    assert require_seal(json.loads(json.dumps(seal(record))), where="a.json")


def test_a_file_without_a_checksum_is_of_an_earlier_version(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert read_sealed(tmp_path / "a.json") == ({"a": 1}, False)


def test_a_checksum_with_a_damaged_name_is_not_taken_for_none() -> None:
    sealed = seal({"a": 1})
    sealed["sha257"] = sealed.pop(CHECKSUM)
    with pytest.raises(RunError, match="its checksum does not match"):
        require_seal(sealed, where="a.json")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_what_is_no_json_object_is_our_error(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(RunError) as found:
        read_sealed(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(found.value) and len(found.value.message) < 160


def test_arrays_count_with_name_type_shape_and_content() -> None:
    base = {"a": np.arange(6, dtype=np.int16)}
    others = [
        {"b": base["a"]},
        {"a": base["a"].astype(np.int32)},
        {"a": base["a"].reshape(2, 3)},
        {"a": base["a"] + np.int16(1)},
        {},
    ]
    assert len({content_digest({}, arrays) for arrays in (base, *others)}) == 6


def test_arrays_come_back_with_their_record(tmp_path: Path) -> None:
    arrays = {"a": np.arange(5), "b": np.zeros((2, 0), np.int16), "c": np.array(1.5)}
    for compress in (True, False):
        (tmp_path / "a.npz").write_bytes(dump_arrays({"x": [1]}, arrays, compress=compress))
        record, back, checked = load_arrays(tmp_path / "a.npz")
        assert checked and record["x"] == [1] and back.keys() == arrays.keys()
        assert all(back[name].dtype == one.dtype and np.array_equal(back[name], one) for name, one in arrays.items())


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(b"{}", np.uint8), a=np.array([{}], dtype=object))
    (tmp_path / "a.npz").write_bytes(buffer.getvalue())
    with pytest.raises(RunError, match="not a readable file of arrays"):
        load_arrays(tmp_path / "a.npz")
