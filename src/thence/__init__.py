"""Thence: semantic association rules from sensor data and the knowledge graph around the sensors.

>>> import thence as th
>>> data = th.datasets.load("toy")
>>> run = th.mine(data.sensors, data.graph, data.binding, windows="1h", bins=3, min_confidence=0.9, progress="off")
>>> len(run.rules) > 0
True

Public names are imported when they are first used, so ``import thence`` costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from .assurance import assured as assured
    from .binding import Binding as Binding
    from .binding import bind as bind
    from .compare import compare as compare
    from .config import Config as Config
    from .constraints import Where as Where
    from .counting import count_rules_of as count_rules_of
    from .discovery import discover_patterns as discover_patterns
    from .discretize import Discretizer as Discretizer
    from .errors import BindingError as BindingError
    from .errors import ConfigError as ConfigError
    from .errors import GraphError as GraphError
    from .errors import InputError as InputError
    from .errors import MiningError as MiningError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import PatternError as PatternError
    from .errors import RunError as RunError
    from .errors import ThenceError as ThenceError
    from .export import read_rules as read_rules
    from .export import write_rules as write_rules
    from .fidelity import fidelity as fidelity
    from .generalise import generalisation as generalisation
    from .graph import KnowledgeGraph as KnowledgeGraph
    from .items import Feature as Feature
    from .items import Interval as Interval
    from .items import Item as Item
    from .itemtext import parse_item as parse_item
    from .loaders import read_binding as read_binding
    from .loaders import read_graph as read_graph
    from .loaders import read_ontology as read_ontology
    from .locality import within_hops as within_hops
    from .miners.aerial.miner import Aerial as Aerial
    from .miners.arm_ae import ARMAE as ARMAE
    from .miners.exact import Exact as Exact
    from .miners.exhaustive import FPGrowth as FPGrowth
    from .miners.exhaustive import HMine as HMine
    from .miners.narm import TSNARM as TSNARM
    from .miners.semrl import NaiveSemRL as NaiveSemRL
    from .ontology import Ontology as Ontology
    from .patterns import Pattern as Pattern
    from .pipeline import feature_table as feature_table
    from .pipeline import mine as mine
    from .pipeline import transactions as transactions
    from .refine import refine as refine
    from .rules import Rule as Rule
    from .rules import RuleSet as RuleSet
    from .run import Run as Run
    from .run import load_run as load_run
    from .sensors import Sensor as Sensor
    from .sensors import SensorData as SensorData
    from .sources import read_sensors as read_sensors
    from .transactions import FeatureTable as FeatureTable
    from .transactions import TransactionTable as TransactionTable

    __version__: str

_MODULES = MappingProxyType(
    {
        "assurance": ("assured",),
        "binding": ("Binding", "bind"),
        "compare": ("compare",),
        "config": ("Config",),
        "constraints": ("Where",),
        "counting": ("count_rules_of",),
        "discovery": ("discover_patterns",),
        "discretize": ("Discretizer",),
        "errors": (
            *("BindingError", "ConfigError", "GraphError", "InputError", "MiningError"),
            *("MissingExtraError", "PatternError", "RunError", "ThenceError"),
        ),
        "export": ("read_rules", "write_rules"),
        "fidelity": ("fidelity",),
        "generalise": ("generalisation",),
        "itemtext": ("parse_item",),
        "graph": ("KnowledgeGraph",),
        "items": ("Feature", "Interval", "Item"),
        "loaders": ("read_binding", "read_graph", "read_ontology"),
        "locality": ("within_hops",),
        "miners.aerial.miner": ("Aerial",),
        "miners.arm_ae": ("ARMAE",),
        "miners.exact": ("Exact",),
        "miners.exhaustive": ("FPGrowth", "HMine"),
        "miners.narm": ("TSNARM",),
        "miners.semrl": ("NaiveSemRL",),
        "ontology": ("Ontology",),
        "patterns": ("Pattern",),
        "pipeline": ("feature_table", "mine", "transactions"),
        "refine": ("refine",),
        "rules": ("Rule", "RuleSet"),
        "run": ("Run", "load_run"),
        "sensors": ("Sensor", "SensorData"),
        "sources": ("read_sensors",),
        "transactions": ("FeatureTable", "TransactionTable"),
    }
)
_HOME = MappingProxyType({name: module for module, names in _MODULES.items() for name in names})

__all__ = ["__version__", "datasets", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("thence")
    elif name == "datasets":
        value = importlib.import_module(".datasets", __name__)
    elif name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(f"module 'thence' has no attribute '{name}'{_suggestion(name)}")
    globals()[name] = value
    return value


def _suggestion(name: str) -> str:
    from .errors import nearest

    # Dunder names are asked for by tools all the time; only a person misspells the others.
    hint = None if name.startswith("_") else nearest(name, __all__)
    return f"; {hint}" if hint else ""


class _Package(ModuleType):
    """The package as a module in which a public name wins over a submodule of the same name.

    Importing ``thence.transactions`` would otherwise put that module in the place of the function ``th.transactions``.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
