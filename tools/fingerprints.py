"""Hashes of what Thence finds, to show that a change of the code changes no result.

``python -m tools.fingerprints before.json`` writes a hash for each result: rules, laws and controls of the defaults on
every data set, rules of each enrichment and miner, what ``th.apply`` and ``th.Detector`` say of later time. With a
second file, of other code, it lists the results that differ and exits with 1 if there are any. Data sets whose files
are not here are left out, and said.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import thence as th

# Name, options: small enough for all of them to take some minutes.
DATASETS: dict[str, tuple[str, dict[str, Any]]] = {
    "toy": ("toy", {}),
    "net1": ("net1", {"days": 14}),
    "net3": ("net3", {"days": 14}),
    "net3 noise": ("net3", {"days": 14, "noise": 0.01}),
    "hanoi": ("hanoi", {"days": 60}),
    "hanoi leak": ("hanoi", {"days": 60, "scenario": 3}),
    "ltown": ("ltown", {"days": 7, "leaks": False}),
    "lbnl MZVAV-2-1": ("lbnl-ahu", {"unit": "MZVAV-2-1"}),
    "lbnl SZCAV": ("lbnl-ahu", {"unit": "SZCAV"}),
    "open-smart-home": ("open-smart-home", {}),
}
ENRICHMENTS = ("none", "grounded", "existential", "lifted")
Result = tuple[str, str]


def hash_of(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def hash_rules(rules: th.RuleSet) -> str:
    """Items, sentences and counts in their order."""
    frame = rules.to_polars()
    names = (
        "antecedents",
        "consequents",
        "pattern",
        "english",
        "n_rows",
        "n",
        "n_antecedent",
        "n_consequent",
        "n_both",
    )
    return f"{frame.height}:{hash_of(*(frame[name].to_list() for name in names))}"


def hash_sentences(found: Any) -> str:
    """Laws or controls: sentences with their counts, and all fields."""
    if found is None:
        return "none"
    return f"{len(found)}:{hash_of([one.english for one in found], found.to_polars().rows())}"


def of_defaults(name: str, system: th.System) -> Iterator[Result]:
    run = th.mine(system, progress="off")
    yield f"{name}/rules", hash_rules(run.rules)
    yield f"{name}/laws", hash_sentences(run.laws)
    yield f"{name}/controls", hash_sentences(run.controls)
    yield f"{name}/notes", hash_of(run.summary["notes"])


def of_later(name: str, system: th.System) -> Iterator[Result]:
    """Mined on the first 60 % of the time; applied to the rest, and a detector fitted and scored likewise."""
    begin, end = system.sensors.span
    middle = begin + (end - begin) * 0.6
    early, late = system.between(end=middle), system.between(start=middle)
    applied = th.apply(th.mine(early, progress="off"), late)
    yield f"{name}/apply", hash_of(applied.to_json())
    detector = th.Detector().fit(early)
    scores = detector.score(late)
    yield f"{name}/detect", hash_of(np.asarray(scores["score"] if not isinstance(scores, np.ndarray) else scores))


def of_miners(name: str, system: th.System) -> Iterator[Result]:
    miners = {
        "exact": lambda: th.Exact(min_support=0.05, min_confidence=0.8, max_antecedents=2),
        "aerial": lambda: th.Aerial(seed=1),
    }
    for enrich in ENRICHMENTS:
        table = th.transactions(system, windows="1h", enrich=enrich, bins=4)
        for miner, make in miners.items():
            yield f"{name}/{enrich}/{miner}", hash_rules(make().mine(table))


def results() -> Iterator[Result]:
    for name, (dataset, options) in DATASETS.items():
        try:
            system = th.datasets.load(dataset, **options)
        except th.errors.InputError as missing:
            print(f"{name}: left out ({missing.message})", file=sys.stderr)
            continue
        kinds: list[Callable[[str, th.System], Iterator[Result]]] = [of_defaults]
        if name in ("toy", "net1"):
            kinds.append(of_miners)
        if name in ("net1", "net3", "net3 noise", "hanoi", "lbnl SZCAV"):
            kinds.append(of_later)
        for kind in kinds:
            try:
                yield from kind(name, system)
            except th.errors.ThenceError as refused:
                yield f"{name}/{kind.__name__}", f"refused: {refused.message}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="JSON file to write")
    parser.add_argument("--compare", type=Path, help="JSON file of other code")
    given = parser.parse_args(arguments)
    found: dict[str, str] = {}
    for name, text in results():
        found[name] = text
        print(f"{name:32} {text}", flush=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.compare is None:
        return 0
    other = json.loads(given.compare.read_text(encoding="utf-8"))
    differ = [name for name in {**other, **found} if other.get(name) != found.get(name)]
    print(f"{len(found) - len(differ)} of {len(found)} equal", *differ, sep="\n  ")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
