"""Large text files give the same readings as small ones; here a few hundred bytes are large."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from thence.data.readers import read_sensors
from thence.data.readers import text as text_reader
from thence.data.readings.windows import window
from thence.errors import InputError

HEAD = "time,a,b,c\n"
ROWS = "".join(f"2020-01-01 {k // 60:02}:{k % 60:02},{k},{k + 0.25},{('off', 'on')[k % 2]}\n" for k in range(200))
LATER = ROWS.replace("2020-01-01", "2020-01-03")


@pytest.fixture(autouse=True)
def small_is_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "LARGE", 1_000)
        patch.setattr(text_reader, "BLOCK_BYTES", 300)
        patch.setattr(text_reader, "LONGEST_LINE", 20_000)
        yield


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "a.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ROWS,
        "Report of plant 7\nmade,2020-02-01\n\n" + HEAD + ",m3/h,°C,\n" + ROWS,
        "\n" * 1_500 + HEAD + ROWS,
        HEAD + ROWS + "2020-01-02 00:00,1.5,2,on\n" + LATER,  # whole numbers, then others
        HEAD + ROWS + '2020-01-02 00:00,1,2,"o\nn"\n\n' + LATER,
        HEAD + ROWS + "2020-01-02 00:00,,,\n" + LATER,
    ],
)
def test_a_large_file_is_read_as_a_small_one(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    large = read_sensors(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "LARGE", 1 << 30)
        small = read_sensors(path)
    assert "scanned from a temporary copy" in str(large.report) and large.report.pending
    assert large.sensors == small.sensors
    assert large.to_polars().equals(small.to_polars())
    assert window(large, "1h").to_polars().equals(window(small, "1h").to_polars())


def test_text_far_below_numbers_is_found(tmp_path: Path) -> None:
    for cell in ("x", "true"):
        path = write(tmp_path, HEAD + ROWS + f"2020-01-02 00:00,{cell},1,on\n")
        with pytest.raises(InputError, match=f"row 201 below the header: column 'a': '{cell}' is not a number"):
            read_sensors(path)
        assert read_sensors(path, on_error="repair").report.count("not-a-number") == 1


def test_ragged_lines_and_open_quotes_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + ROWS + "2020-01-02 00:00,1,1,on,5\n")
    with pytest.raises(InputError, match="line 202: expected 4 fields, got 5"):
        read_sensors(path)
    assert read_sensors(path, on_error="repair").report.count("ragged") == 1
    with pytest.raises(InputError, match="line 202: a quoted cell is never closed"):
        read_sensors(write(tmp_path, HEAD + ROWS + '2020-01-02 00:00,1,1,"on\n' + LATER))
    with pytest.raises(InputError, match=r"line 202: a line or a quoted cell has more than"):
        read_sensors(write(tmp_path, HEAD + ROWS + '2020-01-02 00:00,1,1,"on\n' + 5 * LATER))


def test_blank_lines_above_the_header_are_not_kept(tmp_path: Path) -> None:
    """A gzip file of 2.9 MB with blank lines took 5.9 GB."""
    assert len(read_sensors(write(tmp_path, "\n" * 5_000 + HEAD + ROWS))) == 3


def test_encodings_and_compression(tmp_path: Path) -> None:
    assert len(read_sensors(write(tmp_path, HEAD + ROWS, "utf-16"))) == 3
    path = write(tmp_path, HEAD + ROWS + "2020-01-02 00:00,1,1,höher\n", "cp1252")
    with pytest.raises(InputError, match=r"cannot be decoded as UTF-8.*pass encoding="):
        read_sensors(path)
    assert read_sensors(path, encoding="cp1252").to_polars()["c"][-1] == "höher"
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(("\n" * 5_000 + HEAD + ROWS).encode()))
    assert read_sensors(packed).to_polars().height == 200
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"b\.csv\.gz: cannot be read"):
        read_sensors(packed)
