"""Exact mining and Aerial on a graphics processor, beside the processor: same rules, seconds.

    python benchmarks/cuda.py                 sizes up to 10,000 sensors; needs torch with CUDA
    python benchmarks/cuda.py --quick         small sizes, and torch on the processor where there is no CUDA
    python benchmarks/cuda.py --out FILE      also write the rows as JSON
    python benchmarks/cuda.py --record        also write the results that the documentation shows

Readings are made up: every sensor follows one of some hidden states with noise, so that neighbours along a line go
together. Where both are run, the rules of both devices must be equal, or the script fails. The seconds of a device
include moving the bitmaps there and the rules back.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _record import Table, record

from thence.search.exact.search import RuleBlock, SearchInput, mine_exact
from thence.search.neighbours import Neighbours
from thence.tables.bitmaps.bits import pack_codes

BINS, ROWS = 10, 17_520
SUPPORT, CONFIDENCE = 0.01, 0.8
COLUMNS = (
    ("rules with", ""),
    ("sensors", ",.0f"),
    ("rules", ",.0f"),
    ("GPU", ".3f s"),
    ("16 cores", ".3f s"),
)


def make_bitmaps(sensors: int, rows: int) -> dict[str, Any]:
    """Return the input of a search over sensors that follow their neighbours along a line."""
    rng = np.random.default_rng(sensors)
    groups = max(sensors // 8, 1)
    base = rng.integers(0, BINS, (groups, rows), dtype=np.int16)
    codes = base[np.arange(sensors) * groups // sensors]
    noisy = rng.random(codes.shape, dtype=np.float32) < 0.08
    codes = np.where(noisy, rng.integers(0, BINS, codes.shape, dtype=np.int16), codes)
    bitmaps, _ = pack_codes(codes.T, cardinalities=np.full(sensors, BINS))
    return {
        "bitmaps": bitmaps,
        "feature_of_item": np.repeat(np.arange(sensors), BINS),
        "n_rows": rows,
        "antecedent_ok": np.ones(sensors * BINS, bool),
        "consequent_ok": np.ones(sensors * BINS, bool),
        "min_support": SUPPORT,
        "min_confidence": CONFIDENCE,
    }


def along_a_line(sensors: int, hops: int) -> Neighbours:
    """Return the neighbours of sensors on a line, at most some hops away."""
    places = np.arange(sensors)
    return Neighbours.of([places[max(at - hops, 0) : at + hops + 1] for at in range(sensors)])


def timed(search: Callable[[], Iterator[RuleBlock]]) -> tuple[float, int, int]:
    """Return the seconds of a search, the number of its rules, and a hash of them."""
    begin = time.perf_counter()
    blocks = list(search())
    seconds = time.perf_counter() - begin
    parts = [np.concatenate([block.antecedents, block.consequents[:, None], block.counts], axis=1) for block in blocks]
    rules = np.concatenate(parts) if parts else np.zeros((0, 0))
    return seconds, len(rules), hash(rules.tobytes())


def compare(name: str, sensors: int, here: Callable[[], Any] | None, there: Callable[[], Any]) -> dict[str, Any]:
    """Run a search on both devices and return a row of the table."""
    timed(there)  # the first call loads libraries
    seconds, rules, found = min(timed(there) for _ in range(2))
    row: dict[str, Any] = {"search": name, "sensors": sensors, "rules": rules, "device_s": round(seconds, 3)}
    if here is not None:
        timed(here)
        own, _, expected = timed(here)
        if expected != found:
            sys.exit(f"the rules of {name}, {sensors} sensors, differ between the devices")
        row |= {"cpu_s": round(own, 3), "ratio": round(own / seconds, 1)}
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cpu-limit", type=int, default=1000, help="most sensors that are also searched on the CPU")
    parser.add_argument("--record", action="store_true", help="write the results that the documentation shows")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    if not cuda and not options.quick:
        sys.exit("no CUDA device is available; use --quick for torch on the processor")
    device = torch.device("cuda" if cuda else "cpu")
    print(torch.cuda.get_device_name() if cuda else "torch on the processor", torch.__version__)
    rows: list[dict[str, Any]] = []
    sizes = (50, 100) if options.quick else (100, 300, 1000, 3000, 10_000)
    for sensors in sizes:
        given = make_bitmaps(sensors, 2_000 if options.quick else ROWS)
        near = along_a_line(sensors, 4)
        both = sensors <= options.cpu_limit

        def search(most: int, given: dict[str, Any] = given, **options: Any) -> Callable[[], Iterator[RuleBlock]]:
            return lambda: mine_exact(SearchInput.of(max_antecedents=most, **given), max_rules=50_000_000, **options)

        for name, most, options_of, compared in (
            ("one antecedent, all pairs", 1, {}, both),
            ("two antecedents within 4 hops", 2, {"near": near}, both),
            ("two antecedents, all pairs", 2, {}, sensors <= 100),
        ):
            if name.startswith("two antecedents, all") and sensors > 300:
                continue
            here = search(most, **options_of)
            there = search(most, device=device, **options_of)
            rows.append(compare(name, sensors, here if compared else None, there))
    if options.record:
        listed = tuple(
            tuple(row.get(key) for key in ("search", "sensors", "rules", "device_s", "cpu_s")) for row in rows
        )
        record("cuda", {"exact": Table(COLUMNS, listed)}, device="cuda" if cuda else "cpu")
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
