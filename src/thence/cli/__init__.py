"""The command line: ``thence demo|mine|check|show|export|generalise|compare|reproduce|datasets``.

Commands parse their options, call the library and print; every result can also be printed as JSON. An error that a user
can cause is one line on standard error and exit code 1. Wrong usage exits with 2, Ctrl-C with 130.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TextIO

__all__ = ["main"]


def main() -> None:
    """Run the command line on the arguments of this process."""
    from thence.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        _write_everything(stream)
    app(prog_name="thence")


def _write_everything(stream: TextIO | None) -> None:
    """Let a stream write characters that its encoding does not have as escapes, such as ``\\u2265``, not fail."""
    if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")
