"""Campaigns: many cases in parts, which can be ended and continued; tables of outcomes, and cases that are kept."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzz.targets import CASES, TARGETS, find, plan, slug
from tests.fuzz.watch import GOOD, Job, Outcome, judge, record, watch, write_case

BATCH = 250  # cases of one file of outcomes
AT_ONCE = 80  # batches of one process, unless a defect ends it
KINDS = ("read", "refused", "foreign", "message", "hang", "memory", "died")


def run(
    cases: int,
    *,
    shard: int = 0,
    shards: int = 1,
    out: Path | None = None,
    only: list[str] | None = None,
    first: int = 0,
) -> list[Outcome]:
    """Read so many cases, or a part of them, and return what became of each.

    Args:
        cases: Number of cases in all parts together.
        shard: Number of this part.
        shards: Number of parts.
        out: Folder in which outcomes are kept; batches that are there are not run again.
        only: Names of targets.
        first: Number of the first case of each target.
    """
    jobs = [job for job in plan(cases) if only is None or job[0] in only]
    batches: list[Job] = [
        (name, first + start, first + min(start + BATCH, end))
        for name, _, end in jobs
        for start in range(0, end, BATCH)
    ]
    # A campaign that is ended early has then read some of every target.
    mine = sorted(batches, key=lambda batch: batch[1])[shard::shards]
    if out is None:
        return list(watch(mine))
    out.mkdir(parents=True, exist_ok=True)
    files = {batch: out / f"{batch[0].replace(' ', '-')}-{batch[1]}-{batch[2]}.jsonl" for batch in mine}
    missing = [batch for batch in mine if not files[batch].exists()]
    # One process reads many batches: loading libraries takes longer than reading a batch.
    for start in range(0, len(missing), AT_ONCE):
        waiting = missing[start : start + AT_ONCE]
        found: list[Outcome] = []
        for outcome in watch(waiting):
            found.append(outcome)
            if len(found) == waiting[0][2] - waiting[0][1]:
                path = files[waiting.pop(0)]
                draft = path.with_suffix(".part")
                draft.write_text("".join(record(one) + "\n" for one in found))
                draft.replace(path)
                found = []
    return [Outcome(**json.loads(line)) for path in files.values() for line in path.read_text().splitlines()]


def defects(outcomes: list[Outcome]) -> list[tuple[Outcome, int]]:
    """Return the first outcome of each defect, and how often it was seen."""
    found: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.kind not in GOOD:
            alike = outcome.detail.split(": ")[0] if outcome.kind == "foreign" else outcome.kind
            found.setdefault((outcome.target, outcome.kind, alike), []).append(outcome)
    return sorted(((alike[0], len(alike)) for alike in found.values()), key=lambda pair: -pair[1])


def table(outcomes: list[Outcome]) -> str:
    """Return the number of cases by target and kind of outcome, and the longest time, as a table of Markdown."""
    rows = [["target", "cases", *KINDS, "longest, s"], ["---", *["---:"] * (len(KINDS) + 2)]]
    for name in [*TARGETS, "all"]:
        of_it = [outcome for outcome in outcomes if name in ("all", outcome.target)]
        counts = Counter(outcome.kind for outcome in of_it)
        if of_it:
            longest = max(outcome.seconds for outcome in of_it)
            rows.append([name, f"{len(of_it):,}", *(f"{counts[kind]:,}" for kind in KINDS), f"{longest:.1f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def keep(outcome: Outcome, *, tries: int = 200) -> Path:
    """Make the case of an outcome smaller as long as its defect stays, and write it where the tests find it.

    Args:
        outcome: A defect.
        tries: How often to try a smaller case. Cases that take long or much memory are kept as they are.
    """
    files = find(outcome.target).case(outcome.target, outcome.number)
    if outcome.kind in ("foreign", "message"):
        files = _shrink(files, outcome.target, tries)
    folder = CASES / slug(outcome.target) / str(outcome.number)
    folder.mkdir(parents=True, exist_ok=True)
    write_case(files, folder)
    return folder


def _shrink(files: dict[str, bytes], target: str, tries: int) -> dict[str, bytes]:
    """Leave out pieces of files, from halves to single bytes, as long as what is raised stays the same."""
    wanted = _told(files, target)
    for name in list(files):
        size = len(files[name]) // 2
        while size and tries:
            at = 0
            while at < len(files[name]) and tries:
                tries -= 1
                smaller = {**files, name: files[name][:at] + files[name][at + size :]}
                if _told(smaller, target) == wanted:
                    files = smaller
                else:
                    at += size
            size //= 2
    return files


def _told(files: dict[str, bytes], target: str) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        write_case(files, Path(folder))
        kind, detail = judge(find(target).read, Path(folder))
    return kind, detail.split(": ")[0]
