"""Sizes of memory as text, and the memory of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence._base.memory as sizes
from thence._base.memory import LEAST, available_memory, default_limit, format_size, parse_size
from thence.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12GiB", 12 << 30),
        ("12 gib", 12 << 30),
        ("12G", 12 << 30),
        ("12GB", 12 * 10**9),
        ("1.5TiB", 3 << 39),
        ("2000MB", 2 * 10**9),
        (2 << 30, 2 << 30),
        (f"{LEAST}B", LEAST),
    ],
)
def test_sizes_are_read(text: str | int, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "12", "GiB", "12 parsecs", "-1GiB", "1e9B", "12GiBs", True, 1.5, None])
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(ConfigError, match="memory_limit must be a size"):
        parse_size(text)  # type: ignore[arg-type]


def test_a_limit_in_which_nothing_fits_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1 GiB"):
        parse_size("100MiB")


@given(st.integers(1, 4000))
def test_formatted_sizes_are_read_back(number: int) -> None:
    assert parse_size(format_size(number << 30)) == number << 30


@pytest.mark.parametrize(
    ("own", "folder", "files", "left"),
    [
        (
            "0::/job\n",
            "job",
            {
                "memory.max": "4000000000\n",
                "memory.current": "1000000000\n",
                "memory.stat": "a 5\ninactive_file 7\n",
            },
            3_000_000_007,
        ),
        (
            "4:memory:/job\n1:cpu:/other\n",
            "memory/job",
            {
                "memory.limit_in_bytes": "4000000000",
                "memory.usage_in_bytes": "1000000000",
                "memory.stat": "total_inactive_file 7\n",
            },
            3_000_000_007,
        ),
    ],
)
def test_the_limit_of_a_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, folder: str, files: dict[str, str], left: int
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / folder / name).write_text(text)
    (tmp_path / "own").write_text(own)
    (tmp_path / "machine").write_text("MemTotal: 90000000 kB\nMemAvailable: 80000000 kB\n")
    monkeypatch.setattr(sizes, "_GROUPS", tmp_path)
    monkeypatch.setattr(sizes, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(sizes, "_MACHINE", tmp_path / "machine")
    assert available_memory() == left
    assert default_limit() == int(0.8 * left)


def test_a_group_without_a_limit_leaves_the_memory_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1\n")
    (tmp_path / "own").write_text("0::/\n")
    (tmp_path / "machine").write_text("MemAvailable: 8000 kB\n")
    monkeypatch.setattr(sizes, "_GROUPS", tmp_path)
    monkeypatch.setattr(sizes, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(sizes, "_MACHINE", tmp_path / "machine")
    assert available_memory() == 8000 * 1024
    assert default_limit() == LEAST


def test_a_system_without_these_files_has_memory_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_GROUPS", "_OWN_GROUPS", "_MACHINE"):
        monkeypatch.setattr(sizes, name, tmp_path / "missing")
    assert available_memory() > 0
