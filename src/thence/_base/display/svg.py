"""Charts as SVG: axes, marks and texts. A chart needs no library and loads nothing; the titles of marks are tooltips.

Texts take their colour from the page in a notebook, and are dark on white in a file. All text is escaped here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from thence._base.atomic import new_file
from thence.errors import ConfigError

__all__ = ["Axis", "Chart", "axis", "check_picture", "frame", "line", "mark", "mix", "nice_ticks", "text", "text_width"]

_SUFFIXES = (".svg", ".html")
_SIZE = 11
# Characters that XML does not allow even when escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Chart:
    """A chart, which a notebook shows and ``save`` writes.

    Args:
        width: Its width in pixels.
        height: Its height in pixels.
        body: Its marks and texts, as SVG.
        title: Its title.
        subtitle: A smaller line below the title.
    """

    width: float
    height: float
    body: str
    title: str = ""
    subtitle: str = ""

    def to_svg(self, style: str = "") -> str:
        """Return the chart as SVG.

        Args:
            style: A style sheet to include.
        """
        head = 44 if self.subtitle else 26 if self.title else 0
        lines = text(4, 17, self.title, font_weight="bold", font_size=13) + text(4, 34, self.subtitle, opacity=0.75)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height + head:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height + head:.0f}" font-family="sans-serif" font-size="{_SIZE}">'
            f'{style}{lines}<g transform="translate(0,{head})">{self.body}</g></svg>'
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    def save(self, path: str | Path) -> Path:
        """Write the chart.

        Args:
            path: The file; its suffix, ``.svg`` or ``.html``, is its format.

        Raises:
            ConfigError: If the suffix is another one.
        """
        suffix = check_picture(path)
        svg = self.to_svg("<style>svg{color:#222;background:#fff}</style>")
        page = f'<!doctype html><meta charset="utf-8"><title>{_escape(self.title)}</title>{svg}'
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with new_file(target) as draft:
            draft.write_text((svg if suffix == ".svg" else page) + "\n", encoding="utf-8")
        return target


def check_picture(path: str | Path) -> str:
    """Return the suffix of a picture, in lower case.

    Args:
        path: The file.

    Raises:
        ConfigError: If pictures cannot be written with this suffix.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        name = Path(path).name
        raise ConfigError(f"a picture cannot be written as '{name}'", hint=f"end it in {' or '.join(_SUFFIXES)}")
    return suffix


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high`` on pixels from ``start`` to ``end``; call it with a value for its pixel."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def axis(values: Iterable[float], start: float, end: float, *, padding: float = 0.0) -> Axis:
    """Return the axis of some values.

    Args:
        values: The values.
        start: Pixel of the lowest value.
        end: Pixel of the highest value.
        padding: Share of the range to add at both ends.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    spare = (high - low) * padding or (0.0 if high > low else abs(high) * 0.1 or 0.5)
    return Axis(low - spare, high + spare, start, end)


def nice_ticks(scale: Axis, most: int = 6) -> dict[float, str]:
    """Return round numbers of an axis with their texts.

    Args:
        scale: The axis.
        most: Their greatest number.

    Examples:
        >>> list(nice_ticks(Axis(0.0, 1.0, 0, 100)).values())
        ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    span = (scale.high - scale.low) / most
    power = 10.0 ** math.floor(math.log10(span))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span * (1 - 1e-9))
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return {at * step: f"{at * step:,.10g}" for at in range(first, last + 1)}


def frame(x: Axis, y: Axis, across: Mapping[float, str], up: Mapping[float, str], *, labels: Sequence[str]) -> str:
    """Return two axes with ticks, lines of a grid and labels.

    Args:
        x: The horizontal axis.
        y: The vertical axis, whose ``start`` is the bottom.
        across: Ticks of the horizontal axis.
        up: Ticks of the vertical axis.
        labels: The label of each axis.
    """
    grid = {"stroke": "currentColor", "stroke_opacity": 0.15}
    parts = [mark("path", d=f"M{x(at):.1f},{y.start:.1f}V{y.end:.1f}", **grid) for at in across]
    parts += [mark("path", d=f"M{x.start:.1f},{y(at):.1f}H{x.end:.1f}", **grid) for at in up]
    parts += [text(x(at), y.start + 15, name, text_anchor="middle") for at, name in across.items()]
    parts += [text(x.start - 6, y(at) + 4, name, text_anchor="end") for at, name in up.items()]
    parts.append(text((x.start + x.end) / 2, y.start + 33, labels[0], text_anchor="middle"))
    turned = f"translate(12,{(y.start + y.end) / 2:.1f}) rotate(-90)"
    parts.append(text(0, 0, labels[1], text_anchor="middle", transform=turned))
    return "".join(parts)


def line(points: Iterable[tuple[float, float]], **look: object) -> str:
    """Return a line through points in pixels; it is broken where one is not finite.

    Args:
        points: The points.
        **look: Its attributes.
    """
    path, pen = "", "M"
    for across, up in points:
        path += f"{pen}{across:.1f},{up:.1f}" if math.isfinite(up) else ""
        pen = "L" if math.isfinite(up) else "M"
    return mark("path", d=path, fill="none", **look)


def mark(name: str, tip: str = "", /, **look: object) -> str:
    """Return an element of SVG.

    Args:
        name: The name of the element.
        tip: What is shown while the mouse is over it.
        **look: Its attributes, with ``_`` for ``-``.

    Examples:
        >>> mark("circle", "a < b", r=2.0, fill_opacity=0.5)
        '<circle r="2.0" fill-opacity="0.5"><title>a &lt; b</title></circle>'
    """
    title = f"<title>{_escape(tip)}</title>" if tip else ""
    return f"<{name}{_attributes(look)}>{title}</{name}>"


def text(x: float, y: float, content: str, **look: object) -> str:
    """Return a text.

    Args:
        x: Its position in pixels.
        y: The position of its base line.
        content: The text; nothing is returned for an empty one.
        **look: Its attributes, with ``_`` for ``-``.
    """
    attributes = _attributes({"x": float(x), "y": float(y), "fill": "currentColor", **look})
    return f"<text{attributes}>{_escape(content)}</text>" if content else ""


def text_width(names: Iterable[str], most: float = 220) -> float:
    """Return about how many pixels the longest of some texts takes.

    Args:
        names: The texts.
        most: The greatest width.
    """
    return min(max((len(name) for name in names), default=0) * _SIZE * 0.58, most)


def mix(colours: Sequence[str], share: float) -> str:
    """Return a colour between others.

    Args:
        colours: Colours as ``#rrggbb``, at even distances.
        share: The position between the first, 0, and the last, 1.

    Examples:
        >>> mix(["#000000", "#ff0000"], 0.5)
        '#800000'
    """
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    at = min(int(place), len(colours) - 2)
    pairs = ((int(colours[at][byte : byte + 2], 16), int(colours[at + 1][byte : byte + 2], 16)) for byte in (1, 3, 5))
    return "#" + "".join(f"{round(low + (high - low) * (place - at)):02x}" for low, high in pairs)


def _attributes(look: Mapping[str, object]) -> str:
    texts = {
        key: f"{value:.1f}" if isinstance(value, float) and abs(value) >= 1 else value for key, value in look.items()
    }
    return "".join(f' {key.replace("_", "-")}="{_escape(str(value))}"' for key, value in texts.items())


def _escape(content: str) -> str:
    return escape(_ILLEGAL.sub("\ufffd", content), quote=True)
