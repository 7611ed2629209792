"""A rule as the clauses of a SPARQL query: its pattern, its antecedent and its consequent.

Used by the SPARQL and the SHACL exporter. A missing reading or property neither satisfies nor violates a rule: the
value that an item tests must exist. Names come from ``thence.export.vocabulary``. Hours and weekdays are taken from
``sosa:resultTime`` as written, without a change of time zone.
"""

from __future__ import annotations

import re
from itertools import combinations

from thence.export.vocabulary import Vocabulary, literal
from thence.graph.patterns import Pattern
from thence.rules.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.rules.ruleset import Rule

__all__ = ["RuleQuery"]

_IS_A = "rdf:type/rdfs:subClassOf*"
_RESERVED_NAMES = frozenset({"?time", "?rule", "?place", "?this"})


class RuleQuery:
    """The clauses of one rule; ``place`` is the term that the consequent is about.

    Args:
        rule: The rule.
        vocabulary: The namespaces of the queried graph.

    Examples:
        >>> from thence.rules.items import Feature
        >>> rule = Rule((Item.compare(Feature("f1"), ">=", 23.0),), Item.compare(Feature("p1"), "<", 4.0))
        >>> print(*RuleQuery(rule).lines(violations=True), sep="\\n")
        ?observation2 sosa:madeBySensor <urn:thence:sensor:f1> ; sosa:resultTime ?time ; sosa:hasSimpleResult ?value1 .
        FILTER(?value1 >= 23.0e0)
        ?observation4 sosa:madeBySensor <urn:thence:sensor:p1> ; sosa:resultTime ?time ; sosa:hasSimpleResult ?value3 .
        FILTER(!(?value3 < 4.0e0))
    """

    def __init__(self, rule: Rule, vocabulary: Vocabulary | None = None) -> None:
        self.rule = rule
        self.vocabulary = vocabulary or Vocabulary()
        self.pattern = Pattern.parse(rule.pattern) if rule.pattern else None
        self._sensor_variables = {s.name for s in self.pattern.sensors} if self.pattern else set()
        self._fresh = 0
        self._named: dict[str, str] = {}
        self._calendar: list[str] = []
        self._pattern_lines = self._match_pattern() if self.pattern else []
        self._antecedent_lines = [line for item in rule.antecedent for line in self._require(item)]
        self.place, self._present, self._claim = self._consequent(rule.consequent)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, as the query spells them."""
        return tuple(self._named.values())

    @property
    def has_time(self) -> bool:
        """Whether the rule tests a reading, so that the query has the variable ``?time``."""
        items = (*self.rule.antecedent, self.rule.consequent)
        return any(item.feature.aspect is Aspect.MEASUREMENT for item in items)

    def lines(self, *, violations: bool) -> list[str]:
        """The body of a query for the violations of the rule, or else for its matches."""
        claim = f"!({self._claim})" if violations else self._claim
        return [*self._pattern_lines, *self._antecedent_lines, *self._present, *self._calendar, f"FILTER({claim})"]

    def _new(self, stem: str) -> str:
        self._fresh += 1
        return f"?{stem}{self._fresh}"

    def _variable(self, name: str) -> str:
        if name not in self._named:
            spelling = "?" + (re.sub(r"\W", "_", name, flags=re.ASCII) or "v")
            # Avoid reserved names, generated names such as ?value1, and spellings already in use.
            taken = {*_RESERVED_NAMES, *self._named.values()}
            while spelling in taken or re.fullmatch(r"\?[a-z]+\d+", spelling):
                spelling += "_"
            self._named[name] = spelling
        return self._named[name]

    def _match_pattern(self) -> list[str]:
        """The clauses that match the pattern, with a different node or sensor for each variable."""
        assert self.pattern is not None
        lines = []
        for node in self.pattern.nodes:
            kind = f"{_IS_A} {self.vocabulary.cls(node.label)}" if node.label else "rdf:type []"
            lines.append(f"{self._variable(node.name)} {kind} .")
        for link in self.pattern.links:
            source, target = self._variable(link.source), self._variable(link.target)
            forward = self._link(source, link.label, target)
            either = f"{{ {forward} }} UNION {{ {self._link(target, link.label, source)} }}"
            lines.append(forward if link.directed else either)
        tested = {item.feature.subject for item in (*self.rule.antecedent, self.rule.consequent)}
        needed = [sensor for sensor in self.pattern.sensors if not sensor.optional or sensor.name in tested]
        lines += [self._sensor(self._variable(s.name), s.kind, self._variable(s.host)) for s in needed]
        nodes = [self._variable(node.name) for node in self.pattern.nodes]
        sensors = [self._variable(sensor.name) for sensor in needed]
        lines += [f"FILTER({a} != {b})" for group in (nodes, sensors) for a, b in combinations(group, 2)]
        return lines

    def _link(self, source: str, label: str, target: str) -> str:
        if not label:
            return f"{self._new('edge')} rdf:subject {source} ; rdf:object {target} ."
        relation = self._new("relation")
        wider = self.vocabulary.relation(label)
        return f"{source} {relation} {target} . {relation} rdfs:subPropertyOf* {wider} ."

    def _sensor(self, sensor: str, kind: str, host: str) -> str:
        observed = self.vocabulary.kind(kind) if kind else "[]"
        hosted = f"sosa:isHostedBy {host} ; " if host else ""
        return f"{sensor} {hosted}sosa:observes {observed} ."

    def _term(self, feature: Feature) -> str:
        if feature.role is Role.VARIABLE:
            return self._variable(feature.subject)
        if feature.role is Role.EDGE:
            return self.vocabulary.edge(feature.subject)
        return (self.vocabulary.sensor if feature.role is Role.SENSOR else self.vocabulary.node)(feature.subject)

    def _require(self, item: Item) -> list[str]:
        """The clauses that require an item of the antecedent to hold."""
        feature = item.feature
        if feature.aspect in (Aspect.LABEL, Aspect.EDGE):
            known = self._structure(feature)
            return [known] if item.holds(True) else [f"FILTER NOT EXISTS {{ {known} }}"]
        if feature.role is Role.SOME:
            if item.holds(True):
                return [self._witness(feature)]
            _, present, _ = self._candidate(feature)
            return [*present, f"FILTER NOT EXISTS {{ {self._witness(feature)} }}"]
        value, lines = self._value(feature)
        return [*lines, f"FILTER({_test(item, value)})"]

    def _consequent(self, item: Item) -> tuple[str, list[str], str]:
        """The term that the consequent is about, the clauses that bind its value, and its test as an expression."""
        feature = item.feature
        if feature.aspect in (Aspect.LABEL, Aspect.EDGE):
            known = self._structure(feature)
            return self._term(feature), [], f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {known} }}"
        if feature.role is Role.SOME:
            sensor, present, _ = self._candidate(feature)
            return sensor, present, f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {self._witness(feature)} }}"
        value, lines = self._value(feature)
        return ("?time" if feature.role is Role.TIME else self._term(feature)), lines, _test(item, value)

    def _structure(self, feature: Feature) -> str:
        vocabulary = self.vocabulary
        if feature.aspect is Aspect.LABEL:
            if feature.role is Role.EDGE:
                return f"{self._term(feature)} rdf:predicate {vocabulary.relation(feature.name)} ."
            return f"{self._term(feature)} {_IS_A} {vocabulary.cls(feature.name)} ."
        if feature.role is Role.VARIABLE:
            return self._link(self._variable(feature.subject), feature.name, self._variable(feature.other))
        # An edge between two nodes is named by its id, or by its relation where it is a plain link.
        source, target = vocabulary.node(feature.subject), vocabulary.node(feature.other)
        described = f"{vocabulary.edge(feature.name)} rdf:subject {source} ; rdf:object {target} ."
        return f"{{ {described} }} UNION {{ {self._link(source, feature.name, target)} }}"

    def _candidate(self, feature: Feature) -> tuple[str, list[str], str]:
        """A sensor that an existential item is about, the clauses that find it and its reading, and the reading."""
        sensor = self._new("sensor")
        conditions = feature.where[:-1]
        host = self._new("host") if feature.subject or conditions else ""
        lines = [self._sensor(sensor, feature.label, host)]
        if feature.subject:
            lines.append(f"{host} {_IS_A} {self.vocabulary.cls(feature.subject)} .")
        for condition in conditions:
            value = self._new("value")
            lines.append(f"{host} {self.vocabulary.property(condition.feature.name)} {value} .")
            lines.append(f"FILTER({_test(condition, value)})")
        reading = self._new("value")
        return sensor, [*lines, self._observation(f"sosa:madeBySensor {sensor}", feature, reading)], reading

    def _witness(self, feature: Feature) -> str:
        """The clauses that find a sensor for which an existential item holds; its last condition is the test."""
        _, lines, reading = self._candidate(feature)
        return " ".join([*lines, f"FILTER({_test(feature.where[-1], reading)})"])

    def _value(self, feature: Feature) -> tuple[str, list[str]]:
        """A variable for the value of a feature, and the clauses that bind it."""
        value = self._new("value")
        if feature.role is Role.TIME:
            self._calendar += _weekday(value) if feature.name == "weekday" else [f"BIND(HOURS(?time) AS {value})"]
            return value, []
        if feature.aspect is Aspect.PROPERTY:
            return value, [f"{self._term(feature)} {self.vocabulary.property(feature.name)} {value} ."]
        if feature.role is Role.VARIABLE and feature.subject not in self._sensor_variables:
            # An aggregate at a node, such as the sum of incoming flows: the node is the feature of interest.
            about = self.vocabulary.kind(f"{feature.label} {feature.name}".strip())
            subject = f"sosa:hasFeatureOfInterest {self._term(feature)} ; sosa:observedProperty {about}"
            return value, [self._observation(subject, feature, value, derived=False)]
        return value, [self._observation(f"sosa:madeBySensor {self._term(feature)}", feature, value)]

    def _observation(self, subject: str, feature: Feature, value: str, *, derived: bool = True) -> str:
        name = feature.name if derived else ""
        parts = [name, "rank"] if name and feature.relative else [name or ("rank" if feature.relative else "value")]
        predicate = self.vocabulary.reading("-".join(parts))
        return f"{self._new('observation')} {subject} ; sosa:resultTime ?time ; {predicate} {value} ."


def _test(item: Item, value: str) -> str:
    """The test of an item as an expression over a variable."""
    if item.operator in (Operator.NE, Operator.NOT_IN):
        return f"!({_test(item.negated(), value)})"
    if isinstance(item.value, Interval):
        bounds = [f"{value} >= {literal(item.value.low)}"] if item.value.low > float("-inf") else []
        bounds += [f"{value} < {literal(item.value.high)}"] if item.value.high < float("inf") else []
        return " && ".join(bounds) or f"isNumeric({value})"
    if isinstance(item.value, frozenset):
        return f"{value} IN ({', '.join(sorted(literal(member) for member in item.value))})"
    symbol = {Operator.LE: "<=", Operator.GE: ">="}.get(item.operator, str(item.operator))
    return f"{value} {symbol} {literal(item.value)}"


def _weekday(value: str) -> list[str]:
    """The day of the week of ``?time``, 0 for Monday, from the Julian day: SPARQL has no function for it."""
    early, days = f"{value}early", f"{value}days"
    return [
        f"BIND(FLOOR((14 - MONTH(?time)) / 12) AS {early})",
        f"BIND(DAY(?time) + FLOOR((153 * (MONTH(?time) + 12 * {early} - 3) + 2) / 5)"
        f" + 365 * (YEAR(?time) - {early}) + FLOOR((YEAR(?time) - {early}) / 4)"
        f" - FLOOR((YEAR(?time) - {early}) / 100) + FLOOR((YEAR(?time) - {early}) / 400) + 1 AS {days})",
        f"BIND({days} - 7 * FLOOR({days} / 7) AS {value})",
    ]
