"""``thence detect``: leaks, faults and attacks in later readings, learned from normal ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence._base.atomic import new_file
from thence._base.frames import without_formulas
from thence._base.integrity.checksums import seal
from thence.cli.job import with_table
from thence.cli.options import AsJson, Quiet, Reviewed
from thence.cli.screen import print_json, progress_bars, say
from thence.errors import ConfigError, RunError, attempt, reported_as
from thence.runs.configuration import AUTO, Config, EnrichConfig

if TYPE_CHECKING:
    from thence._base.progress import Progress
    from thence.checks.detect.detector import Detector
    from thence.data.graph.system import System
    from thence.runs.run import Run


@with_table("windows", "enrich", "derive")
def detect(
    *,
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run folder: its readings are the normal ones.", show_default=False),
    ] = None,
    source: Config,
    settings: dict[str, Any],
    scenario: Annotated[
        int | None,
        typer.Option(help="Scenario of the data set; normal is the year before it.", show_default=False),
    ] = None,
    normal: Annotated[
        Path | None, typer.Option(help="File or folder of normal readings of the same sensors.", show_default=False)
    ] = None,
    normal_until: Annotated[
        str | None, typer.Option(help="The readings before this time are normal.", show_default=False)
    ] = None,
    detector: Annotated[
        Path | None, typer.Option(help="A detector that --save wrote, instead of normal readings.", show_default=False)
    ] = None,
    rules: Annotated[bool, typer.Option("--rules/--no-rules", help="Use mined rules.")] = True,
    laws: Annotated[bool, typer.Option("--laws/--no-laws", help="Use laws.")] = True,
    ranges: Annotated[bool, typer.Option("--ranges/--no-ranges", help="Use ranges of two sensors.")] = True,
    controls: Annotated[bool, typer.Option("--controls/--no-controls", help="Use controls of actuators.")] = False,
    residuals: Annotated[
        bool, typer.Option("--residuals/--no-residuals", help="Compare each reading with what the others let expect.")
    ] = True,
    memory: Annotated[
        str, typer.Option(help="Time after which a violation has faded to 37 %; auto follows the step of the readings.")
    ] = AUTO,
    false_alarms: Annotated[float, typer.Option(help="Allowed false alarms a month.")] = 1.0,
    retire_after: Annotated[
        str, typer.Option(help="A slow drift becomes the reference after this time; 'never' for faults that last.")
    ] = "14d",
    save: Annotated[Path | None, typer.Option(help="Write the detector as JSON.", show_default=False)] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write time, score and alarm (.parquet or .csv).", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw score, threshold and alarms (.svg, .png or .html).", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write scores, alarms and reasons as JSON, for thence report.", show_default=False),
    ] = None,
    reviewed: Reviewed = "not-rejected",
    top: Annotated[int, typer.Option("--top", "-n", min=0, help="Number of alarms to explain; 0 for all.")] = 3,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Detect leaks, faults and attacks: learn from normal readings, score later ones, and explain every alarm."""
    from thence.checks.detect.detector import Detector
    from thence.checks.detect.picture import draw_alarms, require_picture, save_picture

    learned: dict[str, Any] = {
        "rules": rules,
        "laws": laws,
        "ranges": ranges,
        "controls": controls,
        "residuals": residuals,
        "memory": memory,
        "false_alarms": false_alarms,
        "retire_after": None if retire_after == "never" else retire_after,
    }
    _check_one_normal(run, normal, normal_until, detector)
    mined = _load_run(run, reviewed)
    reviews = None if mined is None else mined.reviews
    if scores is not None and scores.suffix.lower() not in (".parquet", ".csv"):
        raise ConfigError(f"scores cannot be written as '{scores.name}'", hint="end it in .parquet or .csv")
    if plot is not None:
        require_picture(plot)
    with progress_bars(quiet=quiet or as_json) as progress:
        if scenario is not None:
            source = _with_option(source, "scenario", scenario)
        if detector is not None:
            fitted, later = Detector.load(detector), _load(source, progress)
        else:
            before, later, more = _normal_and_later(mined, source, normal, normal_until, progress)
            given = {name: value for name, value in settings.items() if value != AUTO}
            fitted = Detector(**{**more, **given}, **learned)
            fitted.fit(before, progress=progress, reviews=reviews, reviewed=reviewed)
    found = fitted.detect(later)
    if save is not None:
        fitted.save(save)
    if scores is not None:
        with new_file(scores) as draft:
            if scores.suffix.lower() == ".csv":
                without_formulas(found.frame).write_csv(draft)
            else:
                found.frame.write_parquet(draft)
    record = {"detector": fitted.describe(), **found.to_dict()} if as_json or out is not None else {}
    if out is not None:
        with new_file(out) as draft:
            text = json.dumps(seal(record), ensure_ascii=False, indent=2, allow_nan=False)
            draft.write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json(record)
    else:
        _print(fitted, found, top=top, quiet=quiet)
    if plot is not None:
        # Last, so that whatever is wrong with it, the alarms are known.
        with reported_as(RunError, "the picture cannot be drawn", where=str(plot)):
            save_picture(draw_alarms(found, later.labels, title=f"{later.name}: score and alarms"), plot)
    if as_json:
        return
    for path in (save, scores, plot, out):
        if path is not None:
            say(f"written to {path}", quiet=quiet)


