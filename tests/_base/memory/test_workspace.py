"""Workspaces: arrays in memory and in files have the same numbers, and are gone when nobody uses them."""

from __future__ import annotations

import copy
import errno
import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thence as th
import thence.runs.preparation as preparation
from thence._base.memory import Workspace, in_memory, open_workspace
from thence.errors import ConfigError

MIB = 1 << 20


def test_arrays_lie_in_memory_while_there_is_room_and_in_files_beyond() -> None:
    space = Workspace(100 * MIB)
    first = space.empty((20, MIB), np.int8)
    assert (space.held, space.in_files) == (20 * MIB, 0)
    second = space.zeros((30, MIB), np.int8)
    assert (space.held, space.in_files) == (20 * MIB, 30 * MIB)
    assert not second.any()
    second[:] = 7
    assert int(second[:, ::1000].min()) == 7
    del first, second
    gc.collect()
    assert (space.held, space.in_files) == (0, 0)


def test_a_view_keeps_the_file() -> None:
    space = Workspace(0, smallest=0)
    part = space.full((4, 5), 3.5, np.float64)[1:3].T
    gc.collect()
    assert space.in_files == 160
    assert part.tolist() == [[3.5, 3.5]] * 5
    assert type(part) is np.ndarray
    del part
    gc.collect()
    assert space.in_files == 0


def test_what_is_read_seldom_leaves_the_memory_to_others() -> None:
    space = Workspace(100 * MIB)
    assert space.fits(20 * MIB)
    assert not space.fits(20 * MIB, seldom=True)


def test_files_have_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = Workspace(0, smallest=0).zeros((10,), np.int64)
    assert list(tmp_path.iterdir()) == []
    assert array.sum() == 0


def test_without_a_limit_everything_lies_in_memory() -> None:
    space = in_memory()
    space.empty((50, MIB), np.int8)
    assert space.in_files == 0
    assert space.fits(1 << 50)
    space.require(1e30, stage="mining", hint="nothing")


def test_an_empty_array_needs_nothing() -> None:
    assert Workspace(0, smallest=0).zeros((0, 5), np.int64).shape == (0, 5)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files are made in another way here")
def test_a_full_disk_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fail)
    with pytest.raises(ConfigError, match=r"the codes needs .* TMPDIR to a folder on a larger disk"):
        Workspace(0, smallest=0).empty((5,), np.int64, stage="the codes")


def test_a_workspace_in_another_process_has_room_of_its_own() -> None:
    space = Workspace(100 * MIB)
    kept = space.empty((20, MIB), np.int8)
    other = copy.copy(space)
    assert (other.limit, other.held, kept.size) == (100 * MIB, 0, 20 * MIB)


def test_the_default_is_a_share_of_what_is_free() -> None:
    assert (open_workspace().limit or 0) >= 1 << 30
    assert open_workspace("3GiB").limit == 3 << 30


@pytest.mark.parametrize(
    "settings",
    [
        {"windows": "1h"},
        {"windows": "1h", "derive": ["change", "lag:2h"], "bins": 3},
        {"windows": "1h", "scope": "kind"},
        {"windows": "1h", "enrich": "none", "near": 1},
        {"windows": "1h", "enrich": "grounded"},
        {"windows": "2h", "enrich": "lifted", "refine": {"sharpen": True}},
    ],
)
def test_rules_do_not_depend_on_where_arrays_lie(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, every_array_in_a_file: Callable[[], None]
) -> None:
    data = th.datasets.load("toy")
    here = th.mine(data, confirm=False, progress="off", **settings)
    every_array_in_a_file()
    there = th.mine(data, confirm=False, progress="off", **settings)
    assert there.readings is not None
    assert there.readings.workspace.in_files > 0
    assert [str(rule) for rule in here.rules] == [str(rule) for rule in there.rules]
    assert here.rules.counts.n_both.tolist() == there.rules.counts.n_both.tolist()
    assert [law.statement for law in here.laws or ()] == [law.statement for law in there.laws or ()]
    assert here.provenance["inputs"]["table_sha256"] == there.provenance["inputs"]["table_sha256"]


@pytest.fixture
def every_array_in_a_file(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and the arrays of runs lie in files, however small they are."""
    return lambda: monkeypatch.setattr(preparation, "open_workspace", lambda limit=None: Workspace(0, smallest=0))


def test_the_limit_of_a_run_is_recorded() -> None:
    run = th.mine(th.datasets.load("toy"), windows="1h", memory_limit="2GiB", confirm=False, progress="off")
    assert run.config.to_mapping()["resources"] == {"memory_limit": "2GiB"}
    assert run.readings is not None
    assert run.readings.workspace.limit == 2 << 30


def test_a_limit_that_is_no_size_is_refused() -> None:
    with pytest.raises(ConfigError, match="memory_limit must be a size"):
        th.mine(th.datasets.load("toy"), memory_limit="much")
