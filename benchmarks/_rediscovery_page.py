"""The page of the rediscovery benchmark: its tables, files and picture, from the findings of each network."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from _rediscovery_score import LEAST_ACTIONS, PHYSICS, TOLERANCE, Score, add_scores

import thence as th
from thence.lab.datasets.library import TrueControl
from thence.statements.controls.control import Controls

CHOSEN_ON = ("net1", "net3")
"""The networks on which settings were chosen."""
CONTROL_COLUMNS = (
    "network", "contender", "sensors", "rules", "controls", "recalled", "looked_at", "true", "error", "seconds",
)  # fmt: skip
LAW_COLUMNS = (
    "network", "law", "places", "later_share", "unseen_places", "unseen_rows", "unseen_held", "sentence",
)  # fmt: skip
NUMBERS = ("Two", "Three", "Four", "Five")
SENTENCES = 10
PEER_SENTENCES = 3


@dataclass(frozen=True)
class ControlRow:
    """The score of one contender on one network."""

    network: str
    contender: str
    sensors: int
    rules: int
    score: Score
    seconds: float
    first: tuple[str, ...]


@dataclass(frozen=True)
class LawRow:
    """One law of physics on one network: what was found, and how it holds elsewhere and later."""

    network: str
    law: str
    possible: int
    sentence: str = ""
    later: float = math.nan
    unseen_places: int = 0
    unseen_rows: int = 0
    unseen_held: int = 0

    @property
    def unseen(self) -> float:
        """Share of the rows at unseen places in later time in which the law holds; NaN without rows."""
        return self.unseen_held / self.unseen_rows if self.unseen_rows else math.nan


@dataclass
class Findings:
    """All that the page tells of one network."""

    network: str
    sensors: int
    truth: tuple[TrueControl, ...]
    controls: list[ControlRow] = field(default_factory=list)
    laws: list[LawRow] = field(default_factory=list)
    law_seconds: float = math.nan
    told: tuple[str, ...] = ()
    told_laws: tuple[str, ...] = ()


def percent(value: float, digits: int = 0) -> str:
    """Format a share in per cent, never rounded up to 100; a dash for NaN."""
    if math.isnan(value):
        return "–"
    shown = round(100 * value, digits)
    if value < 1 and shown == 100:
        shown = 100 - 10.0**-digits
    return f"{shown:.{digits}f} %"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int) -> str:
    """Return a Markdown table whose first columns are texts and whose other columns are numbers."""
    marks = ["---"] * left + ["--:"] * (len(head) - left)
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def controls_table(studies: Sequence[Findings]) -> str:
    """Return the table of controls."""
    rows = [
        (
            row.network,
            f"**{row.contender}**" if row.contender == "Thence" else row.contender,
            f"{row.sensors:,}" if row.sensors else "",
            f"{row.rules:,}",
            f"{row.score.recalled} of {row.score.controls} ({percent(row.score.recall)})",
            f"{row.score.true} of {row.score.looked_at} ({percent(row.score.precision)})",
            percent(row.score.error, 2),
            f"{row.seconds:.1f}" if math.isfinite(row.seconds) else "stopped",
        )
        for row in [*(row for study in studies for row in study.controls), *_added_up(studies)]
    ]
    head = ("network", "contender", "sensors", "rules about switches", "controls recalled", "of the best rules true",
            "threshold error, median", "s")  # fmt: skip
    return table(head, rows, left=2)


def _added_up(studies: Sequence[Findings]) -> list[ControlRow]:
    """Return the sums of each contender over the networks that confirm, if there are several."""
    confirming = [study for study in studies if study.network not in CHOSEN_ON]
    if len(confirming) < 2:
        return []
    sums = []
    for number, label in enumerate(row.contender for row in confirming[0].controls):
        rows = [study.controls[number] for study in confirming]
        score = add_scores(row.score for row in rows)
        seconds, rules = sum(row.seconds for row in rows), sum(row.rules for row in rows)
        sums.append(ControlRow(" + ".join(one.network for one in confirming), label, 0, rules, score, seconds, ()))
    return sums


def laws_table(studies: Sequence[Findings]) -> str:
    """Return the table of laws."""
    rows = [[words, *(_law_cell(study, law) for study in studies)] for law, words in PHYSICS.items()]
    counts = []
    for study in studies:
        possible = [row for row in study.laws if row.possible]
        counts.append(f"{sum(bool(row.sentence) for row in possible)} of {len(possible)}")
    rows += [["found", *counts], ["seconds", *(f"{study.law_seconds:.1f}" for study in studies)]]
    return table(["law", *(study.network for study in studies)], rows, left=1)


def _law_cell(study: Findings, law: str) -> str:
    row = next(row for row in study.laws if row.law == law)
    if not row.possible:
        return "no such place"
    if not row.sentence:
        return f"**not found** ({row.possible} place{'' if row.possible == 1 else 's'})"
    return f"{percent(row.later, 2)}; " + (
        f"{percent(row.unseen, 2)} at {row.unseen_places}" if row.unseen_rows else "–"
    )


def format_page(studies: Sequence[Findings], *, days: int, regions: int, limit_s: int) -> str:
    """Return the page of the results."""
    return PAGE.format(
        number=("One water network", *(f"{word} water networks" for word in NUMBERS))[len(studies) - 1],
        days=days,
        setting=f"Settings of the searches were chosen on {' and '.join(CHOSEN_ON)}. {ABOUT_CONTROLS} {ABOUT_LAWS}",
        least=LEAST_ACTIONS,
        rare=sum(control.acted < LEAST_ACTIONS for study in studies for control in study.truth),
        tolerance=f"{100 * TOLERANCE:.0f} %",
        controls=controls_table(studies),
        laws=laws_table(studies),
        limit=limit_s,
        regions="one region" if regions == 1 else f"{regions} regions, counts added up",
        sentences="\n".join(line for study in studies for line in _sentences(study)).rstrip(),
    )


def _sentences(study: Findings) -> list[str]:
    """Return what was found in a network, in words, and what the peers say."""
    lines = [f"### {study.network}", "", "Controls:", ""]
    lines += [f"{number}. {text}" for number, text in enumerate(study.told, start=1)] or ["No control was found."]
    lines += ["", "Laws:", ""]
    lines += [f"{number}. {text}" for number, text in enumerate(study.told_laws, start=1)] or ["No law was found."]
    for row in study.controls[1:]:
        lines += ["", f"The first rules of {row.contender} about switches:", ""]
        lines += [f"- {text}" for text in row.first] or ["- none"]
    return [*lines, ""]


ABOUT_CONTROLS = (
    "How effects are separated from causes, and which of several readings is the cause, was settled with ky10 and net6 "
    "in view: no network is wholly unseen."
)

ABOUT_LAWS = """\
Laws: limits were also chosen on Hanoi;
the order in which laws are told was settled while ky10 and net6 were looked at, and bounds that hold while a
state does (the pressure behind an open reducing valve) were added after a first run on ky10 had missed them.
ky10's law of check valves is missed: there is one such pipe, and a single one may keep to one side by chance."""
PAGE = """\
# Controls and laws, rediscovered

Made by `benchmarks/rediscovery.py`. {number} from WNTR's library, simulated for {days} days at 5 minutes with noisy
demands ([data sets](../../guide/datasets.md#net1)). The network files say which level opens or closes which pump; these
statements are in nothing that is searched. They are compared with what is found.

{setting}

## Controls

A control counts if it acted at least {least} times in the readings ({rare} controls of the files did not). It is
*recalled* if one of the best rules, five per control, names the right actuator, the right tank, the right direction
and a threshold within {tolerance} of the range of the level. *True* is the share of these best rules that state a
control of the file. The *error* is the distance between the threshold found and the true one, as a share of the range
of the level. A control by the clock has an hour instead of a threshold, and a range of 24 hours.

The peers get every benefit: one antecedent, a status as consequent, ten bins per reading and the hour of the day, the
order of Zhang's measure, either end of a bin as the threshold, and "is open" taken as "opens". They see the tank levels
and the states only, which is where the truth is; Thence, and Exact in one of its two rows, search all readings. A peer
that took longer than {limit} s was stopped.

{controls}

![A rediscovered control: the level of a tank over five days, the switches, and the thresholds](control.svg)

## Laws

The first number is the share of rows in later time in which the law holds. The second is the same at places that were
wholly unseen when the law was found, with their number ({regions}): a region hides 30 % of the places, laws are
searched at the others in the first 60 % of the time, and counted in the last 40 %. A dash: no region hid such a place
with all its neighbours.

{laws}

## In words

The first ten sentences about controls and about laws, and what the peers say about switches.

{sentences}
"""


