"""Print what was compared and what differs: ``python -m tests.oracle [first] [last]``."""

from __future__ import annotations

import sys

from tests.oracle.comparison import Report, compare_world


def main() -> None:
    first, last = (int(argument) for argument in (sys.argv[1:] + ["0", "1250"][len(sys.argv) - 1 :])[:2])
    report = Report()
    for seed in range(first, last):
        compare_world(seed, report)
    print(report)
    print(*report.mismatches[:50], sep="\n")
    sys.exit(bool(report.mismatches))


if __name__ == "__main__":
    main()
