"""Which rules bind to other data, and for the others which sensor, class, relation, kind or property is missing.

Rules about named sensors bind to the same sensors of the same system only, never because another system has a sensor
of the same id. Rules about patterns bind wherever their pattern matches. This module compares; it builds no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.data.graph.habits import canonical
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import MiningError
from thence.language.items import Aspect, Feature, Role
from thence.language.patterns import Pattern
from thence.statements.counting.encoding import group_by_pattern
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NotBound:
    """Why a rule does not bind.

    Args:
        rule: Position of the rule.
        missing: What is missing: ``"system"``, ``"sensor"``, ``"class"``, ``"relation"``, ``"kind"``, ``"place"``,
            ``"property"``, ``"reading"`` or ``"bin"``.
        name: Its name.
        reason: A sentence.
    """

    rule: int
    missing: str
    name: str
    reason: str


def bind_named(rules: RuleSet, here: System, sensors: Sequence[str], *, same: bool, system: str) -> list[NotBound]:
    """Return the rules about named sensors and nodes that do not bind.

    Args:
        rules: The rules.
        here: The system of the data.
        sensors: The ids of the sensors with readings.
        same: Whether the data are of the system that the rules were mined on.
        system: The name of that system, for messages; may be empty.
    """
    known = set(sensors)
    lacking: dict[int, tuple[str, str, str]] = {}
    for number, item in enumerate(rules.items):
        found = _lacking_name(item.feature, here, known, same=same, system=system)
        if found is not None:
            lacking[number] = found
    return _first_lacking(rules, lacking)


def _first_lacking(rules: RuleSet, lacking: Mapping[int, tuple[str, str, str]]) -> list[NotBound]:
    """Return each rule with the first of its items that is lacking."""
    if not lacking:
        return []
    flags = np.array([number in lacking for number in range(len(rules.items))] + [False], bool)
    used = np.column_stack([rules.antecedents, rules.consequents])
    hit = flags[used]
    rows = np.flatnonzero(hit.any(axis=1))
    first = used[rows, hit[rows].argmax(axis=1)]
    return [NotBound(int(row), *lacking[int(item)]) for row, item in zip(rows, first, strict=True)]


def _lacking_name(
    feature: Feature, here: System, known: set[str], *, same: bool, system: str
) -> tuple[str, str, str] | None:
    named = feature.role in (Role.SENSOR, Role.NODE, Role.EDGE)
    if not named:
        return None
    if not same:
        of = f" of '{system}'" if system else ""
        return (
            "system",
            feature.subject,
            f"it is about named sensors or nodes{of}; these data are of another system",
        )
    if feature.role is not Role.SENSOR:
        return None
    if feature.subject not in known:
        return "sensor", feature.subject, f"there are no readings of the sensor '{feature.subject}'"
    node = "" if here.binding is None else str(here.binding.get(feature.subject, ""))
    if feature.place and node and node != feature.place:
        return (
            "sensor",
            feature.subject,
            f"the sensor '{feature.subject}' was at '{feature.place}' and is at '{node}' now",
        )
    return None


def why_no_place(pattern: str, readings: WindowedReadings, here: System) -> tuple[str, str, str]:
    """Say why a pattern has no place in a system: the class, relation or kind of sensor that is missing.

    Args:
        pattern: The pattern.
        readings: The readings.
        here: The system.

    Returns:
        What is missing, its name, and a sentence.
    """
    graph, binding = here.require_graph()
    parsed = Pattern.parse(pattern)
    index = GraphIndex(graph, here.ontology)
    labels = [v.label for v in parsed.nodes] + [step.target for role in parsed.roles for step in role.steps]
    for label in labels:
        if label and label not in index.labels:
            return "class", label, f"the graph has no {label}"
    relations = [link.label for link in parsed.links] + [s.label for role in parsed.roles for s in role.steps]
    for relation in relations:
        if relation and canonical(relation, "out")[0] not in index.relations and relation not in index.relations:
            return "relation", relation, f"the graph has no relation '{relation}'"
    kind_of = {sensor.id: sensor.kind for sensor in readings.sensors}
    carriers = Carriers.of(index, kind_of, dict(binding), patterns=[parsed])
    kinds = carriers.matched_by(parsed)
    for kind in (*carriers.lacking(parsed), *(role.kind for role in parsed.roles)):
        if kind not in kinds:
            return "kind", kind, f"no sensor of the kind '{kind}' is bound to a node"
    for sensor in parsed.sensors:
        label = parsed.label_of(sensor.host)
        if sensor.optional or not label:
            continue
        hosts = list(kinds.get(sensor.kind, {}))
        if sensor.kind and not index.has_label(label)[hosts].any():
            return "kind", sensor.kind, f"no {label} has a sensor of the kind '{sensor.kind}'"
    return "place", str(parsed), f"no place of the graph matches the pattern {parsed}"


def bind_to_table(
    rules: RuleSet, table: TransactionTable | FeatureTable, readings: WindowedReadings, here: System
) -> list[NotBound]:
    """Return the rules that cannot be counted on a table of other data, and why.

    Args:
        rules: The rules.
        table: The table.
        readings: Its readings.
        here: The system of the data.
    """
    if isinstance(table, FeatureTable):
        features = set(table.features)
        lacking = {
            at: _lacking_feature(item.feature) for at, item in enumerate(rules.items) if item.feature not in features
        }
        return _first_lacking(rules, lacking)
    out: list[NotBound] = []
    for pattern, at, chosen in group_by_pattern(rules, table):
        if at is None:
            what = (
                why_no_place(pattern, readings, here)
                if pattern
                else ("reading", "", "there are no readings that it could be about")
            )
            out += [NotBound(int(rule), *what) for rule in chosen]
            continue
        columns = {column.feature: column for column in table.blocks[at].columns}
        some = rules.take(chosen)
        lacking = {}
        used = np.unique(np.column_stack([some.antecedents, some.consequents]))
        for number in used[used >= 0].tolist():
            item = some.items[number]
            if item.feature not in columns:
                lacking[number] = _lacking_feature(item.feature)
                continue
            try:
                columns[item.feature].codes_of(item)
            except MiningError as error:
                lacking[number] = "bin", str(item.feature), error.message
        out += [
            NotBound(int(chosen[one.rule]), one.missing, one.name, one.reason) for one in _first_lacking(some, lacking)
        ]
    return sorted(out, key=lambda one: one.rule)


def _lacking_feature(feature: Feature) -> tuple[str, str, str]:
    if feature.aspect is Aspect.PROPERTY and (feature.is_link or feature.role is Role.EDGE):
        return "property", feature.name, f"no edge that it is about has the property '{feature.name}'"
    if feature.aspect is Aspect.PROPERTY and feature.where:
        return "property", feature.name, f"no node that it is about has such values of '{feature.name}', one of several"
    if feature.aspect is Aspect.PROPERTY:
        return "property", feature.name, f"no node that it is about has the property '{feature.name}'"
    if feature.role is Role.SENSOR:
        return "sensor", feature.subject, f"there are no readings of the sensor '{feature.subject}'"
    if feature.role is Role.TIME:
        return "reading", feature.name, f"the readings have no {feature.name}"
    if feature.aspect is not Aspect.MEASUREMENT:
        return "relation", feature.name, f"the graph has no '{feature.name}' at the places that it is about"
    name = feature.label or feature.subject
    if feature.role is Role.SOME:
        return "kind", name, f"nothing here is like {feature.subject_text}"
    if feature.name:
        return "reading", name, f"no place here has the {name} reading '{feature.name}'"
    return "kind", name, f"no sensor of the kind '{name}' is where it would be"
