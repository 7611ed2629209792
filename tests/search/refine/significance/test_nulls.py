"""Permutations of time: each frame is moved once, phase and guard are respected, bitmaps are permuted alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.tables import with_times
from tests.search.refine.by_hand import autoregressive
from thence.errors import ConfigError, MiningError
from thence.language.items import Feature
from thence.search.refine import Null
from thence.search.refine.significance.nulls import estimate_memory, require_permutations
from thence.tables.bitmaps.bits import pack_mask, unpack
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


@given(st.integers(2, 300), st.sampled_from(["shift", "blocks"]), st.integers(1, 7), st.integers(0, 99))
@settings(max_examples=examples(100))
def test_every_frame_is_moved_once_and_keeps_its_phase(frames: int, kind: str, period: int, seed: int) -> None:
    null = Null(kind=kind, draws=9, period=period)  # type: ignore[arg-type]
    try:
        permutations = null.permutations(frames, guard=0, rng=np.random.default_rng(seed))
    except MiningError:
        assert frames < 4 * max(period, round(frames**0.5))
        return
    inside = np.arange(frames)[null.centre(frames)]
    for one in permutations:
        order = one.order(frames)
        assert (np.delete(order, inside) == -1).all()
        assert len(set(order[inside].tolist())) == len(inside) >= frames / 2
        assert 0 <= order[inside].min() <= order[inside].max() < frames
        assert np.array_equal(order[inside] % period, inside % period)
        if kind == "shift":
            assert (np.diff(order[inside]) == 1).all()


def test_the_end_of_a_series_is_never_joined_to_its_beginning() -> None:
    """Shifts were circular: the seam made shifted cycles of unequal periods less coherent than observed ones."""
    null = Null(draws=1000)
    permutations = null.permutations(300, guard=0, rng=np.random.default_rng(0))
    centre = null.centre(300)
    assert (centre.start, centre.stop) == (75, 225)
    windows = sorted(one.order(300)[centre].tolist() for one in permutations)
    assert windows == [list(range(start, start + 150)) for start in range(151) if start != 75]


def test_the_centre_is_as_long_as_the_draws_allow() -> None:
    assert Null().centre(100_000) == slice(16_666, 83_334)
    assert Null().centre(500) == slice(102, 398)
    assert Null(period=24).centre(1200) == slice(288, 912)
    assert Null(kind="blocks").centre(500) == slice(0, 500)


@given(st.integers(1, 200), st.integers(0, 2**31))
@settings(max_examples=examples(100))
def test_bitmaps_are_permuted_as_the_frames_are(frames: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = rng.random((frames, 3)) < 0.5
    if frames < 4:
        return
    for null in (Null(draws=3), Null(kind="blocks", draws=3, block_frames=max(1, frames // 3))):
        for permutation in null.permutations(frames, guard=0, rng=rng):
            permuted = permutation.apply(pack_mask(masks))
            order = permutation.order(frames)
            assert np.array_equal(unpack(permuted, n_rows=frames).T, masks[order] & (order >= 0)[:, None])


def test_shifts_within_the_guard_are_not_drawn_and_all_others_are_if_there_are_few() -> None:
    shifts = Null(draws=1000).permutations(50, guard=5, rng=np.random.default_rng(0))
    assert sorted(int(one.source[0] - one.target[0]) for one in shifts) == [*range(-12, -5), *range(6, 13)]


def test_the_same_seed_draws_the_same_permutations() -> None:
    first, again = (Null(draws=20).permutations(1000, guard=3, rng=np.random.default_rng(4)) for _ in range(2))
    assert [r.source.tolist() for r in first] == [r.source.tolist() for r in again]
    assert len({int(r.source[0]) for r in first}) == 20


def table_of(series: np.ndarray) -> TransactionTable:
    codes = (series > np.median(series, axis=0)).astype(np.int16)
    columns = tuple(Column(Feature(f"s{j}"), ("low", "high"), codes[None, :, j]) for j in range(series.shape[1]))
    return with_times(TransactionTable((Block(columns, len(series)),)))


def test_the_guard_follows_the_memory_of_the_series_within_a_bound() -> None:
    rng = np.random.default_rng(1)
    rough, smooth = (table_of(autoregressive(rng, 4000, memory, 4)) for memory in (0.0, 0.9))
    assert estimate_memory(rough.blocks[0], 100) == 1
    assert 8 < estimate_memory(smooth.blocks[0], 100) < 40
    assert Null().choose_guard(smooth) == estimate_memory(smooth.blocks[0], 6) == 6
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


def test_whole_periods_need_frames_without_gaps() -> None:
    """Without the windows in which nobody measured, 24 frames are not a day everywhere."""
    table = table_of(np.random.default_rng(0).normal(size=(240, 2)))
    hours = np.datetime64("2024-01-01T00", "us") + np.arange(240) * np.timedelta64(1, "h")
    later = np.where(np.arange(240) < 100, hours, hours + np.timedelta64(5, "h"))
    for times, accepted in ((hours, True), (later, False)):
        timed = TransactionTable((replace(table.blocks[0], times=times),))
        require_permutations(timed, Null(draws=9))
        if accepted:
            require_permutations(timed, Null(draws=9, period=24))
        else:
            with pytest.raises(MiningError, match="left out in 1 places"):
                require_permutations(timed, Null(draws=9, period=24))


def test_rows_without_times_are_permuted_one_by_one() -> None:
    """Rows without an order cannot be shifted; those with times are never taken as independent."""
    timed = table_of(np.random.default_rng(0).normal(size=(40, 2)))
    plain = TransactionTable((replace(timed.blocks[0], times=None),))
    for null in (Null(draws=9), Null(draws=9, kind="blocks"), Null(draws=9, kind="rows")):
        drawn = null.draw(plain, rng=np.random.default_rng(0))
        assert drawn.null.kind == "rows" and drawn.n_draws == 9
        for one in drawn.by_frames[40]:
            order = one.order(40)
            assert sorted(order.tolist()) == list(range(40))
            assert (np.diff(order) != 1).mean() > 0.8
        assert drawn.null.centre(40) == slice(0, 40)
    with pytest.raises(MiningError, match="no times"):
        require_permutations(plain, Null(draws=9, period=4))
    with pytest.raises(MiningError, match="follow each other in time"):
        require_permutations(timed, Null(draws=9, kind="rows"))
