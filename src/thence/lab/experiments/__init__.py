"""The experiments of the paper, repeated and compared with the published numbers and claims.

Each experiment is a TOML file in this package, with its parameters, the published numbers and the claims of the paper.
``reproduce`` runs the repeats, stores each of them when it is complete, and writes tables, figures and an HTML page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thence.lab.experiments.files import Experiment as Experiment
    from thence.lab.experiments.files import experiment_names as experiment_names
    from thence.lab.experiments.files import read_experiment as read_experiment
    from thence.lab.experiments.runner import Reproduction as Reproduction
    from thence.lab.experiments.runner import report as report
    from thence.lab.experiments.runner import reproduce as reproduce

__all__ = ["Experiment", "Reproduction", "experiment_names", "read_experiment", "report", "reproduce"]

_HOME = {
    "Experiment": "files",
    "experiment_names": "files",
    "read_experiment": "files",
    "Reproduction": "runner",
    "report": "runner",
    "reproduce": "runner",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'thence.lab.experiments' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
