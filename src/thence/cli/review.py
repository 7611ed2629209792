"""``thence review``: accept, reject and annotate the rules, laws and controls of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.options import AsJson, Quiet, RunFolder
from thence.cli.screen import print_json, review_text, say
from thence.errors import ConfigError

if TYPE_CHECKING:
    from thence.runs.reviews import Review, Verdict
    from thence.runs.run import Run

_HELP = "; a number of 'thence show', law:N, control:N or a key; several with commas, or repeated."


def review(
    run: RunFolder,
    accept: Annotated[list[str] | None, typer.Option(help=f"Accept a rule{_HELP}", metavar="N")] = None,
    reject: Annotated[list[str] | None, typer.Option(help="Reject a rule.", metavar="N")] = None,
    annotate: Annotated[
        list[str] | None, typer.Option(help="Write a note on a rule, and leave its verdict.", metavar="N")
    ] = None,
    clear: Annotated[list[str] | None, typer.Option(help="Remove the review of a rule.", metavar="N")] = None,
    note: Annotated[str | None, typer.Option(help="The note (default: an earlier one stays).")] = None,
    by: Annotated[str, typer.Option(help="Who says it.", show_default=False)] = "",
    list_: Annotated[bool, typer.Option("--list", help="List all reviews; also without any other option.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Accept or reject rules of a run, or write notes on them; apply, monitor and export leave out rejected rules."""
    from thence.runs.run import load_run

    loaded = load_run(run)
    wanted = {"accepted": accept, "rejected": reject, "note": annotate, "clear": clear}
    asked = {verdict: _split(given) for verdict, given in wanted.items() if given}
    if note is not None and not {"accepted", "rejected", "note"} & set(asked):
        raise ConfigError("--note needs a rule", hint="add --accept N, --reject N or --annotate N")
    if "note" in asked and note is None:
        raise ConfigError("--annotate needs a note", hint="add --note TEXT")
    if asked:
        _save(loaded, asked, note, by, quiet=quiet or as_json)
    if as_json:
        print_json({"path": str(loaded.path), "reviews": _listed(loaded)})
    elif list_ or not asked:
        _print(_listed(loaded), quiet=quiet)


def _split(given: list[str]) -> list[str]:
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def _save(run: Run, asked: dict[str, list[str]], note: str | None, by: str, *, quiet: bool) -> None:
    """Store what was asked for at once, and say what it is about."""
    from datetime import UTC, datetime

    from thence.runs.reviews import Review, save_reviews

    now = datetime.now(UTC).isoformat(timespec="seconds")
    before = run.reviews
    new: dict[str, Review] = {}
    lines: list[str] = []
    for verdict, texts in asked.items():
        for text in texts:
            for key, sentence in _find(run, text, known=set(before)):
                if key in new:
                    raise ConfigError(f"'{text}' is reviewed twice", hint="give each rule once")
                earlier = before.get(key)
                kept: Verdict = earlier.verdict if earlier is not None else ""
                said: Any = {"note": kept, "clear": ""}.get(verdict, verdict)
                old_note = "" if earlier is None or verdict == "clear" else earlier.note
                kept_note = old_note if note is None or verdict == "clear" else note
                new[key] = Review(said, kept_note, now, sentence, by)
                lines.append(
                    f"{'removed' if verdict == 'clear' else review_text(said, kept_note)} – {text}: {sentence}"
                )
    if run.path is not None:
        save_reviews(run.path, new)
    for line in lines:
        say(line, quiet=quiet)
    _print_family(run, asked, quiet=quiet)


def _groups(run: Run) -> dict[str, list[list[Any]]]:
    """Laws and controls as they are numbered: the controls of one sentence have one number."""
    from thence.statements.controls.sentences import group_controls

    laws, controls = run.findings.laws, run.findings.controls
    grouped = [[controls[at] for at in group] for group in group_controls(controls)]
    return {"law": [[law] for law in laws], "control": grouped}


def _find(run: Run, text: str, *, known: set[str]) -> list[tuple[str, str]]:
    """The keys and sentences of what a number, ``law:N``, ``control:N`` or a key names."""
    if text in known:
        return [(text, run.reviews[text].sentence)]
    noun, found, number = text.partition(":")
    noun, number = (noun, number) if found else ("rule", text)
    if not number.isdecimal():
        return [run.identify(text)]
    groups: dict[str, Any] = {"rule": [[at] for at in range(len(run.rules))], **_groups(run)}
    if noun not in groups:
        raise ConfigError(f"'{text}' names nothing that can be reviewed", hint="give N, law:N, control:N or a key")
    at = int(number) - 1
    if not 0 <= at < len(groups[noun]):
        most = len(groups[noun])
        hint = f"{noun}s are numbered from 1 to {most}, as 'thence show' prints them" if most else None
        raise ConfigError(f"the run has no {noun} {number}", hint=hint)
    return [run.identify(one) for one in groups[noun][at]]


def _print_family(run: Run, asked: dict[str, list[str]], *, quiet: bool) -> None:
    """Say which rules are shown together with one that was reviewed, and were not reviewed themselves."""
    chosen = {int(text) - 1 for texts in asked.values() for text in texts if text.isdecimal()}
    reviewed = set(run.reviews.at(run.rules)) | chosen
    for entry in run.rules.entries if chosen else ():
        rest = [str(at + 1) for at in entry if at not in reviewed]
        if len(entry) > 1 and rest and chosen & set(entry):
            say(f"shown together with {min(chosen & set(entry)) + 1}, not reviewed: {', '.join(rest)}", quiet=quiet)


def _listed(run: Run) -> list[dict[str, Any]]:
    """All reviews of a run: those of its rules, laws and controls in their order, then those of others."""
    reviews = run.reviews
    numbers = {run.rules.rule(at).key: str(at + 1) for at in reviews.at(run.rules)}
    for noun, groups in _groups(run).items():
        numbers |= {one.key: f"{noun}:{at}" for at, group in enumerate(groups, start=1) for one in group}
    ordered = [*(key for key in numbers if key in reviews), *(key for key in reviews if key not in numbers)]
    return [{"number": numbers.get(key), "key": key, **reviews[key].to_dict()} for key in ordered]


def _print(reviews: list[dict[str, Any]], *, quiet: bool) -> None:
    if not reviews:
        say("no reviews: thence review RUN --reject N --note TEXT", quiet=quiet)
    for one in reviews:
        where = one["number"] or "not in this run"
        say(f"{where}  {review_text(one['verdict'], one['note'])}  [{one['key']}]", quiet=quiet)
        if one.get("sentence"):
            say(f"    {one['sentence']}", quiet=quiet)


def logic_remarks(run: Run) -> dict[str, dict[int, str]]:
    """Return the reviews of laws and controls, by title and by the number of their sentence.

    Args:
        run: The run.
    """
    reviews = run.reviews
    out: dict[str, dict[int, str]] = {"laws": {}, "controls": {}}
    for noun, groups in _groups(run).items():
        for number, group in enumerate(groups, start=1):
            found = [reviews[one.key] for one in group if one.key in reviews]
            if found:
                # The controls of one sentence are reviewed together, unless by their keys.
                texts = dict.fromkeys(review_text(one.verdict, one.note) for one in found)
                out[f"{noun}s"][number] = "; ".join(texts)
    return out