def write_files(studies: Sequence[Findings], folder: Path, *, days: int, regions: int, limit_s: int) -> None:
    """Write the page and the tables."""
    page = format_page(studies, days=days, regions=regions, limit_s=limit_s)
    (folder / "record.md").write_text(page, encoding="utf-8")
    with (folder / "controls.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(CONTROL_COLUMNS)
        for row in (row for study in studies for row in study.controls):
            score = row.score
            numbers = [score.controls, score.recalled, score.looked_at, score.true, f"{score.error:.6g}"]
            out.writerow([row.network, row.contender, row.sensors, row.rules, *numbers, f"{row.seconds:.2f}"])
    with (folder / "laws.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(LAW_COLUMNS)
        for law in (law for study in studies for law in study.laws):
            unseen = [law.unseen_places, law.unseen_rows, law.unseen_held]
            out.writerow([law.network, law.law, law.possible, f"{law.later:.6g}", *unseen, law.sentence])


def draw_control(
    system: th.System, found: Controls, truth: Sequence[TrueControl], file: Path, *, days: int = 5
) -> None:
    """Draw one rediscovered control: the level over time, the moments of the switches, the thresholds."""
    import altair as alt

    by_level = [one for one in found if one.sensor_feature is not None]
    actuator, sensor = by_level[0].actuator_feature, by_level[0].sensor_feature
    pair = (actuator.subject, sensor.subject)
    frame = system.sensors.select(pair).to_polars().rename({actuator.subject: "status", sensor.subject: "level"})
    frame = frame.with_columns(
        day=(pl.col("time") - pl.col("time").min()).dt.total_seconds() / 86_400,
        switched=pl.col("status") != pl.col("status").shift(1),
    ).filter(pl.col("day") <= days)
    event = (pl.lit(f"{actuator.place} becomes ") + pl.col("status")).alias("what")
    switches = frame.filter(pl.col("switched")).select("day", "level", event)
    y = alt.Y("level:Q", title=f"{sensor.label} of {sensor.place} ({sensor.unit})", scale=alt.Scale(zero=False))
    x = alt.X("day:Q", title="day")
    names = [*sorted(set(switches["what"])), "threshold found", "threshold of the network file"]
    colours = alt.Scale(domain=names, range=["#c8553d", "#2a6f97", "#7fbf8b", "#111111"][-len(names) :])
    colour = alt.Color("what:N", title=None, scale=colours)

    def rule(listed: Iterable[Any], what: str, **style: Any) -> Any:
        own = [{"level": one.threshold, "what": what} for one in listed if (one.actuator, one.sensor) == pair]
        return alt.Chart(alt.Data(values=own)).mark_rule(**style).encode(y="level:Q", color=colour)

    line = alt.Chart(alt.Data(values=frame.select("day", "level").to_dicts())).mark_line(color="#9a9a9a").encode(x, y)
    moments = alt.Chart(alt.Data(values=switches.to_dicts())).mark_point(filled=True, size=80, opacity=1)
    chart = alt.layer(
        rule(by_level, names[-2], strokeWidth=5),
        rule(truth, names[-1], strokeWidth=1.2, strokeDash=[5, 4]),
        line,
        moments.encode(x, y, color=colour),
    )
    chart.properties(width=600, height=260, title=f"{actuator.place} of {system.name}").save(str(file))
