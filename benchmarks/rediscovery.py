"""Rediscovery: do searches in readings find the controls and the physics of published water networks?

    python benchmarks/rediscovery.py                         all networks; writes docs/results/rediscovery/
    python benchmarks/rediscovery.py --networks net1 net3    only these
    python benchmarks/rediscovery.py --quick                 Net1, two weeks, one peer

The truth are the control statements of the network files, which nobody here wrote and no search sees, and six laws of
physics. Writes the page with its tables (``record.md``), ``controls.csv``, ``laws.csv`` and a picture of one
rediscovered control (``control.svg``). What was missed is printed.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from _rediscovery_page import (
    PEER_SENTENCES,
    SENTENCES,
    ControlRow,
    Findings,
    LawRow,
    controls_table,
    draw_control,
    laws_table,
    write_files,
)
from _rediscovery_peers import PEERS, WHOLE, run_peer
from _rediscovery_score import (
    LEAST_ACTIONS,
    TOLERANCE,
    Condition,
    Proposal,
    physics_of,
    score_controls,
    threshold_error,
)

import thence as th
from thence.data.readings.windows import WindowedReadings, window
from thence.lab.datasets.library import true_controls
from thence.lab.evaluate.generalisation import WHOLLY, classify_places, hide_places
from thence.search.controls.search import search_controls
from thence.search.laws.search import search_laws
from thence.statements.controls.control import Controls
from thence.statements.laws.counting import count_laws
from thence.statements.laws.law import Laws

NETWORKS = ("net1", "net3", "ky4", "ky10", "net6")
OUT = Path(__file__).resolve().parents[1] / "docs" / "results" / "rediscovery"
FIT_SHARE = 0.6
HIDDEN = 0.3


def study(
    name: str, *, days: int, regions: int, peers: Iterable[str], limit_s: int
) -> tuple[Findings, Controls, th.System]:
    """Search one network with all contenders."""
    system = th.datasets.load(name, step_minutes=5, days=days)
    readings = window(system.sensors, "auto")
    findings = Findings(name, len(system.sensors.sensors), true_controls(name, system.sensors))
    begin = time.perf_counter()
    found = search_controls(readings, system)
    seconds = time.perf_counter() - begin
    findings.told = tuple(found.sentences[:SENTENCES])
    findings.controls.append(_row(findings, "Thence", findings.sensors, _proposals(found), seconds))
    report(findings.controls[-1])
    begin = time.perf_counter()
    laws = search_laws(readings, system)
    findings.law_seconds = time.perf_counter() - begin
    findings.told_laws = tuple(law.english for law in laws[:SENTENCES])
    findings.laws = measure_laws(name, system, readings, laws, regions=regions)
    for row in findings.laws:
        print(f"  {row.law}: {row.sentence[:60] or '-'} unseen {row.unseen:.4f}", file=sys.stderr, flush=True)
    del readings
    gc.collect()
    for label in peers:
        peer = run_peer(label, name, days=days, limit_s=limit_s)
        findings.controls.append(_row(findings, label, peer.features, peer.proposals, peer.seconds))
        report(findings.controls[-1])
    return findings, found, system


def _proposals(found: Controls) -> list[Proposal]:
    """Return controls as proposals, in their order."""
    proposals = []
    for one in found:
        clock = one.direction == "at"
        condition = Condition(one.sensor, None if clock else one.direction, one.threshold / (3600 if clock else 1))
        proposals.append(Proposal(one.actuator, one.to_state, (condition,), one.english))
    return proposals


def _row(findings: Findings, label: str, sensors: int, proposals: Sequence[Proposal], seconds: float) -> ControlRow:
    score = score_controls(proposals, findings.truth)
    first = tuple(one.text for one in proposals[:PEER_SENTENCES])
    return ControlRow(findings.network, label, sensors, len(proposals), score, seconds, first)


def report(row: ControlRow) -> None:
    """Print a row while the benchmark runs."""
    score = row.score
    print(
        f"{row.network} {row.contender}: {score.recalled} of {score.controls} recalled, {score.true} of "
        f"{score.looked_at} true, error {score.error:.4f}, {row.seconds:.1f} s",
        file=sys.stderr,
        flush=True,
    )


def measure_laws(name: str, system: th.System, readings: WindowedReadings, laws: Laws, *, regions: int) -> list[LawRow]:
    """Return how each law of physics was found, and how it holds at unseen places in later time.

    A region with 30 % of the places is hidden, laws are searched on the rest in the first 60 % of the time, and counted
    in the last 40 % at the places of the region whose neighbours are hidden too. Several regions are added up.
    """
    rows = {law: LawRow(name, law, possible) for law, possible in possible_places(system).items()}
    for law in laws:
        which = physics_of(law)
        if which and not rows[which].sentence:
            rows[which] = replace(rows[which], sentence=law.english, later=law.later_share)
    graph, binding = system.require_graph()
    places = sorted(set(dict(binding).values()))
    for seed in range(regions):
        hidden = hide_places(places, graph, share=HIDDEN, split="region", seed=seed, hops=1)
        groups = classify_places(places, hidden, graph, 1)
        unseen = {place for place, group in zip(places, groups.tolist(), strict=True) if group == WHOLLY}
        seen = [sensor.id for sensor in readings.sensors if binding[sensor.id] not in hidden]
        learned = search_laws(first_frames(readings.select(seen), FIT_SHARE), system)
        for law in count_laws(learned, readings, system, fit_share=FIT_SHARE):
            which = physics_of(law)
            if which is None:
                continue
            counts = [one for one in law.by_place if one.place in unseen and one.later_rows]
            rows[which] = replace(
                rows[which],
                unseen_places=rows[which].unseen_places + len(counts),
                unseen_rows=rows[which].unseen_rows + sum(one.later_rows for one in counts),
                unseen_held=rows[which].unseen_held + sum(one.later_held for one in counts),
            )
    return list(rows.values())


def first_frames(readings: WindowedReadings, share: float) -> WindowedReadings:
    """Return the first windows of readings."""
    end = int(share * len(readings))
    return replace(
        readings,
        times=readings.times[:end],
        values=readings.values[:end],
        states={name: (codes[:end], known) for name, (codes, known) in readings.states.items()},
        derived={name: values[:end] for name, values in readings.derived.items()},
    )


def possible_places(system: th.System) -> dict[str, int]:
    """Return at how many places the sensors allow each law of physics to be seen."""
    graph, _ = system.require_graph()

    def moves(name: str) -> bool:
        """Whether water flows through a link at any time, by more than a litre per hour."""
        flow = system.sensors.select([f"flow_{name}"]).to_polars()[f"flow_{name}"]
        return bool((flow.abs() > 0.001).any())

    states = system.sensors.select([one.id for one in system.sensors.sensors if one.kind == "status"]).to_polars()
    valves = [graph.nodes[node].properties for node in graph.with_label("Valve")]
    pipes = [graph.nodes[node].properties for node in graph.with_label("Pipe")]
    return {
        "mass balance": len(graph.with_label("Junction")),
        "tank": len(graph.with_label("Tank")),
        "closed": sum("closed" in states[name] for name in states.columns if name != "time"),
        "head": len(pipes),
        "check valve": sum(bool(pipe.get("check_valve")) and moves(str(pipe["name"])) for pipe in pipes),
        "reducing valve": sum(valve.get("valve_type") == "PRV" and moves(str(valve["name"])) for valve in valves),
    }


def report_missed(findings: Findings, found: Controls) -> None:
    """Print which true controls were missed and which proposals are not true."""
    proposals = _proposals(found)
    for control in findings.truth:
        if control.acted >= LEAST_ACTIONS and not any(threshold_error(one, control) <= TOLERANCE for one in proposals):
            print(f"  missed: {control}, acted {control.acted} times", file=sys.stderr)
    for one in proposals:
        if not any(threshold_error(one, control) <= TOLERANCE for control in findings.truth):
            print(f"  not a control: {one.text}", file=sys.stderr)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--regions", type=int, default=3, help="regions that are hidden to measure laws elsewhere")
    parser.add_argument("--limit", type=int, default=600, help="seconds after which a peer is stopped")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--picture", default="net3", help="the network of the picture")
    parser.add_argument("--quick", action="store_true", help="Net1, two weeks, one peer; writes to a temporary folder")
    given = parser.parse_args()
    if given.quick:
        given.networks, given.days, given.regions, given.peers = ["net1"], 14, 1, [WHOLE]
        given.out = Path(tempfile.mkdtemp()) if given.out == OUT else given.out
    studies = []
    picture = given.picture if given.picture in given.networks else given.networks[0]
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.networks:
        findings, found, system = study(
            name, days=given.days, regions=given.regions, peers=given.peers, limit_s=given.limit
        )
        report_missed(findings, found)
        studies.append(findings)
        if name == picture and any(one.direction != "at" for one in found):
            draw_control(system, found, findings.truth, given.out / "control.svg")
        del system, found
        gc.collect()
        write_files(studies, given.out, days=given.days, regions=given.regions, limit_s=given.limit)
    print(controls_table(studies), laws_table(studies), sep="\n\n")


if __name__ == "__main__":
    main()
