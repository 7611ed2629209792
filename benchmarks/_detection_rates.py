"""False alarms a month on normal time that was not learned, against the rate that was asked for."""

from __future__ import annotations

from typing import Any

from _detection_hanoi import SPARSE

import thence as th
from thence.checks.detect.memory import count_episodes
from thence.checks.detect.residuals import hours_of

RATES = (0.1, 1.0, 4.0)
DAYS, MORE = 56, 112
NETWORKS = {
    "net1": ("pressure", "flow", "demand", "level", "status"),
    "net3": ("pressure", "flow", "demand", "level", "status"),
    "ky10": ("level", "status"),
}
WITHOUT_LEAK = (27, 44, 51, 65)  # scenarios of Hanoi, each a year


def halves(name: str) -> tuple[th.System, th.System]:
    """Normal time to learn from, and later normal time."""
    if name in NETWORKS:
        data = th.datasets.load(name, days=DAYS + MORE, step_minutes=30, sensors=NETWORKS[name])
        moment = f"{data.sensors.to_polars()['time'][DAYS * 48]:%Y-%m-%dT%H:%M}"
        return data.between(None, moment), data.between(moment)
    scenario, sensors = name.split()[1:]
    both = [th.datasets.load("hanoi", scenario=int(scenario), before=before) for before in (True, False)]
    normal, later = (one.select(SPARSE) if sensors == "sparse" else one for one in both)
    return normal, later


def measure(name: str) -> dict[str, Any]:
    """Alarms at each rate."""
    normal, later = halves(name)
    rows = {}
    for rate in RATES:
        detector = th.Detector(rules=False, ranges=False, retire_after=None, false_alarms=rate).fit(normal)
        found = detector.detect(later)
        alarms = count_episodes(found.scores > 1, hours_of(found.readings), apart=detector.calibration.memory)
        rows[str(rate)] = [alarms, float((found.scores > 1).mean())]
    return {
        "rows": rows,
        "learned": detector.calibration.days,
        "days": len(found.readings) * found.calibration.every / 24,
    }


def names_of_hanoi() -> list[str]:
    """Scenarios of Hanoi in which nothing leaks."""
    quiet = [s for s in WITHOUT_LEAK if not th.datasets.load("hanoi", scenario=s).labels.height]
    return [f"hanoi {scenario} sparse" for scenario in quiet]


def run_rates(store: Any, given: Any) -> None:
    for name in ["net1"] if given.quick else [*names_of_hanoi(), *NETWORKS]:
        record = store.get(name, lambda name=name: measure(name))
        print(name, record["rows"], flush=True)


def tell_rates(records: list[dict[str, Any]]) -> str:
    """The table of rates."""
    if not records:
        return ""
    lines = [
        "## Is a stated rate kept?",
        "",
        "Alarms a month (30 days) in later normal time, nothing of which was learned, by the rate that was asked for;",
        "in brackets the number of alarms. Settings were looked at on Net3 and on other scenarios of Hanoi.",
        "",
        "| system | days learned | days tested | 0.1 a month | 1 a month | 4 a month |",
        "|---|---|---|---|---|---|",
    ]
    totals = dict.fromkeys(map(str, RATES), 0)
    for found in records:
        cells = [f"{count / found['days'] * 30:.2f} ({count})" for count, _ in (found["rows"][str(r)] for r in RATES)]
        lines.append(f"| {found['key']} | {found['learned']} | {found['days']:.0f} | {' | '.join(cells)} |")
        for rate in totals:
            totals[rate] += found["rows"][rate][0]
    days = sum(found["days"] for found in records)
    cells = [f"**{count / days * 30:.2f}** ({count})" for count in totals.values()]
    lines += [f"| **all** | | {days:.0f} | {' | '.join(cells)} |", ""]
    return "\n".join(lines)
