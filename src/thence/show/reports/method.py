"""How the rules of a run were found: enrichment, windows, bins, miner and settings, in words."""

from __future__ import annotations

import re
from typing import Any

from thence.runs.run import Run
from thence.show.reports.numbers import finite
from thence.show.reports.schema import Mining, Stage


def describe_mining(run: Run) -> Mining:
    """Return how the rules of a run were found.

    Args:
        run: The run.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> describe_mining(run)["windows"], describe_mining(run)["bins"]
        ('1 h', '3 for each sensor, by frequency')
    """
    summary, config = run.summary, run.config
    return Mining(
        enrichment=str(summary["enrichment"]),
        windows="" if config.input.has_rows else _spaced(config.windows.every),
        bins=_describe_bins(run),
        miner=str(summary["miner"]),
        settings=_describe_settings(run),
        transactions=summary["n_transactions"],
        features=summary["n_features"],
        items=summary["n_items"],
        rules=len(run.rules),
        rules_found=int(summary["rules_found"]),
        data_coverage=finite(summary["data_coverage"]),
        complete=run.complete,
        stages=[Stage(name=name, seconds=round(float(spent), 3)) for name, spent in summary["seconds"].items()],
        notes=[str(note) for note in summary["notes"]],
    )


def _spaced(length: str) -> str:
    """A duration as people write it: ``30 min`` for ``30min``."""
    return re.sub(r"(?<=[0-9])(?=[a-z])", " ", length)


def _describe_bins(run: Run) -> str:
    if run.discretizer is None:
        return "none: the miner finds its own intervals"
    chosen = run.config.discretize
    per = "each sensor" if chosen.scope == "sensor" else "each kind of sensor"
    return f"{run.discretizer.bins} for {per}, by {chosen.method}"


def _describe_settings(run: Run) -> list[list[str]]:
    """Name and value of the settings of the miner and of the refinement, in words."""
    out = [[name.replace("_", " "), _worded(value)] for name, value in run.config.miner.settings.items()]
    steps = run.config.refine.steps
    if steps:
        out += [[f"refine: {name.replace('_', ' ')}", _worded(value)] for name, value in steps.items() if value != {}]
    out.append(["seed", str(run.config.seed)])
    return out


def _worded(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "not set"
    if isinstance(value, (list, tuple)):
        return ", ".join(_worded(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
