"""Tables of the Aerial benchmark as plain files: a year of Hanoi, and a synthetic plant with any number of sensors.

Reading them needs numpy only, so that the benchmark runs on machines with little more than torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int8]

ROWS, BINS = 17_520, 10
ZONE = 20  # default number of sensors that follow the same hidden state


def hanoi(sensors: int, folder: Path) -> tuple[Codes, list[int]]:
    """Return 17,520 rows of Hanoi, regenerated after LeakDB, in deciles; written to ``folder`` on first use."""
    path = folder / f"hanoi-{sensors}.npz"
    if not path.exists():
        from _hanoi_table import hanoi_table, plain

        codes, cardinalities = plain(hanoi_table(sensors))
        np.savez_compressed(path, codes=codes, cardinalities=cardinalities)
    with np.load(path) as stored:
        return stored["codes"], stored["cardinalities"].tolist()


UNTUNED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "L-Town": ("ltown", "5min", {}),
    "Net3": ("net3", "30min", {"sensors": ("pressure", "flow", "demand", "level")}),
    "LBNL": ("lbnl-ahu", "15min", {}),
    "CityBench": ("citybench", "15min", {}),
}


def untuned(name: str, folder: Path) -> tuple[Codes, list[int]]:
    """Return up to twenty sensors of a data set that no setting was tuned on: deciles, no missing values."""
    path = folder / f"{name}.npz"
    if not path.exists():
        import thence as th

        dataset, windows, options = UNTUNED[name]
        table = th.transactions(th.datasets.load(dataset, **options).sensors, windows=windows, bins=10, scope="sensor")
        moving = [column.feature for column in table.blocks[0].columns if not column.is_constant]
        chosen = np.linspace(0, len(moving) - 1, min(20, len(moving))).round().astype(int)
        codes = table.select([moving[place] for place in chosen]).codes
        codes = codes[(codes >= 0).all(axis=1)]
        codes = codes[:, [len(np.unique(column)) > 1 for column in codes.T]]
        ranks = [np.unique(column, return_inverse=True)[1] for column in codes.T]
        codes = np.column_stack(ranks).astype(np.int8)
        np.savez_compressed(path, codes=codes, cardinalities=codes.max(axis=0) + 1)
    with np.load(path) as stored:
        return stored["codes"], stored["cardinalities"].tolist()


SYSTEMS: dict[str, tuple[str, str, dict[str, Any]]] = {"Hanoi": ("hanoi", "30min", {"scenario": 1}), **UNTUNED}
"""Systems whose rules are counted on later time: the data set, the length of a window and options."""

OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Net1": ("net1", "30min", {}),
    "KY4": ("ky4", "30min", {}),
    "KY10": ("ky10", "30min", {}),
    "LBNL SZCAV": ("lbnl-ahu", "15min", {"unit": "SZCAV"}),
    "LBNL SZVAV": ("lbnl-ahu", "15min", {"unit": "SZVAV"}),
}
"""Systems on which neither a setting of Aerial nor a constant of the assurance was chosen."""

SHOWN = 0.7  # share of the time that is mined; the rest is used to check the rules


@dataclass(frozen=True)
class Split:
    """A table in two parts of time, with bins that were fitted on the first part only.

    Args:
        early: Codes of the first part (rows × sensors).
        late: Codes of the rest.
        cardinalities: Number of codes of each sensor.
        lost: Share of the later rows that have a reading with no bin in the first part, and are left out.
    """

    early: Codes
    late: Codes
    cardinalities: list[int]
    lost: float


def split(name: str, folder: Path) -> Split:
    """Return up to twenty sensors of a system: deciles of the first 70 % of the time, windows without gaps."""
    path = folder / f"split-{name}.npz"
    if not path.exists():
        np.savez_compressed(path, **_split(*(SYSTEMS | OTHERS)[name]))
    with np.load(path) as stored:
        return Split(stored["early"], stored["late"], stored["cardinalities"].tolist(), float(stored["lost"]))


def _split(dataset: str, windows: str, options: dict[str, Any]) -> dict[str, NDArray[Any]]:
    import thence as th

    sensors = th.datasets.load(dataset, **options).sensors
    times = th.baselines.feature_table(sensors, windows=windows).times
    cut = int(SHOWN * len(times))
    until = str(times[cut].astype("datetime64[s]"))
    table = th.transactions(sensors, windows=windows, bins=10, scope="sensor", fit_until=until)
    moving = [
        column.feature for column in table.frames(slice(0, cut)).blocks[0].columns if len(np.unique(column.codes)) > 1
    ]
    chosen = np.linspace(0, len(moving) - 1, min(20, len(moving))).round().astype(int)
    codes = table.select([moving[place] for place in chosen]).codes
    complete = (codes >= 0).all(axis=1)
    early, late = codes[:cut][complete[:cut]], codes[cut:][complete[cut:]]
    moves = [len(np.unique(column)) > 1 for column in early.T]
    early, late = early[:, moves], late[:, moves]
    known = [np.unique(column) for column in early.T]
    seen = np.array([np.isin(column, values) for column, values in zip(late.T, known, strict=True)]).all(axis=0)
    ranked = [
        np.column_stack([np.searchsorted(values, column) for column, values in zip(part.T, known, strict=True)])
        for part in (early, late[seen])
    ]
    return {
        "early": ranked[0].astype(np.int8),
        "late": ranked[1].astype(np.int8),
        "cardinalities": np.array([len(values) for values in known]),
        "lost": np.array(1 - seen.mean() if len(seen) else 0.0),
    }


def as_table(codes: NDArray[Any], cardinalities: list[int]) -> Any:
    """Return codes as a table of transactions, one per row, with the codes as names of the states."""
    from thence.language.items import Feature
    from thence.tables.blocks import Block, Column
    from thence.tables.transactions import TransactionTable

    series = np.zeros(1, np.int32)
    columns = tuple(
        Column(
            Feature(f"f{at:04d}"), tuple(f"{code:02d}" for code in range(number)), column[None].astype(np.int16), series
        )
        for at, (column, number) in enumerate(zip(codes.T, cardinalities, strict=True))
    )
    return with_times(TransactionTable((Block(columns, len(codes), 1),)))


def with_times(table: Any) -> Any:
    """Return a plain table whose rows follow each other, half an hour apart."""
    from dataclasses import replace

    (block,) = table.blocks
    times = np.datetime64("2024-01-01", "us") + np.arange(block.n_frames) * np.timedelta64(30, "m")
    return replace(table, blocks=(replace(block, times=times),))


def plant(sensors: int, *, zones: int | None = None, rows: int = ROWS, noise: float = 0.03, seed: int = 0) -> Codes:
    """Simulate zones of sensors; each zone follows its own slow hidden state and the common load of the plant.

    Readings of a zone differ by a little noise only; zones have only the common load in common. Bins are at the deciles
    of each sensor. By default a zone has twenty sensors.
    """
    rng = np.random.default_rng(seed)
    zones = max(1, sensors // ZONE) if zones is None else zones
    hidden = rng.normal(size=(rows, zones + 1)).astype(np.float32)
    for row in range(1, rows):
        hidden[row] = 0.95 * hidden[row - 1] + np.sqrt(1 - 0.95**2, dtype=np.float32) * hidden[row]
    states = 0.8 * hidden[:, 1:] + 0.6 * hidden[:, :1]
    codes = np.empty((rows, sensors), np.int8)
    for sensor in range(sensors):
        reading = states[:, sensor * zones // sensors] + noise * rng.normal(size=rows).astype(np.float32)
        bin_edges = np.quantile(reading, np.arange(1, BINS) / BINS)
        codes[:, sensor] = np.searchsorted(bin_edges, reading, side="right")
    return codes


def within(sensors: int, hops: int) -> list[list[int]]:
    """Return the neighbours of each sensor within ``hops`` on a pipeline that passes all sensors in order."""
    return [
        [other for other in range(max(0, one - hops), min(sensors, one + hops + 1)) if other != one]
        for one in range(sensors)
    ]
