"""What a reader found in the data and what it did about it, counted.

The report is data first (``Finding`` rows, notes, checks still to do) and text second. This module knows no
readers and no frames; it only keeps, merges and prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["DEFERRED", "MEANING", "Finding", "ReadReport"]

# What was found, and what became of it. The keys are stable: `report.count("infinite")`.
MEANING: dict[str, str] = {
    "missing": "empty cells, null or NaN: missing",
    "infinite": "infinite values: made missing",
    "not-a-number": "texts in a numeric column: made missing",
    "disordered": "rows earlier than a row before them: sorted by time",
    "repeated": "readings given again with the same value: kept once",
    "conflicting": "readings with another value at the same time: the last one kept",
    "bad-time": "rows without a usable time: left out",
    "naive-time": "times without a zone among times with one: taken in the assumed zone",
    "twice-time": "local times that exist twice (clock put back): taken as the earlier one",
    "no-sensor": "rows without a sensor name: left out",
    "ragged": "lines with too many or too few fields: cut, or the rest missing",
    "blank": "blank lines: skipped",
    "empty-file": "files or sheets without a row: skipped",
    "silent": "sensors without any reading: kept, all missing",
}

# The checks that need a pass over all rows; a lazily scanned Parquet set has them open until it is windowed.
DEFERRED = ("missing", "infinite", "disordered", "repeated", "conflicting", "bad-time", "silent")


@dataclass(frozen=True)
class Finding:
    """One kind of irregularity in one place, and how often it was met."""

    what: str
    count: int
    sensor: str = ""
    where: str = ""

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.where, f"sensor '{self.sensor}'" if self.sensor else "") if part)
        return f"{self.count:,} {MEANING[self.what]}" + (f" ({place})" if place else "")


@dataclass(frozen=True)
class ReadReport:
    """Everything that reading repaired, left out, assumed, or has not checked yet.

    >>> report = ReadReport((Finding("infinite", 2, "n1"), Finding("infinite", 1, "n2")), notes=("times are UTC",))
    >>> report.count("infinite"), report.count("infinite", sensor="n2"), report.count("missing")
    (3, 1, 0)
    >>> print(report)
    3 infinite values: made missing (2 sensors, most in 'n1': 2)
    times are UTC
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    def count(self, what: str, *, sensor: str | None = None) -> int:
        """How often something was found, in all or for one sensor."""
        if what not in MEANING:
            raise KeyError(f"no finding is called '{what}'; there are {', '.join(MEANING)}")
        return sum(f.count for f in self.findings if f.what == what and sensor in (None, f.sensor))

    def extended(self, findings: Iterable[Finding] = (), *, notes: Iterable[str] = ()) -> ReadReport:
        """This report with more findings and notes."""
        fresh = [note for note in dict.fromkeys(notes) if note not in self.notes]
        return ReadReport((*self.findings, *findings), (*self.notes, *fresh), self.pending)

    def settled(self, findings: Iterable[Finding] = ()) -> ReadReport:
        """This report once the open checks have been made and gave these findings."""
        kept = [f for f in self.findings if f.what not in self.pending]
        return ReadReport((*kept, *findings), self.notes, ())

    def to_dict(self) -> dict[str, object]:
        """Plain data, for logs and provenance."""
        return {
            "findings": [
                {"what": f.what, "count": f.count, "sensor": f.sensor, "where": f.where} for f in self.findings
            ],
            "notes": list(self.notes),
            "pending": list(self.pending),
        }

    def __str__(self) -> str:
        lines = [self._line(what) for what in MEANING if any(f.what == what for f in self.findings)]
        lines += self.notes
        if self.pending:
            lines.append(f"not yet checked (needs a pass over all rows): {', '.join(self.pending)}")
        return "\n".join(lines) if lines else "nothing to report"

    def _line(self, what: str) -> str:
        found = [f for f in self.findings if f.what == what]
        total = sum(f.count for f in found)
        if len(found) == 1:
            return str(found[0])
        by_sensor, by_place = Counter[str](), Counter[str]()
        for finding in found:
            by_sensor[finding.sensor] += finding.count
            by_place[finding.where] += finding.count
        for counter, word in ((by_sensor, "sensors"), (by_place, "places")):
            counter.pop("", None)
            if counter:
                name, most = counter.most_common(1)[0]
                return f"{total:,} {MEANING[what]} ({len(counter)} {word}, most in '{name}': {most:,})"
        return f"{total:,} {MEANING[what]}"
