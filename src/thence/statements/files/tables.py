"""Rules as tables for people: CSV for spreadsheets, Markdown for documents. Neither can be read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from thence._base.frames import without_formulas
from thence.errors import ConfigError
from thence.statements.files.format import Format
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import RuleSet

_REVIEW = ("review", "review_note")
"""The columns of reviews, if rules have any."""


def write_csv(rules: RuleSet, path: Path, *, english: bool = True, separator: str = ",") -> None:
    """Write one line per rule with texts, counts and every measure.

    Text that a spreadsheet would take for a formula, such as a note of a review, has an apostrophe before it.

    Args:
        rules: The rules to write.
        path: The file to write.
        english: Whether to add a column with the sentence of each rule.
        separator: The character between columns. The items of an antecedent are joined by ``∧``.
    """
    import polars as pl

    if len(separator.encode()) != 1:
        raise ConfigError(f"separator must be a single ASCII character, got {separator!r}")
    frame = rules.to_polars(english=english).with_columns(pl.col("antecedents").list.join(" ∧ "))
    without_formulas(frame).write_csv(path, separator=separator)


def write_markdown(rules: RuleSet, path: Path, *, limit: int | None = None, text: bool = False) -> None:
    """Write a table of rules below a line that summarises them.

    Args:
        rules: The rules to write.
        path: The file to write.
        limit: The largest number of rules in the table; ``None`` for all.
        text: Whether to show the exact text of each rule instead of its sentence.
    """
    path.write_text("".join(f"{line}\n" for line in _markdown(rules, limit=limit, text=text)), encoding="utf-8")


def _markdown(rules: RuleSet, *, limit: int | None, text: bool) -> Iterator[str]:
    shown = rules if limit is None else rules.take(np.arange(min(limit, len(rules))))
    yield "# Rules"
    yield ""
    yield _summary(rules)
    for note in rules.notes:
        yield f"\nNote: {escape_markdown(note)}."
    yield ""
    reviews = [shown.extras[name] for name in _REVIEW if name in shown.extras]
    further = " review | note |" if reviews else ""
    measures = MEASURES.shown("file")
    yield f"| # | rule | {' | '.join(measure.label for measure in measures)} |{further}"
    yield f"|--:|:--|{'--:|' * len(measures)}{':--|:--|' if reviews else ''}"
    values = [shown.measure(measure.name) for measure in measures]
    for r, rule in enumerate(shown):
        words = _code(str(rule)) if text else escape_markdown(rule.english)
        numbers = " | ".join(f"{column[r]:.3f}" for column in values)
        said = "".join(f" {escape_markdown(str(column[r]))} |" for column in reviews)
        yield f"| {r + 1} | {words} | {numbers} |{said}"
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


def escape_markdown(text: str) -> str:
    """Return text in which nothing is markup or the end of a cell.

    Args:
        text: The text.

    Examples:
        >>> escape_markdown("a | b")
        'a \\\\| b'
    """
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Text as inline code. A bar would end the cell even there; double backticks allow a backtick inside."""
    return f"`` {' '.join(text.split()).replace('|', chr(92) + '|')} ``"


CSV = Format("csv", (".csv",), "a line per rule, for spreadsheets", write_csv)
MARKDOWN = Format("markdown", (".md", ".markdown"), "a table in plain English, for documents", write_markdown)
