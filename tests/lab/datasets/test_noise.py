"""Noise of readings: of the stated size, seeded, the same for a day in every period, and never in the cache."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.lab.datasets.water import add_noise


def frame(days: int = 3) -> pl.DataFrame:
    times = pl.datetime_range(datetime(2024, 1, 1), datetime(2024, 1, days, 23, 30), "30m", eager=True, time_zone="UTC")
    steps = np.arange(len(times), dtype=float)
    return pl.DataFrame({"time": times, "a": 100 + steps, "b": -5 - steps, "zero": 0 * steps})


def test_every_reading_has_an_error_of_the_stated_relative_size() -> None:
    exact, noisy = frame(31), add_noise(frame(31), noise=0.01, seeds=[3])
    ratios = {name: (noisy[name] / exact[name]).to_numpy() for name in ("a", "b")}
    for ratio in ratios.values():
        assert ratio.std() == pytest.approx(0.01, rel=0.1)
        assert ratio.mean() == pytest.approx(1.0, abs=0.001)
        assert len(np.unique(ratio)) == len(ratio)
        assert abs(np.corrcoef(ratio[1:], ratio[:-1])[0, 1]) < 0.1
    assert abs(np.corrcoef(ratios["a"], ratios["b"])[0, 1]) < 0.1
    assert (noisy["zero"] == 0).all()
    assert noisy["time"].equals(exact["time"])
    assert add_noise(exact, noise=0.0, seeds=[3]).equals(exact)


def test_the_seeds_and_the_date_decide() -> None:
    noisy = add_noise(frame(3), noise=0.1, seeds=[1, 2])
    assert noisy.equals(add_noise(frame(3), noise=0.1, seeds=[1, 2]))
    assert not noisy.equals(add_noise(frame(3), noise=0.1, seeds=[1, 3]))
    assert add_noise(frame(3).tail(48), noise=0.1, seeds=[1, 2]).equals(noisy.tail(48))
    assert not np.allclose(noisy["a"][:48] / frame(3)["a"][:48], noisy["a"][48:96] / frame(3)["a"][48:96])


@pytest.mark.parametrize("name", ["net1", "net3", "hanoi", "ltown"])
def test_simulated_data_sets_take_noise(name: str) -> None:
    options: dict[str, Any] = {"days": 1, **({"leaks": False} if name == "ltown" else {})}
    exact, noisy, again = (datasets.load(name, noise=noise, **options) for noise in (0.0, 0.01, 0.01))
    assert exact.sensors.to_polars().equals(datasets.load(name, **options).sensors.to_polars())
    assert noisy.sensors.to_polars().equals(again.sensors.to_polars())
    assert not noisy.sensors.to_polars().equals(datasets.load(name, noise=0.01, seed=5, **options).sensors.to_polars())
    pressure = next(sensor.id for sensor in exact.sensors.sensors if sensor.kind == "pressure")
    ratio = (noisy.sensors.to_polars()[pressure] / exact.sensors.to_polars()[pressure]).to_numpy()
    assert ratio.std() == pytest.approx(0.01, rel=0.5)
    assert "1% noise on every reading" in noisy.description
    assert "noise" not in exact.description


def test_noise_is_added_after_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise in the cached file but not in its key, a second load would return readings with other noise."""
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path))
    noisy = datasets.load("net3", days=1, noise=0.05).sensors.to_polars()
    exact = datasets.load("net3", days=1).sensors.to_polars()
    assert len(list((tmp_path / "net3").glob("*/readings.parquet"))) == 1
    assert not noisy.equals(exact)
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "fresh"))
    assert datasets.load("net3", days=1).sensors.to_polars().equals(exact)
