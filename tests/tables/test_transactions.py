"""Tables: creation from frames, selection, saving, and ``describe``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.networks import network
from tests.helpers.tables import factorised_tables, plain_tables
from thence._base.frames import to_polars_frame
from thence.data.readings.windows import window
from thence.errors import InputError, MiningError
from thence.language.items import Feature, Interval
from thence.tables.blocks import Column
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable


def test_from_pandas_and_polars_alike_without_changing_them() -> None:
    data = {"flow": [1.0, None, 3.0, 4.0], "door": ["open", "shut", None, "open"], "on": [True, False, True, True]}
    frames = [pl.DataFrame(data), pd.DataFrame(data)]
    before = [frame.clone() if isinstance(frame, pl.DataFrame) else frame.copy() for frame in frames]
    tables = [TransactionTable.from_frame(frame, bins=2) for frame in frames]
    assert tables[0].codes.tolist() == tables[1].codes.tolist() == [[0, 0, 1], [-1, 1, 0], [1, -1, 1], [1, 0, 1]]
    assert tables[0].blocks[0].columns[0].values == (Interval(-np.inf, 3), Interval(3, np.inf))
    assert before[0].equals(frames[0])
    pd.testing.assert_frame_equal(before[1], frames[1])


def test_infinite_numbers_are_missing() -> None:
    assert TransactionTable.from_frame(pl.DataFrame({"a": [1.0, float("inf"), 2.0]}), bins=2).codes[:, 0].tolist() == [
        0,
        -1,
        1,
    ]


def test_bad_frames_are_refused() -> None:
    with pytest.raises(InputError, match="no columns"):
        TransactionTable.from_frame(pl.DataFrame())
    with pytest.raises(InputError, match="cannot read a frame of type dict"):
        TransactionTable.from_frame({"a": [1]})
    with pytest.raises(InputError, match="duplicate column name 'a'"):
        TransactionTable.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="duplicate column name '1'"):
        TransactionTable.from_frame(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(InputError, match="cannot read a frame of type Series"):
        TransactionTable.from_frame(pd.Series([1, 2]))
    with pytest.raises(InputError, match="column 'a' must hold numbers or categories, got object"):
        TransactionTable.from_frame(pd.DataFrame({"a": [object(), 2]}))
    with pytest.raises(InputError, match="column 'a' must hold numbers or categories, got List"):
        TransactionTable.from_frame(pl.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(InputError, match="has 40,000 different values; a column can hold at most 32,767"):
        TransactionTable.from_frame(pl.DataFrame({"a": [str(i) for i in range(40_000)]}))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.Categorical([3, 1, 3]), ("1", "3")),
        (pd.Categorical([1, "1", None]), ("1",)),
        (pd.Categorical([0.5, None, 2.0], categories=[2.0, 0.5, 7.0], ordered=True), ("0.5", "2.0")),
        (
            pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01", None])),
            ("2020-01-01 00:00:00", "2020-01-02 00:00:00"),
        ),
        (pd.arrays.IntervalArray.from_breaks([0, 2, 4, 6]), ("(0, 2]", "(2, 4]", "(4, 6]")),
        (pd.cut([1.0, 2.0, 3.0], [0, 2, 4]), ("(0, 2]", "(2, 4]")),
        (pd.period_range("2020", periods=3, freq="M"), ("2020-01", "2020-02", "2020-03")),
        ([1, "x", None], ("1", "x")),
        (pd.arrays.SparseArray([True, False, True]), (False, True)),
    ],
)
def test_categories_of_pandas_stay_categories(column: object, values: tuple[object, ...]) -> None:
    """Regression: integer categories of pandas were binned, and intervals of ``pd.cut`` could not be read."""
    assert TransactionTable.from_frame(pd.DataFrame({"a": column})).blocks[0].columns[0].values == values


def test_categories_of_pandas_are_read_by_their_codes() -> None:
    """Regression: every cell was converted to a string in Python, which took a second for five million."""

    class Kind:
        times = 0

        def __str__(self) -> str:
            Kind.times += 1
            return "kind"

    kind = Kind()
    column = to_polars_frame(pd.DataFrame({"a": pd.Categorical([kind, None, kind, kind])}))["a"]
    assert column.to_list() == ["kind", None, "kind", "kind"] and Kind.times == 1
    none = to_polars_frame(pd.DataFrame({"a": pd.Categorical([None, None])}))["a"]
    assert none.to_list() == [None, None] and none.dtype == pl.String


@settings(max_examples=examples(50))
@given(st.one_of(plain_tables(), factorised_tables()))
def test_a_saved_table_is_the_same_table(tmp_path_factory: pytest.TempPathFactory, table: TransactionTable) -> None:
    path = tmp_path_factory.mktemp("table") / "table.npz"
    table.save(path)
    again = TransactionTable.load(path)
    assert again.features == table.features
    assert again.blocks[0].flat().tolist() == table.blocks[0].flat().tolist()
    assert again.describe() == table.describe()


def test_a_lifted_table_survives_saving(tmp_path: Path) -> None:
    net = network(frames=40)
    table = build(
        window(net.sensors, "30min"), mode="lifted", graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=4, scope="sensor"), min_embeddings=2,
    )  # fmt: skip
    table.save(tmp_path / "lifted.npz")
    again = TransactionTable.load(tmp_path / "lifted.npz")
    assert [str(b.pattern) for b in again.blocks] == [str(b.pattern) for b in table.blocks]
    assert [b.pattern for b in again.blocks] == [b.pattern for b in table.blocks]
    assert all((x.times == y.times).all() for x, y in zip(again.blocks, table.blocks, strict=True))
    assert again.discretizer.to_dict() == table.discretizer.to_dict()
    for ours, theirs in zip(again.blocks, table.blocks, strict=True):
        assert ours.embeddings == theirs.embeddings
        assert ours.flat().tolist() == theirs.flat().tolist()
        assert [c.feature.reads for c in ours.columns] == [c.feature.reads for c in theirs.columns]


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"not a table")
    with pytest.raises(InputError, match="not a saved table"):
        TransactionTable.load(tmp_path / "x.npz")
    with pytest.raises(InputError, match="no such file"):
        TransactionTable.load(tmp_path / "y.npz")


@pytest.mark.parametrize("left", [0, 30, 200])
def test_a_damaged_file_is_no_table(tmp_path: Path, left: int) -> None:
    """Regression: a truncated archive raised a bare BadZipFile or EOFError."""
    path = tmp_path / "table.npz"
    TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"]})).save(path)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(InputError, match="not a saved table"):
        TransactionTable.load(path)


def test_a_table_without_rows_is_described_without_warnings() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"]})).frames(slice(0, 0))
    assert table.describe()["missing_share"] == 0.0


def test_selection_and_frames() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"]}))
    assert table.select([table.features[1]]).n_features == 1
    assert table.frames(slice(1, 3)).codes.tolist() == [[1, 0], [0, 1]]
    assert table.frames(np.array([True, False, True])).n_rows == 2
    assert table.frames(slice(2, 4)).n_rows == 1
    with pytest.raises(MiningError, match="no single matrix"):
        _ = TransactionTable(table.blocks * 2).codes


def test_describe_counts_what_is_there() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", None], "b": ["u", "u"]}))
    told = table.describe()
    assert told["rows"] == 2
    assert told["constant_features"] == 2
    assert told["features_with_missing"] == 1
    assert told["missing_share"] == 0.25
    assert repr(table) == "TransactionTable(2 rows × 2 features, 2 items, enrich='none')"


@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.tuples(
            st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=rows, max_size=rows),
            st.lists(st.integers(-1, rows - 1), min_size=1, max_size=6),
        )
    )
)
def test_a_column_knows_whether_it_is_constant_or_has_gaps(case: tuple[list[list[int]], list[int]]) -> None:
    codes, series = np.array(case[0], np.int16), np.array(case[1], np.int32)
    column = Column(Feature("a"), (0.0, 1.0, 2.0), codes, series)
    read = [codes[row].tolist() if row >= 0 else [-1] * 3 for row in series.tolist()]
    assert column.is_constant == (len({code for row in read for code in row if code >= 0}) <= 1)
    assert column.has_missing == any(code < 0 for row in read for code in row)
