"""Rules in the formats of others: found by the suffix of a file or by name, written whole or not at all.

JSON, Parquet and PMML read back exactly. CSV and Markdown are for people, SPARQL and SHACL for graphs. An exporter
gets a rule set and a path and knows nothing of tables, miners or runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thence.atomic import new_file
from thence.errors import ConfigError, InputError, nearest
from thence.rules.ruleset import RuleSet
from thence.settings.typed import check_kinds

__all__ = ["FORMATS", "Format", "format_of", "read_rules", "write_rules"]


@dataclass(frozen=True)
class Format:
    """A format: its name, the suffixes it goes by, what it is for, and the functions that write and read it."""

    name: str
    suffixes: tuple[str, ...]
    purpose: str
    writer: str
    reader: str = ""


FORMATS: tuple[Format, ...] = (
    Format("json", (".json",), "complete and exact, for programs", "rules_json:write", "rules_json:read"),
    Format("parquet", (".parquet",), "a row per rule, for data frames", "rules_parquet:write", "rules_parquet:read"),
    Format("csv", (".csv",), "a line per rule, for spreadsheets", "tables:write_csv"),
    Format("markdown", (".md", ".markdown"), "a table in plain English, for documents", "tables:write_markdown"),
    Format("pmml", (".pmml", ".xml"), "PMML 4.4 AssociationModel, for rule engines", "pmml:write", "pmml:read"),
    Format("sparql", (".rq", ".sparql"), "one query that finds violations, for graph stores", "sparql:write"),
    Format("shacl", (".ttl",), "a shape per rule, for validators of graphs", "shacl:write"),
)


def format_of(path: str | Path, name: str | None = None) -> Format:
    """The format with a name, or the one that the suffix of a file stands for.

    >>> format_of("rules.pmml").name, format_of("rules.txt", "csv").name
    ('pmml', 'csv')
    """
    if name is not None:
        found = next((f for f in FORMATS if f.name == name.lower()), None)
        names = [f.name for f in FORMATS]
        if found is None:
            raise ConfigError(f"unknown format '{name}'", hint=nearest(name, names) or "one of " + ", ".join(names))
        return found
    suffix = Path(path).suffix.lower()
    found = next((f for f in FORMATS if suffix in f.suffixes), None)
    if found is None:
        known = ", ".join(s for f in FORMATS for s in f.suffixes)
        raise ConfigError(
            f"the suffix '{suffix}' does not say which format is meant", where=str(path), hint=f"use one of {known}"
        )
    return found


def write_rules(rules: RuleSet, path: str | Path, *, format: str | None = None, **options: Any) -> Path:
    """Write rules to a file; an existing one is replaced only when the new one is whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_rules(RuleSet.empty("nothing was mined"), f"{folder}/rules.json")
    ...     read_rules(path).notes
    ('nothing was mined',)
    """
    chosen = format_of(path, format)
    write = _function(chosen.writer)
    check_kinds(write, options)
    with new_file(Path(path)) as draft:
        write(rules, draft, **options)
    return Path(path)


def read_rules(path: str | Path, *, format: str | None = None) -> RuleSet:
    """Read rules that ``write_rules`` wrote as JSON, Parquet or PMML.

    >>> read_rules("rules.csv")
    Traceback (most recent call last):
    thence.errors.ConfigError: rules.csv: rules cannot be read back from csv (use json, parquet, pmml)
    """
    chosen = format_of(path, format)
    if not chosen.reader:
        able = ", ".join(f.name for f in FORMATS if f.reader)
        raise ConfigError(f"rules cannot be read back from {chosen.name}", where=str(path), hint=f"use {able}")
    if not Path(path).is_file():
        raise InputError("there is no such file", where=str(path))
    try:
        rules: RuleSet = _function(chosen.reader)(Path(path))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        told = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else error
        raise InputError(f"these are not whole rules: {told}", where=str(path)) from error
    return rules


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(f".{module}", __name__), attribute)
    return function
