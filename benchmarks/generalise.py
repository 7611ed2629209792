"""Generalisation of the enrichments: rules are mined on 70 % of the places and of the time and measured on the rest.

Prints the table of the guide page "Which enrichment?": for every data set and enrichment the number of rules, and their
coverage and confidence on seen and unseen places in the later part of the time. The LBNL data have one
air handling unit of each type, so the rules of one unit are measured on another.
"""

from __future__ import annotations

import argparse
import time

import thence as th

MODES = ("none", "grounded", "existential", "lifted")
CASES: dict[str, dict] = {
    "Hanoi, regenerated after LeakDB": {"load": ("hanoi", {})},
    "Hanoi, pressure and flow only": {"load": ("hanoi", {}), "kinds": ["pressure", "flow"]},
    "L-Town, simulated": {"load": ("ltown", {"days": 28}), "windows": "30min"},
    "Open Smart Home": {"load": ("open-smart-home", {}), "windows": "30min"},
    "CityBench, 3 ranges": {
        "load": ("citybench", {}),
        "windows": "30min",
        "bins": 3,
        "max_antecedents": 1,
        "min_confidence": 0.7,
    },
    "LBNL: unit SZCAV → SZVAV": {
        "load": ("lbnl-ahu", {"unit": "SZCAV"}),
        "other": ("lbnl-ahu", {"unit": "SZVAV"}),
        "windows": "5min",
        "min_embeddings": 1,
    },
    "Hanoi → L-Town": {"load": ("hanoi", {}), "other": ("ltown", {"days": 28})},
}
QUICK = {"Hanoi, regenerated after LeakDB": {"load": ("hanoi", {"days": 30})}}


def share(value: float | None) -> str:
    """Format a share with three digits; a dash for ``None``."""
    return "–" if value is None else f"{value:.3f}"


def zhang(result) -> str:
    """Format the mean Zhang's metric of the selected rules on the data they were mined on."""
    return share(float(result.selected.measure("zhang").mean())) if len(result.selected) else "–"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="part of the name of a case")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    print(
        "| data | enrichment | mined | kept | Zhang | seen coverage | confidence | unseen coverage | confidence | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for title, case in (QUICK if arguments.quick else CASES).items():
        if arguments.only and arguments.only.lower() not in title.lower():
            continue
        settings = {"max_antecedents": 2, **case}
        name, options = settings.pop("load")
        system = th.datasets.load(name, **options)
        if "other" in settings:
            far, far_options = settings["other"]
            settings["other"] = th.datasets.load(far, **far_options)
        for mode in MODES:
            start = time.perf_counter()
            result = th.generalisation(system, enrich=mode, unseen=0.3, seed=arguments.seed, **settings).modes[mode]
            seconds = time.perf_counter() - start
            print(
                f"| {title} | {mode} | {result.mined:,} | {result.rules} | {zhang(result)} "
                f"| {share(result.seen_coverage)} | {share(result.seen_confidence)} | {share(result.unseen_coverage)} "
                f"| {share(result.unseen_confidence)} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
