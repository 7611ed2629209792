"""Generalisation of the enrichments: rules are mined and chosen on some places and times and measured on others.

Prints the table of the guide page "Which enrichment?". A region with 30 % of the places is hidden, rules are mined and
chosen on the other places in the first 70 % of the time and measured in the rest of the time, at places that are wholly
unseen, partly unseen and seen. Lifted rules are measured with several regions (seeds 0, 1, …), whose counts are added
up before shares are computed, the other enrichments with the region of seed 0. Simulated data sets are measured without
noise and with 1 % noise on every reading. The LBNL data have one air handling unit of each type, so the rules of one
unit are measured on another.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import fields
from statistics import fmean

import thence as th
from thence.lab.evaluate.generalisation import GroupResult, ModeResult

MODES = ("none", "grounded", "existential", "lifted")
NOISE = (0.0, 0.01)
CASES: dict[str, dict] = {
    "Hanoi, simulated": {"load": ("hanoi", {}), "noise": NOISE},
    "Hanoi, pressure and flow only": {"load": ("hanoi", {}), "kinds": ["pressure", "flow"], "noise": NOISE},
    "Net3, simulated": {"load": ("net3", {}), "noise": NOISE},
    "L-Town, simulated": {"load": ("ltown", {"days": 28}), "noise": NOISE},
    "Open Smart Home": {"load": ("open-smart-home", {})},
    "CityBench, 3 bins": {"load": ("citybench", {}), "bins": 3, "max_antecedents": 1, "min_confidence": 0.7},
    "LBNL: unit SZCAV → SZVAV": {
        "load": ("lbnl-ahu", {"unit": "SZCAV"}),
        "other": ("lbnl-ahu", {"unit": "SZVAV"}),
        "windows": "5min",
        "min_embeddings": 1,
    },
    "Hanoi → L-Town": {"load": ("hanoi", {}), "other": ("ltown", {"days": 28}), "noise": NOISE},
}
QUICK: dict[str, dict] = {"Hanoi, simulated": {"load": ("hanoi", {"days": 30}), "noise": NOISE}}
HEAD = (
    "data", "noise", "enrichment", "mined", "kept", "Zhang", "wholly unseen places",
    "coverage", "confidence", "sensors", "partly: coverage", "confidence", "seen: coverage", "confidence",
)  # fmt: skip


def add(results: Iterable[GroupResult]) -> GroupResult:
    """Return the sums of counts."""
    listed = list(results)
    sums = {f.name: [getattr(one, f.name) for one in listed] for f in fields(GroupResult)}
    return GroupResult(**{name: None if None in values else sum(values) for name, values in sums.items()})


def share(value: float | None) -> str:
    """Format a share with three digits, or four, rounded down, if three would round it to 1; a dash for ``None``."""
    if value is None:
        return "–"
    return f"{int(10_000 * value) / 10_000:.4f}" if 0.9995 <= value < 1 else f"{value:.3f}"


def mean(values: Iterable[int]) -> str:
    """Format a mean number of rules; small ones with one digit after the point."""
    average = fmean(values)
    return f"{average:,.0f}" if average >= 10 or average.is_integer() else f"{average:.1f}"


def format_row(results: Sequence[ModeResult]) -> list[str]:
    """Format the results of one enrichment over several seeds."""
    wholly, partly, seen = (
        add(getattr(one, group) for one in results) for group in ("wholly_unseen", "partly_unseen", "seen")
    )
    zhang = [float(value) for one in results for value in one.selected.measure("zhang")]
    return [
        mean(one.mined for one in results),
        mean(one.rules for one in results),
        share(fmean(zhang) if zhang else None),
        ", ".join(str(one.wholly_unseen.places) for one in results),
        *map(share, (wholly.coverage, wholly.confidence, wholly.sensor_share)),
        *map(share, (partly.coverage, partly.confidence, seen.coverage, seen.confidence)),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="part of the name of a case")
    parser.add_argument("--mode", action="append", choices=MODES, help="an enrichment; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="number of regions for lifted rules")
    parser.add_argument("--noise", type=float, nargs="+", help="noise of simulated readings, instead of 0 and 0.01")
    parser.add_argument("--split", default="region")
    parser.add_argument("--choose", default="seen")
    arguments = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|---" * len(HEAD) + "|", flush=True)
    began = time.perf_counter()
    for title, case in (QUICK if arguments.quick else CASES).items():
        if arguments.only and arguments.only.lower() not in title.lower():
            continue
        settings = {"max_antecedents": 2, "windows": "30min", **case}
        name, options = settings.pop("load")
        far = settings.pop("other", None)
        levels = settings.pop("noise", None) and (arguments.noise or NOISE)
        for noise in levels or (None,):
            extra = {} if noise is None else {"noise": noise}
            system = th.datasets.load(name, **options, **extra)
            other = None if far is None else th.datasets.load(far[0], **far[1], **extra)
            for mode in arguments.mode or MODES:
                several = mode == "lifted" and other is None and not arguments.quick
                results = [
                    th.evaluate.generalise(
                        system,
                        enrich=mode,
                        other=other,
                        split=arguments.split,
                        choose=arguments.choose,
                        seed=seed,
                        **settings,
                    ).modes[mode]
                    for seed in range(arguments.seeds if several else 1)
                ]
                cells = [title, "as measured" if noise is None else f"{100 * noise:g}%", mode, *format_row(results)]
                print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
