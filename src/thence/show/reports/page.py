"""The page of a run: ``report.json`` and the front end's bundle in one HTML file that loads nothing else.

Names from data reach the page as JSON or as escaped text, never as markup, and the page's own policy lets no other
script run. Computes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from pathlib import Path

from thence._base.display.html import text
from thence._base.integrity.manifest import new_listed_file
from thence.show.reports.schema import Report

_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' fill='#0a5c9e'/>"
    "<path d='M4 8h7M8 4.5L11.5 8 8 11.5' fill='none' stroke='#fff' stroke-width='1.8'/></svg>"
)


def page_html(report: Report) -> str:
    """Return the page of a report as HTML.

    Args:
        report: The report, as ``report.json`` holds it.

    Examples:
        >>> from thence.show.reports.page import page_html
        >>> report = {"title": "<b>Plant</b>", "facts": [], "mining": {"rules": 0}}
        >>> "<title>&lt;b&gt;Plant&lt;/b&gt;</title>" in page_html(report)
        True
    """
    script, style = _bundled("report.js"), _bundled("report.css")
    policy = (
        f"default-src 'none'; script-src {_hash_source(script)}; style-src {_hash_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    icon = base64.b64encode(_ICON.encode()).decode()
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="Thence">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{text(report['title'])}</title>",
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">',
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        '<div id="page"></div>',
        f"<noscript>{_plain(report)}</noscript>",
        f'<script type="application/json" id="report-data">{_json(report)}</script>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def write_page(report: Report, path: str | Path) -> Path:
    """Write the page of a report to a file and return its path.

    Args:
        report: The report, as ``report.json`` holds it.
        path: The file to write; it is replaced in one step.

    Raises:
        RunError: If the file cannot be written.
    """
    target = Path(path)
    with new_listed_file(target) as draft:
        draft.write_text(page_html(report), encoding="utf-8", newline="\n")
    return target


def _bundled(name: str) -> str:
    """Return a file of the bundle, without the line break at its end."""
    return resources.files("thence.show.reports").joinpath("static", name).read_text(encoding="utf-8").rstrip("\n")


def _hash_source(content: str) -> str:
    """Return the source expression of a content-security policy that admits exactly this content."""
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _json(report: Report) -> str:
    """Return the report as JSON that cannot end the script element that holds it.

    A character that UTF-8 cannot encode (half of a pair) is written as an escape, which JSON reads back.
    """
    content = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return content.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(report: Report) -> str:
    """Return what a reader without scripts sees: the sentences worth knowing, as plain text."""
    facts = "".join(f"<li>{text(fact['sentence'])} ({text(fact['figures'])})</li>" for fact in report["facts"])
    count = report["mining"]["rules"]
    rules = f"{count:,} rule{'' if count == 1 else 's'}"
    return (
        f"<h1>{text(report['title'])}</h1><p>{rules}. The tables and charts of this page need JavaScript; "
        f"report.json has the same data.</p><ul>{facts}</ul>"
    )
