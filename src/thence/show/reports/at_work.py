"""Rules at work in a report: what became of them on later data, and the alarms of a detector.

Each comes from the object in memory, or from the files that ``thence apply --out`` and ``thence detect --out`` write;
both give the same part. This module arranges what is known; it counts and detects nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.integrity.checksums import read_sealed
from thence._base.integrity.manifest import CheckedFolder
from thence.checks.application.applied import Applied
from thence.checks.application.telling import Told, tell_sections
from thence.checks.application.verdicts import Verdict
from thence.checks.detect.detection import Alarm, Detection
from thence.errors import InputError, RunError, reported_as
from thence.language.english import format_number, format_unit
from thence.show.reports.periods import add_up, as_milliseconds
from thence.show.reports.schema import Alarm as AlarmPart
from thence.show.reports.schema import Applied as AppliedPart
from thence.show.reports.schema import AppliedRule, Detected

MOST_RULES = 200
"""Rules that a part lists at most; the verdicts count all of them."""
MOST_ALARMS = 200
"""Alarms that a part lists at most: the strongest."""
_MARK = "applied.json"
_FRAMES = ("rules", "places", "times", "not_bound", "laws", "controls")
_LISTED = "rules that changed"  # they are in the list of rules
_ONE_EACH = ("laws that changed", "controls that changed")
_ORDER = {str(verdict): number for number, verdict in enumerate(Verdict)}


@dataclass(frozen=True, eq=False)
class _Told:
    """The frames of applied rules, under the names that they are shown by."""

    name: str
    period: tuple[str, str] | None
    every: timedelta
    verdicts: Mapping[str, int]
    notes: Sequence[str]
    frames: Mapping[str, pl.DataFrame]
    never_before: Sequence[str] = ()

    def by_rule(self) -> pl.DataFrame:
        return self.frames["rules"]

    def changed(self) -> pl.DataFrame:
        worse = [str(Verdict.BROKEN), str(Verdict.WEAKER)]
        frame = self.by_rule().filter(pl.col("verdict").is_in(worse))
        rank = pl.col("verdict").replace_strict(_ORDER, default=None, return_dtype=pl.Int64)
        return frame.sort(rank, pl.col("now") - pl.col("then"), "rule")

    def by_place(self) -> pl.DataFrame:
        return self.frames["places"]

    def not_bound(self) -> pl.DataFrame:
        return self.frames["not_bound"]

    def laws(self) -> pl.DataFrame:
        return self.frames["laws"]

    def controls(self) -> pl.DataFrame:
        return self.frames["controls"]


def applied_part(applied: Applied, *, name: str = "", most: int = MOST_RULES) -> AppliedPart:
    """Return what became of rules on other data.

    Args:
        applied: What ``th.apply`` returned.
        name: The name of the data; by default that of their system.
        most: Most rules to list: those that changed first.

    Examples:
        >>> import thence as th
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy.between(end="2024-01-02"), windows="1h", bins=3, refine=None, progress="off")
        >>> part = applied_part(th.apply(run, toy.between(start="2024-01-02")))
        >>> part["name"], sum(one["count"] for one in part["verdicts"]) == len(run.rules)
        ('toy', True)
    """
    record = applied.describe()
    frames = {
        "rules": applied.by_rule(),
        "places": applied.by_place(),
        "times": applied.by_time(),
        "not_bound": applied.not_bound(),
        "laws": applied.laws(),
        "controls": applied.controls(),
    }
    return _applied(_told(record, frames, name), most)


def read_applied(folder: str | Path, *, name: str = "", most: int = MOST_RULES) -> AppliedPart:
    """Read what ``thence apply --out`` wrote.

    Args:
        folder: The folder.
        name: The name of the data; by default that of their system, or of the folder.
        most: Most rules to list: those that changed first.

    Raises:
        InputError: If the folder is not there, is not such a folder, or was changed after it was written.
    """
    path = Path(folder)
    if not (path / _MARK).is_file():
        raise InputError(
            f"no {_MARK} in it" if path.is_dir() else "no such folder",
            where=str(path),
            hint="give the folder that 'thence apply --out' wrote",
        )
    try:
        # Panics of polars at damaged files are no ``Exception``.
        with reported_as(InputError, where=str(path), hint="apply the rules again"):
            files = CheckedFolder.open(path, again="apply the rules again")
            files.warn_unverified()
            record = json.loads(files.read(_MARK))
            frames = {one: pl.read_parquet(files.require(f"{one}.parquet")) for one in _FRAMES}
            return _applied(_told(record, frames, name or str(record.get("system") or path.name)), most)
    except RunError as error:
        raise InputError(error.message, where=error.where, hint=error.hint) from error


def _told(record: Mapping[str, Any], frames: Mapping[str, pl.DataFrame], name: str) -> _Told:
    period = record["period"]
    return _Told(
        name or str(record.get("system") or "later data"),
        None if period is None else (period[0], period[1]),
        timedelta(seconds=float(record["window_seconds"])),
        record["verdicts"],
        record["notes"],
        frames,
        tuple(record.get("never_before", ())),
    )


def _applied(applied: _Told, most: int) -> AppliedPart:
    worst = pl.col("verdict").replace_strict(_ORDER, default=len(_ORDER), return_dtype=pl.Int64)
    rows = applied.by_rule().sort(worst, pl.col("now") - pl.col("then"), "rule", nulls_last=True).head(most)
    rules: list[AppliedRule] = [
        {
            "id": int(row["rule"]),
            "sentence": row["sentence"],
            "verdict": row["verdict"],
            "before": _finite(row["then"]),
            "after": _finite(row["now"]),
            "rows": int(row["applied"]),
            "violated": int(row["violated"]),
        }
        for row in rows.to_dicts()
    ]
    edges, held = _over_time(applied.frames["times"], applied.every)
    sections = tell_sections(cast(Told, applied))
    sentences = [text for title in _ONE_EACH for text in sections.pop(title, [])]
    sentences += [f"{title}: {'; '.join(texts)}" for title, texts in sections.items() if title != _LISTED]
    ends = [None, None] if applied.period is None else [_milliseconds(moment) for moment in applied.period]
    return {
        "name": applied.name,
        "start": ends[0],
        "end": ends[1],
        "verdicts": [{"name": verdict, "count": int(count)} for verdict, count in applied.verdicts.items()],
        "rules": rules,
        "edges": edges,
        "held": held,
        "sentences": [*sentences, *applied.notes],
    }


def _over_time(frame: pl.DataFrame, every: timedelta) -> tuple[list[int], list[float | None]]:
    """The share of the applications of rules in which they held, in spans of the time."""
    if not frame.height:
        return [], []
    sums = frame.group_by("time").agg(pl.col("applied", "violated").sum()).sort("time")
    times = sums["time"].dt.replace_time_zone(None).to_numpy().astype("datetime64[us]")
    applied = sums["applied"].to_numpy().astype(np.int64)
    found = add_up([(times, applied, applied - sums["violated"].to_numpy().astype(np.int64))], every)
    if found is None:
        return [], []
    pairs = zip(found["held"], found["applied"], strict=True)
    return found["edges"], [round(held / count, 6) if count else None for held, count in pairs]


def detected_part(detection: Detection, *, name: str = "", most: int = MOST_ALARMS) -> Detected:
    """Return the score over time and the alarms of a detection.

    Args:
        detection: What ``Detector.detect`` returned.
        name: The name of the data; by default that of their system.
        most: Most alarms to list: the strongest, in order of time.
    """
    return _detected(detection.to_dict(), name, most)


def read_detected(path: str | Path, *, name: str = "", most: int = MOST_ALARMS) -> Detected:
    """Read what ``thence detect --out`` wrote, or printed with ``--json``.

    Args:
        path: The file.
        name: The name of the data; by default that of their system, or of the file.
        most: Most alarms to list: the strongest, in order of time.

    Raises:
        InputError: If the file is not there, holds no detection, or was changed after it was written.
    """
    file = Path(path)
    hint = "give a file that 'thence detect --out' wrote"
    try:
        record, _ = read_sealed(file, hint=hint)
    except FileNotFoundError:
        raise InputError("no such file", where=str(file), hint=hint) from None
    except RunError as error:
        raise InputError(error.message, where=error.where, hint=error.hint) from error
    with reported_as(InputError, "not a detection", where=str(file), hint=hint):
        return _detected(record, name or str(record.get("system") or file.stem), most)


def _detected(record: Mapping[str, Any], name: str, most: int) -> Detected:
    alarms = sorted(record["alarms"], key=lambda one: -float(one["peak"]))[:most]
    return {
        "name": name or str(record.get("system") or "later data"),
        "times": [int(time) for time in record["times"]],
        "score": [_finite(score) for score in record["scores"]],
        "threshold": float(record["threshold"]),
        "alarms": sorted((_alarm(one) for one in alarms), key=lambda one: one["start"]),
    }


def _alarm(record: Mapping[str, Any]) -> AlarmPart:
    start, end = datetime.fromisoformat(record["start"]), datetime.fromisoformat(record["end"])
    # A record holds the words of the cause, which is all that the sentence of an alarm needs of it.
    cause: Any = record.get("cause")
    alarm = Alarm(start, end, float(record["peak"]), tuple(map(str, record["places"])), cause=cause)
    explained = record["explanation"]
    reasons = [_reason(reason) for reason in explained["reasons"]]
    reasons += map(str, explained.get("failures", ()))
    if explained.get("others"):
        reasons.append(f"and {int(explained['others']):,} more")
    located: list[list[str | float]] = [[str(place), float(score)] for place, score in record["located"]]
    return {
        "start": _milliseconds(record["start"]),
        "end": _milliseconds(record["end"]),
        "score": alarm.peak,
        "sentence": f"{alarm.when}: {record['cause']}" if record.get("cause") else str(alarm),
        "reasons": reasons,
        "located": located,
    }


def _reason(record: Mapping[str, Any]) -> str:
    """A violated statement with what was read, in words."""
    text = f"{record['statement']}: violated at {record['place']}"
    read = [
        f"{one['sensor']} = {one['value'] if isinstance(one['value'], str) else format_number(_short(one['value']))}"
        f"{' ' + format_unit(one['unit']) if one['unit'] else ''}"
        for one in record["readings"]
    ]
    text += f" ({', '.join(read)})" if read else ""
    return f"{text}; it would hold with {record['change']}" if record["change"] else text


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _finite(value: Any) -> float | None:
    return None if value is None or not math.isfinite(float(value)) else round(float(value), 6)


def _milliseconds(moment: str) -> int:
    parsed = datetime.fromisoformat(moment)
    plain = parsed.astimezone(UTC).replace(tzinfo=None) if parsed.tzinfo is not None else parsed
    stamps: npt.NDArray[np.datetime64] = np.array([plain], "datetime64[us]")
    return int(as_milliseconds(stamps)[0])
