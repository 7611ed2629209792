"""Statements in a Bolt server: nodes ``:ThenceRule`` with ``:SPEAKS_OF`` edges to what they are about.

Rules and controls about named sensors are linked to the nodes of the graph, lifted rules and laws to nodes
``:ThenceClass``, one for each class. All statements of a run are written in one transaction, which replaces those that
the run wrote before. Nothing else in the graph is changed, and ``read_bolt_graph`` leaves these nodes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thence.data.stores.bolt import PAGE, map_ids, open_bolt
from thence.language.items import Aspect, Feature, Role
from thence.language.patterns import Pattern
from thence.statements.controls.control import Control
from thence.statements.findings import Findings
from thence.statements.laws.law import Law
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.statements.statement import Statement

_REMOVE = "MATCH (r:ThenceRule {run: $run}) DETACH DELETE r"
_REMOVE_ALL = "MATCH (r:ThenceRule) DETACH DELETE r"
_REMOVE_UNUSED = "MATCH (c:ThenceClass) WHERE NOT (c)--() DELETE c"
_COUNT = "MATCH (r:ThenceRule) WHERE $run IS NULL OR r.run = $run RETURN count(r) AS total"
_WRITE = "UNWIND $rules AS rule MERGE (r:ThenceRule {run: $run, key: rule.key}) SET r += rule"
_LINK_CLASSES = (
    "UNWIND $links AS link MATCH (r:ThenceRule {run: $run, key: link.key}) MERGE (c:ThenceClass {name: link.name}) "
    "MERGE (r)-[:SPEAKS_OF {side: link.side}]->(c)"
)
# One pass over the nodes: some servers have no index of element ids.
_LINK_NODES = (
    "MATCH (n) WHERE elementId(n) IN $elements WITH n, elementId(n) AS element "
    "UNWIND [link IN $links WHERE link.element = element] AS link "
    "MATCH (r:ThenceRule {run: $run, key: link.key}) MERGE (r)-[:SPEAKS_OF {side: link.side}]->(n)"
)


@dataclass(frozen=True)
class StoredRules:
    """What was written to a server.

    Args:
        place: The server and database.
        run: The name under which the rules were written.
        rules: The number of rules, laws and controls.
        links: The number of links to nodes and classes.
        missing: Ids of nodes that rules are about and that the server does not have, or has several of.
    """

    place: str
    run: str
    rules: int
    links: int
    missing: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return the numbers as a dict that JSON can hold."""
        counted = {"rules": self.rules, "links": self.links, "missing": list(self.missing)}
        return {"place": self.place, "run": self.run, **counted}


def write_rule_nodes(
    url: str,
    found: Findings,
    *,
    run: str,
    id: str | Sequence[str] | None = None,
    database: str | None = None,
    timeout: float = 300.0,
) -> StoredRules:
    """Write statements in one transaction, instead of those that are there under the same name.

    Args:
        url: The URL; see ``thence.data.stores.bolt.parse_bolt_url``.
        found: The statements.
        run: The name under which the statements are written.
        id: The property that holds the ids of nodes; as for ``read_bolt_graph``.
        database: The database; by default the one in the URL, or that of the user.
        timeout: The most seconds that the transaction may take on the server.
    """
    statements = [*found.rules, *found.controls, *found.laws]
    records = [*_rule_records(found.rules), *(_record(one) for one in statements[len(found.rules) :])]
    subjects = [set(subjects_of(one)) for one in statements]
    wanted = {name for about in subjects for _, kind, name in about if kind == "node"}
    with open_bolt(url, database=database, timeout=timeout) as server:
        known = map_ids(server, id=id, page=PAGE) if wanted else {}
        nodes, classes = [], []
        for record, about in zip(records, subjects, strict=True):
            key = record["key"]
            for side, kind, name in sorted(about):
                if kind == "class":
                    classes.append({"key": key, "side": side, "name": name})
                elif name in known:
                    nodes.append({"key": key, "side": side, "element": known[name]})
        named = {"run": run}
        elements = sorted({link["element"] for link in nodes})
        server.write(
            [
                (_REMOVE, named),
                (_WRITE, {**named, "rules": records}),
                (_LINK_CLASSES, {**named, "links": classes}),
                (_LINK_NODES, {**named, "links": nodes, "elements": elements}),
                (_REMOVE_UNUSED, {}),
            ]
        )
        missing = tuple(sorted(wanted - known.keys()))
        return StoredRules(server.address.place, run, len(records), len(nodes) + len(classes), missing)


