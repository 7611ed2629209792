"""``thence verify``: compare runs, models, caches and results with their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thence.cli.options import AsJson, Quiet
from thence.cli.screen import print_error, print_json, say
from thence.errors import RunError


def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Runs, models, caches and folders of results, with all below them, or files.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell whether files are as they were written. The exit code is 1 if one is not, or if a path has no checksums."""
    from thence._base.integrity.verification import verify as verify_path

    found, missing = [], False
    for path in paths:
        try:
            one = verify_path(path)
        except RunError as error:
            missing = True
            print_error(f"thence: {error}")
            continue
        found.append(one)
        if not as_json and one.ok:
            say(str(one), quiet=quiet)
        elif not as_json:
            print_error(str(one))
    if as_json:
        print_json([one.describe() for one in found])
    if missing or not all(one.ok for one in found):
        raise typer.Exit(1)
