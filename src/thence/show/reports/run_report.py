"""The report of a run as an object: its data, its page, and the files it is written to.

``report`` is what ``th.report`` calls, ``add_report`` what mining calls once a run folder is written.
"""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from thence._base.display.html import notes, panel, remark
from thence._base.integrity.manifest import drop_listed_file, new_listed_file
from thence._base.progress import Progress, show_progress
from thence.checks.application.applied import Applied
from thence.checks.detect.detection import Detection
from thence.data.graph.system import System
from thence.errors import ConfigError, ThenceError
from thence.runs.run import Run, add_note, load_run
from thence.show.reports.build import CARDS, RULES, build_report
from thence.show.reports.material import material_of
from thence.show.reports.page import page_html, write_page
from thence.show.reports.schema import Applied as AppliedPart
from thence.show.reports.schema import Detected, Report

PAGE, DATA = "report.html", "report.json"
"""The files in a run folder."""


@dataclass(frozen=True, eq=False)
class RunReport:
    """The report of a run; made by ``th.report``.

    Args:
        data: The report as a dict that JSON can hold.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> made = th.report(run)
        >>> made
        RunReport('toy': 10 rules, 4 evidence cards)
        >>> made.html.startswith("<!doctype html>")
        True
    """

    data: Report = field(repr=False)

    @cached_property
    def html(self) -> str:
        """The page: one file that loads nothing else."""
        return page_html(self.data)

    def save(self, path: str | Path) -> Path:
        """Write the page, or the data if the name ends in ``.json``, in one step, and return the path.

        Args:
            path: The file to write; an existing one is replaced.

        Raises:
            ConfigError: If the name ends in neither ``.html`` nor ``.json``.
            RunError: If the file cannot be written.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            return write_page(self.data, target)
        if suffix == ".json":
            return _write_data(self.data, target)
        raise ConfigError(
            f"a report is written as .html or .json, got '{target.name}'", hint="let the name end in .html"
        )

    def open(self) -> Path:
        """Write the page to a new file for temporary files, open it in the browser, and return the path."""
        folder = Path(tempfile.mkdtemp(prefix="thence-"))
        target = self.save(folder / PAGE)
        webbrowser.open(target.as_uri())
        return target

    def __repr__(self) -> str:
        cards = len(self.data["cards"])
        rules = int(self.data["mining"]["rules"])
        counted = f"{rules:,} rule{'' if rules == 1 else 's'}, {cards} evidence card{'' if cards == 1 else 's'}"
        return f"RunReport({self.data['title']!r}: {counted})"

    def _repr_html_(self) -> str:
        facts = [f"{fact['sentence']} ({fact['figures']})" for fact in self.data["facts"]]
        hint = remark("The whole page: .open() shows it in the browser, .save('report.html') writes it.")
        return panel(f"Report of {self.data['title']}", notes(facts), hint)


def report(
    run: Run | str | Path,
    *,
    system: System | None = None,
    applied: Applied | AppliedPart | Iterable[Applied | AppliedPart] = (),
    detected: Detection | Detected | Iterable[Detection | Detected] = (),
    rules: int = RULES,
    cards: int = CARDS,
    progress: str | bool | Progress = "off",
) -> RunReport:
    """Make the report of a run: what went in, the rules, and the evidence for them, on one page.

    In the process that mined the run, nothing is read again. For a run that was read from disk, the data that its
    configuration names are read again, and used if they are what was mined; otherwise the report has no evidence and
    says why.

    Args:
        run: The run, or its folder.
        system: The system that was mined, for a run from disk that was mined from objects in memory.
        applied: What ``th.apply`` made of the rules on other data; one, or several.
        detected: What ``Detector.detect`` found in other data; one, or several.
        rules: The largest number of rules on the page.
        cards: The largest number of evidence cards.
        progress: ``"off"``, ``"auto"`` (bars on a terminal), ``"on"``, or a function.

    Returns:
        The report, to be shown, opened or saved.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> made = th.report(run)
        >>> made.data["facts"][0]["sentence"][:52]
        'for every Pipe: if its flow is in its highest third,'
    """
    for name, given in (("rules", rules), ("cards", cards)):
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise ConfigError(f"'{name}' must be an integer of at least 0, got {given!r}")
    if not isinstance(run, (Run, str, Path)):
        raise ConfigError(f"a report is made of a run, got {type(run).__name__}", hint="give a run, or its folder")
    with show_progress(progress) as report_progress:
        material = material_of(run if isinstance(run, Run) else load_run(run), system=system, progress=report_progress)
        return RunReport(
            build_report(
                material,
                applied=_listed(applied),
                detected=_listed(detected),
                rules=rules,
                cards=cards,
                progress=report_progress,
            )
        )


def add_report(run: Run, *, progress: Progress | None = None) -> Run:
    """Write the report into the folder of a run, and return the run.

    Whatever goes wrong, the run stays as it is; a note in its summary says that the report is missing, and why. Does
    nothing if the run was not written, or its configuration wants no report.

    Args:
        run: The run.
        progress: Called with the progress.
    """
    if run.path is None or not run.config.output.report:
        return run
    try:
        made = report(run, progress=progress or "off")
        made.save(run.path / DATA)
        made.save(run.path / PAGE)
    except KeyboardInterrupt:
        return _without_report(run, "interrupted")
    except ThenceError as error:
        return _without_report(run, str(error))
    except Exception as error:
        # A report is a view of a run that is complete without it, so no failure may cost the run.
        return _without_report(run, f"{type(error).__name__}: {error}")
    return run


def _without_report(run: Run, why: str) -> Run:
    assert run.path is not None
    for name in (DATA, PAGE):
        with suppress(ThenceError):
            drop_listed_file(run.path / name)
    return add_note(run, f"the report was not written ({why}): thence report makes it again")


def _listed(given: Any) -> list[Any]:
    """One result as a list of one; a part of a report is a dict."""
    return [given] if isinstance(given, (Applied, Detection, dict)) else list(given)


def _write_data(data: Report, target: Path) -> Path:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with new_listed_file(target) as draft:
        # Half of a pair of surrogates, which a file name may hold, is written as an escape.
        draft.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")
    return target
