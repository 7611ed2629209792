"""The command line: ``thence demo|mine|show|check|export|datasets|generalise|compare|reproduce``.

Commands parse, call the library and print; what they print as tables they also give as JSON. Errors that a user can
cause are one line on standard error, exit code 1; a wrong usage is 2, Ctrl-C 130.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on the arguments of this process."""
    from thence.cli.app import app

    app(prog_name="thence")
