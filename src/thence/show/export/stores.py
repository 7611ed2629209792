"""Statements of a run written to a graph server, beside the graph that they speak of, and removed from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thence.data.stores.bolt import BOLT_SCHEMES
from thence.data.stores.urls import scheme_of
from thence.errors import ConfigError
from thence.runs.run import Run
from thence.show.export.bolt_rules import StoredRules, remove_rule_nodes, write_rule_nodes
from thence.statements.controls.control import Controls
from thence.statements.findings import Findings
from thence.statements.laws.law import Laws
from thence.statements.rules.ruleset import RuleSet


def store_rules(
    rules: Run | RuleSet | Findings,
    url: str,
    *,
    name: str | None = None,
    id: str | Sequence[str] | None = None,
    database: str | None = None,
    timeout: float = 300.0,
) -> StoredRules:
    """Write rules to a Bolt server, as nodes that are linked to what they speak of.

    Each rule becomes ``(:ThenceRule {run, key, sentence, rule, confidence, support, …})``. An edge ``:SPEAKS_OF``, with
    ``side`` ``"if"`` or ``"then"``, leads to the node of each named sensor, and for lifted rules to
    ``(:ThenceClass {name})``. Everything is written in one transaction. Rules that were written under the same name
    are replaced, so that writing twice is the same as writing once. ``read_graph`` leaves these nodes out. Laws and
    controls of findings are such nodes too, with ``kind`` ``"law"`` or ``"control"`` and the counts ``applies`` and
    ``holds``.

    Args:
        rules: A run, whose rules are written, or rules; or findings, such as ``run.findings``.
        url: The URL of the server, as for ``read_graph``. The user needs the right to write.
        name: The name under which the rules are written; by default that of the run's folder.
        id: The property of the server that holds the ids of nodes, as for ``read_graph``.
        database: The database; by default the one in the URL, or that of the user.
        timeout: The most seconds that the transaction may take on the server.

    Returns:
        How many rules and links were written, and the nodes that the server does not have.

    Raises:
        ConfigError: If the URL is not that of a Bolt server, or there is no name.
        GraphError: If the server does not answer, or refuses.
        MissingExtraError: If the package ``neo4j`` is not installed.

    Examples:
        >>> from thence.statements.rules.ruleset import RuleSet
        >>> store_rules(RuleSet.empty(), "rules.json")
        Traceback (most recent call last):
        thence.errors.ConfigError: rules are stored in Bolt servers (pass a URL such as bolt://host:7687; for a file, \
use write_rules)
    """
    _require_bolt(url)
    given = rules.rules if isinstance(rules, Run) else rules
    found = given if isinstance(given, Findings) else Findings(Controls([]), Laws(()), given)
    folder: Path | None = rules.path if isinstance(rules, Run) else None
    chosen = name or (folder.name if folder is not None else "")
    if not chosen:
        raise ConfigError("the rules have no name to be stored under", hint="pass name='…'")
    return write_rule_nodes(url, found, run=chosen, id=id, database=database, timeout=timeout)


def remove_rules(
    url: str, *, name: str | None = None, database: str | None = None, timeout: float = 300.0
) -> StoredRules:
    """Remove rules that ``store_rules`` wrote from a Bolt server.

    Args:
        url: The URL of the server.
        name: The name under which the rules were written; ``None`` for all rules.
        database: The database; by default the one in the URL, or that of the user.
        timeout: The most seconds that the transaction may take on the server.

    Returns:
        How many rules were removed.

    Raises:
        ConfigError: If the URL is not that of a Bolt server.
        GraphError: If the server does not answer, or refuses.

    Examples:
        >>> remove_rules("rules.json")
        Traceback (most recent call last):
        thence.errors.ConfigError: rules are stored in Bolt servers (pass a URL such as bolt://host:7687; for a file, \
use write_rules)
    """
    _require_bolt(url)
    return remove_rule_nodes(url, run=name, database=database, timeout=timeout)


def _require_bolt(url: object) -> None:
    if scheme_of(url) not in BOLT_SCHEMES:
        raise ConfigError(
            "rules are stored in Bolt servers",
            hint="pass a URL such as bolt://host:7687; for a file, use write_rules",
        )
