"""Rules as a PMML 4.4 AssociationModel, the exchange format of rule engines; can be read back.

The value of a PMML item is the exact text of the item. What PMML cannot express is in ``Extension`` elements: counts
(other tools round supports and confidences), graph patterns, units and places of features, and extra columns. Without
the extensions the file is still a valid AssociationModel.
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

from thence.errors import InputError, door
from thence.export.columns import Columns, counts_from
from thence.export.format import Format
from thence.rules.item_text import parse_item
from thence.rules.items import Item
from thence.rules.ruleset import COUNT_FIELDS, Rule, RuleSet
from thence.settings.documents import check_xml, parse_json

__all__ = ["FORMAT", "read", "write"]

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_DEEPEST = 100  # elements of a PMML file are within few others
_FIELD = "item"
# Characters that XML 1.0 does not allow even when escaped; the JSON in the extensions preserves them.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(rules: RuleSet, path: Path) -> None:
    """Write ``rules`` to the file ``path``."""
    columns = Columns.of(rules)
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header", {"description": "Association rules"})
    ET.SubElement(header, "Application", {"name": "Thence", "version": version("thence")})
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": "2"})
    for name in ("transaction", _FIELD):
        ET.SubElement(dictionary, "DataField", {"name": name, "optype": "categorical", "dataType": "string"})
    _add_model(root, columns)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_model(root: ET.Element, columns: Columns) -> None:
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
            "minimumConfidence": repr(float(np.nanmin(confidence))) if (~np.isnan(confidence)).any() else "0.0",
            "numberOfItems": str(len(columns.items)),
            "numberOfItemsets": str(len(itemsets.numbers)),
            "numberOfRules": str(len(rules)),
        },
    )
    _add_extension(model, "about", {"facts": columns.facts, "notes": list(rules.notes)})
    schema = ET.SubElement(model, "MiningSchema")
    ET.SubElement(schema, "MiningField", {"name": "transaction", "usageType": "group"})
    ET.SubElement(schema, "MiningField", {"name": _FIELD, "usageType": "active"})
    for at, (text, item) in enumerate(zip(columns.texts, columns.items, strict=True)):
        element = ET.SubElement(model, "Item", {"id": str(at), "value": _ILLEGAL.sub("\ufffd", text)})
        _add_extension(element, "item", item.to_dict())
    for members, number in itemsets.numbers.items():
        element = ET.SubElement(model, "Itemset", {"id": str(number), "numberOfItems": str(len(members))})
        for member in members:
            ET.SubElement(element, "ItemRef", {"itemRef": str(member)})
    lift = rules.measure("lift")
    per_rule = zip(itemsets.of_rules, columns.counts(), columns.extras(), strict=True)
    for r, ((antecedent, consequent), counts, extras) in enumerate(per_rule):
        attributes = {"id": str(r + 1), "antecedent": str(antecedent), "consequent": str(consequent)}
        share = float(confidence[r])
        # A rule that never applied has no confidence, which XML writes as NaN.
        attributes |= {"support": repr(float(support[r])), "confidence": "NaN" if math.isnan(share) else repr(share)}
        if math.isfinite(lift[r]):
            attributes["lift"] = repr(float(lift[r]))
        element = ET.SubElement(model, "AssociationRule", attributes)
        _add_extension(element, "counts", counts)
        pattern, place = columns.pattern(r)
        if pattern:
            _add_extension(element, "pattern", {"pattern": pattern, "place": place})
        if extras:
            _add_extension(element, "extras", extras)


class _Itemsets:
    """Numbers for the distinct antecedents and consequents, in order of first use."""

    def __init__(self, columns: Columns) -> None:
        self.numbers: dict[tuple[int, ...], int] = {}
        self.of_rules: list[tuple[int, int]] = []
        for antecedent, consequent in zip(columns.antecedent_lists, columns.consequents.tolist(), strict=True):
            self.of_rules.append((self._number(tuple(antecedent)), self._number((consequent,))))

    def _number(self, members: tuple[int, ...]) -> int:
        return self.numbers.setdefault(members, len(self.numbers))


def _add_extension(element: ET.Element, name: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)
    ET.SubElement(element, "Extension", {"extender": "thence", "name": name, "value": text})


def _read_extension(element: ET.Element, name: str) -> Any:
    for found in element.findall(f"{{{_NAMESPACE}}}Extension"):
        if found.get("extender") == "thence" and found.get("name") == name:
            return parse_json(found.get("value", "null"), where=f"Extension '{name}'", error=InputError)
    return None


def read(path: Path) -> RuleSet:
    """Read a rule set that ``write`` wrote; PMML of other tools has no counts and is refused."""
    with door(InputError, where=str(path)):
        raw = path.read_bytes()
    check_xml(raw, where=str(path), error=InputError, deepest=_DEEPEST)
    try:
        root = ET.fromstring(raw)
    except ET.ParseError as error:
        raise InputError(f"not valid XML ({error})", where=str(path)) from error
    model = root.find(f"{{{_NAMESPACE}}}AssociationModel")
    if model is None:
        raise InputError("no PMML 4.4 AssociationModel in the file", where=str(path))

    def children(parent: ET.Element, name: str) -> list[ET.Element]:
        return parent.findall(f"{{{_NAMESPACE}}}{name}")

    items = {element.attrib["id"]: _item(element) for element in children(model, "Item")}
    itemsets = {
        element.attrib["id"]: tuple(items[ref.attrib["itemRef"]] for ref in children(element, "ItemRef"))
        for element in children(model, "Itemset")
    }
    rules: list[Rule] = []
    counts: dict[str, list[int]] = {name: [] for name in COUNT_FIELDS}
    extras: dict[str, list[Any]] = {}
    for element in children(model, "AssociationRule"):
        counted = _read_extension(element, "counts")
        consequent = itemsets[element.attrib["consequent"]]
        if counted is None or len(consequent) != 1:
            raise InputError(
                f"rule {element.get('id', len(rules) + 1)} has no counts, or not exactly one consequent",
                where=str(path),
                hint="only PMML files written by Thence can be read",
            )
        pattern = _read_extension(element, "pattern") or {}
        rules.append(Rule(itemsets[element.attrib["antecedent"]], consequent[0], **pattern))
        for name in COUNT_FIELDS:
            counts[name].append(counted[name])
        for name, value in (_read_extension(element, "extras") or {}).items():
            extras.setdefault(name, []).append(value)
    about = _read_extension(model, "about") or {"facts": {}, "notes": []}
    return RuleSet.from_rules(
        rules,
        counts_from(counts),
        extras={name: np.array(values) for name, values in extras.items()},
        facts=about["facts"],
        notes=tuple(about["notes"]),
    )


def _item(element: ET.Element) -> Item:
    known = _read_extension(element, "item")
    return Item.from_dict(known) if known is not None else parse_item(element.attrib["value"])


FORMAT = Format("pmml", (".pmml", ".xml"), "PMML 4.4 AssociationModel, for rule engines", write, read)
