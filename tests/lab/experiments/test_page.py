"""Tables of results: one table in every format."""

from __future__ import annotations

from pathlib import Path

from thence.lab.experiments.page import Table

TABLE = Table(("", "source", "rules"), [["a", "paper", "1,000"], ["", "faithful", "<2"]])


def test_one_table_has_the_same_cells_in_every_format(tmp_path: Path) -> None:
    assert TABLE.to_text() == ["     source    rules", "  a  paper     1,000", "     faithful     <2"]
    assert TABLE.to_markdown() == [
        "|  | source | rules |",
        "|---|---|---|",
        "| a | paper | 1,000 |",
        "|  | faithful | <2 |",
    ]
    TABLE.write_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == ',source,rules\na,paper,"1,000"\n,faithful,<2\n'


def test_cells_of_a_page_are_escaped_and_published_numbers_are_marked() -> None:
    page = TABLE.to_html(style=lambda head, cell: "number" if head == "rules" and cell else "")
    assert page.startswith('<table class="numbers stack"><tr><td></td><th scope="col">source</th>')
    assert '<tr class="first paper"><td data-label="">a</td>' in page
    assert '<td class="number" data-label="rules">&lt;2</td></tr></table>' in page


def test_a_table_without_lines_is_not_written(tmp_path: Path) -> None:
    Table(("a",), []).write_csv(tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())
