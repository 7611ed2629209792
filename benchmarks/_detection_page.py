"""Where the results of single scenarios are kept, and the page of all tables that is made from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _detection_ahu import tell_ahu
from _detection_attack import tell_attack
from _detection_ltown import tell_ltown

from thence import scoring

BASELINES = (
    ("minimum night flow, 10 % (published)", 68.98, 66.96, 50.01, 45.88),
    ("minimum night flow, 20 % (published)", 39.90, 99.58, 56.49, 32.35),
    ("minimum night flow, 30 % (published)", 32.87, 99.91, 49.36, 26.80),
    ("random (published)", 50.19, 49.79, 32.11, 0.21),
)


class Store:
    """Records by key in a file of JSON lines; a record that is there is not computed again."""

    def __init__(self, path: Path | None, *, fresh: bool = False) -> None:
        self.path, self.records = path, {}
        if path is not None and path.is_file():
            if fresh:
                path.unlink()
            else:
                self.records = {one["key"]: one for one in read_records(path)}

    def get(self, key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the record of a key, computed and kept if need be."""
        if key not in self.records:
            self.records[key] = {"key": key, **compute()}
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(self.records[key], ensure_ascii=False) + "\n")
        return self.records[key]


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; none if there is no file."""
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def flags_of(spans: list[list[int]], steps: int) -> np.ndarray:
    """Flags from spans of first step and step after the last."""
    out = np.zeros(steps, bool)
    for first, end in spans:
        out[first:end] = True
    return out


def write_page(folder: Path) -> None:
    """Write the page from the records that are there."""
    others = (("ltown", tell_ltown), ("ahu", tell_ahu), ("attack", tell_attack))
    told = [tell(list(read_records(folder / f"{name}.jsonl"))) for name, tell in others]
    parts = [INTRODUCTION, *hanoi_part(folder), *told, LIMITS]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.md").write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


INTRODUCTION = """# Detection

Leaks, faults and attacks found by [`th.Detector`](../../guide/detect.md), which learns on normal readings only. Made by
`python benchmarks/detection.py`; the records of single scenarios are beside this page.

How settings were chosen, since the choice matters:

- The defaults of the detector (20 bins, ranges of 98 %, a memory of six hours, the worst sensor and the sum) come from
  a comparison of 16 settings of ranges alone on Hanoi's scenarios 402, 403 and 405, which are not measured here. Their
  F1 there was 88.3 to 95.4; the one that was taken had 94.4. Scenarios 2, 3 and 4 were looked at before the whole was
  measured; no setting was changed after that.
- L-Town: the first plan, to learn on simulated days without leaks, was given up after its score on the first 28 days of
  2019 was seen (1 of 6 leaks; the alarm was always on). The walk below was chosen then: it is not free of the labels.
- Air handling units and attacks: windows, memory and derived features were set by hand before anything was measured.
  The row "told apart" was made stricter after the results were seen: before, a tenth of the day was enough.
"""


LIMITS = """## What does not work

- Small slow leaks with few sensors: a hole of 25 mm that opens over weeks is below what the demands vary.
- L-Town: its leaks are not located better than by chance; see the table. The alarm is on for most of the year, and the
  nearest of 33 pressure sensors is too coarse for 300 m.
- Where, with few sensors: the nearest sensor is named, not the leaking node.
- A second fault while an alarm is on: there is no second alarm. L-Town's leaks overlap all year.
- Little normal time: with one to eight days of an air handling unit, other weather is a violation too. The detector
  finds more faults than the other methods there, and alarms in more of the normal time: a fifth of it or more.
- After an attack the plant needs time to return to what is normal, and the alarm goes on until then.
"""


def hanoi_part(folder: Path) -> Iterator[str]:
    """Tables of Hanoi."""
    records = list(read_records(folder / "hanoi.jsonl"))
    if not records:
        return
    numbers = sorted({one["scenario"] for one in records})
    leaking = len({one["scenario"] for one in records if one["leaks"]})
    yield f"""## Hanoi, regenerated after LeakDB

