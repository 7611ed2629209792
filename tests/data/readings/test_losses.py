"""A repair that would lose much is neither advised nor done, unless it is confirmed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.readers import read_sensors
from thence.data.readings.cleaning import ErrorPolicy
from thence.data.readings.windows import window
from thence.errors import ConfigError, InputError

N = 2_400
HOURS = [datetime(2019, 1, 1) + timedelta(hours=h) for h in range(N)]
DAYS = [hour.strftime("%Y-%m-%d") for hour in HOURS]


@given(lost=st.integers(0, 10**6), rest=st.integers(0, 10**6), share=st.floats(0, 1))
def test_advice_and_refusal_agree(lost: int, rest: int, share: float) -> None:
    total = lost + rest
    policy = ErrorPolicy("repair", "a.csv", max_loss=share)
    small = policy.allows(lost, total)
    assert small or lost > share * total
    assert (policy.advise("bad-time", lost, total, "repair") == "repair") == small
    if small:
        policy.refuse("bad-time", lost, total)
    else:
        with pytest.raises(InputError, match=r"pass max_loss=[01.]") as caught:
            policy.refuse("bad-time", lost, total)
        confirmed = float(str(caught.value.hint).split("max_loss=")[1].split()[0])
        ErrorPolicy("repair", "a.csv", max_loss=confirmed).refuse("bad-time", lost, total)


BAD = {
    "conflicting": (
        pl.DataFrame({"Date": DAYS, "a": range(N)}),
        "2,300 of 2,400 readings have another value at the same time: check time= and sensor=",
        "on_error='repair' would lose 2,300 of 2,400 readings (95.8 %), which have another value at the same time",
    ),
    "bad-time": (
        pl.DataFrame({"time": [str(hour) if k % 2 else "off" for k, hour in enumerate(HOURS)], "a": range(N)}),
        "1,200 of 2,400 rows have no usable time: check time= and time_format=",
        "on_error='repair' would lose 1,200 of 2,400 rows (50.0 %), which have no usable time",
    ),
    "no-sensor": (
        pl.DataFrame({"time": HOURS, "sensor": [None, "a"] * (N // 2), "value": range(N)}),
        "1,200 of 2,400 rows have no sensor name: check sensor=",
        "on_error='repair' would lose 1,200 of 2,400 rows (50.0 %), which have no sensor name",
    ),
    "not-a-number": (
        pl.DataFrame({"time": HOURS, "a": ["1.5", "2.5", "3.5", "Bad"] * (N // 4)}),
        "missing=['Bad', ...]",
        "on_error='repair' would lose 600 of 2,400 cells (25.0 %), which are text in a numeric column",
    ),
}


@pytest.mark.parametrize("what", sorted(BAD))
def test_no_advice_to_lose_rows_by_the_thousand(what: str) -> None:
    """All readings of a day but the last would have been dropped, by following the hint."""
    frame, advice, refusal = BAD[what]
    with pytest.raises(InputError) as raised:
        read_sensors(frame)
    assert advice in str(raised.value) and "repair" not in str(raised.value)
    with pytest.raises(InputError) as refused:
        read_sensors(frame, on_error="repair")
    assert refusal in str(refused.value) and "to lose them" in str(refused.value)
    confirmed = read_sensors(frame, on_error="repair", max_loss=1)
    assert confirmed.report.count(what) > 500


def test_lines_of_another_separator(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,a\n" + "".join(f"{hour},1,5\n" for hour in HOURS), encoding="utf-8")
    with pytest.raises(InputError, match=r"2,400 of 2,401 lines have too many or too few fields: check separator="):
        read_sensors(path)
    with pytest.raises(InputError, match=r"would lose 2,400 of 2,401 lines \(100\.0 %\)"):
        read_sensors(path, on_error="repair")
    assert read_sensors(path, on_error="repair", max_loss=1).report.count("ragged") == N


@pytest.mark.parametrize("what", ["conflicting", "bad-time"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_scanned_data_is_refused_when_windowed(what: str, layout: str) -> None:
    frame = BAD[what][0]
    if layout == "long":
        frame = frame.rename({"a": "value"}).with_columns(sensor=pl.lit("a"))
    data = read_sensors(frame.lazy(), on_error="repair")
    with pytest.raises(InputError, match=r"on_error='repair' would lose"):
        window(data, "1h")
    with pytest.raises(InputError, match=r"on_error='repair' would lose"):
        data.check()
    confirmed = read_sensors(frame.lazy(), on_error="repair", max_loss=1)
    assert window(confirmed, "1h").report.count(what) > 500
    with pytest.raises(InputError) as raised:
        window(read_sensors(frame.lazy()), "1h")
    assert "repair" not in str(raised.value)


def test_a_few_bad_rows_of_many_are_repaired() -> None:
    texts = [str(hour) for hour in HOURS]
    texts[7:20] = ["off"] * 13
    frame = pl.DataFrame({"time": texts, "a": range(N)})
    with pytest.raises(InputError, match="pass on_error='repair' to drop the row"):
        read_sensors(frame)
    assert read_sensors(frame, on_error="repair").report.count("bad-time") == 13
    with pytest.raises(InputError, match=r"would lose 13 of 2,400 rows \(0\.5 %\)"):
        read_sensors(frame, on_error="repair", max_loss=0)
    with pytest.raises(ConfigError, match="max_loss must lie between 0 and 1, got 5"):
        read_sensors(frame, max_loss=5)
    assert read_sensors(frame, on_error="repair").span == (HOURS[0].replace(tzinfo=UTC), HOURS[-1].replace(tzinfo=UTC))
