"""Rules as a PMML 4.4 AssociationModel, the exchange format of rule engines; reads back.

The value of a PMML item is the exact text of ours. What PMML has no place for travels in ``Extension`` elements:
counts (its supports and confidences are rounded by other tools), graph patterns, units and places of features,
extra columns. Without the extensions the file is still a plain AssociationModel.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thence.errors import InputError
from thence.export.columns import COUNTS, Columns, counts_from
from thence.rules.item_text import parse_item
from thence.rules.items import Item
from thence.rules.ruleset import Rule, RuleSet

__all__ = ["read", "write"]

NAMESPACE = "http://www.dmg.org/PMML-4_4"
_FIELD = "item"
# Characters that XML 1.0 cannot hold even in escaped form; JSON in the extensions keeps them.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(rules: RuleSet, path: Path) -> None:
    """Write a rule set."""
    columns = Columns.of(rules)
    root = ET.Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header", {"description": "Association rules"})
    ET.SubElement(header, "Application", {"name": "Thence", "version": version("thence")})
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": "2"})
    for name in ("transaction", _FIELD):
        ET.SubElement(dictionary, "DataField", {"name": name, "optype": "categorical", "dataType": "string"})
    _model(root, columns)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _model(root: ET.Element, columns: Columns) -> None:
    rules = columns.rules
    itemsets = _Itemsets(columns)
    support, confidence = rules.measure("support"), rules.measure("confidence")
    transactions = rules.facts.get("n_transactions")
    if transactions is None:
        transactions = int(rules.counts.n.max()) if len(rules) else 0
    model = ET.SubElement(
        root,
        "AssociationModel",
        {
            "functionName": "associationRules",
            "modelName": "Thence",
            "numberOfTransactions": str(transactions),
            "minimumSupport": repr(float(support.min())) if len(rules) else "0.0",
            "minimumConfidence": repr(float(confidence.min())) if len(rules) else "0.0",
            "numberOfItems": str(len(columns.items)),
            "numberOfItemsets": str(len(itemsets.numbers)),
            "numberOfRules": str(len(rules)),
        },
    )
    about = {"facts": {**rules.facts, "data_coverage": rules.data_coverage}, "notes": list(rules.notes)}
    _extend(model, "about", about)
    schema = ET.SubElement(model, "MiningSchema")
    ET.SubElement(schema, "MiningField", {"name": "transaction", "usageType": "group"})
    ET.SubElement(schema, "MiningField", {"name": _FIELD, "usageType": "active"})
    for at, (text, item) in enumerate(zip(columns.texts, columns.items, strict=True)):
        element = ET.SubElement(model, "Item", {"id": str(at), "value": _ILLEGAL.sub("\ufffd", text)})
        _extend(element, "item", item.to_dict())
    for members, number in itemsets.numbers.items():
        element = ET.SubElement(model, "Itemset", {"id": str(number), "numberOfItems": str(len(members))})
        for member in members:
            ET.SubElement(element, "ItemRef", {"itemRef": str(member)})
    lift = rules.measure("lift")
    counts = {name: np.asarray(getattr(rules.counts, name)).tolist() for name in COUNTS}
    extras = {name: np.asarray(values).tolist() for name, values in rules.extras.items()}
    for r, (antecedent, consequent) in enumerate(itemsets.of_rules):
        attributes = {"id": str(r + 1), "antecedent": str(antecedent), "consequent": str(consequent)}
        attributes |= {"support": repr(float(support[r])), "confidence": repr(float(confidence[r]))}
        if math.isfinite(lift[r]):
            attributes["lift"] = repr(float(lift[r]))
        element = ET.SubElement(model, "AssociationRule", attributes)
        _extend(element, "counts", {name: values[r] for name, values in counts.items()})
        pattern, place = columns.pattern(r)
        if pattern:
            _extend(element, "pattern", {"pattern": pattern, "place": place})
        if extras:
            _extend(element, "extras", {name: values[r] for name, values in extras.items()})


class _Itemsets:
    """Numbers for the distinct sides of rules, in the order in which they are met."""

    def __init__(self, columns: Columns) -> None:
        self.numbers: dict[tuple[int, ...], int] = {}
        self.of_rules: list[tuple[int, int]] = []
        for antecedent, consequent in zip(columns.antecedent_lists, columns.consequents.tolist(), strict=True):
            self.of_rules.append((self._number(tuple(antecedent)), self._number((consequent,))))

    def _number(self, members: tuple[int, ...]) -> int:
        return self.numbers.setdefault(members, len(self.numbers))


def _extend(element: ET.Element, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)
    ET.SubElement(element, "Extension", {"extender": "thence", "name": name, "value": text})


def _extension(element: ET.Element, name: str) -> Any:
    for found in element.findall(f"{{{NAMESPACE}}}Extension"):
        if found.get("extender") == "thence" and found.get("name") == name:
            return json.loads(found.get("value", "null"))
    return None


def read(path: Path) -> RuleSet:
    """Read a rule set back; the file must be one that ``write`` made, since other tools give no counts."""
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise InputError(f"this is not XML ({error})", where=str(path)) from error
    model = root.find(f"{{{NAMESPACE}}}AssociationModel")
    if model is None:
        raise InputError("there is no AssociationModel of PMML 4.4 in this file", where=str(path))

    def children(parent: ET.Element, name: str) -> list[ET.Element]:
        return parent.findall(f"{{{NAMESPACE}}}{name}")

    items = {element.attrib["id"]: _item(element) for element in children(model, "Item")}
    itemsets = {
        element.attrib["id"]: tuple(items[ref.attrib["itemRef"]] for ref in children(element, "ItemRef"))
        for element in children(model, "Itemset")
    }
    rules: list[Rule] = []
    counts: dict[str, list[int]] = {name: [] for name in COUNTS}
    extras: dict[str, list[Any]] = {}
    for element in children(model, "AssociationRule"):
        counted = _extension(element, "counts")
        consequent = itemsets[element.attrib["consequent"]]
        if counted is None or len(consequent) != 1:
            raise InputError(
                f"rule {element.get('id', len(rules) + 1)} has no counts, or not exactly one consequent",
                where=str(path),
                hint="only PMML that Thence wrote can be read back",
            )
        pattern = _extension(element, "pattern") or {}
        rules.append(Rule(itemsets[element.attrib["antecedent"]], consequent[0], **pattern))
        for name in COUNTS:
            counts[name].append(counted[name])
        for name, value in (_extension(element, "extras") or {}).items():
            extras.setdefault(name, []).append(value)
    about = _extension(model, "about") or {"facts": {}, "notes": []}
    return RuleSet.from_rules(
        rules,
        counts_from(counts),
        extras={name: np.array(values) for name, values in extras.items()},
        facts=about["facts"],
        notes=tuple(about["notes"]),
    )


def _item(element: ET.Element) -> Item:
    known = _extension(element, "item")
    return Item.from_dict(known) if known is not None else parse_item(element.attrib["value"])
