"""``thence demo``: mine rules from a simulated water network.

The rules are lifted, have one antecedent and hold in at least half of the places of their pattern, so that they can be
read without knowing the network; of those about the same reading only the best are printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from thence.cli.options import AsJson, Quiet
from thence.cli.screen import console, facts_table, print_json, say
from thence.runs.configuration import Config

if TYPE_CHECKING:
    from thence.rules.ruleset import RuleSet

__all__ = ["SETTINGS", "demo"]

SETTINGS: dict[str, Any] = {
    "input": {"dataset": "net3"},
    "windows": {"every": "1h"},
    "enrich": {"mode": "lifted"},
    "discretize": {"bins": 5},
    "miner": {"name": "exact", "max_antecedents": 1, "min_support": 0.05, "min_confidence": 0.9},
    "refine": {"apply": True, "min": {"support_embeddings": 0.5}},
    "output": {"also": ["rules.md"]},
}
_SHOWN = 10
_EACH = 2
"""Rules shown about the same reading of the same pattern: enough to see the law, and the next one."""


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Run folder to write (default: runs/demo, which is replaced if it exists).")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Mine a simulated water network and print the ten best rules in plain English."""
    from thence.cli.mine import summary_lines
    from thence.runs.pipeline import mine

    config = Config.from_mapping(SETTINGS)
    target = out or Path("runs") / "demo"
    say("Simulating the water network Net3, 28 days, and mining rules …", quiet=quiet or as_json)
    run = mine(config=config, out=target, force=out is None, progress="off" if quiet or as_json else "auto")
    best = _varied(run.rules, _SHOWN)
    if as_json:
        print_json({"path": str(run.path), "summary": run.summary, "rules": [rule.english for rule in best]})
    elif not quiet:
        console().print(facts_table(summary_lines(run)))
        say("")
        for number, (rule, measures) in enumerate(zip(best, _measures(best), strict=True), start=1):
            say(f"{number:>3}. {rule.english}\n     {measures}")
        say(f"\nThe run is in {run.path}. To see all its rules, run: thence show {target}")


def _measures(rules: RuleSet) -> Iterator[str]:
    """The measures of each rule; a lifted rule also has a support over time and one over embeddings."""
    support, confidence, zhang = (rules.measure(name) for name in ("support", "confidence", "zhang"))
    for r in range(len(rules)):
        spread = ""
        if "support_time" in rules.extras:
            times, places = rules.extras["support_time"][r], rules.extras["support_embeddings"][r]
            spread = f" (at {100 * times:.0f} % of the times, in {100 * places:.0f} % of the places)"
        yield f"support {support[r]:.3f}{spread}, confidence {confidence[r]:.3f}, Zhang {zhang[r]:.3f}"


def _varied(rules: RuleSet, count: int) -> RuleSet:
    """The best rules, at most ``_EACH`` about the same consequent feature of the same pattern."""
    ordered = rules.sort(["zhang", "support"])
    taken: Counter[tuple[str, str]] = Counter()
    chosen: list[int] = []
    for number, rule in enumerate(ordered):
        about = (rule.pattern, str(rule.consequent.feature))
        taken[about] += 1
        if taken[about] <= _EACH and len(chosen) < count:
            chosen.append(number)
    return ordered.take(np.array(chosen, np.int64))
