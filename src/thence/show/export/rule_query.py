"""A rule as the clauses of a SPARQL query: its pattern, its antecedent and its consequent.

Used by the SPARQL and the SHACL exporter. A missing reading or property neither satisfies nor violates a rule: the
value that an item tests must exist. A dated property has, at the time of a row, the value that is valid then. The
variables of a pattern match in every order, as they are counted. Hours and weekdays are those of the frame if the graph
has frames with them; otherwise they are taken from ``sosa:resultTime`` as written, without a change of time zone. Names
come from ``thence.show.export.vocabulary``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.language.patterns import Pattern, SensorVariable
from thence.language.time_names import STATE_PREFIX
from thence.show.export.vocabulary import Namespaces, literal
from thence.statements.rules.ruleset import Rule

_IS_A = "rdf:type/rdfs:subClassOf*"
_RESERVED_NAMES = frozenset({"?time", "?rule", "?place", "?this"})


def number_single(rules: Iterable[Rule]) -> Iterator[tuple[int, int, Rule]]:
    """Yield rules with one item in the consequent, with the number of the rule, and of the part of its consequent.

    A rule whose consequent joins several items is violated where one of its parts is.

    Args:
        rules: The rules.

    Examples:
        >>> from thence.language.items import Feature
        >>> a, b, c = (Item.is_(Feature(name), "x") for name in "abc")
        >>> [(*at, str(one.consequent)) for *at, one in number_single([Rule((a,), Item.all_of([b, c]))])]
        [(1, 1, "(b).value = 'x'"), (1, 2, "(c).value = 'x'")]
    """
    for number, rule in enumerate(rules, start=1):
        parts = rule.consequent.parts
        for at, part in enumerate(parts, start=1):
            yield number, at, rule if len(parts) == 1 else replace(rule, consequent=part, counted=None)


class RuleQuery:
    """The clauses of one rule; ``place`` is the term that the consequent is about.

    Args:
        rule: The rule.
        vocabulary: The namespaces of the queried graph.

    Examples:
        >>> from thence.language.items import Feature
        >>> rule = Rule((Item.compare(Feature("f1"), ">=", 23.0),), Item.compare(Feature("p1"), "<", 4.0))
        >>> print(*RuleQuery(rule).lines(violations=True), sep="\\n")
        ?observation2 sosa:madeBySensor <urn:thence:sensor:f1> ; sosa:resultTime ?time ; sosa:hasSimpleResult ?value1 .
        FILTER(?value1 >= 23.0e0)
        ?observation4 sosa:madeBySensor <urn:thence:sensor:p1> ; sosa:resultTime ?time ; sosa:hasSimpleResult ?value3 .
        FILTER(!COALESCE(?value3 < 4.0e0, false))
    """

    def __init__(self, rule: Rule, vocabulary: Namespaces | None = None) -> None:
        self.rule = rule
        self.vocabulary = vocabulary or Namespaces()
        self.pattern = Pattern.parse(rule.pattern) if rule.pattern else None
        # In a pattern with points, sensors are at their unit and have a role there.
        points = self.pattern is not None and self.pattern.has_points
        self._hosted_by = self.vocabulary.reading("unit") if points else "sosa:isHostedBy"
        self._observes = self.vocabulary.reading("role") if points else "sosa:observes"
        self._sensor_variables = {s.name: s for s in self.pattern.sensors} if self.pattern else {}
        self._bound_time = False
        self._fresh = 0
        self._named: dict[str, str] = {}
        self._calendar: list[str] = []
        self._pattern_lines = self._match_pattern() if self.pattern else []
        self._antecedent_lines = [line for item in rule.antecedent for line in self._require(item)]
        timed = self._bound_time
        self.place, self._present, self._claim = self._consequent(rule.consequent)
        # Where no reading gives the time, a row is a frame, if the graph has frames.
        self._frame_lines = [] if self._bound_time else [f"OPTIONAL {{ [] {self._reading('frame')} ?time . }}"]
        self._exists = [f"FILTER EXISTS {{ {' '.join(self._present)} }}"] if timed else self._present

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, as the query spells them."""
        return tuple(self._named.values())

    @property
    def is_about_some(self) -> bool:
        """Whether the consequent is about some sensor, so that a row is a time and not a time and place."""
        return self.rule.consequent.feature.role is Role.SOME

    def lines(self, *, violations: bool, places: bool = True) -> list[str]:
        """The body of a query for the violations of the rule, or else for its matches.

        Args:
            violations: Whether to find violations instead of matches.
            places: Whether to bind ``place`` where the consequent is about some sensor: once for each such sensor.
        """
        # A value of another type than the test's does not pass it: a comparison that fails is false.
        claim = f"!COALESCE({self._claim}, false)" if violations else self._claim
        present = self._present if places or not self.is_about_some else self._exists
        lines = [*self._frame_lines, *self._pattern_lines, *self._antecedent_lines, *present, *self._calendar]
        return [*lines, f"FILTER({claim})"]

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
        tested = {item.feature.subject for item in (*self.rule.antecedent, self.rule.consequent)}
        given = [s for s in self.pattern.sensors if not s.optional or s.name in tested]
        hosts = {link.source for link in self.pattern.links} | {link.target for link in self.pattern.links}
        hosts |= {sensor.host for sensor in given}
        for node in self.pattern.nodes:
            variable = self._variable(node.name)
            if node.label:
                lines.append(f"{variable} {_IS_A} {self.vocabulary.cls(node.label)} .")
            elif node.name not in hosts:
                lines.append(f"{variable} rdf:type [] .")
        for link in self.pattern.links:
            source, target = self._variable(link.source), self._variable(link.target)
            lines.append(self._link(source, link.label, target, directed=link.directed))
        for sensor in self.pattern.sensors:
            self._variable(sensor.name)
        lines += [self._hosted(sensor) for sensor in given]
        lines += [
            f"FILTER({a} != {b})" for a, b in combinations([self._variable(n.name) for n in self.pattern.nodes], 2)
        ]
        return lines + self._match_optional_sensors(given)

    def _match_optional_sensors(self, given: Sequence[SensorVariable]) -> list[str]:
        """The clauses for optional sensors: each is a sensor of its own, or none if no sensor is left for it."""
        assert self.pattern is not None
        lines = []
        for host in dict.fromkeys(sensor.host for sensor in self.pattern.sensors):
            own = [sensor for sensor in self.pattern.sensors if sensor.host == host]
            free = [sensor for sensor in own if sensor not in given]
            for sensor in free:
                clause = f"{{ {self._hosted(sensor)} }}"
                lines.append(f"{clause} UNION {{ }}" if _rivals(sensor, own) else f"OPTIONAL {clause}")
            for a, b in combinations(own, 2):
                if b in _rivals(a, own):
                    differ = f"{self._variable(a.name)} != {self._variable(b.name)}"
                    lines.append(f"FILTER(COALESCE({differ}, true))" if {a, b} & set(free) else f"FILTER({differ})")
            for sensor in free:
                rivals = _rivals(sensor, own)
                if rivals:
                    left = self._new("left")
                    taken = " && ".join(f"COALESCE({left} != {self._variable(r.name)}, true)" for r in rivals)
                    another = self._sensor(left, sensor.kind, self._variable(host))
                    bound = f"BOUND({self._variable(sensor.name)})"
                    lines.append(f"FILTER({bound} || NOT EXISTS {{ {another} FILTER({taken}) }})")
            if free == own and not self.pattern.is_star:
                lines.append(f"FILTER({' || '.join(f'BOUND({self._variable(s.name)})' for s in own)})")
        return lines

    def _hosted(self, sensor: SensorVariable) -> str:
        return self._sensor(self._variable(sensor.name), sensor.kind, self._variable(sensor.host))

    def _link(self, source: str, label: str, target: str, *, directed: bool = True) -> str:
        """An edge; one of a symmetric relation has no direction."""
        forward, backward = self._edge(source, label, target), self._edge(target, label, source)
        if directed and not label:
            return forward
        symmetric = f" {self.vocabulary.relation(label)} rdf:type owl:SymmetricProperty ." if directed else ""
        return f"{{ {forward} }} UNION {{ {backward}{symmetric} }}"

    def _edge(self, source: str, label: str, target: str) -> str:
        if not label:
            return f"{self._new('edge')} rdf:subject {source} ; rdf:object {target} ."
        relation = self._new("relation")
        wider = self.vocabulary.relation(label)
        return f"{source} {relation} {target} . {relation} rdfs:subPropertyOf* {wider} ."

    def _sensor(self, sensor: str, kind: str, host: str) -> str:
        observed = self.vocabulary.kind(kind) if kind else "[]"
        hosted = f"{self._hosted_by} {host} ; " if host else ""
        return f"{sensor} {hosted}{self._observes} {observed} ."

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
        if feature.aspect is Aspect.PROPERTY and feature.where:
            witness, known = self._such_a_value(feature)
            return [f"FILTER EXISTS {{ {witness if item.holds(True) else known} }}"] + (
                [] if item.holds(True) else [f"FILTER NOT EXISTS {{ {witness} }}"]
            )
        if feature.role is Role.SOME:
            timed, self._bound_time = self._bound_time, True
            held, witness = item.holds(True), self._witness(feature)
            present = " ".join(self._candidate(feature)[1])
            # Once the time is given, sensors need not be listed.
            lines = [f"FILTER EXISTS {{ {witness if held else present} }}"] if timed else [witness if held else present]
            return lines if held else [*lines, f"FILTER NOT EXISTS {{ {witness} }}"]
        value, lines = self._value(feature)
        return [*lines, *_guard(item, value), f"FILTER({_test(item, value)})"]

    def _consequent(self, item: Item) -> tuple[str, list[str], str]:
        """The term that the consequent is about, the clauses that bind its value, and its test as an expression."""
        feature = item.feature
        if feature.aspect in (Aspect.LABEL, Aspect.EDGE):
            known = self._structure(feature)
            return self._term(feature), [], f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {known} }}"
        if feature.aspect is Aspect.PROPERTY and feature.where:
            witness, known = self._such_a_value(feature)
            present = [f"FILTER EXISTS {{ {known} }}"]
            return self._term(feature), present, f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {witness} }}"
        if feature.role is Role.SOME:
            self._bound_time = True
            sensor, present, _ = self._candidate(feature)
            return sensor, present, f"{'' if item.holds(True) else 'NOT '}EXISTS {{ {self._witness(feature)} }}"
        value, lines = self._value(feature)
        place = "?time" if feature.role is Role.TIME else self._term(feature)
        return place, [*lines, *_guard(item, value)], _test(item, value)

    def _such_a_value(self, feature: Feature) -> tuple[str, str]:
        """The clauses that find a value of a property for which a statement holds, and those that find any value."""
        (test,) = feature.where
        value, lines = self._value(replace(feature, where=()))
        return " ".join([*lines, f"FILTER({_test(test, value)})"]), " ".join(lines)

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
            lines += [*self._property(host, condition.feature.name, value), f"FILTER({_test(condition, value)})"]
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
            frame = self._new("frame")
            self._calendar.append(
                f"OPTIONAL {{ {frame} {self._reading('frame')} ?time ; {self._reading(feature.name)} {frame}known . }}"
            )
            if feature.name == "weekday":
                self._calendar += [*_weekday(f"{value}day"), f"BIND(COALESCE({frame}known, {value}day) AS {value})"]
            else:
                self._calendar.append(f"BIND(COALESCE({frame}known, HOURS(?time)) AS {value})")
            return value, []
        if feature.is_link:
            edge = self._new("edge")
            return value, [self._described_link(edge, feature), *self._property(edge, feature.name, value)]
        if feature.aspect is Aspect.PROPERTY:
            return value, self._property(self._term(feature), feature.name, value)
        self._bound_time = True
        if feature.role is Role.VARIABLE and feature.subject not in self._sensor_variables:
            # An aggregate at a node, such as the sum of incoming flows: the node is the feature of interest.
            about = self.vocabulary.kind(f"{feature.label} {feature.name}".strip())
            subject = f"sosa:hasFeatureOfInterest {self._term(feature)} ; sosa:observedProperty {about}"
            return value, [self._observation(subject, feature, value, derived=False)]
        lines = [self._observation(f"sosa:madeBySensor {self._term(feature)}", feature, value)]
        if feature.role is Role.VARIABLE and not self._sensor_variables[feature.subject].kind:
            lines.append(f"{self._term(feature)} {self._observes} {self.vocabulary.kind(feature.label)} .")
        return value, lines

    def _described_link(self, edge: str, feature: Feature) -> str:
        """An edge with properties that matches a link of the pattern, which may have no direction."""
        source, target = self._variable(feature.subject), self._variable(feature.other)
        relation, named = self._new("relation"), ""
        if feature.label:
            wider = self.vocabulary.relation(feature.label)
            named = f"{edge} rdf:predicate {relation} . {relation} rdfs:subPropertyOf* {wider} ."
        forward = f"{edge} rdf:subject {source} ; rdf:object {target} . {named}"
        backward = f"{edge} rdf:subject {target} ; rdf:object {source} . {named}"
        links = () if self.pattern is None else self.pattern.links
        ends = (feature.subject, feature.other, feature.label)
        directed = any(link.directed and (link.source, link.target, link.label) == ends for link in links)
        if directed and not feature.label:
            return forward
        symmetric = f" {self.vocabulary.relation(feature.label)} rdf:type owl:SymmetricProperty ." if directed else ""
        return f"{{ {forward} }} UNION {{ {backward}{symmetric} }}"

    def _property(self, term: str, name: str, value: str) -> list[str]:
        """The clauses that bind the value of a property, or the one that is valid at the time of the row."""
        dated, start, end = self._new("dated"), self._new("start"), self._new("end")
        valid = (
            f"{term} {self.vocabulary.dated_property(name)} {dated} . {dated} rdf:value {value} ."
            f" OPTIONAL {{ {dated} prov:generatedAtTime {start} . }}"
            f" OPTIONAL {{ {dated} prov:invalidatedAtTime {end} . }}"
        )
        return [
            f"{{ {term} {self.vocabulary.property(name)} {value} . }} UNION {{ {valid} }}",
            f"FILTER((!BOUND({start}) || {start} <= ?time) && (!BOUND({end}) || ?time < {end}))",
        ]

    def _reading(self, name: str) -> str:
        return self.vocabulary.reading(name)

    def _observation(self, subject: str, feature: Feature, value: str, *, derived: bool = True) -> str:
        # States that share a kind with numbers have a name of their own, but are results like any other.
        name = feature.name.removeprefix(STATE_PREFIX) if derived and feature.name != "state" else ""
        parts = [name, "rank"] if name and feature.relative else [name or ("rank" if feature.relative else "value")]
        predicate = self._reading("-".join(parts))
        return f"{self._new('observation')} {subject} ; sosa:resultTime ?time ; {predicate} {value} ."


