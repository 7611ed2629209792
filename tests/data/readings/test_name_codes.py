"""Names to integers: short and long texts, categories, many batches, names that are not listed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings import scanning
from thence.data.readings.scanning import NameCoder, distinct_names
from thence.errors import InputError

NAMES = ["a", "twelve chars", "thirteen chars", "a name that is far longer than twelve bytes", "ä", ""]
DTYPES = [pl.String(), pl.Categorical(), pl.Enum(NAMES)]


@pytest.mark.parametrize("dtype", DTYPES)
@given(batches=st.lists(st.lists(st.sampled_from(NAMES), max_size=30), max_size=4))
@settings(max_examples=examples(30), deadline=None)
def test_codes_are_positions_in_every_batch(dtype: pl.DataType, batches: list[list[str]]) -> None:
    coder = NameCoder(NAMES, source="frame")
    for batch in batches:
        column = pl.Series(batch, dtype=pl.String).cast(dtype)
        assert coder.codes(column).tolist() == [NAMES.index(name) for name in batch]
    halves = [pl.Series(batch, dtype=pl.String).cast(dtype) for batch in batches]
    if halves:
        together = pl.concat(halves, rechunk=False)
        assert coder.codes(together).tolist() == [NAMES.index(name) for batch in batches for name in batch]
        assert coder.codes(together[1:]).tolist() == coder.codes(together).tolist()[1:]


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_names_of_a_file_in_many_batches(
    dtype: pl.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    drawn = [NAMES[k] for k in rng.integers(0, 5, size=5000)]
    frame = pl.DataFrame({"sensor": pl.Series(drawn, dtype=pl.String).cast(dtype)})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=500)
    monkeypatch.setattr(scanning, "NAME_BATCH_ROWS", 300)
    monkeypatch.setattr(scanning, "PLAIN_BATCHES", 1)
    assert distinct_names(pl.scan_parquet(tmp_path / "a.parquet"), "sensor", source="a") == sorted(NAMES[:5])


def test_more_names_than_expected_take_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"a rather long sensor name {k}" for k in range(3000)]
    monkeypatch.setattr(scanning, "PLAIN_BATCHES", 0)
    monkeypatch.setattr(scanning, "MOST_NAMES", 100)
    assert distinct_names(pl.LazyFrame({"s": many * 2}), "s", source="frame") == sorted(many)
    # The same text stored again and again has as many references as rows, more than there are names.
    copies = pl.concat([pl.Series([many[0]]) for _ in range(2000)], rechunk=True)
    assert NameCoder(many[:1], source="frame").codes(copies).tolist() == [0] * 2000


def test_names_that_are_not_listed_or_not_there() -> None:
    coder = NameCoder(["pressure_1", "flow_2"], source="a.parquet")
    for dtype in (pl.String, pl.Categorical):
        with pytest.raises(InputError, match=r"a\.parquet: unknown sensor 'flow_3' in a row.*did you mean 'flow_2'"):
            coder.codes(pl.Series(["pressure_1", "flow_3"]).cast(dtype))
        with pytest.raises(InputError, match="some rows have no sensor name"):
            coder.codes(pl.Series(["pressure_1", None]).cast(dtype))
