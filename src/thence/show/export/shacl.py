"""Rules as SHACL: one shape per rule, whose SPARQL constraint reports each time and place where the rule fails.

The target of a shape is what the consequent is about: the sensor or node itself, or, for a rule with variables, all
sensors or all nodes of the class. The message is the rule in plain English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence.language.items import Aspect, Role
from thence.show.export.rule_query import RuleQuery, number_single
from thence.show.export.vocabulary import PREFIXES, Namespaces, comment_notes, literal
from thence.statements.files.format import Format
from thence.statements.rules.ruleset import Rule, RuleSet

_SHAPES = "urn:thence:shape:"


def shapes(rules: Iterable[Rule], *, vocabulary: Namespaces | None = None) -> str:
    """Return Turtle with one shape per rule.

    Args:
        rules: The rules.
        vocabulary: The namespaces of the validated graph.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> rule = Rule((Item.compare(Feature("f1"), ">=", 23.0),), Item.compare(Feature("p1"), "<", 4.0))
        >>> "sh:targetNode <urn:thence:sensor:p1>" in shapes([rule])
        True
    """
    words = vocabulary or Namespaces()
    declared = [
        f"  sh:declare [ sh:prefix {literal(prefix)} ; sh:namespace {literal(namespace)}^^xsd:anyURI ]"
        for prefix, namespace in PREFIXES.items()
    ]
    lines = [f"@prefix {prefix}: <{namespace}> ." for prefix, namespace in PREFIXES.items()]
    lines += ["@prefix sh: <http://www.w3.org/ns/shacl#> .", ""]
    lines += [f"<{_SHAPES}prefixes> a owl:Ontology ;", " ;\n".join(declared) + " .", ""]
    for number, part, rule in number_single(rules):
        lines += [*_shape(f"{number}" if part == 1 else f"{number}.{part}", rule, words), ""]
    return "\n".join(lines)


def write(rules: RuleSet, path: Path, **namespaces: Any) -> None:
    """Write one shape per rule.

    Args:
        rules: The rules to write.
        path: The file to write.
        **namespaces: The fields of ``Namespaces``, such as ``classes="https://brickschema.org/schema/Brick#"``.
    """
    path.write_text(comment_notes(rules) + shapes(rules, vocabulary=Namespaces(**namespaces)), encoding="utf-8")


def _shape(number: str, rule: Rule, words: Namespaces) -> list[str]:
    parts = RuleQuery(rule, words)
    body = "\n".join(parts.lines(violations=True))
    if parts.place.startswith("?"):
        # SHACL calls the node that is validated $this.
        body = re.sub(rf"{re.escape(parts.place)}\b", "$this", body)
    else:
        body += f"\nFILTER($this = {parts.place})"
    select = f"SELECT DISTINCT $this (?time AS ?value) WHERE {{\n{body}\n}}"
    return [
        f"<{_SHAPES}{number}> a sh:NodeShape ;",
        f"  rdfs:label {literal(str(rule))} ;",
        f"  {_target(parts, words)} ;",
        "  sh:sparql [",
        "    a sh:SPARQLConstraint ;",
        f"    sh:message {literal(rule.english)} ;",
        f"    sh:prefixes <{_SHAPES}prefixes> ;",
        f"    sh:select {_long_literal(select)}",
        "  ] .",
    ]


def _long_literal(text: str) -> str:
    """A string of several lines as a Turtle literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""\n{escaped}\n"""'


def _target(parts: RuleQuery, words: Namespaces) -> str:
    if not parts.place.startswith("?"):
        return f"sh:targetNode {parts.place}"
    feature = parts.rule.consequent.feature
    label = ""
    if parts.pattern is not None and feature.role is Role.VARIABLE:
        label = next((node.label for node in parts.pattern.nodes if node.name == feature.subject), "")
    if label:
        return f"sh:targetClass {words.cls(label)}"
    is_sensor = feature.aspect is Aspect.MEASUREMENT
    return "sh:targetSubjectsOf sosa:observes" if is_sensor else "sh:targetSubjectsOf rdf:type"


FORMAT = Format("shacl", (".ttl",), "a shape per rule, for graph validators", write, counts=False)
