"""CSV and Markdown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tests.show.export.rulesets import varied
from thence.statements.files import write_rules
from thence.statements.rules.ruleset import RuleSet


def test_csv_has_a_line_per_rule_with_counts_and_measures(tmp_path: Path) -> None:
    frame = pl.read_csv(write_rules(varied(), tmp_path / "rules.csv"))
    assert frame.height == 7
    assert frame["antecedents"][0] == " ∧ ".join(str(item) for item in varied().rule(0).antecedent)
    assert frame["n_both"].to_list() == varied().counts.n_both.tolist()
    assert frame["probability"].to_list() == varied().extras["probability"].tolist()


def test_markdown_is_one_table_whatever_the_rules_contain(tmp_path: Path) -> None:
    text = write_rules(varied(), tmp_path / "rules.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 7 - 1 + 1
    # Unescaped bars are the borders of the seven cells, no more.
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}
    assert "7 rules; mean support" in text
    assert "Note: stopped at 7 rules." in text


def test_markdown_can_be_cut_and_exact(tmp_path: Path) -> None:
    text = write_rules(varied(), tmp_path / "rules.md", limit=2, text=True).read_text(encoding="utf-8")
    assert "… and 5 more." in text
    assert f"`` {varied().rule(1)} ``" in text


def test_no_rules_are_a_table_without_rows(tmp_path: Path) -> None:
    text = write_rules(RuleSet.empty("nothing met the thresholds"), tmp_path / "rules.md").read_text(encoding="utf-8")
    assert "0 rules" in text
    assert "nothing met the thresholds" in text


def test_a_selection_without_rules_is_a_table_without_rows(tmp_path: Path) -> None:
    """Texts in extra columns had no type without a row (ComputeError of polars)."""
    rules = varied()
    texts = replace(rules, extras={**rules.extras, "words": np.array(["a"] * len(rules), dtype=object)})
    path = write_rules(texts.take(np.arange(0)), tmp_path / "none.csv")
    assert pl.read_csv(path).height == 0
