"""Write rules to files and read them back; the format follows from the suffix of the file or from its name.

JSON and Parquet can be read back without loss. CSV and Markdown are for people, SPARQL and SHACL for graph
stores. An exporter receives a rule set and a path; it must not depend on tables, miners or runs.

A new format is one module that defines a ``Format`` (see ``thence.statements.files.format``) and one line in
``FORMATS``. Another package adds a format with an entry point in its ``pyproject.toml``:

```toml
[project.entry-points."thence.exports"]
yaml = "my_package.rules_yaml:FORMAT"
```
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.settings.registry import Registry
from thence._base.settings.typed import check_types
from thence.errors import ConfigError, InputError, PatternError, quote, reported_as
from thence.statements.files.format import Format
from thence.statements.rules.ruleset import RuleSet

__all__ = ["FORMATS", "Format", "find_format", "read_rules", "write_rules"]

FORMATS = Registry(
    "format",
    {
        "json": "thence.statements.files.rules_json:FORMAT",
        "parquet": "thence.statements.files.rules_parquet:FORMAT",
        "csv": "thence.statements.files.tables:CSV",
        "markdown": "thence.statements.files.tables:MARKDOWN",
        "sparql": "thence.show.export.sparql:FORMAT",
        "shacl": "thence.show.export.shacl:FORMAT",
    },
    group="thence.exports",
    of=Format,
)


def find_format(path: str | Path, name: str | None = None) -> Format:
    """Find a format by its name, or else by the suffix of a file.

    Formats of this package are searched before those of other packages.

    Args:
        path: The file, which need not exist.
        name: The name of the format; ``None`` to go by the suffix of ``path``.

    Returns:
        The format.

    Raises:
        ConfigError: If no format has this name, or this suffix.

    Examples:
        >>> find_format("rules.md").name, find_format("rules.txt", "csv").name
        ('markdown', 'csv')
    """
    if name is not None:
        return FORMATS.load(name.lower())
    suffix = Path(path).suffix.lower()
    known: list[str] = []
    for candidate in map(FORMATS.load, FORMATS):
        if suffix in candidate.suffixes:
            return candidate
        known += candidate.suffixes
    raise ConfigError(f"no format has the suffix '{suffix}'", where=str(path), hint="use one of " + ", ".join(known))


def write_rules(rules: RuleSet, path: str | Path, *, format: str | None = None, **options: Any) -> Path:
    """Write rules to a file.

    An existing file is replaced only when the new one is complete.

    Args:
        rules: The rules to write.
        path: The file to write.
        format: ``"json"``, ``"parquet"``, ``"csv"``, ``"markdown"``, ``"sparql"``, ``"shacl"``, or the name of
            an installed format; by default the suffix of ``path`` decides.
        **options: Options of the format, such as ``english=False`` or ``limit=20``.

    Returns:
        The path.

    Raises:
        ConfigError: If the format is unknown or the value of an option has the wrong type.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_rules(RuleSet.empty("nothing was mined"), f"{folder}/rules.json")
        ...     read_rules(path).notes
        ('nothing was mined',)
    """
    write = find_format(path, format).write
    check_types(write, options)
    with new_file(Path(path)) as draft:
        write(rules, draft, **options)
    return Path(path)


def read_rules(path: str | Path, *, format: str | None = None) -> RuleSet:
    """Read rules that ``write_rules`` wrote as JSON or Parquet.

    Args:
        path: The file to read.
        format: The name of the format; by default the suffix of ``path`` decides.

    Returns:
        The rules, with counts, extra columns, facts and notes.

    Raises:
        ConfigError: If the format is unknown or cannot be read back.
        InputError: If the file does not exist or does not contain such rules.

    Examples:
        >>> read_rules("rules.csv")
        Traceback (most recent call last):
        thence.errors.ConfigError: rules.csv: rules cannot be read from csv (use json or parquet)
    """
    chosen = find_format(path, format)
    if chosen.read is None:
        readable = _listed(candidate.name for candidate in map(FORMATS.load, FORMATS) if candidate.read is not None)
        raise ConfigError(f"rules cannot be read from {chosen.name}", where=str(path), hint=f"use {readable}")
    with reported_as(InputError, where=str(path), hint="check the path"):
        if not Path(path).is_file():
            raise InputError("no such file", where=str(path))
    with reported_as(InputError, "the rules are incomplete or damaged", where=str(path)):
        try:
            return chosen.read(Path(path))
        except KeyError as error:
            raise InputError(
                f"the rules are incomplete or damaged: {quote(error.args[0])} is missing", where=str(path)
            ) from error
        except (InputError, ConfigError, PatternError) as error:
            if error.where is not None and error.where.startswith(str(path)):
                raise
            raise InputError(f"the rules are incomplete or damaged: {error}", where=str(path)) from error


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
