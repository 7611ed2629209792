"""Attacks on the actuators of Net3 with concealed readings, in the score S: made up for this benchmark."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

import thence as th
from thence import scoring
from thence.lab.datasets.epanet import Network
from thence.lab.datasets.library import LIBRARY, START
from thence.lab.datasets.water import Gauge, draw_factors, frame_of_readings

STEPS_A_DAY = 48
NORMAL_DAYS, DAYS = 56, 28
STATUS = 11  # EN_STATUS


@dataclass(frozen=True)
class Attack:
    """An attack: what is forced, and how the readings hide it. Times in days."""

    name: str
    start: float
    end: float
    link: str = ""
    opened: bool = False
    replayed: tuple[str, ...] = ()
    shifted: tuple[str, float] | None = None

    @property
    def steps(self) -> tuple[int, int]:
        return round(self.start * STEPS_A_DAY), round(self.end * STEPS_A_DAY)


ATTACKS = (
    Attack("pump 10 off, its flow and status replayed", 3.1, 4.1, "10", False, ("flow_10", "status_10")),
    Attack("pump 335 off, its flow and status replayed", 7.3, 8.3, "335", False, ("flow_335", "status_335")),
    Attack(
        "pump 335 on, its status and the level of tank 1 replayed", 12.0, 13.0, "335", True, ("status_335", "level_1")
    ),
    Attack("level of tank 2 forged, 1.5 m lower", 17.5, 18.25, shifted=("level_2", -1.5)),
    Attack("pipe 330 closed, its flow and status replayed", 22.2, 22.9, "330", False, ("flow_330", "status_330")),
)


def simulate(days: int, seed: int, before: Callable[[Network, int], None] | None) -> pl.DataFrame:
    """Net3 as ``th.datasets`` simulates it, with something done to it before each step."""
    network, steps = LIBRARY["net3"], days * STEPS_A_DAY
    with Network(network.path) as epanet:
        switched = epanet.switched_links
        for link, hour, open_ in network.daily:
            epanet.add_daily_control(link, hour=hour, open_=open_)
        repeats = epanet.pattern_step_s // 1800
        consumers = []
        daily = np.repeat(draw_factors(np.random.default_rng([seed, 0]), (days,), spread=0.1), STEPS_A_DAY)
        for number, junction in enumerate(epanet.junctions, start=1):
            categories = [category for category in epanet.demands(junction) if category[0] != 0]
            if categories:
                consumers.append(junction)
                nominal = sum(base * np.resize(np.repeat(pattern, repeats), steps) for base, pattern in categories)
                factors = draw_factors(np.random.default_rng([seed, number]), (steps,), spread=0.1)
                epanet.set_demand(epanet.replace_demand(junction), nominal * daily * factors)
        gauges = [
            *(Gauge("pressure", name) for name in epanet.junctions),
            *(Gauge("flow", name) for name in epanet.links),
            *(Gauge("demand", name) for name in (*epanet.reservoirs, *consumers)),
            *(Gauge("level", name) for name in epanet.tanks),
            *(Gauge("status", name) for name in switched),
        ]
        step = None if before is None else (lambda number: before(epanet, number))
        table = epanet.simulate([gauge.probe for gauge in gauges], steps=steps, step_s=1800, before=step)
    return frame_of_readings(table, gauges, start=START, step=timedelta(minutes=30))


def force(epanet: Network, step: int) -> None:
    """Hold the links of the attacks of a step open or closed."""
    for attack in ATTACKS:
        first, end = attack.steps
        if attack.link and first <= step < end:
            index = epanet._index("link", attack.link)
            epanet._call("EN_setlinkvalue", ctypes.c_int(index), ctypes.c_int(STATUS), ctypes.c_double(attack.opened))


def conceal(frame: pl.DataFrame) -> pl.DataFrame:
    """Replay what was read a day before, or shift what is read."""
    for attack in ATTACKS:
        first, end = attack.steps
        for name in attack.replayed:
            values = frame[name].to_list()
            # Whole days back, so that the replayed readings are of the same time of day and from before the attack.
            back = -(-(end - first) // STEPS_A_DAY) * STEPS_A_DAY
            values[first:end] = values[first - back : end - back]
            frame = frame.with_columns(pl.Series(name, values, dtype=frame.schema[name]))
        if attack.shifted is not None:
            name, amount = attack.shifted
            within = pl.int_range(pl.len()).is_between(first, end - 1)
            frame = frame.with_columns(pl.when(within).then(pl.col(name) + amount).otherwise(pl.col(name)).alias(name))
    return frame


def measure(few: bool, quick: bool) -> dict[str, Any]:
    """Learn on normal days, score the days with attacks."""
    model = th.datasets.load("net3", days=7)

    def as_system(frame: pl.DataFrame) -> th.System:
        chosen = [sensor for sensor in model.sensors.sensors if not few or sensor.kind in ("level", "status", "flow")]
        kinds = {sensor.id: (sensor.kind, sensor.unit) for sensor in chosen}
        sensors = th.SensorData.from_wide(frame.select("time", *kinds)).with_kinds(kinds)
        return replace(model, sensors=sensors, binding=model.binding.select(sensors), labels=None)

    normal = as_system(simulate(28 if quick else NORMAL_DAYS, 1, None))
    later = as_system(conceal(simulate(DAYS, 2, force)))
    detector = th.Detector(derive=("hour",)).fit(normal)
    found = detector.detect(later)
    alarm = found.frame["alarm"].to_numpy()
    label = np.zeros(len(alarm), bool)
    rows = []
    for attack in ATTACKS:
        first, end = attack.steps
        label[first:end] = True
        on = np.flatnonzero(alarm[first:end])
        at = [one for one in found.alarms if one.first < end and one.last >= first]
        places = ", ".join(found.locate(at[0])["place"].head(3).to_list()) if at else "–"
        rows.append((attack.name, end - first, int(on[0]) if len(on) else None, len(on) / (end - first), places))
    score = scoring.detection_score(label, alarm)
    # The memory lets alarms go on for some hours after an attack; this is counted as false here.
    return {
        "score": score.score,
        "time": score.time_score,
        "class": score.class_score,
        "tpr": score.tpr,
        "tnr": score.tnr,
        "rows": rows,
        **detector.describe(),
    }


def run_attack(store: Any, given: Any) -> None:
    for name, few in (("all sensors", False), ("flows, levels and states only", True)):
        record = store.get(name, lambda few=few: measure(few, given.quick))
        print(tell_attack([record]), flush=True)


INTRODUCTION = f"""## Attacks on Net3

