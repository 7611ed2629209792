"""The search box of a report in a real browser: it finds what ``run.findings.search`` finds, controls first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.statements.test_search import mined
from thence.show.reports.build import build_report
from thence.show.reports.material import material_of
from thence.show.reports.page import write_page
from thence.show.reports.rows import control_rows


@pytest.mark.parametrize("text", ["Pump 335", "if:level then:pump", "closed flow"])
def test_the_page_finds_the_statements_of_a_search(open_page: Callable[..., Any], tmp_path: Path, text: str) -> None:
    page = open_page(write_page(build_report(material_of(mined()), cards=0), tmp_path / "report.html").as_uri())
    page.get_by_label("Search", exact=True).fill(text)
    shown = [one.splitlines()[0] for one in page.locator("#findings .statements li").all_inner_texts()]
    shown += [one.strip() for one in page.locator(".rule-table .unfold").all_inner_texts()]
    found = mined().findings.search(text)
    controls = [f"{row['name']} · {' · '.join(row['events'])} {row['where']}" for row in control_rows(found.controls)]
    wanted = [one.strip() for one in controls] + [law.statement for law in found.laws]
    wanted += [found.rules.rule(entry[0]).english for entry in found.rules.entries]
    plain = [one.replace("\u00a0", " ").casefold() for one in shown]
    assert len(wanted) == len(plain) > 0
    # A control that acts by two thresholds is listed with both, also if only one of them has the words.
    assert all(
        line.startswith(one.split(" · ")[0].split(" (")[0].casefold()) for line, one in zip(plain, wanted, strict=True)
    )
