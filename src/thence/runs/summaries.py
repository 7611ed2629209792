"""The summary of a run, as ``summary.json`` holds it: which entries it has, and of which types. Must not read files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from thence.errors import RunError, quote
from thence.statements.rules.ruleset import RuleSet

FORMAT = 1
_FLAGS = ("complete", "interrupted")
_COUNTS = ("rules", "rules_found")
_SIZES = ("n_transactions", "n_features", "n_items")
_SHARES = ("mean_support", "mean_rule_coverage", "mean_confidence", "mean_zhang", "data_coverage")
_NAMES = ("miner", "enrichment")
_KEYS = (*_FLAGS, *_COUNTS, *_SHARES, *_SIZES, *_NAMES, "notes", "seconds")


def require_summary(summary: Any, *, where: str) -> dict[str, Any]:
    """Return a summary that was read, once every entry has been found to be what it must be.

    Args:
        summary: The summary.
        where: The file, for messages.

    Raises:
        RunError: If the format is unknown, or an entry is missing or of another type.

    Examples:
        >>> require_summary({"format": 1}, where="summary.json")
        Traceback (most recent call last):
        thence.errors.RunError: summary.json: the summary lacks complete, interrupted, rules, … (mine again)
    """
    if not isinstance(summary, dict) or not _is_count(version := summary.get("format", 0)) or version > FORMAT:
        raise RunError(
            "the summary has an unknown format", where=where, hint="the run may be from a newer version of Thence"
        )
    missing = [name for name in _KEYS if name not in summary]
    if missing:
        listed = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise RunError(f"the summary lacks {listed}", where=where, hint="mine again")
    for name, expected in _find_wrong(summary):
        given = quote(repr(summary[name]))[1:-1]
        raise RunError(
            f"'{name}' must be {expected}, got {given}", where=where, hint="the file was changed or damaged; mine again"
        )
    return summary


def require_same_rules(summary: Mapping[str, Any], described: Mapping[str, Any], *, where: str) -> None:
    """Raise if a summary contradicts itself, or the rules beside it.

    Args:
        summary: The summary.
        described: What is known of the rules themselves, by the names of the summary.
        where: The run folder, for messages.

    Raises:
        RunError: If a number differs.

    Examples:
        >>> require_same_rules({"rules": 999, "rules_found": 84}, {"rules": 18}, where="run")
        Traceback (most recent call last):
        thence.errors.RunError: run: 'rules' is 999 in summary.json, but 18 in rules.parquet (a file was changed or \
damaged; mine again)
    """
    for name, value in described.items():
        stated = summary.get(name, value)
        both = _is_number(stated) and _is_number(value)
        if not (math.isclose(stated, value, rel_tol=1e-9, abs_tol=1e-9) if both else stated == value):
            raise RunError(
                f"'{name}' is {quote(repr(stated))[1:-1]} in summary.json, but {value!r} in rules.parquet",
                where=where,
                hint="a file was changed or damaged; mine again",
            )
    if summary["rules"] > summary["rules_found"]:
        raise RunError(
            f"summary.json counts {summary['rules']:,} rules, but only {summary['rules_found']:,} found",
            where=where,
            hint="the file was changed or damaged; mine again",
        )


def _find_wrong(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The entries of another type than they must have, with what they must be."""
    notes, seconds = summary["notes"], summary["seconds"]
    return [
        *((name, "true or false") for name in _FLAGS if not isinstance(summary[name], bool)),
        *((name, "an integer of at least 0") for name in _COUNTS if not _is_count(summary[name])),
        *(
            (name, "an integer of at least 0, or null")
            for name in _SIZES
            if summary[name] is not None and not _is_count(summary[name])
        ),
        *(
            (name, "a number from -1 to 1, or null")
            for name in _SHARES
            if summary[name] is not None and not (_is_number(summary[name]) and abs(summary[name]) <= 1 + 1e-9)
        ),
        *((name, "a string") for name in _NAMES if not isinstance(summary[name], str)),
        *([] if isinstance(notes, list) and all(isinstance(n, str) for n in notes) else [("notes", "strings")]),
        *(
            []
            if isinstance(seconds, dict) and all(map(_is_number, seconds.values()))
            else [("seconds", "numbers by stage")]
        ),
    ]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def describe_known(rules: RuleSet) -> list[str]:
    """Return known rules as sentences, each with its name and how often it holds.

    Args:
        rules: The known rules, with their counts and perhaps a column ``name``.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> from thence.statements.rules.measures import Counts
        >>> from thence.statements.rules.ruleset import Rule
        >>> rule = Rule((Item.is_(Feature("door"), "open"),), Item.is_(Feature("light"), "on"))
        >>> describe_known(RuleSet.from_rules([rule], Counts.from_matrix([[10, 4, 5, 3]])))
        ['if door is open, then light is on  [holds in 3 of 4 rows, 75.0 %]']
    """
    out = []
    for number, rule in enumerate(rules):
        name = str(rules.extras["name"][number]) if "name" in rules.extras else ""
        applied, held = int(rules.counts.n_antecedent[number]), int(rules.counts.n_both[number])
        rows = f"holds in {held:,} of {applied:,} row{'' if applied == 1 else 's'}"
        share = f", {100 * held / applied:.1f} %" if applied else ""
        figures = f"{rows}{share}" if applied else "never applies"
        out.append(f"{name}{': ' if name else ''}{rule.english}  [{figures}]")
    return out
