"""A rule as the parts of a SPARQL query: where it speaks, what it assumes, what it claims.

Used by the SPARQL and the SHACL exporter. A missing reading or property neither satisfies nor breaks a rule: what an
item tests must be there. Names are those of :mod:`thence.export.vocabulary`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations

from ..items import Aspect, Feature, Interval, Item, Operator, Role
from ..patterns import Pattern
from ..rules import Rule
from .vocabulary import Vocabulary, literal

__all__ = ["RuleQuery"]

_IS_A = "rdf:type/rdfs:subClassOf*"
# Days since a Monday, modulo 7, from year, month and day: SPARQL has no function for the day of the week.
_WEEKDAY = (
    "((DAY(?time) + FLOOR((153 * (MONTH(?time) + 12 * FLOOR((14 - MONTH(?time)) / 12) - 3) + 2) / 5)"
    " + 365 * {y} + FLOOR({y} / 4) - FLOOR({y} / 100) + FLOOR({y} / 400) + 1)"
    " - 7 * FLOOR((DAY(?time) + FLOOR((153 * (MONTH(?time) + 12 * FLOOR((14 - MONTH(?time)) / 12) - 3) + 2) / 5)"
    " + 365 * {y} + FLOOR({y} / 4) - FLOOR({y} / 100) + FLOOR({y} / 400) + 1) / 7))"
).replace("{y}", "(YEAR(?time) - FLOOR((14 - MONTH(?time)) / 12))")


@dataclass
class RuleQuery:
    """The clauses of one rule. ``place`` is the term that the consequent is about, ``variables`` those of a pattern."""

    rule: Rule
    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    def __post_init__(self) -> None:
        self._fresh = 0
        self._named: dict[str, str] = {}
        self.pattern = Pattern.parse(self.rule.pattern) if self.rule.pattern else None
        self._sensor_variables = {s.name for s in self.pattern.sensors} if self.pattern else set()
        self.context = self._context()
        self.assumed = [line for item in self.rule.antecedent for line in self._holds(item)]
        self.place, self._present, self._claim = self._consequent(self.rule.consequent)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, as they are called in the query."""
        return tuple(self._named.values())

    def lines(self, *, violations: bool) -> list[str]:
        """The body of a query for the moments and places where the rule fails, or where it applies and holds."""
        claim = f"!({self._claim})" if violations else self._claim
        return [*self.context, *self.assumed, *self._present, f"FILTER({claim})"]

    def _new(self, stem: str) -> str:
        self._fresh += 1
        return f"?{stem}{self._fresh}"

    def _variable(self, name: str) -> str:
        if name not in self._named:
            safe = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "v"
            # Names that the query uses itself, and names that differ in odd characters only, get a number.
            taken = set(self._named.values()) | {"?time", "?rule", "?place"}
            spelling = f"?{safe}"
            while spelling in taken or re.fullmatch(r"\?[a-z]+\d+", spelling):
                spelling += "_"
            self._named[name] = spelling
        return self._named[name]

    def _context(self) -> list[str]:
        if self.pattern is None:
            return []
        lines = []
        words = self.vocabulary
        for node in self.pattern.nodes:
            variable = self._variable(node.name)
            lines.append(f"{variable} {_IS_A} {words.cls(node.label)} ." if node.label else f"{variable} rdf:type [] .")
        for link in self.pattern.links:
            source, target = self._variable(link.source), self._variable(link.target)
            forward, backward = self._link(source, link.label, target), self._link(target, link.label, source)
            lines.append(forward if link.directed else f"{{ {forward} }} UNION {{ {backward} }}")
        for sensor in self.pattern.sensors:
            lines += self._sensor(self._variable(sensor.name), sensor.kind, self._variable(sensor.host))
        nodes = [self._variable(node.name) for node in self.pattern.nodes]
        sensors = [self._variable(sensor.name) for sensor in self.pattern.sensors]
        lines += [f"FILTER({a} != {b})" for group in (nodes, sensors) for a, b in combinations(group, 2)]
        return lines

    def _link(self, source: str, label: str, target: str) -> str:
        if label:
            relation = self._new("relation")
            wider = self.vocabulary.relation(label)
            return f"{source} {relation} {target} . {relation} rdfs:subPropertyOf* {wider} ."
        edge = self._new("edge")
        return f"{edge} rdf:subject {source} ; rdf:object {target} ."

    def _sensor(self, sensor: str, kind: str, host: str) -> list[str]:
        lines = [f"{sensor} sosa:isHostedBy {host} ."] if host else []
        return [*lines, f"{sensor} sosa:observes {self.vocabulary.kind(kind) if kind else '[]'} ."]

    def _term(self, feature: Feature) -> str:
        if feature.role is Role.VARIABLE:
            return self._variable(feature.subject)
        if feature.role is Role.EDGE:
            return self.vocabulary.edge(feature.subject)
        return self.vocabulary.sensor(feature.subject) if feature.role is Role.SENSOR else self._node(feature.subject)

    def _node(self, name: str) -> str:
        return self.vocabulary.node(name)

    def _holds(self, item: Item) -> list[str]:
        """The clauses that an item of the antecedent adds."""
        feature = item.feature
        if feature.aspect is Aspect.LABEL or feature.aspect is Aspect.EDGE:
            known = self._structure(feature)
            wanted = item.holds(True)
            return [known] if wanted else [f"FILTER NOT EXISTS {{ {known} }}"]
        if feature.role is Role.SOME and not item.holds(True) and isinstance(item.value, bool):
            return [f"FILTER NOT EXISTS {{ {' '.join(self._some(feature)[1])} }}"]
        if feature.role is Role.SOME:
            value, lines = self._some(feature)[0], []
            _, lines, value = self._witness(feature)
            return lines if isinstance(item.value, bool) else [*lines, f"FILTER({_test(item, value)})"]
        value, lines = self._value(feature)
        return [*lines, f"FILTER({_test(item, value)})"]

    def _consequent(self, item: Item) -> tuple[str, list[str], str]:
        """The term that the consequent is about, what must be present, and the claim as an expression."""
        feature = item.feature
        if feature.aspect is Aspect.LABEL or feature.aspect is Aspect.EDGE:
            known = self._structure(feature)
            return self._term(feature), [], f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {known} }}"
        if feature.role is Role.SOME:
            return self._some_consequent(item)
        value, lines = self._value(feature)
        return (self._term(feature) if feature.role is not Role.TIME else '"time"'), lines, _test(item, value)

    def _structure(self, feature: Feature) -> str:
        words = self.vocabulary
        if feature.aspect is Aspect.LABEL:
            if feature.role is Role.EDGE:
                return f"{self._term(feature)} rdf:predicate {words.relation(feature.name)} ."
            return f"{self._term(feature)} {_IS_A} {words.cls(feature.name)} ."
        if feature.role is Role.VARIABLE:
            return self._link(self._variable(feature.subject), feature.name, self._variable(feature.other))
        # Between two nodes an edge is called by its id, or by its relation where it has none of its own.
        source, target, edge = self._node(feature.subject), self._node(feature.other), words.edge(feature.name)
        described = f"{edge} rdf:subject {source} ; rdf:object {target} ."
        return f"{{ {described} }} UNION {{ {self._link(source, feature.name, target)} }}"

    def _value(self, feature: Feature) -> tuple[str, list[str]]:
        """An expression for the value of a feature, and the triples that bind it."""
        if feature.role is Role.TIME:
            return (_WEEKDAY if feature.name == "weekday" else "HOURS(?time)"), []
        value = self._new("value")
        if feature.aspect is Aspect.PROPERTY:
            return value, [f"{self._term(feature)} {self.vocabulary.property(feature.name)} {value} ."]
        if feature.role is Role.VARIABLE and feature.subject not in self._sensor_variables:
            # Something computed for a node, such as the sum of the flows that arrive there.
            return value, self._observed(f"sosa:hasFeatureOfInterest {self._term(feature)}", feature, value)
        return value, self._observed(f"sosa:madeBySensor {self._term(feature)}", feature, value)

    def _observed(self, subject: str, feature: Feature, value: str) -> list[str]:
        name = feature.name
        about = ""
        if subject.startswith("sosa:hasFeatureOfInterest"):
            about, name = f" ; sosa:observedProperty {self.vocabulary.kind(name or feature.label)}", ""
        base = "rank" if feature.relative else "value"
        predicate = self.vocabulary.reading(f"{name}-rank" if name and feature.relative else name or base)
        observation = self._new("observation")
        return [f"{observation} {subject}{about} ; sosa:resultTime ?time ; {predicate} {value} ."]
