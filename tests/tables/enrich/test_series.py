"""Series of codes: a value that is frequent in one series is the same item in all of them."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thence.language.items import Interval
from thence.tables.discretization import Discretizer, fit_ranks
from thence.tables.enrich.base import Rows
from thence.tables.enrich.series import SeriesEncoder, format_tie

numbers = st.sampled_from([0.0, 0.0, 0.0, 5.0, 7.5]) | st.integers(-40, 40).map(lambda k: k / 4)
matrices = st.integers(2, 30).flatmap(
    lambda frames: st.lists(st.lists(numbers, min_size=frames, max_size=frames), min_size=1, max_size=4)
)


def rows_of(series: np.ndarray) -> Rows:
    return lambda start, stop: series[start:stop]


@given(matrices, st.integers(2, 6))
def test_a_value_without_a_rank_is_one_item_in_every_series(rows: list[list[float]], bins: int) -> None:
    series = np.array(rows)
    keys = [f"s{k}" for k in range(len(series))]
    encoder = SeriesEncoder(Discretizer(bins=bins, scope="sensor"), slice(None))
    codes, values = encoder.encode(rows_of(series), keys, "kind")
    changing = [row for row in series if row.min() < row.max()]
    named = {x for row in changing for x in row.tolist() if (row == x).sum() * bins > len(row)}
    assert set(values[bins:]) == {format_tie(x) for x in named}
    for row, own in zip(series, codes, strict=True):
        for x, code in zip(row.tolist(), own.tolist(), strict=True):
            if x in named:
                assert values[code] == format_tie(x), "the item is true wherever the reading is the value"
            elif row.min() == row.max():
                assert code == -1
            else:
                assert isinstance(values[code], Interval)
    # The same codes later, also for some of the series alone.
    stored = Discretizer.from_dict(json.loads(json.dumps(encoder.fitted().to_dict())))
    for at, key in enumerate(keys):
        again, meaning = SeriesEncoder(stored, slice(None)).encode(rows_of(series[at : at + 1]), [key], "kind")
        known = [None if code < 0 else meaning[code] for code in again[0].tolist()]
        expected = [None if code < 0 else values[code] for code in codes[at].tolist()]
        if series[at].min() < series[at].max():
            assert known == expected


def test_off_means_that_the_flow_is_zero_for_every_pump() -> None:
    """Regression: zeros of one pump were "between its 40th and 60th percentile", those of another its lowest tenth."""
    rng = np.random.default_rng(0)
    shares = [0.5, 0.3, 0.05, 0.9, 1.0]
    off = np.array([rng.random(400) < share for share in shares])
    flow = np.where(off, 0.0, np.round(rng.normal(60, 8, off.shape), 2))
    for bins in (3, 5, 10):
        encoder = SeriesEncoder(Discretizer(bins=bins, scope="sensor"), slice(None))
        codes, values = encoder.encode(rows_of(flow), list("abcde"), "flow")
        assert ((codes == values.index("0")) == off).all()


@given(matrices, st.integers(2, 6), st.data())
def test_series_of_one_key_share_their_ranks_wherever_they_are_known(
    rows: list[list[float]], bins: int, data: st.DataObject
) -> None:
    """Series are fitted a few at a time in threads; the result is that of one after the other."""
    series = np.repeat(np.array(rows), data.draw(st.sampled_from([1, 3, 40])), axis=0)
    keys = [f"s{tuple(row)}" for row in series.tolist()]
    missing = data.draw(st.lists(st.booleans(), min_size=len(series), max_size=len(series)))
    series[missing] = np.nan
    encoder = SeriesEncoder(Discretizer(bins=bins, scope="sensor"), slice(None))
    codes, values = encoder.encode(rows_of(series), keys, "kind")
    fitted = {key: fit_ranks(row, bins=bins) for key, row in zip(keys, series, strict=True) if not np.isnan(row[0])}
    named = sorted(
        {tie for one in fitted.values() if one.has_ranks and one.ties is not None for tie in one.ties.tolist()}
    )
    assert list(values[bins:]) == [format_tie(value) for value in named]
    assert set(encoder.binnings) == set(fitted)
    for key, row, own in zip(keys, series, codes, strict=True):
        expected = np.full(len(row), -1)
        if not np.isnan(row[0]):
            if fitted[key].has_ranks:
                expected = np.searchsorted(fitted[key].bin_edges, row, side="right")
            for number, value in enumerate(named):
                expected[row == value] = bins + number
        assert own.tolist() == expected.tolist()
