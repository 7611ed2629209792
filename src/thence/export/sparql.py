"""Rules as SPARQL: queries that find where and when a rule fails, or where it applies and holds.

``query`` makes a query for one rule, ``write`` one for all rules of a set together. The graph that is asked
must hold the readings too; ``thence.export.graph_rdf`` writes both, ``thence.export.vocabulary`` names the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence.errors import ConfigError
from thence.export.rule_query import RuleQuery
from thence.export.vocabulary import PREFIXES, Vocabulary
from thence.rules.ruleset import Rule, RuleSet

__all__ = ["query", "query_all", "write"]


def query(rule: Rule, *, find: str = "violations", ask: bool = False, vocabulary: Vocabulary | None = None) -> str:
    """A query for the violations (``find="violations"``) or the confirmations (``"matches"``) of a rule.

    A SELECT lists time and place, and the variables of a lifted rule; ``ask`` only asks whether there are any.

    >>> from thence.rules.items import Feature, Item
    >>> rule = Rule((Item.compare(Feature("f1"), ">=", 23.0),), Item.compare(Feature("p1"), "<", 4.0))
    >>> print(query(rule).splitlines()[-7])
    SELECT DISTINCT ?time ?place WHERE {
    """
    parts = RuleQuery(rule, vocabulary)
    shown = (*(["?time"] if parts.speaks_of_time and parts.place != "?time" else []), *parts.variables, "?place")
    head = "ASK {" if ask else f"SELECT DISTINCT {' '.join(shown)} WHERE {{"
    body = [f"  {line}" for line in _body(parts, find)]
    return "\n".join([*_comment(rule), *_prefixes(), head, *body, "}"]) + "\n"


def query_all(rules: Iterable[Rule], *, find: str = "violations", vocabulary: Vocabulary | None = None) -> str:
    """One query for many rules: a row per rule (counted from 1), time and place."""
    comments: list[str] = []
    branches: list[str] = []
    for number, rule in enumerate(rules, start=1):
        comments += _comment(rule, f"rule {number}: ")
        body = "\n".join(f"    {line}" for line in _body(RuleQuery(rule, vocabulary), find))
        branches.append(f"  {{\n{body}\n    BIND({number} AS ?rule)\n  }}")
    inside = "\n  UNION\n".join(branches) or "  FILTER(false)"
    return "\n".join([*comments, *_prefixes(), f"SELECT DISTINCT ?rule ?time ?place WHERE {{\n{inside}\n}}"]) + "\n"


def write(rules: RuleSet, path: Path, *, find: str = "violations", **namespaces: Any) -> None:
    """Write one query for all rules; further options are the namespaces of ``Vocabulary``."""
    path.write_text(query_all(rules, find=find, vocabulary=Vocabulary(**namespaces)), encoding="utf-8")


def _body(parts: RuleQuery, find: str) -> list[str]:
    if find not in ("violations", "matches"):
        raise ConfigError(f"unknown search '{find}'", hint="'violations' or 'matches'")
    return [*parts.lines(violations=find == "violations"), f"BIND({parts.place} AS ?place)"]


def _comment(rule: Rule, label: str = "") -> list[str]:
    return [f"# {label}{' '.join(rule.english.split())}", f"# {' '.join(str(rule).split())}"]


def _prefixes() -> list[str]:
    return [f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in PREFIXES.items()]
