"""What a file format for rules is: the type that every exporter defines one object of.

An exporter is a module with a ``Format`` object. Formats of this package have a line in
``thence.statements.files.FORMATS``; another package adds one through the entry point group ``thence.exports``. This
module imports no exporter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from thence.statements.rules.ruleset import RuleSet


@dataclass(frozen=True)
class Format:
    """A file format for rules.

    Args:
        name: The name of the format, the same as in the registry.
        suffixes: File suffixes that select the format, in lower case with the dot.
        purpose: What the format is for, in a few words.
        write: ``write(rules, path, **options)``. The path is a draft that takes the name of the target when the
            function returns. Annotated keyword parameters are the options; their types are checked before the call.
        read: ``read(path)``, the inverse of ``write``; ``None`` for a format that cannot be read back.
        counts: Whether it writes counts or measures. One that does not can hold controls too, worded as rules.

    Examples:
        A format for the number of rules, with an option:

        >>> def write(rules: RuleSet, path: Path, *, unit: str = "rules") -> None:
        ...     _ = path.write_text(f"{len(rules)} {unit}")
        >>> Format("count", (".count",), "the number of rules", write).read is None
        True
    """

    name: str
    suffixes: tuple[str, ...]
    purpose: str
    write: Callable[..., None]
    read: Callable[[Path], RuleSet] | None = None
    counts: bool = True
