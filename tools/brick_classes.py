"""Write the table of Brick's classes that ships with the package: ``python tools/brick_classes.py Brick.ttl``.

A line of ``src/thence/data/graph/data/brick.tsv`` is a class and its parents. Brick is published by the Brick
Consortium under the BSD 3-Clause licence; only the names of classes and their order are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

from thence.data.loaders import read_ontology
from thence.data.loaders.triples import local_name, parse_files

TARGET = Path(__file__).parents[1] / "src" / "thence" / "data" / "graph" / "data" / "brick.tsv"
ROOTS = frozenset({"Point", "Equipment", "Location", "Collection"})


def main(source: Path) -> None:
    """Write the classes of ``source`` below one of ``ROOTS``."""
    ontology = read_ontology(source)
    own = {local_name(s.value) for s, _, _ in parse_files([source]).triples if "brickschema.org" in s.value}
    kept = {name for name in ontology.classes if name in own and ROOTS & ontology.ancestors(name) | {name} & ROOTS}
    lines = ["\t".join((name, *sorted(ontology.classes[name] & kept))) for name in sorted(kept)]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} classes: {TARGET}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