{len(numbers)} scenarios ({numbers[0]}–{numbers[-1]}), {leaking} of them with leaks. The detector learns on the
year before each scenario: the same network and consumers, no leak, other random deviations of the demands
(`th.datasets.load("hanoi", before=True)`). "All sensors" are the 97 of LeakDB; with a flow meter in every pipe and a
demand at every junction, the law of conservation shows a leak at once, so this is the easy case. "Sparse" is the inlet
flow and five pressures. `retire_after=None`, since leaks last for months here and nobody repairs them. Scores are
LeakDB's, in percent, pooled over all scenarios, with α = 5 and more than 75 % of the steps, as in its code. The
published baselines were measured on LeakDB's own 500 scenarios, which are similar but not the same, and learn from
the ten days before only.

| detector | true positives | true negatives | F1 | early detection |
|---|---|---|---|---|"""
    groups = sorted({(one["sensors"], one["noise"]) for one in records}, key=lambda one: (one[1], one[0]))
    for group in groups:
        mine = [one for one in records if (one["sensors"], one["noise"]) == group]
        score = scoring.leakdb(
            [flags_of(one["labels"], one["steps"]) for one in mine],
            [flags_of(one["alarms"], one["steps"]) for one in mine],
        )
        yield (
            f"| thence, {_name(*group)} | {score.true_positive_rate:.2f} | {score.true_negative_rate:.2f} | "
            f"**{score.f1:.2f}** | **{score.early_detection:.2f}** |"
        )
    for name, *rates in BASELINES:
        yield f"| {name} | {' | '.join(f'{rate:.2f}' for rate in rates)} |"
    yield """
Single leaks, one by one: how many had an alarm, after how long (median), how often their node was the first of all
nodes, the first of all junctions and among the first three junctions (by the longest alarm); and alarms a month in the
time without a leak. Any alarm during a leak counts as found, so with few sensors some of the long leaks are found by a
false alarm; early detection, which asks for an alarm that stays, is the safer number.

| detector | leaks | found | delay | first node | first junction | among 3 | false alarms a month |
|---|---|---|---|---|---|---|---|"""
    for group in groups:
        yield _single_leaks(group, [one for one in records if (one["sensors"], one["noise"]) == group])
    yield ""


def _name(sensors: str, noise: float) -> str:
    return f"{'all sensors' if sensors == 'all' else 'sparse'}{f', noise {noise:.0%}' if noise else ''}"


def _single_leaks(group: tuple[str, float], records: list[dict[str, Any]]) -> str:
    """A row of the table of single leaks."""
    leaks = [one["leaks"][0] for one in records if len(one["leaks"]) == 1]
    found = [leak for leak in leaks if leak["delay"] is not None]
    junctions = [leak.get("rank") or 99 for leak in found]
    places = [leak.get("place_rank") or 99 for leak in found]
    delay = f"{np.median([leak['delay'] for leak in found]) / 2:g} h" if found else "–"
    normal = sum(int((~flags_of(one["labels"], one["steps"])).sum()) for one in records)
    wrong = sum(_wrong_alarms(one) for one in records)
    counts = (
        sum(rank == 1 for rank in places),
        sum(rank == 1 for rank in junctions),
        sum(rank <= 3 for rank in junctions),
    )
    shares = " | ".join(f"{count} ({count / len(leaks):.0%})" if leaks else "–" for count in counts)
    monthly = wrong / (normal / 48 / 30)
    return f"| {_name(*group)} | {len(leaks)} | {len(found)} | {delay} | {shares} | {monthly:.2f} |"


def _wrong_alarms(record: dict[str, Any], apart: int = 12) -> int:
    """Alarms that touch no leak; those less than six hours apart are one, and the end of a leak's alarm is none."""
    label = flags_of(record["labels"], record["steps"])
    count, last = 0, -apart
    for first, end in record["alarms"]:
        touches = label[max(first - apart, 0) : end].any()
        count += not touches and first - last >= apart
        last = end
    return count
