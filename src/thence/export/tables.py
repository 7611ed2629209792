"""Rules as tables to look at: CSV for spreadsheets, Markdown for documents. Neither is read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from thence.errors import ConfigError
from thence.export.columns import Columns
from thence.rules.ruleset import RuleSet

__all__ = ["write_csv", "write_markdown"]

_SHOWN = {
    "support": "support",
    "confidence": "confidence",
    "rule_coverage": "coverage",
    "zhang": "Zhang",
    "lift": "lift",
}


def write_csv(rules: RuleSet, path: Path, *, english: bool = True, separator: str = ",") -> None:
    """A line per rule with texts, counts and every measure; the items of an antecedent are joined by `` ∧ ``."""
    import polars as pl

    if len(separator.encode()) != 1:
        raise ConfigError(f"the separator of CSV is one character of ASCII, got {separator!r}")
    frame = Columns.of(rules).frame(english=english)
    frame.with_columns(pl.col("antecedents").list.join(" ∧ ")).write_csv(path, separator=separator)


def write_markdown(rules: RuleSet, path: Path, *, limit: int | None = None, text: bool = False) -> None:
    """A table of rules in plain English (or in their exact text), under a line that sums them up."""
    path.write_text("".join(f"{line}\n" for line in _markdown(rules, limit=limit, text=text)), encoding="utf-8")


def _markdown(rules: RuleSet, *, limit: int | None, text: bool) -> Iterator[str]:
    shown = rules if limit is None else rules.take(np.arange(min(limit, len(rules))))
    yield "# Rules"
    yield ""
    yield _summary(rules)
    for note in rules.notes:
        yield f"\nNote: {_escaped(note)}."
    yield ""
    yield f"| # | rule | {' | '.join(_SHOWN.values())} |"
    yield f"|--:|:--|{'--:|' * len(_SHOWN)}"
    values = [shown.measure(name) for name in _SHOWN]
    for r, rule in enumerate(shown):
        words = _code(str(rule)) if text else _escaped(rule.english)
        numbers = " | ".join(f"{column[r]:.3f}" for column in values)
        yield f"| {r + 1} | {words} | {numbers} |"
    if len(shown) < len(rules):
        yield f"\n… and {len(rules) - len(shown):,} more."


def _summary(rules: RuleSet) -> str:
    facts = rules.describe()
    parts = [f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"]
    parts += [
        f"{name.replace('_', ' ').replace('zhang', 'Zhang')} {value:.3f}"
        for name, value in facts.items()
        if isinstance(value, float)
    ]
    if facts["n_transactions"] is not None:
        parts.append(f"{facts['n_transactions']:,} transactions")
    return "; ".join(parts) + "."


def _escaped(text: str) -> str:
    """Text that cannot be taken for markup or for the end of a cell."""
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """An exact text as code; a bar would end the cell even there, and two backticks let one stand inside."""
    return f"`` {' '.join(text.split()).replace('|', chr(92) + '|')} ``"
