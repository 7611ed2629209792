"""Thence: semantic association rules from sensor data and the knowledge graph around the sensors.

>>> import thence as th
>>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, min_confidence=0.9, progress="off", confirm=False)
>>> len(run.rules) > 0
True

Public names are imported when they are first used, so ``import thence`` costs nothing. What few people need is in
namespaces, such as ``th.baselines`` and ``th.errors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence import errors as errors
    from thence import language as language
    from thence import tables as tables
    from thence._base import integrity as integrity
    from thence.checks import estimators as estimators
    from thence.checks.application.apply import apply as apply
    from thence.checks.detect.detector import Detector as Detector
    from thence.checks.monitor.engine import Monitor as Monitor
    from thence.data import datasets as datasets
    from thence.data import graph as graph
    from thence.data.graph.system import System as System
    from thence.data.loaders import read_binding as read_binding
    from thence.data.loaders import read_graph as read_graph
    from thence.data.loaders import read_ontology as read_ontology
    from thence.data.readers import read_sensors as read_sensors
    from thence.data.readings.sensors import SensorData as SensorData
    from thence.lab import baselines as baselines
    from thence.lab import evaluate as evaluate
    from thence.lab import scoring as scoring
    from thence.language.constraints import ItemFilter as ItemFilter
    from thence.language.items import Item as Item
    from thence.runs.configuration import Config as Config
    from thence.runs.health import health as health
    from thence.runs.inputs import read_system as read_system
    from thence.runs.itemsets import itemsets as itemsets
    from thence.runs.known import read_known as read_known
    from thence.runs.logic import find_controls as find_controls
    from thence.runs.logic import find_laws as find_laws
    from thence.runs.preparation import transactions as transactions
    from thence.runs.run import Run as Run
    from thence.runs.run import load_run as load_run
    from thence.search.aerial.miner import Aerial as Aerial
    from thence.search.exact.miner import Exact as Exact
    from thence.search.refine import refine as refine
    from thence.show.explorer.serve import explore as explore
    from thence.show.export import stores as stores
    from thence.show.reports.mining import mine as mine
    from thence.show.reports.run_report import report as report
    from thence.statements.controls.control import Control as Control
    from thence.statements.files import read_rules as read_rules
    from thence.statements.files import write_rules as write_rules
    from thence.statements.findings import Findings as Findings
    from thence.statements.laws.law import Law as Law
    from thence.statements.rules.ruleset import Rule as Rule
    from thence.statements.rules.ruleset import RuleSet as RuleSet
    from thence.tables.transactions import TransactionTable as TransactionTable

    __version__: str

_names, _get, _ = lazy_names(
    __name__,
    {
        "checks.application.apply": ("apply",),
        "checks.detect.detector": ("Detector",),
        "checks.monitor.engine": ("Monitor",),
        "data.graph.system": ("System",),
        "data.loaders": ("read_binding", "read_graph", "read_ontology"),
        "data.readers": ("read_sensors",),
        "data.readings.sensors": ("SensorData",),
        "language.constraints": ("ItemFilter",),
        "language.items": ("Item",),
        "runs.configuration": ("Config",),
        "runs.health": ("health",),
        "runs.inputs": ("read_system",),
        "runs.itemsets": ("itemsets",),
        "runs.known": ("read_known",),
        "runs.logic": ("find_controls", "find_laws"),
        "runs.preparation": ("transactions",),
        "runs.run": ("Run", "load_run"),
        "search.aerial.miner": ("Aerial",),
        "search.exact.miner": ("Exact",),
        "search.refine": ("refine",),
        "show.explorer.serve": ("explore",),
        "show.reports.mining": ("mine",),
        "show.reports.run_report": ("report",),
        "statements.controls.control": ("Control",),
        "statements.files": ("read_rules", "write_rules"),
        "statements.findings": ("Findings",),
        "statements.laws.law": ("Law",),
        "statements.rules.ruleset": ("Rule", "RuleSet"),
        "tables.transactions": ("TransactionTable",),
    },
    {
        "baselines": "lab.baselines",
        "datasets": "data.datasets",
        "errors": "errors",
        "estimators": "checks.estimators",
        "evaluate": "lab.evaluate",
        "graph": "data.graph",
        "integrity": "_base.integrity",
        "language": "language",
        "scoring": "lab.scoring",
        "stores": "show.export.stores",
        "tables": "tables",
    },
)
__all__ = ["__version__", *_names]


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _get(name)
    from importlib.metadata import version

    return globals().setdefault(name, version("thence"))


def __dir__() -> list[str]:
    return sorted(__all__)