def _print(fitted: Detector, found: Any, *, top: int, quiet: bool) -> None:
    facts = fitted.describe()
    rate = facts["false_alarms_a_month"]
    days = (
        f"thresholds for {rate:g} false alarm{'' if rate == 1 else 's'} a month from {facts['normal_days']} normal days"
        if facts["normal_days"]
        else "too few normal days for thresholds"
    )
    say(
        f"learned from normal readings: what {facts['residuals']} columns read given all others, "
        f"{facts['rules']} rules, {facts['laws']} laws and {facts['ranges']} ranges"
        f"{' and ' + str(facts['controls']) + ' controls' if 'controls' in facts else ''}; {days}",
        quiet=quiet,
    )
    for note in fitted.notes:
        if "in a review" in note:
            say(note, quiet=quiet)
    say(str(found), quiet=quiet)
    # What lasts longest comes first: it is what an operator has to go and see.
    longest = sorted(found.alarms, key=lambda alarm: (alarm.first - alarm.last, alarm.start))
    for alarm in longest[: top or None]:
        say(f"\n{_explained(found, alarm)}", quiet=quiet)


def _explained(found: Any, alarm: Any) -> str:
    return attempt(
        "the text of an explanation",
        lambda: str(found.explain(alarm)),
        lambda why: f"{alarm}: could not be explained: {why}",
    )


def _load_run(run: Path | None, reviewed: str) -> Run | None:
    """The run, if there is one."""
    if run is None:
        if reviewed == "accepted":
            raise ConfigError("--reviewed is about the reviews of a run, which is not given", hint="give a RUN")
        return None
    from thence.runs.run import load_run

    return load_run(run)


def _check_one_normal(*given: Any) -> None:
    if sum(one is not None for one in given) > 1:
        raise ConfigError(
            "normal readings are given twice", hint="give one of RUN, --normal, --normal-until and --detector"
        )


def _normal_and_later(
    run: Run | None, source: Config, normal: Path | None, until: str | None, progress: Progress
) -> tuple[System, System, dict[str, Any]]:
    """Return normal and later readings, and the settings of the run, if there is one."""
    if run is not None:
        return _from_run(run, source, progress)
    if normal is not None:
        later = _load(source, progress)
        before = _load(replace(source, input=replace(source.input, sensors=str(normal))), progress)
        return before, later, {}
    if until is not None:
        whole = _load(source, progress)
        return whole.between(None, until), whole.between(until), {}
    if source.input.dataset == "hanoi":
        return _load(_with_option(source, "before", True), progress), _load(source, progress), {}
    raise ConfigError(
        "no normal readings are given", hint="give a RUN, --normal FILE, --normal-until TIME or --detector FILE"
    )


def _from_run(run: Run, source: Config, progress: Progress) -> tuple[System, System, dict[str, Any]]:
    from thence.checks.application.later import gather_later

    before = _load(run.config, progress)
    given = source.input
    if given.dataset is not None:
        later: Any = _load(source, progress)
    else:
        later = gather_later(run, given.sensors, given.graph, given.binding, given.ontology, given)
    chosen = run.config
    more = {"windows": chosen.windows.every, "enrich": chosen.enrich.mode, "derive": chosen.windows.derive or ()}
    return before, later, more


def _with_option(source: Config, name: str, value: Any) -> Config:
    if source.input.dataset is None:
        raise ConfigError(f"--{name} belongs to a data set", hint="add --dataset NAME")
    return replace(source, input=replace(source.input, options={**source.input.options, name: value}))


def _load(config: Config, progress: Progress) -> System:
    from thence.runs.inputs import load_job

    system = load_job(replace(config, enrich=EnrichConfig(mode="none")), progress=progress)
    system.require_one_site("several systems are given", hint="detect in one system at a time")
    return system
