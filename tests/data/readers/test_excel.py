"""Excel sheets follow the rules of text files: names, columns without one, blank rows, and sheets that are no data."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from thence.data.readers import read_sensors
from thence.errors import InputError


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(path) as book:
        date = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        for rows in sheets:
            sheet = book.add_worksheet()
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    sheet.write(i, j, cell, date if isinstance(cell, datetime) else None)
    return path


ROW0, ROW1 = [datetime(2020, 1, 1, 0), 1, 2], [datetime(2020, 1, 1, 1), 3, 4]


@pytest.mark.parametrize("second", ["flow", "flow ", " flow"])
def test_one_name_twice_in_an_excel_header(tmp_path: Path, second: str) -> None:
    """The reader below made flow_1 of the second flow, and 'flow ' was a polars error."""
    path = workbook(tmp_path / "a.xlsx", [["time", None, "flow", second], [ROW0[0], None, 1, 2]])
    with pytest.raises(InputError, match=r"sheet 'Sheet1', row 1: duplicate column name 'flow' \(columns 3, 4\)"):
        read_sensors(path)
    true = workbook(tmp_path / "b.xlsx", [["time", "flow", "flow_1"], ROW0, ROW1])
    assert read_sensors(true).ids == ("flow", "flow_1")


def test_excel_columns_without_a_name(tmp_path: Path) -> None:
    """One became the sensor __UNNAMED__1."""
    data = read_sensors(workbook(tmp_path / "a.xlsx", [["time", None, " flow"], ROW0, ROW1]))
    assert data.ids == ("flow",) and data.to_polars()["flow"].to_list() == [2.0, 4.0]
    assert "column 2 has no name" in str(data.report) and "removed spaces around 1 column names" in str(data.report)


def test_blank_rows_of_a_sheet_keep_the_others_numbers(tmp_path: Path) -> None:
    broken = [ROW1[0], "x", 4]
    path = workbook(tmp_path / "a.xlsx", [["time", "a", "b"], ROW0, [], broken, [datetime(2020, 1, 2), 5, 6]])
    with pytest.raises(InputError, match=r"sheet 'Sheet1', row 4: column 'a': 'x' is not a number"):
        read_sensors(path)
    assert read_sensors(path, on_error="repair").report.count("blank") == 1


def test_why_every_sheet_was_skipped_is_said(tmp_path: Path) -> None:
    """The error spoke of the right files to name, not of the title above the header."""
    title: list[list[Any]] = [["Plant 1", "Plant 1"], [], ["time", "a"], ROW0[:2]]
    with pytest.raises(InputError, match=r"sheet 'Sheet1': no time column found.*skip_rows= if lines come before"):
        read_sensors(workbook(tmp_path / "a.xlsx", title))
    data = read_sensors(workbook(tmp_path / "b.xlsx", title, [["time", "a"], ROW0[:2]], []))
    assert data.ids == ("a",) and data.span == (datetime(2020, 1, 1, tzinfo=UTC),) * 2
    assert "sheet 'Sheet1': no time column, skipped" in str(data.report)
    assert "sheet 'Sheet3': empty, skipped" in str(data.report)
    split: list[list[Any]] = [["Date", "Time", "b"], ["2020-01-01", "00:05", 1]]
    joined = read_sensors(workbook(tmp_path / "c.xlsx", [["time", "a"], ROW0[:2]], split))
    assert "sheet 'Sheet2': times joined from the columns 'Date' and 'Time'" in str(joined.report)
