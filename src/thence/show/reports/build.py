"""The report of a run as a dict: what went in, how it was mined, the rules, and the evidence.

Puts the parts together and keeps the whole small enough for a page; each part is made by a module of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np

from thence._base.progress import Progress, silent
from thence.checks.application.applied import Applied
from thence.checks.detect.detection import Detection
from thence.data.graph.system import System
from thence.runs.reviews import load_reviews
from thence.runs.run import Run
from thence.show.reports.at_work import applied_part, detected_part
from thence.show.reports.cards import Cards
from thence.show.reports.coverage import measure_coverage
from thence.show.reports.drawing import draw
from thence.show.reports.facts import choose_facts
from thence.show.reports.inputs import describe_system
from thence.show.reports.material import Material
from thence.show.reports.matrix import build_matrix
from thence.show.reports.method import describe_mining
from thence.show.reports.rows import control_rows, known_rows, law_rows, measure_columns, rule_rows, shown_together
from thence.show.reports.schema import Applied as AppliedPart
from thence.show.reports.schema import Card, Detected, Report
from thence.statements.search import index_texts

FORMAT = 1
RULES = 1_000
FACTS = 3
"""Findings on the first page."""
CARDS = 12
PLACES = 60
"""Places that a card on a page names at most."""
MOST_BYTES = 2_400_000
"""The largest size of ``report.json``, so that the page with its program stays below 3 MB."""

_STAGES = ("inputs", "rules", "coverage", "evidence")


def build_report(
    material: Material,
    *,
    applied: Iterable[Applied | AppliedPart] = (),
    detected: Iterable[Detection | Detected] = (),
    rules: int = RULES,
    cards: int = CARDS,
    progress: Progress = silent,
) -> Report:
    """Return the report of a run, small enough for a page.

    Args:
        material: The run, with what is available of its data.
        applied: What became of the rules on other data: of ``th.apply``, or parts of ``thence.show.reports.at_work``.
        detected: What detectors found in other data: detections, or parts of ``thence.show.reports.at_work``.
        rules: The largest number of rules.
        cards: The largest number of evidence cards.
        progress: Called with the progress.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> report = build_report(material_of(run))
        >>> len(report["rules"]) == len(run.rules), report["rules_left_out"], report["notes"]
        (True, 0, [])
    """
    run = material.run
    stages = iter(range(len(_STAGES)))

    def begin() -> None:
        progress("report", next(stages), len(_STAGES))

    begin()
    notes = [material.why] if material.why else []
    system = describe_system(material.system, material.readings, name=_name(run))
    drawing = None if material.system is None else draw(material.system)
    begin()
    shown = min(len(run.rules), rules)
    reviews = None if run.path is None else load_reviews(run.path)
    rows = rule_rows(run.rules, range(shown), reviews=reviews)
    begin()
    coverage = None
    if material.table is not None:
        nodes = {} if drawing is None else {node["id"]: at for at, node in enumerate(drawing["nodes"])}
        coverage, note = measure_coverage(run.rules, material.table, nodes=nodes)
        notes += [note] if note else []
    begin()
    report = Report(
        format=FORMAT,
        title=(system["name"] if system else "") or _name(run) or "Rules",
        headline=_headline(material.system),
        made=time.time_ns() // 1_000_000,
        version=version("thence"),
        run=_name(run),
        system=system,
        drawing=drawing,
        mining=describe_mining(run),
        facts=choose_facts(run, most=FACTS, reviews=reviews),
        measures=measure_columns(),
        rules=rows,
        rules_left_out=len(run.rules) - shown,
        known=known_rows(run.known),
        laws=law_rows(run.laws or (), reviews=reviews),
        controls=control_rows(run.controls or (), reviews=reviews),
        search=index_texts(run.controls or (), run.laws or (), run.rules.take(np.arange(shown))),
        matrix=build_matrix(run.rules),
        coverage=coverage,
        cards=[],
        applied=[applied_part(one) if isinstance(one, Applied) else one for one in applied],
        detected=[detected_part(one) if isinstance(one, Detection) else one for one in detected],
        notes=notes,
    )
    report["cards"] = _make_cards(material, report, cards)
    _link(report)
    progress("report", len(_STAGES), len(_STAGES))
    return _fitted(report)


def _name(run: Run) -> str:
    return run.path.name if run.path is not None else run.config.input.dataset or ""


def _headline(system: System | None) -> str:
    """What a system is: the first part of its description."""
    text = "" if system is None else system.description.partition(":")[0].strip()
    return text[:1].upper() + text[1:]


def _make_cards(material: Material, report: Report, most: int) -> list[Card]:
    """The cards of the sentences worth knowing, then of the first laws, controls and rules in turn."""
    rules = [entry[0] for entry in shown_together(material.run.rules, most=most) if entry[0] < len(report["rules"])]
    further = {"rule": rules, **{kind: [row["id"] for row in report[f"{kind}s"]] for kind in ("law", "control")}}  # type: ignore[literal-required]
    wanted = [(str(fact["kind"]), fact["id"]) for fact in report["facts"]]
    wanted += [(kind, number) for kind, numbers in further.items() for number in numbers]
    cards = Cards(material)
    made = (cards.card(kind, number) for kind, number in dict.fromkeys(wanted))
    # A page has no server to ask for another place or another moment.
    found = list(islice((card for card in made if card is not None), most))
    return [{**card, "places": card["places"][:PLACES], "violations": []} for card in found]


def _link(report: Report) -> None:
    """Name the card of each row and each sentence that has one."""
    keys = {(str(card["about"]), card["id"]): card["key"] for card in report["cards"]}
    parts: dict[str, Any] = {"rule": report["rules"], "law": report["laws"], "control": report["controls"]}
    for kind, rows in parts.items():
        for row in rows:
            row["card"] = keys.get((kind, row["id"]))
    for fact in report["facts"]:
        fact["card"] = keys.get((fact["kind"], fact["id"]))


def _fitted(report: Report) -> Report:
    """The report, with fewer rules and cards if it would be too large; a note says so."""
    cards, rules = len(report["cards"]), len(report["rules"])
    while _size(report) > MOST_BYTES and (report["cards"] or report["rules"]):
        if _size(report["cards"]) > _size(report["rules"]):
            report["cards"] = report["cards"][:-1]
        else:
            kept = len(report["rules"]) // 2
            report["rules_left_out"] += len(report["rules"]) - kept
            report["rules"] = report["rules"][:kept]
            listed = report["search"]["statements"]
            report["search"]["statements"] = [one for one in listed if one["kind"] != "rule" or one["id"] < kept]
    _link(report)
    lost = cards - len(report["cards"])
    if lost:
        report["notes"].append(f"{lost} evidence card{' was' if lost == 1 else 's were'} too large for the page.")
    if len(report["rules"]) < rules:
        report["notes"].append(
            f"The page shows the first {len(report['rules']):,} rules: more would make it too large."
        )
    return report


def _size(part: Any) -> int:
    return len(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace"))
