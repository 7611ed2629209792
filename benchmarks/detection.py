"""Detection of leaks, faults and attacks: the tables of docs/results/detection/.

    python benchmarks/detection.py            # all sections
    python benchmarks/detection.py hanoi --scenarios 1-100
    python benchmarks/detection.py hanoi --executor ray --address 10.0.0.4:6379
    python benchmarks/detection.py ltown ahu attack --quick

Every section learns on normal readings only. Results of single scenarios are kept in docs/results/detection/*.jsonl and
are not computed again; ``--fresh`` forgets them. The page says how the settings of each section were chosen.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _detection_ahu import run_ahu
from _detection_attack import run_attack
from _detection_field import run_field
from _detection_hanoi import run_hanoi
from _detection_ltown import run_ltown
from _detection_page import Store, write_page
from _detection_rates import run_rates

SECTIONS = {
    "hanoi": run_hanoi,
    "rates": run_rates,
    "ahu": run_ahu,
    "attack": run_attack,
    "field": run_field,
    "ltown": run_ltown,
}
FOLDER = Path(__file__).parents[1] / "docs" / "results" / "detection"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"some of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--scenarios", default="1-100", help="scenarios of Hanoi, such as 1-100")
    parser.add_argument("--noise", type=float, default=0.0, help="noise of the readings of Hanoi")
    parser.add_argument("--executor", default="local", help="where scenarios of Hanoi run: local or ray")
    parser.add_argument("--address", help="address of the Ray cluster; it must see this folder")
    parser.add_argument("--field", type=Path, help="folder of the small systems in the shapes of the field")
    parser.add_argument("--quick", action="store_true", help="a small part of each section; nothing is written")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results of these sections")
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args()
    for name in given.sections:
        if name not in SECTIONS:
            parser.error(f"no section '{name}'; known: {', '.join(SECTIONS)}")
    for name in given.sections or SECTIONS:
        print(f"\n== {name}", flush=True)
        store = Store(None if given.quick else given.out / f"{name}.jsonl", fresh=given.fresh)
        SECTIONS[name](store, given)
    if not given.quick:
        write_page(given.out)
        print(f"\nwritten to {given.out}")


if __name__ == "__main__":
    main()
