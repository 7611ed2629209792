"""A made-up report with everything on it: for tests of the page. Some names are hostile on purpose."""

from __future__ import annotations

import math
from typing import Any, cast

from thence.show.reports.rows import measure_columns
from thence.show.reports.schema import (
    Card,
    Drawing,
    DrawnNode,
    Report,
    RuleRow,
    Trace,
)

START = 1_612_137_600_000
"""1 February 2021."""
HOUR = 3_600_000
HOSTILE = (
    "<script>window.hacked = true</script>",
    '<img src=x onerror="window.hacked = true">',
    "{{braces}} ${dollar} `tick`",
    "line\nbreak and \"quotes\" 'here'",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "</script><script>window.hacked = true</script>",
)
KINDS = ("pressure", "flow", "tank level", "pump state", HOSTILE[0])


def _wave(index: int, phase: float, *, level: float, size: float) -> float:
    return round(level + size * math.sin(2 * math.pi * index / 24 + phase), 3)


def sample_card(key: str, *, number: int = 0, about: str = "rule", frames: int = 168) -> Card:
    """Return an evidence card with two numeric series and one of states."""
    times = [START + index * HOUR for index in range(frames)]
    pressure: list[float | None] = [_wave(index, 0, level=42, size=6) for index in range(frames)]
    flow: list[float | None] = [_wave(index, 1.2, level=11, size=4) for index in range(frames)]
    pressure[30:34] = [None] * 4
    state: list[float | None] = [float((index // 9) % 2) for index in range(frames)]
    held = [{"start": times[k], "end": times[min(k + 5, frames - 1)]} for k in range(6, frames, 24)]
    violated = [{"start": times[80], "end": times[82]}, {"start": times[120], "end": times[121]}]
    traces: list[Trace] = [
        {
            "name": "Pressure J-117",
            "sensor": "P117",
            "kind": "pressure",
            "unit": "m",
            "node": "J117",
            "role": "the pressure of the junction",
            "times": times,
            "values": pressure,
            "states": [],
            "bands": [{"side": "if", "low": 45.5, "high": None, "states": [], "text": "above 45.5 m"}],
        },
        {
            "name": f"Flow {HOSTILE[1]}",
            "sensor": "F8",
            "kind": "flow",
            "unit": "l/s",
            "node": "P8",
            "role": "the flow of the pipe that feeds it",
            "times": times,
            "values": flow,
            "states": [],
            "bands": [{"side": "then", "low": 6.0, "high": 9.5, "states": [], "text": "between 6.0 and 9.5 l/s"}],
        },
        {
            "name": "Pump 1",
            "sensor": "S1",
            "kind": "pump state",
            "unit": "",
            "node": "PU1",
            "role": "the pump upstream",
            "times": times,
            "values": state,
            "states": ["closed", "open"],
            "bands": [{"side": "if", "low": None, "high": None, "states": ["open"], "text": "is open"}],
        },
    ]
    card: dict[str, Any] = {
        "key": key,
        "about": about,
        "id": number,
        "place": "junction 117",
        "spot": 1,
        "violations": [],
        "why": "The place with the most readings; a week in which it failed twice",
        "traces": traces,
        "held": held,
        "violated": violated,
        "history": {
            "edges": [START + k * 24 * HOUR for k in range(61)],
            "applied": [5 + k % 4 for k in range(60)],
            "held": [5 + k % 4 - (k % 17 == 3) for k in range(60)],
        },
        "places": [
            {
                "spot": k,
                "name": f"junction {k}" if k else HOSTILE[0],
                "rows": 300,
                "held": 300 - 3 * k if k != 2 else 120,
                "share": (300 - 3 * k) / 300 if k != 2 else 0.4,
                "low": (300 - 3 * k) / 300 - 0.03 if k != 2 else 0.35,
                "exception": k == 2,
                "nodes": [f"J{100 + k}"],
            }
            for k in range(14)
        ],
        "n_places": 31,
        "nodes": ["J117", "P8", "PU1"],
        "edges": [["J117", "P8"], ["P8", "PU1"]],
    }
    if about == "control":
        card["switches"] = times[::20]
    return cast("Card", card)


def _rule(number: int) -> RuleRow:
    n, antecedent = 8000, 300 + 37 * (number % 29)
    both = round(antecedent * (0.7 + 0.3 * ((number * 7) % 31) / 30))
    consequent = both + 900 + 11 * (number % 13)
    head = number - 1 if number % 7 == 6 else number
    source, target = KINDS[head % 4], KINDS[(head * 3 + 1) % 5]
    confidence = both / antecedent
    name = HOSTILE[number % len(HOSTILE)] if number % 9 == 4 else f"junction {number}"
    return {
        "kind": "rule",
        "id": number,
        "members": [number, number + 1] if number % 7 == 5 else [number],
        "key": f"k{number}",
        "sentence": f"While the {source} at {name} is high, the {target} next to it is low.",
        "formal": f"{source}({name}) = high → {target} = low",
        "conditions": [f"{source} = high"],
        "conclusion": f"{target} = low",
        "likewise": ["high also in the morning"] if number % 5 == 0 else [],
        "shown_with": number - 1 if number % 7 == 6 else None,
        "also": [],
        "place": name,
        "pattern": "a junction and its neighbours",
        "quantities_if": [source],
        "quantity_then": target,
        "kinds": sorted({source, target}),
        "measures": {
            "support": both / n,
            "confidence": confidence,
            "lift": confidence / (consequent / n),
            "zhang": min(1.0, (number % 20) / 19),
        },
        "n": n,
        "n_antecedent": antecedent,
        "n_consequent": consequent,
        "n_both": both,
        "places": "at 30 of 31 junctions; not at junction 2" if number % 2 else "",
        "review": {"verdict": "accepted", "note": "seen on site"} if number == 3 else None,
        "card": f"rule-{number}" if number < 3 else None,
    }


def _drawing() -> Drawing:
    nodes: list[DrawnNode] = []
    for k in range(80):
        name = HOSTILE[k % len(HOSTILE)] if k % 20 == 11 else f"J{100 + k}"
        nodes.append(
            {
                "id": f"J{100 + k}",
                "x": (k % 10) / 9,
                "y": (k // 10) / 7 + 0.03 * math.sin(k),
                "name": name,
                "group": "Junction" if k % 8 else "Tank",
                "classes": ["Junction"] if k % 8 else ["Tank", HOSTILE[0]],
                "sensors": [f"P{k}"] if k % 3 == 0 else [],
                "kinds": ["pressure"] if k % 3 == 0 else [],
            }
        )
    for node_id, x in (("P8", 0.53), ("PU1", 0.61)):
        nodes.append(
            {
                "id": node_id,
                "x": x,
                "y": 0.36,
                "name": node_id,
                "group": "Pipe",
                "classes": ["Pipe"],
                "sensors": [node_id],
                "kinds": ["flow"],
            }
        )
    edges = [{"source": k, "target": k + 1, "relation": "feeds"} for k in range(79) if k % 10 != 9]
    edges += [{"source": k, "target": k + 10, "relation": "feeds"} for k in range(70)]
    edges += [{"source": 17, "target": 80, "relation": "feeds"}, {"source": 80, "target": 81, "relation": "feeds"}]
    return cast(
        "Drawing",
        {
            "nodes": nodes,
            "edges": edges,
            "groups": [
                {"name": "Junction", "count": 70},
                {"name": "Tank", "count": 10},
                {"name": "Pipe", "count": 2},
            ],
            "aspect": 1.5,
            "placed_by": "coordinates",
            "left_out": 0,
            "why": "",
        },
    )


def _search(rows: list[RuleRow]) -> dict[str, Any]:
    """The texts of the control, the law and the rules."""
    texts = ["pump 1 opens when the level of tank 3 falls below 17.1 m", "the inflow of a junction equals its outflow"]
    texts += [row["sentence"].casefold() for row in rows]
    statements = [{"kind": "control", "id": 0}, {"kind": "law", "id": 0}]
    statements += [{"kind": "rule", "id": row["id"]} for row in rows]
    return {
        "texts": texts,
        "statements": [{**one, "left": [], "right": [], "whole": [at]} for at, one in enumerate(statements)],
    }


def sample_report(*, rules: int = 120) -> Report:
    """Return a report in which every part is filled."""
    edges = [START + k * 24 * HOUR for k in range(61)]
    rows = [_rule(number) for number in range(rules)]
    cells: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows:
        at = (KINDS.index(row["quantities_if"][0]), KINDS.index(row["quantity_then"]))
        cell = cells.setdefault(
            at, {"source": at[0], "target": at[1], "rules": 0, "best": row["id"], "confidence": 0.0}
        )
        cell["rules"] += 1
        cell["confidence"] = max(cell["confidence"], row["measures"]["confidence"] or 0.0)
    report: dict[str, Any] = {
        "format": 1,
        "title": f"Waterworks <North> & {HOSTILE[5]}",
        "headline": "",
        "made": START,
        "version": "0.1.0",
        "run": "runs/sample",
        "system": {
            "name": "sample",
            "sites": [],
            "sensors": 27,
            "readings": 216_000,
            "start": START,
            "end": START + 60 * 24 * HOUR,
            "step_seconds": 3600.0,
            "recorded_seconds": 15 * 24 * 3600.0,
            "kinds": [
                {
                    "kind": kind,
                    "unit": unit,
                    "sensors": 3 + at,
                    "readings": 43_200 * (at + 1),
                    "missing": 0.013 * at,
                    "low": None if states else 1.5 * at,
                    "median": None if states else 20.0,
                    "high": None if states else 61.25,
                    "states": states,
                }
                for at, (kind, unit, states) in enumerate(
                    [
                        ("pressure", "m", []),
                        ("flow", "l/s", []),
                        ("tank level", "m", []),
                        ("pump state", "", ["closed", "open", HOSTILE[0]]),
                        (HOSTILE[0], "°C", []),
                    ]
                )
            ],
            "gaps": {
                "by": "kind",
                "edges": edges,
                "rows": [
                    {
                        "name": kind,
                        "present": [0.0 if (k + at) % 23 == 5 else 1.0 - 0.1 * (k % 6 == at) for k in range(60)],
                    }
                    for at, kind in enumerate(KINDS)
                ],
            },
            "graph": {
                "nodes": 82,
                "edges": 150,
                "classes": [{"name": "Junction", "count": 70}, {"name": "Tank", "count": 10}],
                "relations": [{"name": "feeds", "count": 150}],
            },
        },
        "drawing": _drawing(),
        "mining": {
            "enrichment": "lifted",
            "windows": "1 hour",
            "bins": "5 quantiles",
            "miner": "exact",
            "settings": [["Least support", "0.02"], ["Least confidence", "0.7"], ["Seed", HOSTILE[3]]],
            "transactions": 44_640,
            "features": 12,
            "items": 61,
            "rules": rules,
            "rules_found": 12_345,
            "data_coverage": 0.834,
            "complete": True,
            "stages": [
                {"name": "read", "seconds": 0.8},
                {"name": "mine", "seconds": 2.4},
                {"name": "refine", "seconds": 1.1},
            ],
            "notes": ["3 sensors never change and were left out."],
        },
        "facts": [
            {
                "kind": "law",
                "id": 0,
                "sentence": "The inflow of a junction equals its outflow plus its demand, within 0.2 l/s.",
                "figures": "in 4,031 of 4,031 hours, at 31 places",
                "review": {"verdict": "accepted", "note": ""},
                "card": "law-0",
            },
            {
                "kind": "control",
                "id": 0,
                "sentence": "Pump 1 opens when the level of tank 3 falls below 17.1 m.",
                "figures": "12 of 12 switches",
                "review": None,
                "card": "control-0",
            },
            {
                "kind": "rule",
                "id": 0,
                "sentence": rows[0]["sentence"] if rows else HOSTILE[0],
                "figures": "in 291 of 300 hours",
                "review": None,
                "card": "rule-0",
            },
            {
                "kind": "rule",
                "id": 4,
                "sentence": f"A fact without evidence: {HOSTILE[1]}",
                "figures": "",
                "review": None,
                "card": None,
            },
        ],
        "measures": measure_columns(),
        "rules": rows,
        "rules_left_out": 40,
        "known": [
            {
                "name": f"night flow {HOSTILE[1]}",
                "sentence": "for every junction: if it is night, then its demand is low",
                "formal": "night → demand = low",
                "confidence": 0.985,
                "n_antecedent": 2400,
                "n_both": 2364,
            },
            {
                "name": "",
                "sentence": "for every pump: if it is closed, then its flow is zero",
                "formal": "closed → flow = 0",
                "confidence": None,
                "n_antecedent": 0,
                "n_both": 0,
            },
        ],
        "laws": [
            {
                "kind": "law",
                "id": 0,
                "members": [0],
                "key": "a000000000000000",
                "sentence": "The inflow of a junction equals its outflow plus its demand, within 0.2 l/s.",
                "in_full": "The inflow of a junction equals its outflow plus its demand (31 places)",
                "kinds": ["flow"],
                "rows": 40_000,
                "held": 39_990,
                "share": 0.99975,
                "later_share": 1.0,
                "places": 31,
                "places_held": 30,
                "exceptions": ["junction 2"],
                "review": {"verdict": "accepted", "note": "as it must be"},
                "card": "law-0",
            }
        ],
        "controls": [
            {
                "kind": "control",
                "id": 0,
                "members": [0],
                "key": "b000000000000000",
                "keys": ["b000000000000000"],
                "sentence": "Pump 1 opens when the level of tank 3 falls below 17.1 m",
                "name": "Pump 1",
                "events": ["opens below 17.1 m"],
                "where": "in tank 3",
                "switches": 12,
                "explained": 12,
                "kinds": ["tank level", "pump state"],
                "actuator": "Pump 1",
                "sensor": "L3",
                "review": {"verdict": "rejected", "note": "switched by hand"},
                "card": "control-0",
            }
        ],
        "search": _search(rows),
        "matrix": {"quantities": list(KINDS), "cells": list(cells.values())},
        "coverage": {
            "edges": edges,
            "share": [None if k == 7 else 0.6 + 0.3 * math.sin(k / 5) for k in range(60)],
            "nodes": [{"node": k, "share": (k % 10) / 9} for k in range(0, 80, 3)],
            "places": [{"name": f"junction {k}", "count": 30 - k} for k in range(20)],
        },
        "cards": [
            sample_card("law-0", about="law"),
            sample_card("control-0", about="control"),
            *(sample_card(f"rule-{number}", number=number) for number in range(3)),
        ],
        "applied": [
            {
                "name": "the next month",
                "start": edges[0],
                "end": edges[30],
                "verdicts": [
                    {"name": "holds", "count": 90},
                    {"name": "violated", "count": 12},
                    {"name": "not applicable", "count": 18},
                ],
                "rules": [
                    {
                        "id": row["id"],
                        "sentence": row["sentence"],
                        "verdict": "violated" if row["id"] % 3 == 0 else "holds",
                        "before": row["measures"]["confidence"],
                        "after": None
                        if row["id"] == 5
                        else (row["measures"]["confidence"] or 0) * (0.5 + (row["id"] % 6) / 10),
                        "rows": 200,
                        "violated": row["id"],
                    }
                    for row in rows[:30]
                ],
                "edges": edges[:31],
                "held": [0.95 - 0.01 * k for k in range(30)],
                "sentences": ["12 of 120 rules are violated, most of them near junction 2."],
            }
        ],
        "detected": [
            {
                "name": "February",
                "times": [START + k * HOUR for k in range(400)],
                "score": [
                    None if k == 50 else 0.4 + 0.2 * math.sin(k / 9) + (1.8 if 200 < k < 260 else 0) for k in range(400)
                ],
                "threshold": 1.0,
                "alarms": [
                    {
                        "start": START + 201 * HOUR,
                        "end": START + 259 * HOUR,
                        "score": 2.4,
                        "sentence": "A leak near junction 117 since 9 February.",
                        "reasons": ["The inflow exceeds the demand by 3.1 l/s.", HOSTILE[0]],
                        "located": [["J117", 1.0], ["J118", 0.7], ["J107", 0.6], ["J127", 0.3]],
                    }
                ],
            }
        ],
        "notes": [f"A sensor with an odd name: {HOSTILE[2]}"],
    }
    return cast("Report", report)


def empty_report() -> Report:
    """Return a report in which as much as possible is missing."""
    report: dict[str, Any] = {
        "format": 1,
        "title": "Nothing",
        "headline": "",
        "made": START,
        "version": "0.1.0",
        "run": "",
        "system": None,
        "drawing": None,
        "mining": {
            "enrichment": "none",
            "windows": "",
            "bins": "",
            "miner": "exact",
            "settings": [],
            "transactions": None,
            "features": None,
            "items": None,
            "rules": 0,
            "rules_found": 0,
            "data_coverage": None,
            "complete": False,
            "stages": [],
            "notes": [],
        },
        "facts": [],
        "measures": measure_columns(),
        "rules": [],
        "rules_left_out": 0,
        "known": [],
        "laws": [],
        "controls": [],
        "search": {"texts": [], "statements": []},
        "matrix": {"quantities": [], "cells": []},
        "coverage": None,
        "cards": [],
        "applied": [],
        "detected": [],
        "notes": [],
    }
    return cast("Report", report)
