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
    from thence import datasets as datasets
    from thence import scoring as scoring
    from thence.application.applied import Applied as Applied
    from thence.application.apply import apply as apply
    from thence.counting.assurance import assured as assured
    from thence.counting.by_site import by_site as by_site
    from thence.counting.recount import count_rules_of as count_rules_of
    from thence.detect.detector import Detector as Detector
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
    from thence.estimators.classifier import RuleClassifier as RuleClassifier
    from thence.estimators.features import RuleFeatures as RuleFeatures
    from thence.evaluate.comparison import compare as compare
    from thence.evaluate.fidelity import fidelity as fidelity
    from thence.evaluate.generalisation import generalisation as generalisation
    from thence.explorer.serve import explore as explore
    from thence.export import read_rules as read_rules
    from thence.export import write_rules as write_rules
    from thence.graph.binding import Binding as Binding
    from thence.graph.binding import bind as bind
    from thence.graph.discovery import discover_patterns as discover_patterns
    from thence.graph.knowledge_graph import KnowledgeGraph as KnowledgeGraph
    from thence.graph.loaders import read_binding as read_binding
    from thence.graph.loaders import read_graph as read_graph
    from thence.graph.loaders import read_ontology as read_ontology
    from thence.graph.ontology import Ontology as Ontology
    from thence.graph.patterns import Pattern as Pattern
    from thence.graph.system import System as System
    from thence.integrity.verify import Verification as Verification
    from thence.integrity.verify import verify as verify
    from thence.miners.aerial.miner import Aerial as Aerial
    from thence.miners.baselines.arm_ae import ARMAE as ARMAE
    from thence.miners.baselines.exhaustive import FPGrowth as FPGrowth
    from thence.miners.baselines.exhaustive import HMine as HMine
    from thence.miners.baselines.narm import TSNARM as TSNARM
    from thence.miners.baselines.semrl import NaiveSemRL as NaiveSemRL
    from thence.miners.exact.miner import Exact as Exact
    from thence.readings.readers import read_sensors as read_sensors
    from thence.readings.sensors import Sensor as Sensor
    from thence.readings.sensors import SensorData as SensorData
    from thence.refinement import refine as refine
    from thence.refinement.exceptions import exceptions as exceptions
    from thence.reports.mining import mine as mine
    from thence.reports.run_report import RunReport as RunReport
    from thence.reports.run_report import report as report
    from thence.rules.constraints import Where as Where
    from thence.rules.item_text import parse_item as parse_item
    from thence.rules.items import Feature as Feature
    from thence.rules.items import Interval as Interval
    from thence.rules.items import Item as Item
    from thence.rules.known import KnownRule as KnownRule
    from thence.rules.ruleset import Ending as Ending
    from thence.rules.ruleset import Rule as Rule
    from thence.rules.ruleset import RuleSet as RuleSet
    from thence.runs.configuration import Config as Config
    from thence.runs.inputs import read_system as read_system
    from thence.runs.known import read_known as read_known
    from thence.runs.logic import find_controls as find_controls
    from thence.runs.logic import find_laws as find_laws
    from thence.runs.preparation import feature_table as feature_table
    from thence.runs.preparation import transactions as transactions
    from thence.runs.run import Run as Run
    from thence.runs.run import load_run as load_run
    from thence.runs.stored_rules import remove_rules as remove_rules
    from thence.runs.stored_rules import store_rules as store_rules
    from thence.tables.discretization import Discretizer as Discretizer
    from thence.tables.locality import within_hops as within_hops
    from thence.tables.transactions import FeatureTable as FeatureTable
    from thence.tables.transactions import TransactionTable as TransactionTable

    __version__: str

_MODULES = MappingProxyType(
    {
        "application.applied": ("Applied",),
        "application.apply": ("apply",),
        "counting.assurance": ("assured",),
        "counting.by_site": ("by_site",),
        "counting.recount": ("count_rules_of",),
        "detect.detector": ("Detector",),
        "errors": (
            *("BindingError", "ClusterError", "ConfigError", "GraphError", "InputError", "MiningError"),
            *("MissingExtraError", "PatternError", "RunError", "ThenceError"),
        ),
        "estimators.classifier": ("RuleClassifier",),
        "estimators.features": ("RuleFeatures",),
        "evaluate.comparison": ("compare",),
        "evaluate.fidelity": ("fidelity",),
        "evaluate.generalisation": ("generalisation",),
        "explorer.serve": ("explore",),
        "export": ("read_rules", "write_rules"),
        "graph.binding": ("Binding", "bind"),
        "graph.discovery": ("discover_patterns",),
        "graph.knowledge_graph": ("KnowledgeGraph",),
        "graph.loaders": ("read_binding", "read_graph", "read_ontology"),
        "graph.ontology": ("Ontology",),
        "graph.patterns": ("Pattern",),
        "graph.system": ("System",),
        "integrity.verify": ("Verification", "verify"),
        "miners.aerial.miner": ("Aerial",),
        "miners.baselines.arm_ae": ("ARMAE",),
        "miners.baselines.exhaustive": ("FPGrowth", "HMine"),
        "miners.baselines.narm": ("TSNARM",),
        "miners.baselines.semrl": ("NaiveSemRL",),
        "miners.exact.miner": ("Exact",),
        "readings.readers": ("read_sensors",),
        "readings.sensors": ("Sensor", "SensorData"),
        "refinement": ("refine",),
        "refinement.exceptions": ("exceptions",),
        "reports.mining": ("mine",),
        "reports.run_report": ("RunReport", "report"),
        "rules.constraints": ("Where",),
        "rules.item_text": ("parse_item",),
        "rules.items": ("Feature", "Interval", "Item"),
        "rules.known": ("KnownRule",),
        "rules.ruleset": ("Ending", "Rule", "RuleSet"),
        "runs.configuration": ("Config",),
        "runs.inputs": ("read_system",),
        "runs.known": ("read_known",),
        "runs.logic": ("find_controls", "find_laws"),
        "runs.preparation": ("feature_table", "transactions"),
        "runs.run": ("Run", "load_run"),
        "runs.stored_rules": ("remove_rules", "store_rules"),
        "tables.discretization": ("Discretizer",),
        "tables.locality": ("within_hops",),
        "tables.transactions": ("FeatureTable", "TransactionTable"),
    }
)
_HOME = MappingProxyType({name: module for module, names in _MODULES.items() for name in names})

__all__ = ["__version__", "datasets", "scoring", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("thence")
    elif name in ("datasets", "scoring"):
        value = importlib.import_module(f".{name}", __name__)
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
