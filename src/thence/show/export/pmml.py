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
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from thence._base.settings.documents import check_xml, parse_json
from thence.errors import InputError, door, quote
from thence.language.item_text import parse_item
from thence.language.items import Item
from thence.statements.files.columns import (
    Columns,
    counts_from,
    extra_column,
    item_from,
    reading,
    require_places,
    told_from,
)
from thence.statements.files.format import Format
from thence.statements.rules.ruleset import COUNT_FIELDS, Rule, RuleSet

__all__ = ["FORMAT", "read", "write"]

T = TypeVar("T")

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
            return parse_json(found.attrib["value"], where=f"Extension '{name}'", error=InputError)
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

    items = _by_id(model, "Item", _item)
    itemsets = _by_id(model, "Itemset", lambda element: _members(element, items))
    _require_number(model, "numberOfItems", len(items))
    _require_number(model, "numberOfItemsets", len(itemsets))
    rules: list[Rule] = []
    counts: list[dict[str, Any]] = []
    extras: list[dict[str, Any]] = []
    element = model
    with reading(lambda: f"rule {element.get('id', len(rules) + 1)}"):
        for element in _children(model, "AssociationRule"):
            counted = _read_extension(element, "counts")
            consequent = itemsets[element.attrib["consequent"]]
            if counted is None or len(consequent) != 1:
                raise ValueError("no counts, or not exactly one consequent; only PMML written by Thence can be read")
            pattern = _read_extension(element, "pattern") or {}
            if not all(isinstance(text, str) for text in pattern.values()):
                raise ValueError("'pattern' must hold strings")
            rules.append(Rule(itemsets[element.attrib["antecedent"]], consequent[0], **pattern))
            counts.append({name: counted[name] for name in COUNT_FIELDS})
            extras.append(_read_extension(element, "extras") or {})
            if extras[-1].keys() != extras[0].keys():
                raise ValueError("'extras' has other columns than that of the first rule")
    _require_number(model, "numberOfRules", len(rules))
    facts, notes = told_from(_read_extension(model, "about") or {})
    return require_places(
        RuleSet.from_rules(
            rules,
            counts_from({name: [one[name] for one in counts] for name in COUNT_FIELDS}),
            extras={name: extra_column(name, [one[name] for one in extras]) for name in (extras or [{}])[0]},
            facts=facts,
            notes=notes,
        )
    )


def _children(parent: ET.Element, name: str) -> list[ET.Element]:
    return parent.findall(f"{{{_NAMESPACE}}}{name}")


def _by_id(model: ET.Element, name: str, read: Callable[[ET.Element], T]) -> dict[str, T]:
    """The elements of a name, read one by one, by their ids."""
    found: dict[str, T] = {}
    element = model
    with reading(lambda: f"{name} {element.get('id', '')}"):
        for element in _children(model, name):
            if element.attrib["id"] in found:
                raise ValueError("the id occurs twice")
            found[element.attrib["id"]] = read(element)
    return found


def _members(itemset: ET.Element, items: Mapping[str, Item]) -> tuple[Item, ...]:
    members = tuple(items[ref.attrib["itemRef"]] for ref in _children(itemset, "ItemRef"))
    _require_number(itemset, "numberOfItems", len(members))
    return members


def _require_number(element: ET.Element, name: str, found: int) -> None:
    """Raise unless there are as many parts as an element says, if it says so."""
    if element.get(name, str(found)) != str(found):
        raise ValueError(f"{name} is {quote(element.get(name))}, but {found:,} were found")


def _item(element: ET.Element) -> Item:
    known, text = _read_extension(element, "item"), element.attrib["value"]
    return parse_item(text) if known is None else item_from(known, text=None if "\ufffd" in text else text)


FORMAT = Format("pmml", (".pmml", ".xml"), "PMML 4.4 AssociationModel, for rule engines", write, read)
