"""Thence: semantic association rules from sensor data and the knowledge graph around the sensors.

>>> import thence as th
>>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, min_confidence=0.9, progress="off")
>>> len(run.rules) > 0
True

Public names are imported when they are first used, so ``import thence`` costs nothing.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thence._base.integrity.verify import Verification as Verification
    from thence._base.integrity.verify import verify as verify
    from thence.checks.application.applied import Applied as Applied
    from thence.checks.application.apply import apply as apply
    from thence.checks.detect.detector import Detector as Detector
    from thence.checks.estimators.classifier import RuleClassifier as RuleClassifier
    from thence.checks.estimators.features import RuleFeatures as RuleFeatures
    from thence.data import datasets as datasets
    from thence.data.graph.binding import Binding as Binding
    from thence.data.graph.binding import bind as bind
    from thence.data.graph.discovery import discover_patterns as discover_patterns
    from thence.data.graph.knowledge_graph import KnowledgeGraph as KnowledgeGraph
    from thence.data.graph.ontology import Ontology as Ontology
    from thence.data.graph.system import System as System
    from thence.data.loaders import read_binding as read_binding
    from thence.data.loaders import read_graph as read_graph
    from thence.data.loaders import read_ontology as read_ontology
    from thence.data.readers import read_sensors as read_sensors
    from thence.data.readings.sensors import Sensor as Sensor
    from thence.data.readings.sensors import SensorData as SensorData
    from thence.errors import BindingError as BindingError
    from thence.errors import ClusterError as ClusterError
    from thence.errors import ConfigError as ConfigError
    from thence.errors import GraphError as GraphError
    from thence.errors import InputError as InputError
    from thence.errors import MiningError as MiningError
    from thence.errors import MissingExtraError as MissingExtraError
    from thence.errors import PatternError as PatternError
    from thence.errors import RunError as RunError
    from thence.errors import ThenceError as ThenceError
    from thence.lab import scoring as scoring
    from thence.lab.baselines.arm_ae import ARMAE as ARMAE
    from thence.lab.baselines.exhaustive import FPGrowth as FPGrowth
    from thence.lab.baselines.exhaustive import HMine as HMine
    from thence.lab.baselines.narm import TSNARM as TSNARM
    from thence.lab.baselines.semrl import NaiveSemRL as NaiveSemRL
    from thence.lab.evaluate.comparison import compare as compare
    from thence.lab.evaluate.comparison import fidelity as fidelity
    from thence.lab.evaluate.generalisation import generalisation as generalisation
    from thence.language.constraints import Where as Where
    from thence.language.item_text import parse_item as parse_item
    from thence.language.items import Feature as Feature
    from thence.language.items import Interval as Interval
    from thence.language.items import Item as Item
    from thence.language.known import KnownRule as KnownRule
    from thence.language.patterns import Pattern as Pattern
    from thence.runs.configuration import Config as Config
    from thence.runs.inputs import read_system as read_system
    from thence.runs.known import read_known as read_known
    from thence.runs.logic import find_controls as find_controls
    from thence.runs.logic import find_laws as find_laws
    from thence.runs.preparation import feature_table as feature_table
    from thence.runs.preparation import transactions as transactions
    from thence.runs.run import Run as Run
    from thence.runs.run import load_run as load_run
    from thence.search.aerial.miner import Aerial as Aerial
    from thence.search.exact.miner import Exact as Exact
    from thence.search.refine import refine as refine
    from thence.search.refine.counterexamples import find_exceptions as find_exceptions
    from thence.show.explorer.serve import explore as explore
    from thence.show.export.stored_rules import remove_rules as remove_rules
    from thence.show.export.stored_rules import store_rules as store_rules
    from thence.show.reports.mining import mine as mine
    from thence.show.reports.run_report import RunReport as RunReport
    from thence.show.reports.run_report import report as report
    from thence.statements.controls.control import Control as Control
    from thence.statements.counting.assurance import add_confidence_bound as add_confidence_bound
    from thence.statements.counting.by_place import by_site as by_site
    from thence.statements.counting.recount import count_rules as count_rules
    from thence.statements.files import read_rules as read_rules
    from thence.statements.files import write_rules as write_rules
    from thence.statements.findings import Findings as Findings
    from thence.statements.laws.law import Law as Law
    from thence.statements.rules.ruleset import Ending as Ending
    from thence.statements.rules.ruleset import Rule as Rule
    from thence.statements.rules.ruleset import RuleSet as RuleSet
    from thence.tables.discretization import Discretizer as Discretizer
    from thence.tables.locality import within_hops as within_hops
    from thence.tables.transactions import FeatureTable as FeatureTable
    from thence.tables.transactions import TransactionTable as TransactionTable

    __version__: str

_MODULES = MappingProxyType(
    {
        "_base.integrity.verify": ("Verification", "verify"),
        "checks.application.applied": ("Applied",),
        "checks.application.apply": ("apply",),
        "checks.detect.detector": ("Detector",),
        "checks.estimators.classifier": ("RuleClassifier",),
        "checks.estimators.features": ("RuleFeatures",),
        "data.graph.binding": ("Binding", "bind"),
        "data.graph.discovery": ("discover_patterns",),
        "data.graph.knowledge_graph": ("KnowledgeGraph",),
        "data.graph.ontology": ("Ontology",),
        "data.graph.system": ("System",),
        "data.loaders": ("read_binding", "read_graph", "read_ontology"),
        "data.readers": ("read_sensors",),
        "data.readings.sensors": ("Sensor", "SensorData"),
        "errors": (
            *("BindingError", "ClusterError", "ConfigError", "GraphError", "InputError", "MiningError"),
            *("MissingExtraError", "PatternError", "RunError", "ThenceError"),
        ),
        "lab.baselines.arm_ae": ("ARMAE",),
        "lab.baselines.exhaustive": ("FPGrowth", "HMine"),
        "lab.baselines.narm": ("TSNARM",),
        "lab.baselines.semrl": ("NaiveSemRL",),
        "lab.evaluate.comparison": ("compare", "fidelity"),
        "lab.evaluate.generalisation": ("generalisation",),
        "language.constraints": ("Where",),
        "language.item_text": ("parse_item",),
        "language.items": ("Feature", "Interval", "Item"),
        "language.known": ("KnownRule",),
        "language.patterns": ("Pattern",),
        "runs.configuration": ("Config",),
        "runs.inputs": ("read_system",),
        "runs.known": ("read_known",),
        "runs.logic": ("find_controls", "find_laws"),
        "runs.preparation": ("feature_table", "transactions"),
        "runs.run": ("Run", "load_run"),
        "search.aerial.miner": ("Aerial",),
        "search.exact.miner": ("Exact",),
        "search.refine": ("refine",),
        "search.refine.counterexamples": ("find_exceptions",),
        "show.explorer.serve": ("explore",),
        "show.export.stored_rules": ("remove_rules", "store_rules"),
        "show.reports.mining": ("mine",),
        "show.reports.run_report": ("RunReport", "report"),
        "statements.controls.control": ("Control",),
        "statements.counting.assurance": ("add_confidence_bound",),
        "statements.counting.by_place": ("by_site",),
        "statements.counting.recount": ("count_rules",),
        "statements.files": ("read_rules", "write_rules"),
        "statements.findings": ("Findings",),
        "statements.laws.law": ("Law",),
        "statements.rules.ruleset": ("Ending", "Rule", "RuleSet"),
        "tables.discretization": ("Discretizer",),
        "tables.locality": ("within_hops",),
        "tables.transactions": ("FeatureTable", "TransactionTable"),
    }
)
_HOME = MappingProxyType({name: module for module, names in _MODULES.items() for name in names})

_PACKAGES = MappingProxyType({"datasets": "data.datasets", "scoring": "lab.scoring"})

__all__ = ["__version__", *sorted(_PACKAGES), *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("thence")
    elif name in _PACKAGES:
        value = importlib.import_module(f".{_PACKAGES[name]}", __name__)
    elif name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(f"module 'thence' has no attribute '{name}'{_suggestion(name)}")
    globals()[name] = value
    return value


def _suggestion(name: str) -> str:
    from thence.errors import nearest

    # Dunder names are asked for by tools all the time; only a person misspells the others.
    hint = None if name.startswith("_") else nearest(name, __all__)
    return f"; {hint}" if hint else ""


def __dir__() -> list[str]:
    return sorted(__all__)
