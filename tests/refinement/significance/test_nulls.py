"""Permutations of time: each frame is moved once, phase and guard are respected, bitmaps are permuted alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refinement.by_hand import autoregressive
from thence.bitmaps.bits import pack_mask, unpack
from thence.errors import ConfigError, MiningError
from thence.refinement import Null
from thence.refinement.significance.nulls import estimate_memory, require_permutations
from thence.rules.items import Feature
from thence.tables.transactions import Block, Column, TransactionTable


@given(st.integers(2, 300), st.sampled_from(["shift", "blocks"]), st.integers(1, 7), st.integers(0, 99))
@settings(max_examples=100)
def test_every_frame_is_moved_once_and_keeps_its_phase(frames: int, kind: str, period: int, seed: int) -> None:
    null = Null(kind=kind, draws=9, period=period)  # type: ignore[arg-type]
    try:
        permutations = null.permutations(frames, guard=0, rng=np.random.default_rng(seed))
    except MiningError:
        assert frames < 4 * max(period, round(frames**0.5))
        return
    for one in permutations:
        order = one.order(frames)
        assert sorted(order.tolist()) == list(range(frames))
        assert np.array_equal(order % period, np.arange(frames) % period)


@given(st.integers(1, 200), st.integers(0, 2**31))
@settings(max_examples=100)
def test_bitmaps_are_permuted_as_the_frames_are(frames: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = rng.random((frames, 3)) < 0.5
    if frames < 4:
        return
    for null in (Null(draws=3), Null(kind="blocks", draws=3, block_frames=max(1, frames // 3))):
        for permutation in null.permutations(frames, guard=0, rng=rng):
            permuted = permutation.apply(pack_mask(masks))
            assert np.array_equal(unpack(permuted, n_rows=frames).T, masks[permutation.order(frames)])


def test_shifts_within_the_guard_are_not_drawn_and_all_others_are_if_there_are_few() -> None:
    shifts = Null(draws=1000).permutations(50, guard=5, rng=np.random.default_rng(0))
    assert sorted(int(one.target[0]) for one in shifts) == list(range(6, 45))


def test_the_same_seed_draws_the_same_permutations() -> None:
    first, again = (Null(draws=20).permutations(1000, guard=3, rng=np.random.default_rng(4)) for _ in range(2))
    assert [r.target.tolist() for r in first] == [r.target.tolist() for r in again]
    assert len({int(r.target[0]) for r in first}) == 20


def table_of(series: np.ndarray) -> TransactionTable:
    codes = (series > np.median(series, axis=0)).astype(np.int16)
    columns = tuple(Column(Feature(f"s{j}"), ("low", "high"), codes[None, :, j]) for j in range(series.shape[1]))
    return TransactionTable((Block(columns, len(series)),))


def test_the_guard_follows_the_memory_of_the_series_within_a_bound() -> None:
    rng = np.random.default_rng(1)
    rough, smooth = (table_of(autoregressive(rng, 4000, memory, 4)) for memory in (0.0, 0.9))
    assert estimate_memory(rough.blocks[0], 100) == 1
    assert 8 < estimate_memory(smooth.blocks[0], 100) < 40
    assert Null().choose_guard(smooth) == estimate_memory(smooth.blocks[0], 20) <= 20
    assert Null(guard=7).choose_guard(smooth) == 7
    assert Null().choose_guard(rough.frames(slice(0, 150))) == 0


@pytest.mark.parametrize(
    "settings_", [{"kind": "other"}, {"draws": 0}, {"guard": -1}, {"period": 0}, {"block_frames": 0}]
)
def test_impossible_settings_are_refused(settings_: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Null(**settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("null", "frames"), [(Null(), 1), (Null(period=10), 19), (Null(kind="blocks", block_frames=8), 15)]
)
def test_too_few_frames_are_refused(null: Null, frames: int) -> None:
    with pytest.raises(MiningError, match="frames"):
        null.permutations(frames, guard=0, rng=np.random.default_rng(0))
    with pytest.raises(MiningError, match="frames"):
        require_permutations(table_of(np.zeros((frames, 1))), null)
