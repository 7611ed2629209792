"""Reviews: what people said of the rules, laws and controls of a run, in ``reviews.json`` in its folder.

A review belongs to the key of a rule (``thence.statements.keys``). The file is replaced in one step, by one process at
a time; entries that this version does not know are kept. It carries its own checksum. This module stores and selects;
it judges nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from thence._base.atomic import new_file
from thence._base.integrity.checksums import require_seal, seal
from thence.errors import ConfigError, RunError, nearest
from thence.statements.keys import is_key, key_text
from thence.statements.rules.ruleset import RuleSet

if sys.platform != "win32":
    import fcntl

Verdict = Literal["accepted", "rejected", ""]
Reviewed = Literal["not-rejected", "accepted", "all"]

REVIEWS = "reviews.json"
"""The file in a run folder."""
LOCK = "reviews.lock"
"""The file that a process holds while it changes the reviews."""
REVIEWED: tuple[Reviewed, ...] = get_args(Reviewed)
"""Which rules to use: those that were not rejected, those that were accepted, or all."""
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_MARK, _VERSION = "thence reviews", 1
_LONGEST_NOTE = 10_000
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PATIENCE, _PAUSE = 30.0, 0.02


@dataclass(frozen=True, slots=True)
class Review:
    """What a person said of a rule, a law or a control.

    Args:
        verdict: ``"accepted"``, ``"rejected"`` or an empty string for a note alone.
        note: Anything worth keeping beside the verdict.
        time: When it was said (UTC), as ISO 8601.
        sentence: The sentence of what it was said of, for people who read the file.
        by: Who said it; may be empty.

    Raises:
        ConfigError: If the verdict is unknown, or the note cannot be stored.

    Examples:
        >>> Review("rejected", "the valve was being repaired").verdict
        'rejected'
    """

    verdict: Verdict
    note: str = ""
    time: str = ""
    sentence: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in _VERDICTS:
            raise ConfigError(
                f"a verdict must be 'accepted', 'rejected' or '', got {self.verdict!r}",
                hint=nearest(str(self.verdict), _VERDICTS),
            )
        for name in ("note", "time", "sentence", "by"):
            if not isinstance(text := getattr(self, name), str):
                raise ConfigError(f"the {name} of a review must be a string, got {text!r}")
        if len(self.note) > _LONGEST_NOTE:
            raise ConfigError(
                f"a note may have {_LONGEST_NOTE:,} characters, got {len(self.note):,}", hint="shorten the note"
            )

    def to_dict(self) -> dict[str, str]:
        """Return the review as a dict that JSON can hold; empty fields but verdict and note are left out."""
        always = {"verdict": self.verdict, "note": self.note}
        rest = {name: getattr(self, name) for name in ("time", "sentence", "by")}
        return {**always, **{name: text for name, text in rest.items() if text}}


@dataclass(frozen=True)
class LeftOut:
    """What is left out because of its reviews.

    Args:
        rules: Positions of rules.
        laws: Positions of laws.
        controls: Positions of controls.
        notes: What is left out, as sentences.
    """

    rules: frozenset[int] = frozenset()
    laws: frozenset[int] = frozenset()
    controls: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Reviews(Mapping[str, Review]):
    """The reviews of a run by key; made by ``load_reviews`` and ``Run.reviews``.

    Args:
        by_key: The reviews.

    Examples:
        >>> reviews = Reviews({"a2f7948fbaa200d3": Review("accepted", "as in the manual")})
        >>> len(reviews), reviews["a2f7948fbaa200d3"].note
        (1, 'as in the manual')
        >>> reviews
        Reviews(1 accepted)
    """

    by_key: Mapping[str, Review] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", MappingProxyType(dict(self.by_key)))

    def __getitem__(self, key: str) -> Review:
        return self.by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_key)

    def __len__(self) -> int:
        return len(self.by_key)

    def __repr__(self) -> str:
        verdicts = [review.verdict or "with a note only" for review in self.values()]
        counted = (f"{verdicts.count(one)} {one}" for one in ("accepted", "rejected", "with a note only"))
        return f"Reviews({', '.join(text for text in counted if not text.startswith('0 ')) or 'none'})"

    def at(self, rules: RuleSet) -> dict[int, Review]:
        """Return the reviews by the positions of rules, for the rules that have one.

        Args:
            rules: The rules.
        """
        if not self or not len(rules):
            return {}
        keys = rules.keys
        found = np.flatnonzero(np.isin(keys, np.array([int(key, 16) for key in self], np.uint64)))
        return {int(number): self[key_text(keys[number])] for number in found}


def load_reviews(folder: str | Path) -> Reviews:
    """Read the reviews of a run folder.

    Args:
        folder: The folder.

    Returns:
        The reviews; none if nobody has reviewed a rule of the run.

    Raises:
        RunError: If the file is damaged, or from a newer version.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = load_reviews(folder)
        ...     saved = save_review(folder, "a2f7948fbaa200d3", "rejected", "a coincidence")
        ...     len(before), load_reviews(folder)["a2f7948fbaa200d3"].note
        (0, 'a coincidence')
    """
    return _parse(Path(folder) / REVIEWS)[1]


def save_review(
    folder: str | Path, key: str, verdict: Verdict, note: str | None = None, *, sentence: str = "", by: str = ""
) -> Reviews:
    """Store a review in a run folder, in one step and in turn with other processes.

    Args:
        folder: The folder of the run.
        key: The key of the rule, law or control.
        verdict: ``"accepted"``, ``"rejected"``, or an empty string to take the verdict back.
        note: A note; by default an earlier one stays. A review with neither verdict nor note is removed.
        sentence: The sentence of what is reviewed, for people who read the file.
        by: Who says it.

    Returns:
        All reviews of the run.

    Raises:
        ConfigError: If the key, the verdict or the note is not valid.
        RunError: If the file is damaged, or cannot be written; it is then unchanged.
    """
    review = Review(verdict, note or "", datetime.now(UTC).isoformat(timespec="seconds"), sentence, by)
    return save_reviews(folder, {key: review}, keep_notes=note is None)


def save_reviews(folder: str | Path, reviews: Mapping[str, Review], *, keep_notes: bool = False) -> Reviews:
    """Store several reviews at once; see ``save_review``.

    Args:
        folder: The folder of the run.
        reviews: The reviews by key.
        keep_notes: Whether an empty note leaves an earlier one as it is.
    """
    for key, review in reviews.items():
        _require_key(key)
        _require_encodable(review)
    path = Path(folder) / REVIEWS
    with hold_reviews(folder):
        data, known = _parse(path)
        for key, review in reviews.items():
            earlier = known[key] if key in known else Review("")
            kept = review if review.note or not keep_notes else replace(review, note=earlier.note)
            # The sentence is for people who read the file; names in it may hold what UTF-8 cannot.
            sentence = (kept.sentence or earlier.sentence).encode("utf-8", "replace").decode()
            kept = replace(kept, sentence=sentence)
            stored: dict[str, Any] = data["reviews"]
            if kept.verdict or kept.note:
                stored[key] = {**stored.get(key, {}), **kept.to_dict()}
            else:
                stored.pop(key, None)
        write_reviews(path, data)
        return _parse(path)[1]


def write_reviews(path: Path, data: Mapping[str, Any]) -> None:
    """Write the file of reviews in one step.

    Args:
        path: The file.
        data: What the file holds.
    """
    ordered = seal({**data, "reviews": dict(sorted(data["reviews"].items()))})
    with new_file(path) as draft:
        draft.write_text(json.dumps(ordered, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def carry_reviews(folder: Path, *, replaced: Path | None, earlier: Path | None) -> Reviews:
    """Write the reviews of earlier run folders into a new one; of two reviews with the same key, the later one.

    A file that is damaged is copied as it is if its folder is about to be replaced, so that nothing is lost.

    Args:
        folder: The new folder.
        replaced: The folder that is replaced, if any.
        earlier: Another folder that the run was read from, if any.

    Returns:
        The reviews of the new folder that could be read.
    """
    out: dict[str, Any] = {"format": _MARK, "version": _VERSION, "reviews": {}}
    for source in (replaced, earlier):
        if source is None or not (source / REVIEWS).is_file():
            continue
        try:
            data, _ = _parse(source / REVIEWS)
        except RunError:
            if source == replaced:
                shutil.copyfile(source / REVIEWS, folder / REVIEWS)
                return Reviews()
            continue
        mine: dict[str, Any] = out["reviews"]
        for key, entry in data["reviews"].items():
            if key not in mine or entry.get("time", "") >= mine[key].get("time", ""):
                mine[key] = entry
        out = {**data, **out}
    if out["reviews"]:
        write_reviews(folder / REVIEWS, out)
    return _parse(folder / REVIEWS)[1]


@contextmanager
def hold_reviews(folder: str | Path) -> Iterator[None]:
    """Keep other processes and threads from changing the reviews of a run folder until the block ends.

    A folder that was replaced while this one waited is the new folder.

    Args:
        folder: The folder.

    Raises:
        RunError: If the folder cannot be written, or another process does not let go of it within 30 seconds.
    """
    path = Path(folder) / LOCK
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            # A link would let a foreign run folder choose the file that is opened.
            file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o666), "a")
        except OSError as error:
            raise RunError(
                f"reviews cannot be written ({error.strerror or error})",
                where=str(folder),
                hint="check that the run folder exists and that you may write to it",
            ) from error
        try:
            if _take(file.fileno()) and _is_still(path, file.fileno()):
                yield
                return
        finally:
            file.close()  # lets go of the lock
        if time.monotonic() > end:
            raise RunError(
                "another process is changing the reviews of this run", where=str(folder), hint="try again later"
            )
        time.sleep(_PAUSE)


def _take(handle: int) -> bool:
    """Whether the lock was free and is now ours."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_still(path: Path, handle: int) -> bool:
    """Whether a path names the file that is open: the folder may have been replaced."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _parse(path: Path) -> tuple[dict[str, Any], Reviews]:
    """The content of the file as it is, and the reviews in it."""
    if path.is_symlink():
        raise _damaged(path, "is a symbolic link")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {"format": _MARK, "version": _VERSION, "reviews": {}}, Reviews()
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, f"cannot be read ({error})") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"is not valid JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != _MARK or not isinstance(data.get("reviews"), dict):
        raise _damaged(path, "is not a file of reviews")
    if not isinstance(version := data.get("version"), int) or version > _VERSION:
        raise RunError("the reviews are from a newer version of Thence", where=str(path), hint="update Thence")
    require_seal(
        data,
        where=str(path),
        hint="restore a copy, or rename the file to start without reviews; "
        "if the change is yours, delete the entry 'sha256'",
    )
    known = {}
    for key, entry in data["reviews"].items():
        if not isinstance(entry, dict) or not is_key(key):
            raise _damaged(path, f"has an entry that is not a review: {key!r}")
        try:
            known[key] = Review(
                entry.get("verdict", ""), *(entry.get(name, "") for name in ("note", "time", "sentence", "by"))
            )
        except ConfigError as error:
            raise _damaged(path, f"has an entry that is not a review: {key!r}: {error.message}") from error
    return data, Reviews(known)


def _damaged(path: Path, what: str) -> RunError:
    return RunError(
        f"the file of reviews {what}",
        where=str(path),
        hint="it was not changed; correct it or restore a copy, or rename it to start without reviews",
    )


def _require_key(key: str) -> None:
    if not is_key(key):
        raise ConfigError(
            f"a key has 16 hexadecimal digits, got {key!r}", hint="'thence review RUN --list' prints keys"
        )


def _require_encodable(review: Review) -> None:
    for text in (review.note, review.by):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"a note has a character that UTF-8 cannot hold, at position {error.start}",
                hint="leave the character out",
            ) from error


def select_reviewed(rules: RuleSet, reviews: Reviews, which: str = "not-rejected") -> npt.NDArray[np.bool_]:
    """Return which rules to use, given their reviews.

    Args:
        rules: The rules.
        reviews: The reviews.
        which: ``"not-rejected"``, ``"accepted"`` or ``"all"``.

    Raises:
        ConfigError: If ``which`` is none of these.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
        >>> reviews = Reviews({rules.rule(0).key: Review("rejected")})
        >>> kept = select_reviewed(rules, reviews)
        >>> bool(kept[0]), int(kept.sum()) == len(rules) - 1
        (False, True)
    """
    require_reviewed(which)
    out = np.full(len(rules), which != "accepted")
    if which != "all":
        for number, review in reviews.at(rules).items():
            out[number] = is_used(review, which)
    return out


def describe_left_out(number: int, noun: str, which: str) -> str:
    """Say how many rules, laws or controls are left out, and how to use them.

    Args:
        number: How many.
        noun: What they are.
        which: ``"not-rejected"`` or ``"accepted"``.

    Examples:
        >>> describe_left_out(1, "rule", "not-rejected")
        "1 rule is left out, rejected in a review (reviewed='all' or --reviewed all uses it too)"
    """
    one = number == 1
    why = "rejected in a review" if which == "not-rejected" else "not accepted in a review"
    count = f"{number:,} {noun}{'' if one else 's'} {'is' if one else 'are'} left out"
    return f"{count}, {why} (reviewed='all' or --reviewed all uses {'it' if one else 'them'} too)"


def is_used(review: Review | None, which: str) -> bool:
    """Return whether something with this review is used.

    Args:
        review: The review, if there is one.
        which: ``"not-rejected"``, ``"accepted"`` or ``"all"``.
    """
    verdict = "" if review is None else review.verdict
    return which == "all" or (verdict == "accepted" if which == "accepted" else verdict != "rejected")


def require_reviewed(which: str) -> None:
    """Raise unless ``which`` says which rules to use.

    Args:
        which: ``"not-rejected"``, ``"accepted"`` or ``"all"``.
    """
    if which not in REVIEWED:
        known = ", ".join(f"'{one}'" for one in REVIEWED)
        raise ConfigError(f"reviewed must be one of {known}, got {which!r}", hint=nearest(str(which), REVIEWED))


def with_reviews(rules: RuleSet, reviews: Reviews) -> RuleSet:
    """Return rules with the columns ``review`` and ``review_note``, if any of them has a review.

    Args:
        rules: The rules.
        reviews: The reviews.
    """
    found = reviews.at(rules)
    if not found:
        return rules
    verdicts, notes = [""] * len(rules), [""] * len(rules)
    for number, review in found.items():
        verdicts[number], notes[number] = review.verdict, review.note
    columns = {"review": np.array(verdicts, np.str_), "review_note": np.array(notes, np.str_)}
    return replace(rules, extras={**rules.extras, **columns})
