"""``thence demo``: the main job on a water network that is simulated on the spot.

Lifted rules with one antecedent: few, general, and readable without knowing the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..config import Config
from .screen import console, facts, print_json, say

__all__ = ["SETTINGS", "demo"]

SETTINGS: dict[str, Any] = {
    "input": {"dataset": "net3"},
    "windows": {"every": "1h"},
    "enrich": {"mode": "lifted"},
    "discretize": {"bins": 5},
    "miner": {"name": "exact", "max_antecedents": 1, "min_support": 0.05, "min_confidence": 0.9},
    "output": {"also": ["rules.md"]},
}
_BEST = 10


def demo(out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Mine and print the ten best rules; the demo's own earlier run is replaced."""
    from ..pipeline import mine
    from .mine import summary_lines

    config = Config.from_mapping(SETTINGS)
    target = out or Path("runs") / "demo"
    say("Simulating the water network Net3, 28 days, and mining rules …", quiet=quiet or as_json)
    run = mine(config=config, out=target, force=out is None, progress="off" if quiet or as_json else "auto")
    best = run.rules.top(_BEST)
    if as_json:
        print_json({"path": str(run.path), "summary": run.summary, "rules": [rule.english for rule in best]})
    elif not quiet:
        console().print(facts(summary_lines(run)))
        say("")
        for line in best.lines():
            say(line)
        say(f"\nThe run is in {run.path}. Look at all its rules with: thence show {target}")
