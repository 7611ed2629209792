"""Pieces of HTML: a titled panel, names with values, a table, a list. All text is escaped here and nowhere else.

The HTML needs nothing from elsewhere, and takes its colours from the page, so that it suits light and dark themes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """
.thence{font-size:13px;line-height:1.45;max-width:72em;overflow-x:auto}
.thence .th-title{font-weight:600;margin:.2em 0 .5em}
.thence table{font-size:inherit;border-collapse:collapse;margin:.3em 0 .6em;width:auto;border:none}
.thence th,.thence td{text-align:left;vertical-align:top;padding:.3em .9em .3em 0;border:none;background:none;
white-space:normal;max-width:52em}
.thence th{font-weight:600}
.thence .th-grid thead th{border-bottom:1px solid currentColor;opacity:.75}
.thence .th-grid tbody td{border-bottom:1px solid rgba(128,128,128,.25)}
.thence .th-number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.thence .th-small{opacity:.65;font-size:.92em}
.thence .th-bar{display:block;height:3px;margin-top:3px;min-width:4.5em;background:rgba(128,128,128,.25)}
.thence .th-bar span{display:block;height:3px;background:#2a6f97}
.thence ul{margin:.2em 0 .4em;padding-left:1.3em}
.thence code{background:none;font-size:.95em}
.thence summary{cursor:pointer}
"""


@dataclass(frozen=True)
class Html:
    """Text that is HTML already. Plain strings are escaped wherever they are used."""

    markup: str


Content = str | Html


def text(content: Content) -> str:
    """Return the markup of HTML, or a string with everything escaped that HTML would read as markup.

    Examples:
        >>> text("a < b"), text(Html("<b>a</b>"))
        ('a &lt; b', '<b>a</b>')
    """
    # Half of a pair of characters, which UTF-8 cannot encode, becomes a question mark.
    return (
        content.markup if isinstance(content, Html) else escape(str(content).encode("utf-8", "replace").decode("utf-8"))
    )


def join(parts: Iterable[Content], separator: str = "") -> Html:
    """Return several pieces as one."""
    return Html(text(separator).join(text(part) for part in parts))


def small(content: Content) -> Html:
    """Return less prominent text."""
    return Html(f'<span class="th-small">{text(content)}</span>')


def remark(content: Content) -> Html:
    """Return less prominent text on a line of its own."""
    return Html(f'<div class="th-small">{text(content)}</div>')


def code(content: str) -> Html:
    """Return text in a fixed-width font."""
    return Html(f"<code>{text(content)}</code>")


def bar(number: str, share: float) -> Html:
    """Return a number above a bar of a length between 0 and 1."""
    width = 100 * min(max(share, 0.0), 1.0) if share == share else 0.0
    return Html(f'{text(number)}<span class="th-bar"><span style="width:{width:.1f}%"></span></span>')


def pairs(values: Mapping[str, Content] | Iterable[tuple[str, Content]]) -> Html:
    """Return names with values as a table of two columns."""
    listed = values.items() if isinstance(values, Mapping) else values
    rows = "".join(f"<tr><th>{text(name)}</th><td>{text(value)}</td></tr>" for name, value in listed)
    return Html(f"<table>{rows}</table>" if rows else "")


def table(heads: Sequence[str], rows: Iterable[Sequence[Content]], *, numbers: Iterable[int] = ()) -> Html:
    """Return rows under heads; the columns at the positions ``numbers`` are set right."""
    right = set(numbers)

    def cell(tag: str, position: int, content: Content) -> str:
        kind = ' class="th-number"' if position in right else ""
        return f"<{tag}{kind}>{text(content)}</{tag}>"

    head = "".join(cell("th", at, name) for at, name in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', at, one) for at, one in enumerate(row))}</tr>" for row in rows)
    return Html(f'<table class="th-grid"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def folded(head: str, content: Html) -> Html:
    """Return content that is shown when its head is clicked."""
    return Html(f'<details class="th-small"><summary>{text(head)}</summary>{content.markup}</details>')


def notes(lines: Iterable[str], *, limit: int = 10) -> Html:
    """Return a list of remarks, the first ones, and how many more there are."""
    listed = list(lines)
    shown = [f"<li>{text(line)}</li>" for line in listed[:limit]]
    if len(listed) > limit:
        shown.append(f"<li>… and {len(listed) - limit:,} more</li>")
    return Html(f'<ul class="th-small">{"".join(shown)}</ul>' if shown else "")


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, separated by commas."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples:
        >>> counted(1, "rule"), counted(1200, "rule")
        ('1 rule', '1,200 rules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def panel(title: str, *parts: Html) -> str:
    """Return a whole piece of HTML for a notebook: a title and parts.

    Examples:
        >>> panel("1 rule", small("none")).endswith('1 rule</div><span class="th-small">none</span></div>')
        True
    """
    inner = "".join(part.markup for part in parts)
    style = _STYLE.replace("\n", "")
    return f'<div class="thence"><style>{style}</style><div class="th-title">{text(title)}</div>{inner}</div>'
