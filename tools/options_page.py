"""Write ``docs/guide/options.md``, the page of all options, from the table of options.

``python -m tools.options_page`` writes it; a test compares it with the table.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from thence.runs.configuration import RefineConfig
from thence.runs.options import COMMON, OPTIONS, OTHER_DEFAULTS, Option

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "options.md"
START = """# Options

Needs no extras.

<!-- Written by tools/options_page.py from thence.runs.options. -->

What `th.mine` and `thence mine` can be asked for is one table: each option has a keyword in Python, a spelling on the
command line and a place in a [configuration file](command-line.md#a-configuration-file), with the same meaning, type
and default. `thence mine --help` shows those in bold, `thence mine --help-all` and `help(th.mine)` all of them.

```pycon
>>> import thence as th
>>> toy = th.datasets.load("toy")
>>> run = th.mine(toy, windows="1h", bins=3, aggregate={"flow": "max"}, digest=10, progress="off")
>>> run.config.windows.aggregate, run.config.refine.digest
({'flow': 'max'}, 10)
```

In Python an option that takes several texts takes a list, or one text for a list of one, and a table is a mapping; on
the command line both are repeated, tables as `key=value`. What is not given is what the configuration says (`config=`,
or the file). `th.transactions` takes the options of transactions, `th.baselines.feature_table` those of them that do
not concern bins. Other keywords of `th.mine` are settings of the miner (`--set key=value`), such as `near=2`.
"""
END = """
## Settings of the refinement without an option

They are given as `refine={"improvement": 0.02}` in Python, as `--refine-set improvement=0.02` on the command line, and
in the section `[refine]` of a file.

| setting | meaning |
|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    out = [START]
    for panel in dict.fromkeys(option.panel for option in OPTIONS):
        out.append(f"\n## {panel}\n\n| Python | command line | file | default | meaning |\n|---|---|---|---|---|\n")
        out += [_row(option) for option in OPTIONS if option.panel == panel]
    out.append(END)
    hidden = [one for one in fields(RefineConfig) if one.metadata["name"] is None]
    out += [f"| `{one.name}` | {one.metadata['help']} |\n" for one in hidden]
    out.append("\n## Other defaults\n\nA few functions, and their commands, have other defaults:\n\n")
    for function, other in OTHER_DEFAULTS.items():
        listed = ", ".join(f"`{name}={value!r}`" for name, value in other.items())
        out.append(f"- `th.{function}`: {listed}\n")
    return "".join(out)


def _row(option: Option) -> str:
    keyword = f"`{option.name}`" if option.in_python else ""
    flags = ", ".join(f"`{flag}`" for flag in option.flags)
    if option.name in COMMON:
        keyword, flags = f"**{keyword}**", f"**{flags}**"
    places = ", ".join(f"`{place.rstrip('.')}`" for place in option.places)
    return f"| {keyword} | {flags} | {places} | {_default(option.default)} | {_in_table(option.help)} |\n"


def _default(value: Any) -> str:
    if value is None or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