def remove_rule_nodes(
    url: str, *, run: str | None = None, database: str | None = None, timeout: float = 300.0
) -> StoredRules:
    """Remove rules from a server, and classes that no rule speaks of any more.

    Args:
        url: The URL; see ``thence.data.stores.bolt.parse_bolt_url``.
        run: The name under which the rules were written; ``None`` for the rules of all runs.
        database: The database; by default the one in the URL, or that of the user.
        timeout: The most seconds that the transaction may take on the server.

    Returns:
        How many rules were there.
    """
    with open_bolt(url, database=database, timeout=timeout) as server:
        first = (_REMOVE, {"run": run}) if run is not None else (_REMOVE_ALL, {})
        counted, *_ = server.write([(_COUNT, {"run": run}), first, (_REMOVE_UNUSED, {})])
        return StoredRules(server.address.place, run or "", int(counted[0]["total"]), 0)


def subjects_of(one: Statement) -> Iterator[tuple[str, str, str]]:
    """Yield what a statement speaks of: the side (``"if"``, ``"then"``), ``"node"`` or ``"class"``, and its id or name.

    Of a control the actuator is the side ``"then"``. A law speaks of the classes of its pattern, on the side ``"if"``.

    Args:
        one: The statement.

    Examples:
        >>> from thence.language.items import Item
        >>> flow, level = Feature("f1", label="flow", place="Pipe 1"), Feature("l1", label="level", place="Tank 2")
        >>> list(subjects_of(Rule((Item.compare(flow, ">=", 3.0),), Item.compare(level, "<", 2.0))))
        [('if', 'node', 'Pipe 1'), ('then', 'node', 'Tank 2')]
    """
    classes: dict[str, str] = {}
    sides: dict[str, list[Feature | None]] = {}
    if isinstance(one, Rule):
        classes = {node.name: node.label for node in Pattern.parse(one.pattern).nodes} if one.pattern else {}
        sides = {"if": [item.feature for item in one.antecedent], "then": list(one.consequent.feature.parts)}
    elif isinstance(one, Control):
        premise = None if one.premise is None else one.premise.feature
        sides = {"if": [one.sensor_feature, premise], "then": [one.actuator_feature]}
    else:
        yield from (("if", "class", name) for name in one.about.classes)
    for side, features in sides.items():
        for feature in features:
            for kind, name in () if feature is None else _subjects(feature, classes):
                if name:
                    yield side, kind, name


def _subjects(feature: Feature, classes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if feature.role is Role.SENSOR:
        yield "node", feature.place or feature.subject
    elif feature.role is Role.NODE:
        yield "node", feature.subject
        if feature.aspect is Aspect.EDGE:
            yield "node", feature.other
    elif feature.role is Role.VARIABLE:
        yield "class", classes.get(feature.place) or classes.get(feature.subject, "")
    elif feature.role is Role.SOME:
        yield "class", feature.subject or feature.label


def _record(one: Statement) -> dict[str, Any]:
    """The properties of the node of a law or a control."""
    record = {"key": one.key, "kind": one.kind, "sentence": one.sentence(), **one.counts.to_dict()}
    return record | ({"pattern": one.pattern} if isinstance(one, Law) else {})


def _rule_records(rules: RuleSet) -> list[dict[str, Any]]:
    """The properties of the nodes of rules; what is not a number is left out."""
    columns = {measure.name: rules.measure(measure.name).tolist() for measure in MEASURES.shown("file")}
    out = []
    for number, rule in enumerate(rules):
        record: dict[str, Any] = {"key": rule.key, "kind": "rule", "number": number + 1}
        record |= {"sentence": rule.english, "rule": str(rule)}
        if rule.pattern:
            record["pattern"] = rule.pattern
        record |= {name: values[number] for name, values in columns.items() if math.isfinite(values[number])}
        out.append(record)
    return out
