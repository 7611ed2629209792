"""The page of a report: one file that holds all, in which names from data are never markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.sample import empty_report, sample_report
from thence.errors import RunError
from thence.show.reports.page import page_html, write_page
from thence.show.reports.schema import Report

DATA = re.compile(r'<script type="application/json" id="report-data">(.*?)</script>', re.DOTALL)


def _data(html: str) -> object:
    match = DATA.search(html)
    assert match is not None
    return json.loads(match.group(1))


def _misfits(value: Any, kind: Any, at: str) -> list[str]:
    """Where a value has other fields than a typed dictionary of the schema says."""
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        optional = {name for name, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
        found = [f"{at}.{name} is missing" for name in hints.keys() - optional - value.keys()]
        found += [f"{at}.{name} is unknown" for name in value.keys() - hints.keys()]
        return found + [
            one for name in value.keys() & hints for one in _misfits(value[name], hints[name], f"{at}.{name}")
        ]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return [one for number, item in enumerate(value) for one in _misfits(item, arguments[0], f"{at}[{number}]")]
    if origin is types.UnionType and value is not None:
        return [one for inner in arguments if typing.is_typeddict(inner) for one in _misfits(value, inner, at)]
    return []


@pytest.mark.parametrize("report", [sample_report(), empty_report()], ids=["everything", "nothing"])
def test_the_samples_have_every_field_of_the_schema(report: Report) -> None:
    assert not _misfits(report, Report, "report")


def test_the_page_holds_the_report() -> None:
    report = sample_report()
    assert _data(page_html(report)) == report


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_comes_back_and_adds_no_element(text: str) -> None:
    report = empty_report()
    plain = page_html(report)
    report["title"] = text
    report["facts"] = [{"kind": "rule", "id": 0, "sentence": text, "figures": text, "card": None}]
    html = page_html(report)
    data = _data(html)
    assert isinstance(data, dict)
    # A pair of halves is read back as the one character that it means.
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert data["title"] == expected
    assert html.count("<script") == plain.count("<script") == 2
    assert html.count("</script") == plain.count("</script")
    html.encode("utf-8")


def test_the_policy_admits_only_the_own_script_and_style() -> None:
    html = page_html(sample_report())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none';")
    assert "unsafe" not in policy.group(1)
    for element, pattern in {"script": r"<script>(.*?)</script>", "style": r"<style>(.*?)</style>"}.items():
        found = re.findall(pattern, html, re.DOTALL)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy.group(1)


def test_the_page_names_no_address_that_a_browser_would_load() -> None:
    html = DATA.sub("", page_html(sample_report()))
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)


def test_a_missing_number_must_be_none() -> None:
    report = empty_report()
    report["mining"]["data_coverage"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        page_html(report)


def test_the_file_is_written_in_one_step(tmp_path: Path) -> None:
    path = write_page(empty_report(), tmp_path / "deep" / "report.html")
    assert path.read_text(encoding="utf-8") == page_html(empty_report())
    assert [item.name for item in path.parent.iterdir()] == ["report.html"]


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(RunError):
        write_page(empty_report(), tmp_path / "file" / "report.html")
