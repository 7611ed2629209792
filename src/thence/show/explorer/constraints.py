"""Wishes of a client as settings of a search: which items each side of a rule may have, and thresholds.

Names are checked against the features of the table that was mined. Must not mine anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from thence.errors import nearest
from thence.language.constraints import Where
from thence.language.items import Feature, Item
from thence.runs.configuration import Config, OutputConfig, RefineConfig
from thence.show.explorer.item_facets import feature_names
from thence.show.explorer.parameters import read_mapping
from thence.show.explorer.problems import RequestError

__all__ = ["constrained_config"]

_FIELDS: dict[str, type] = {
    "antecedent": dict,
    "consequent": dict,
    "min_support": float,
    "min_confidence": float,
    "max_antecedents": int,
    "most": int,
}
_SIDE: dict[str, type] = dict.fromkeys(("kinds", "classes", "features", "without"), list)
_LIMITS = {"min_support": (0.0, 1.0), "min_confidence": (0.0, 1.0), "max_antecedents": (1, 8), "most": (0, 10_000)}


def constrained_config(config: Config, wishes: Mapping[str, Any], features: Sequence[Feature]) -> Config:
    """Return the configuration of a run with what a client wishes; what it does not mention stays.

    Args:
        config: The configuration of the run.
        wishes: The request.
        features: The features of the table that was mined.

    Raises:
        RequestError: If a wish is not understood, or names something that the table does not have.
    """
    given = read_mapping(wishes, _FIELDS)
    for name, (low, high) in _LIMITS.items():
        if name in given and not low <= given[name] <= high:
            raise RequestError(f"'{name}' must be from {low:g} to {high:g}, got {given[name]:g}", status=422)
    settings: dict[str, Any] = dict(config.miner.settings)
    settings |= {name: given[name] for name in ("min_support", "min_confidence", "max_antecedents") if name in given}
    for side in ("antecedent", "consequent"):
        if side in given:
            constraint = _constraint(read_mapping(given[side], _SIDE), features, side)
            settings.pop(side, None)
            if constraint:
                settings[side] = constraint
    refine = config.refine
    if "min_confidence" in given:
        refine = replace(refine, min_confidence=None)
    if "most" in given:
        refine = replace(refine, digest=given["most"], apply=True) if given["most"] else RefineConfig(apply=False)
    return replace(
        config, miner=replace(config.miner, settings=settings), refine=refine, output=OutputConfig(path=None)
    )


def _constraint(side: Mapping[str, list[str]], features: Sequence[Feature], title: str) -> dict[str, Any]:
    """What one side may have, as a table of a configuration file."""
    for name, facet in (("kinds", "kind"), ("classes", "class")):
        known = {one for feature in features for one in feature_names(feature, facet)}
        for wanted in side.get(name, ()):
            if wanted not in known:
                raise _unknown(wanted, known, title)
    # An item that any test of a feature matches; its value does not matter for names.
    for wanted in (*side.get("features", ()), *side.get("without", ())):
        if not any(map(_called(wanted), features)) and not _is_test(wanted):
            known = {one for feature in features for one in (feature.subject, feature.label, feature.name) if one}
            raise _unknown(wanted, known, title)
    out: dict[str, Any] = {}
    for name, field in (("kinds", "kind"), ("classes", "class"), ("features", "item")):
        if side.get(name):
            out[field] = list(side[name])
    if side.get("without"):
        barred = [_called(name) for name in side["without"]]
        allowed = [str(feature) for feature in features if not any(bars(feature) for bars in barred)]
        if not allowed:
            raise RequestError(f"nothing is left for the {title}", hint="exclude less", status=422)
        out["feature"] = sorted({re.sub(r"([*?\[])", r"[\1]", text) for text in allowed})
    return out


def _called(name: str) -> Callable[[Feature], bool]:
    """Whether a feature is called so: a column, sensor, kind, class or property."""
    by_name = Where(item=name)

    def fits(feature: Feature) -> bool:
        return name in feature_names(feature, "class") or by_name.matches(Item.is_(feature, ""))

    return fits


def _is_test(text: str) -> bool:
    return Where(item=text).tests_values()


def _unknown(name: str, known: Iterable[str], title: str) -> RequestError:
    listed = sorted(known)
    hint = nearest(name[:80], listed) or f"known: {', '.join(listed[:10])}{' …' if len(listed) > 10 else ''}"
    return RequestError(f"nothing in the data is called '{name[:80]}' ({title})", hint=hint, status=422)