{len(ATTACKS)} made-up attacks in {DAYS} days at 30 minutes: an actuator is forced, or a reading is forged, and the
readings that would show it are replayed from a day before. Learned on {NORMAL_DAYS} other days. S is the mean of
the time score and the class score (γ = 0.5, Δ in steps); always alarming gives 0.75, so read it with the true
negative rate. Alarms fade for some hours after an attack, and tanks take a day to recover; both count as false here.
"""


def tell_attack(records: list[dict[str, Any]]) -> str:
    """The tables of some sets of sensors."""
    lines = [INTRODUCTION] if records else []
    for found in records:
        lines += [
            f"**{found['key']}**: S **{found['score']:.3f}** "
            f"(time {found['time']:.3f}, class {found['class']:.3f}), true "
            f"positive rate {found['tpr']:.3f}, true negative rate **{found['tnr']:.3f}**; {found['rules']} rules, "
            f"{found['laws']} laws, {found['ranges']} ranges.",
            "",
            "| attack | hours | first alarm after | alarmed | located |",
            "|---|---|---|---|---|",
        ]
        for attack, steps, delay, share, places in found["rows"]:
            after = "not found" if delay is None else f"{delay / 2:g} h"
            lines.append(f"| {attack} | {steps / 2:g} | {after} | {share:.0%} | {places} |")
        lines.append("")
    return "\n".join(lines)