def _rivals(sensor: SensorVariable, others: Sequence[SensorVariable]) -> list[SensorVariable]:
    """The other variables that could match the same sensor."""
    return [
        other
        for other in others
        if other != sensor and (sensor.kind == other.kind or not sensor.kind or not other.kind)
    ]


def _guard(item: Item, value: str) -> list[str]:
    """The clause that a reading is of the type of an item's test: numbers and states of one kind are two features."""
    feature = item.feature
    if feature.aspect is not Aspect.MEASUREMENT or feature.relative or feature.role is not Role.VARIABLE:
        return []
    members = item.value if isinstance(item.value, frozenset) else [item.value]
    if any(isinstance(member, bool) for member in members):
        return []
    is_state = all(isinstance(member, str) for member in members)
    return [f"FILTER({'!' if is_state else ''}isNumeric({value}))"]


def _test(item: Item, value: str) -> str:
    """The test of an item as an expression over a variable."""
    if item.operator in (Operator.NE, Operator.NOT_IN):
        # The values of a feature of time are of several types, and those of different types cannot be compared.
        inner = _test(item.negated(), value)
        return f"!({inner})" if item.feature.time is None else f"!COALESCE({inner}, false)"
    if isinstance(item.value, Interval):
        bounds = [f"{value} >= {literal(item.value.low)}"] if item.value.low > float("-inf") else []
        bounds += [f"{value} < {literal(item.value.high)}"] if item.value.high < float("inf") else []
        return " && ".join(bounds) or f"isNumeric({value})"
    if isinstance(item.value, frozenset):
        return f"{value} IN ({', '.join(sorted(literal(member) for member in item.value))})"
    symbol = {Operator.LE: "<=", Operator.GE: ">="}.get(item.operator, str(item.operator))
    return f"{value} {symbol} {literal(item.value)}{_or_number(item, value)}"


def _or_number(item: Item, value: str) -> str:
    """Among texts, a number of a property is the text of the number."""
    if item.feature.aspect is not Aspect.PROPERTY or not isinstance(item.value, str):
        return ""
    try:
        number = float(item.value)
    except ValueError:
        return ""
    return f" || COALESCE({value} = {literal(number)}, false)" if math.isfinite(number) else ""


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
