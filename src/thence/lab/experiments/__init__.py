"""The experiments of the paper, repeated and compared with the published numbers and claims.

Each experiment is a TOML file in this package, with its parameters, the published numbers and the claims of the paper.
``reproduce`` runs the repeats, stores each of them when it is complete, and writes tables, figures and an HTML page.
"""

from thence.lab.experiments.files import Experiment, experiment_names, read_experiment
from thence.lab.experiments.runner import Reproduction, report, reproduce

__all__ = ["Experiment", "Reproduction", "experiment_names", "read_experiment", "report", "reproduce"]
