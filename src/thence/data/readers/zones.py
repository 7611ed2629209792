"""Time zones that a source names, and local times at the end of summer time.

A zone may be in the name of the time column (``Date Time, GMT-05:00``), in a file of metadata beside the readings, or
behind the times (``… +02:00 Berlin``). Where the clock is set back, an hour occurs twice: the order of the rows says
which of two equal times is the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import polars as pl

from thence._base.settings.numbers import require_zone
from thence.errors import ConfigError

_OFFSET = re.compile(r"(?:GMT|UTC)\s*([+−-])\s*(\d{1,2})(?::?([0-5]\d))?\b")
_NAMED = re.compile(r"\b([A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?)\b")
_BEHIND = re.compile(r"[+-]\d{2}:?\d{2} ([A-Z][A-Za-z_]+)$")
_HALF_HOURS = {
    "+03:30": "Asia/Tehran",
    "+04:30": "Asia/Kabul",
    "+05:30": "Asia/Kolkata",
    "+05:45": "Asia/Kathmandu",
    "+06:30": "Asia/Yangon",
    "+09:30": "Australia/Darwin",
}
"""Zones without summer time whose offset is not one of whole hours."""
_USUAL = (
    *("Europe/Berlin", "America/New_York", "Europe/London", "Europe/Helsinki", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "Australia/Sydney", "Pacific/Auckland", "America/Santiago"),
)
_KEYS = ("timezone", "time_zone", "tz", "timeZone", "iana_zone")
_LARGEST = 1 << 20
_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Beside:
    """What a file of metadata says about the readings beside it.

    Args:
        zone: The time zone of times without one.
        units: Units by column.
        notes: Where that is from.
    """

    zone: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_beside(path: Path) -> Beside:
    """Read the file of metadata of a file, ``log.meta.json`` or ``log.csv.meta.json`` of ``log.csv``, if there is one.

    Args:
        path: The file of readings.
    """
    for name in (f"{path.stem}.meta.json", f"{path.name}.meta.json"):
        meta = path.with_name(name)
        try:
            if not meta.is_file() or meta.stat().st_size > _LARGEST:
                continue
            found = json.loads(meta.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return Beside(notes=(f"{name} beside the file cannot be read",))
        if not isinstance(found, dict):
            continue
        zone = next((found[key] for key in _KEYS if isinstance(found.get(key), str)), "")
        units = found.get("units")
        units = units if isinstance(units, dict) else {}
        known = {str(id): unit for id, unit in units.items() if isinstance(unit, str)}
        if zone and not is_zone(zone):
            return Beside(units=known, notes=(f"the time zone {zone[:40]!r} of {name} is not known",))
        said = [f"time zone {zone}"] * bool(zone) + ["units"] * bool(known)
        return Beside(zone, known, (f"{' and '.join(said)} from {name}",) if said else ())
    return Beside()


def is_zone(name: str) -> bool:
    """Return whether a name is one of the IANA database.

    Args:
        name: The name.
    """
    try:
        require_zone(name)
    except ConfigError:
        return False
    return True


def zone_in_name(name: str) -> str:
    """Return the time zone that the name of a column says; empty if it says none that is known.

    Args:
        name: The name.

    Examples:
        >>> [zone_in_name(name) for name in ("Date Time, GMT-05:00", "Zeit [Europe/Berlin]", "t (UTC)", "time")]
        ['Etc/GMT+5', 'Europe/Berlin', 'UTC', '']
    """
    if found := _OFFSET.search(name):
        sign, hours, minutes = "+" if found[1] == "+" else "-", int(found[2]), found[3] or "00"
        if minutes != "00":
            return _HALF_HOURS.get(f"{sign}{hours:02d}:{minutes}", "")
        zone = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}" if hours else "UTC"
        return zone if is_zone(zone) else ""
    if found := _NAMED.search(name):
        return found[1] if is_zone(found[1]) else ""
    return "UTC" if re.search(r"\b(UTC|GMT)\b|_utc$", name) else ""


def zone_behind(cells: pl.Series) -> str:
    """Return the time zone whose city stands behind all times, as Haystack writes them; empty if there is none.

    Args:
        cells: Some times.
    """
    if cells.dtype != pl.String or not cells.len():
        return ""
    found = _BEHIND.search(cells[0])
    if not found or not cells.str.ends_with(f" {found[1]}").all():
        return ""
    named = _zones_of_cities().get(found[1], ())
    return named[0] if len(named) == 1 else ""


@cache
def _zones_of_cities() -> Mapping[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for zone in sorted(available_timezones()):
        if "/" in zone and not zone.startswith(("Etc/", "posix/", "right/", "US/", "Canada/", "SystemV/")):
            city = zone.rpartition("/")[2]
            out[city] = (*out.get(city, ()), zone)
    return out


def settle_repeated(plain: pl.Series, zone: str, sensors: pl.Series | None = None) -> tuple[pl.Series, pl.Series]:
    """Return local times as UTC, with the times of a repeated hour in the order of the rows.

    Args:
        plain: The times without a zone, in the order of the rows.
        zone: The time zone.
        sensors: The sensor of each row, in a long table; each has its own order.

    Returns:
        The times, null where a time does not exist, and whether a time may be either of two since no order settles it;
        such times are read as the earlier one.

    Examples:
        >>> local = pl.Series([datetime(2024, 10, 27, 2, m) for m in (0, 30, 0, 30)])
        >>> settle_repeated(local, "Europe/Berlin")[0].dt.strftime("%H:%M").to_list()
        ['00:00', '00:30', '01:00', '01:30']
    """
    early, late = (
        plain.dt.replace_time_zone(zone, ambiguous=how, non_existent="null").dt.convert_time_zone("UTC")
        for how in ("earliest", "latest")
    )
    repeated = (early != late).fill_null(False)
    if not repeated.any():
        return early, repeated
    known = plain.drop_nulls()
    falling = bool(known[0] > known[-1])
    group = sensors.cast(pl.String) if sensors is not None else pl.Series([""]).new_from_index(0, len(plain))
    rows = pl.DataFrame({"time": plain, "sensor": group}).with_row_index("row").filter(repeated)
    rows = rows.sort("row", descending=falling)
    before = pl.col("time").cum_max().shift(1).over("sensor", pl.col("time").dt.date())
    rows = rows.with_columns((before >= pl.col("time")).fill_null(False).alias("second"))
    settled = rows.with_columns(pl.col("second").any().over("sensor", pl.col("time").dt.date()).alias("settled"))
    second = pl.Series([False]).new_from_index(0, len(plain)).scatter(rows["row"], rows["second"])
    open_rows = pl.Series([False]).new_from_index(0, len(plain)).scatter(rows["row"], ~settled["settled"])
    times = pl.select(pl.when(pl.lit(second)).then(pl.lit(late)).otherwise(pl.lit(early))).to_series()
    return times, open_rows


def suggest_zone(times: pl.Series) -> str:
    """Return a hint if times go back by about an hour at a moment at which clocks are set back somewhere.

    Args:
        times: Times without a zone, in the order of the rows.

    Examples:
        >>> local = [datetime(2024, 10, 27, h, m) for h, m in ((1, 30), (2, 0), (2, 30), (2, 0), (2, 30), (3, 0))]
        >>> suggest_zone(pl.Series(local))
        "the clock goes back on 2024-10-27 at 02:00, as in Europe/Berlin: pass timezone='Europe/Berlin' or its own"
    """
    back = (times.diff().dt.total_microseconds() < 0) & (times.diff().dt.total_microseconds() >= -_HOUR)
    for at in back.fill_null(False).arg_true().to_list()[:3]:
        moment: datetime = times[at].replace(tzinfo=None)
        zones = [zone for zone in _USUAL if _is_repeated(moment, zone)]
        if zones:
            return (
                f"the clock goes back on {moment:%Y-%m-%d} at {moment:%H:%M}, as in {zones[0]}: pass "
                f"timezone='{zones[0]}' or its own"
            )
    return ""


def _is_repeated(moment: datetime, zone: str) -> bool:
    first, second = (moment.replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset() for fold in (0, 1))
    return first is not None and second is not None and first > second
