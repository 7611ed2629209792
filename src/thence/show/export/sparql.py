"""Rules as SPARQL: queries that find where and when a rule fails, or where and when it applies and holds.

``query`` returns the query of one rule, ``write`` writes one query for all rules of a set. The queried graph must
contain the readings too: ``thence.show.export.graph_rdf`` writes both, with the names in
``thence.show.export.vocabulary``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence.errors import ConfigError
from thence.show.export.rule_query import RuleQuery, number_single
from thence.show.export.vocabulary import PREFIXES, Namespaces, comment_notes
from thence.statements.files.format import Format
from thence.statements.rules.ruleset import Rule, RuleSet


def query(rule: Rule, *, find: str = "violations", ask: bool = False, vocabulary: Namespaces | None = None) -> str:
    """Return a query for the violations or the matches of a rule.

    The result has one row per time and place, with the variables of a lifted rule: as many rows as were counted. Where
    the consequent is about some sensor, a row is a time. In a graph without frames, a rule without readings has one row
    per place.

    Args:
        rule: The rule.
        find: ``"violations"`` for where the antecedent holds and the consequent does not, ``"matches"`` for where both
            hold.
        ask: Whether to return an ASK query, which only says whether there are any, instead of a SELECT query.
        vocabulary: The namespaces of the queried graph.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> rule = Rule((Item.compare(Feature("f1"), ">=", 23.0),), Item.compare(Feature("p1"), "<", 4.0))
        >>> print(query(rule).splitlines()[-7])
        SELECT DISTINCT ?time ?place WHERE {
    """
    parts = RuleQuery(rule, vocabulary)
    head = "ASK {" if ask else f"SELECT DISTINCT {' '.join(_shown(parts))} WHERE {{"
    body = [f"  {line}" for line in _body(parts, find)]
    return "\n".join([*_comment(rule), *_prefixes(), head, *body, "}"]) + "\n"


def query_all(rules: Iterable[Rule], *, find: str = "violations", vocabulary: Namespaces | None = None) -> str:
    """Return one query for many rules.

    The result has the rows of ``query`` for each rule, numbered from 1 in ``?rule``. Of a rule with several items in
    the consequent it has the rows of each part.

    Args:
        rules: The rules.
        find: ``"violations"`` or ``"matches"``, as in ``query``.
        vocabulary: The namespaces of the queried graph.
    """
    comments: list[str] = []
    branches: list[str] = []
    columns = dict.fromkeys(("?rule", "?time", "?place"))
    for number, _, rule in number_single(rules):
        comments += _comment(rule, f"rule {number}: ")
        parts = RuleQuery(rule, vocabulary)
        columns.update(dict.fromkeys(_shown(parts)))
        body = "\n".join(f"      {line}" for line in _body(parts, find))
        select = f"    SELECT DISTINCT ({number} AS ?rule) {' '.join(_shown(parts))} WHERE {{\n{body}\n    }}"
        branches.append(f"  {{\n{select}\n  }}")
    inside = "\n  UNION\n".join(branches) or "  FILTER(false)"
    return "\n".join([*comments, *_prefixes(), f"SELECT {' '.join(columns)} WHERE {{\n{inside}\n}}"]) + "\n"


def write(rules: RuleSet, path: Path, *, find: str = "violations", **namespaces: Any) -> None:
    """Write one query for all rules.

    Args:
        rules: The rules to write.
        path: The file to write.
        find: ``"violations"`` or ``"matches"``, as in ``query``.
        **namespaces: The fields of ``Namespaces``, such as ``classes="https://brickschema.org/schema/Brick#"``.
    """
    text = query_all(rules, find=find, vocabulary=Namespaces(**namespaces))
    path.write_text(comment_notes(rules) + text, encoding="utf-8")


def _body(parts: RuleQuery, find: str) -> list[str]:
    if find not in ("violations", "matches"):
        raise ConfigError(f"find must be 'violations' or 'matches', got {find!r}")
    lines = parts.lines(violations=find == "violations", places=False)
    return lines if parts.is_about_some else [*lines, f"BIND({parts.place} AS ?place)"]


def _shown(parts: RuleQuery) -> list[str]:
    """The columns of the result; with a place that is the time, the time is not repeated."""
    place = [] if parts.is_about_some else ["?place"]
    return [*([] if parts.place == "?time" else ["?time"]), *parts.variables, *place]


def _comment(rule: Rule, label: str = "") -> list[str]:
    return [f"# {label}{' '.join(rule.english.split())}", f"# {' '.join(str(rule).split())}"]


def _prefixes() -> list[str]:
    return [f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in PREFIXES.items()]


FORMAT = Format("sparql", (".rq", ".sparql"), "one query that finds violations, for graph stores", write, counts=False)
