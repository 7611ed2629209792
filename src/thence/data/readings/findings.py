"""Findings: what reading and cleaning found in the data, what was done about it, and how often.

A report is data first (``Finding`` rows, notes, pending checks) and text second. This module only stores, merges and
formats findings; it does not know readers or frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

MEANING: dict[str, str] = {
    "missing": "empty cells, null or NaN: missing",
    "infinite": "infinite values: set to missing",
    "not-a-number": "text cells in a numeric column: set to missing",
    "disordered": "rows earlier than a previous row: sorted by time",
    "repeated": "duplicate readings with the same value: kept once",
    "conflicting": "readings with another value at the same time: last one kept",
    "bad-time": "rows without a usable time: dropped",
    "far-time": "rows years away from all others: dropped",
    "naive-time": "times without a time zone among times with one: read in the assumed zone",
    "twice-time": "ambiguous local times (clock set back): earlier one used",
    "no-sensor": "rows without a sensor name: dropped",
    "bad-line": "lines that are not JSON: skipped",
    "ragged": "lines with too many or too few fields: truncated, or padded with missing values",
    "blank": "blank lines: skipped",
    "empty-file": "files or sheets without rows: skipped",
    "silent": "sensors without any reading: kept, all missing",
}
"""Meaning of each finding. The keys are stable: ``report.count("infinite")``."""

DEFERRED = ("missing", "infinite", "disordered", "repeated", "conflicting", "bad-time", "far-time", "silent")
"""Checks that need a pass over all rows; pending for lazily scanned data until it is windowed."""


@dataclass(frozen=True)
class Finding:
    """One kind of irregularity in one place, and how often it occurred.

    Args:
        what: Key of ``MEANING``.
        count: Number of occurrences.
        sensor: Id of the sensor, if the finding concerns one sensor.
        where: File, sheet or frame, if known.
    """

    what: str
    count: int
    sensor: str = ""
    where: str = ""

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.where, f"sensor '{self.sensor}'" if self.sensor else "") if part)
        return f"{self.count:,} {MEANING[self.what]}" + (f" ({place})" if place else "")


@dataclass(frozen=True)
class ReadReport:
    """What reading repaired, dropped or assumed, and what has not been checked yet.

    Args:
        findings: Irregularities with their counts.
        notes: Assumptions and decisions, one sentence each.
        pending: Keys of the checks that have not run yet.
        sources: What was read from stores: URL without credentials, query, number of rows, hash of the rows.

    Examples:
        >>> report = ReadReport((Finding("infinite", 2, "n1"), Finding("infinite", 1, "n2")), notes=("times are UTC",))
        >>> report.count("infinite"), report.count("infinite", sensor="n2"), report.count("missing")
        (3, 1, 0)
        >>> print(report)
        3 infinite values: set to missing (2 sensors, most in 'n1': 2)
        times are UTC
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()

    def count(self, what: str, *, sensor: str | None = None) -> int:
        """Return how often something was found.

        Args:
            what: Key of ``MEANING``, for example ``"infinite"``.
            sensor: Count for this sensor only; all sensors by default.

        Raises:
            KeyError: If ``what`` is not a key of ``MEANING``.
        """
        if what not in MEANING:
            raise KeyError(f"unknown finding '{what}'; known: {', '.join(MEANING)}")
        return sum(f.count for f in self.findings if f.what == what and sensor in (None, f.sensor))

    def extended(self, findings: Iterable[Finding] = (), *, notes: Iterable[str] = ()) -> ReadReport:
        """Return this report with more findings and notes; a note that is already there is not repeated."""
        fresh = [note for note in dict.fromkeys(notes) if note not in self.notes]
        findings = _count_once(findings, self.findings)
        return replace(self, findings=(*self.findings, *findings), notes=(*self.notes, *fresh))

    def deferred(self) -> ReadReport:
        """Return this report with all checks that need a pass over the rows pending."""
        return replace(self, pending=DEFERRED)

    def completed(self, findings: Iterable[Finding] = ()) -> ReadReport:
        """Return this report without pending checks, given the findings of those checks."""
        earlier = [f for f in self.findings if f.what not in self.pending]
        findings = _count_once(findings, earlier)
        return replace(self, findings=(*earlier, *findings), pending=())

    def remarks(self) -> list[str]:
        """Return what a reader of results should know of how the data was read: all but the missing readings.

        Examples:
            >>> found = (Finding("missing", 2, "n1"), Finding("infinite", 1, "n2"))
            >>> ReadReport(found, notes=("times are UTC",)).remarks()
            ["1 infinite values: set to missing (sensor 'n2')", 'times are UTC']
        """
        found = {finding.what for finding in self.findings} - {"missing"}
        return [*(self._line(what) for what in MEANING if what in found), *self.notes]

    def to_dict(self) -> dict[str, object]:
        """Return the report as a plain dict that JSON can hold."""
        return {
            "findings": [
                {"what": f.what, "count": f.count, "sensor": f.sensor, "where": f.where} for f in self.findings
            ],
            "notes": list(self.notes),
            "pending": list(self.pending),
            **({"sources": [dict(source) for source in self.sources]} if self.sources else {}),
        }

    def __str__(self) -> str:
        lines = [self._line(what) for what in MEANING if any(f.what == what for f in self.findings)]
        lines += self.notes
        if self.pending:
            lines.append(f"not checked yet (needs a pass over all rows): {', '.join(self.pending)}")
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


def _count_once(findings: Iterable[Finding], earlier: Iterable[Finding]) -> list[Finding]:
    """Return findings without the missing cells that were text in a numeric column, which are counted as such."""
    texts = Counter[str]()
    for finding in earlier:
        if finding.what == "not-a-number":
            texts[finding.sensor] += finding.count
    once = []
    for finding in findings:
        if finding.what == "missing" and (known := min(texts[finding.sensor], finding.count)):
            texts[finding.sensor] -= known
            finding = replace(finding, count=finding.count - known)
        if finding.count:
            once.append(finding)
    return once
