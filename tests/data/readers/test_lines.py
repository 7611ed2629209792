"""Lines of text files: quotes, line ends within cells, carriage returns, and numbers of lines in messages."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.readers import lines, read_sensors
from thence.data.readers.lines import count_fields, iter_records, rewrite, split_fields, write_fields
from thence.errors import InputError

CELLS = st.text(st.sampled_from('ab,;"\n '), max_size=6)
TABLES = st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=6)


def write(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_bytes(text.encode())
    return path


@given(TABLES, st.integers(1, 40))
def test_fields_are_counted_as_the_csv_module_counts_them(table: list[list[str]], chunk: int) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(table)
    body = out.getvalue().encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK_BYTES", chunk)
        parts = list(count_fields(body, ","))
    assert [int(n) + 1 for part in parts for n in part.separators] == [len(row) for row in table]
    assert all(part.sound for part in parts)
    assert sum(int(n) for part in parts for n in part.breaks) == sum(cell.count("\n") for row in table for cell in row)


@given(TABLES)
def test_what_is_written_is_read_back(table: list[list[str]]) -> None:
    text = "".join(write_fields(row, ",") + "\n" for row in table)
    assert [fields for _, fields, _ in iter_records(text, ",")] == table
    assert list(csv.reader(io.StringIO(text, newline=""))) == table
    assert rewrite(text.encode(), ",", "a.csv")[0].decode() == text


@given(st.text(st.sampled_from('ab,"'), max_size=12))
def test_a_line_is_split_whatever_its_quotes(line: str) -> None:
    assert len(split_fields(line, ",")) >= 1
    if '"' not in line:
        assert split_fields(line, ",") == line.split(",")


@pytest.mark.parametrize("line", ['2020-01-01,"1""', '2020-01-01,""1"', '2020-01-01,"2" 3', '2020-01-01,"1'])
def test_quotes_out_of_place_are_named_with_their_line(tmp_path: Path, line: str) -> None:
    """They were a ComputeError of polars."""
    text = f"time,a\n2020-01-02,2\n{line}\n2020-01-03,3\n"
    with pytest.raises(InputError, match=r"a\.csv, line 3: a quoted cell is never closed, or something follows"):
        read_sensors(write(tmp_path, text))


def test_a_quote_in_the_middle_of_a_cell_is_a_sign(tmp_path: Path) -> None:
    data = read_sensors(write(tmp_path, 'time,a\n2020-01-01,5" pipe\n2020-01-02,"6"" pipe"\n2020-01-03,7" pipe\n'))
    assert data.to_polars()["a"].to_list() == ['5" pipe', '6" pipe', '7" pipe']


def test_line_numbers_after_line_ends_within_cells(tmp_path: Path) -> None:
    """They were those of the rows: too small by the line ends within cells before them."""
    head = 'time,"a\nb",c\n2020-01-01,"x\ny\nz",1\n'
    with pytest.raises(InputError, match=r"line 6: column 'time': 'bad' is not a time"):
        read_sensors(write(tmp_path, head + "bad,p,2\n"))
    with pytest.raises(InputError, match=r"line 7: expected 3 fields, got 2"):
        read_sensors(write(tmp_path, head + "2020-01-02,p,2\n2020-01-03,q\n"))


def test_lines_that_end_with_carriage_returns(tmp_path: Path) -> None:
    """They were an error of the csv module."""
    for end in ("\r", "\r\n", "\r\r\n"):
        data = read_sensors(write(tmp_path, end.join(["time,a", "2020-01-01,1", "2020-01-02,2", ""])))
        assert data.to_polars()["a"].to_list() == [1.0, 2.0]
    with pytest.raises(InputError, match="line 2: a carriage return within the line"):
        read_sensors(write(tmp_path, "time,a\n2020-01-01,1\r2\n2020-01-02,2\n"))


def test_long_cells_and_long_headers(tmp_path: Path) -> None:
    """Both met the limit of the csv module on the length of a field."""
    data = read_sensors(write(tmp_path, f'time,a\n2020-01-01,"{"x" * 200_000}"\n2020-01-02,y\n'))
    assert len(data.to_polars()["a"][0]) == 200_000
    names = [f"{'n' * 300}{k}" for k in range(500)]
    wide = read_sensors(write(tmp_path, ",".join(["time", *names]) + "\n2020-01-01" + ",1.5" * 500 + "\n"))
    assert len(wide) == 500


@pytest.mark.parametrize("names", ["{1},{x}", "{},{0}", "%s,{a"])
def test_names_with_braces_are_names(tmp_path: Path, names: str) -> None:
    """They were used as format strings."""
    wide = read_sensors(write(tmp_path, f"time,{names}\n2020-01-01,1,2\n"), name="{column}/{file}")
    assert wide.ids == tuple(f"{name}/a" for name in names.split(","))
    rows = "".join(f"2020-01-01,{name},1.5\n" for name in names.split(","))
    long = read_sensors(write(tmp_path, f"time,sensor,value\n{rows}"), name="{column}/{file}")
    assert sorted(long.ids) == sorted(wide.ids)


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_names_that_polars_takes_for_patterns_are_refused(tmp_path: Path, name: str) -> None:
    """They meant all columns: the sensor had the readings of another one, or there was an error of polars."""
    for text in (f"time,{name},a\n2020-01-01,1,2\n", f"time,sensor,value\n2020-01-01,{name},2\n"):
        with pytest.raises(InputError, match="cannot be the name of a column or sensor"):
            read_sensors(write(tmp_path, text))
