"""Declare settings as fields of frozen dataclasses, build these from tables of a file, and check values.

Errors name the file, the line and the nearest known key. The module works from annotations alone: it must not know
what a setting is for.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from thence._base.settings.documents import line_of
from thence._base.settings.numbers import is_within_floats, require_integer, require_number, shown
from thence.errors import ConfigError, PatternError, nearest

T = TypeVar("T")

Check = Callable[[str, Any], object]
"""Raises a ``ConfigError`` about the setting of a name if a value is not allowed."""

_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", type(None): "None"}
_PLURALS = {str: "strings", int: "integers", float: "numbers", bool: "booleans"}


@dataclass(frozen=True)
class Location:
    """Where a table is in a configuration file.

    Args:
        file: The name of the file; empty for settings that do not come from a file.
        text: The content of the file, to find the line of a key.
        path: The keys that lead to the table.
    """

    file: str = ""
    text: str = ""
    path: tuple[str, ...] = ()

    def inside(self, key: str) -> Location:
        """The location of the table under ``key``."""
        return Location(self.file, self.text, (*self.path, key))

    def of(self, key: str) -> str | None:
        """The file, line and table of ``key``, for messages; ``None`` if nothing is known."""
        line = line_of(self.text, (*self.path, key)) if self.text else None
        parts = [self.file, f"line {line}" if line else "", f"[{'.'.join(self.path)}]" if self.path else ""]
        return ", ".join(part for part in parts if part) or None

    @contextmanager
    def located(self, key: str) -> Iterator[None]:
        """Let errors that do not say where they are say so: at ``key`` of this table."""
        try:
            yield
        except (ConfigError, PatternError) as error:
            raise type(error)(error.message, where=error.where or self.of(key), hint=error.hint) from error

    def error(self, key: str, message: str, *, hint: str | None = None) -> ConfigError:
        """An error about ``key`` of this table."""
        return ConfigError(message, where=self.of(key), hint=hint)


def refuse_unknown(
    table: Mapping[str, Any], known: Iterable[str], location: Location, *, says: str = "unknown setting '{}'"
) -> None:
    """Raise a ``ConfigError`` for the first key that is not known.

    Args:
        table: The table to check.
        known: The keys that are allowed.
        location: Where the table is.
        says: The message, with ``{}`` for the key.
    """
    names = list(known)
    for key in table:
        if key not in names:
            hint = nearest(key, names) or ("known: " + ", ".join(names) if names else None)
            raise location.error(key, says.format(key), hint=hint)


def check_keywords(
    function: Callable[..., Any], table: Mapping[str, Any], location: Location, *, without: Iterable[str]
) -> None:
    """Raise a ``ConfigError`` unless a table can be passed to a function as keyword arguments.

    Args:
        function: The function; one that takes arbitrary keywords is not checked.
        table: The keyword arguments.
        location: Where the table is.
        without: Parameters that are passed by other means and must not be in the table.
    """
    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    refuse_unknown(table, [name for name in parameters if name not in set(without)], location)
    check_types(function, table, location)


def check_types(annotated: Any, table: Mapping[str, Any], location: Location | None = None) -> None:
    """Raise a ``ConfigError`` for a value that does not have the annotated type.

    Only annotations made of strings, numbers, booleans, lists and tables of them are checked; whoever takes other
    objects checks them. A ``seed`` must not be negative.

    Args:
        annotated: A function or dataclass.
        table: Values by the name of a parameter or field.
        location: Where the table is.

    Examples:
        >>> def wait(*, hours: int = 1) -> None: ...
        >>> check_types(wait, {"hours": "two"})
        Traceback (most recent call last):
        thence.errors.ConfigError: 'hours' must be an integer, got 'two'
    """
    try:
        hints = typing.get_type_hints(annotated)
    except (NameError, TypeError):
        # Some annotations can be resolved by type checkers only.
        return
    location = location or Location()
    for name, value in table.items():
        expected = hints.get(name)
        if expected is not None and _is_plain(expected):
            converted(name, value, expected, location)
        if name == "seed" and isinstance(value, Integral) and value < 0:
            raise location.error(name, f"'seed' must be an integer >= 0, got {shown(value)}")


def number(
    default: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """Declare a numeric setting: a field of a dataclass with its range, which ``check_settings`` checks.

    Args:
        default: The default; ``None`` may always be given where it is the default.
        least: The smallest allowed value.
        most: The largest allowed value.
        above: A bound that must be exceeded.
        below: A bound that must not be reached.
    """
    return field(default=default, metadata={"range": (least, most, above, below)})


def check_settings(part: Any) -> None:
    """Raise a ``ConfigError`` for a field of a dataclass that is of another type or outside its declared range.

    Fields that are declared with ``number`` are integers or finite numbers, according to their annotation; of the
    others, those are checked that ``check_types`` can check.

    Args:
        part: An instance of a dataclass.

    Examples:
        >>> @dataclass
        ... class Wait:
        ...     share: float = number(0.5, least=0, most=1)
        >>> check_settings(Wait(share=2))
        Traceback (most recent call last):
        thence.errors.ConfigError: share must lie between 0 and 1, got 2
    """
    plain: dict[str, Any] = {}
    for one in fields(part):
        value = getattr(part, one.name)
        if "range" not in one.metadata:
            plain[one.name] = value
        elif value is not None or one.default is not None:
            _check_range(one.name, value, str(one.type).startswith("int"), *one.metadata["range"])
    check_types(type(part), plain)


def _check_range(
    name: str,
    value: Any,
    integer: bool,
    least: float | None,
    most: float | None,
    above: float | None,
    below: float | None,
) -> None:
    if integer:
        require_integer(name, value, least=int(least or 0), most=None if most is None else int(most))
        return
    require_number(name, value)
    if least is not None and most is not None and not least <= value <= most:
        raise ConfigError(f"{name} must lie between {least:g} and {most:g}, got {shown(value)}")
    if least is not None and value < least:
        raise ConfigError(f"{name} must be at least {least:g}, got {shown(value)}")
    if most is not None and value > most:
        raise ConfigError(f"{name} must be at most {most:g}, got {shown(value)}")
    if above is not None and not value > above:
        raise ConfigError(f"{name} must be above {above:g}, got {shown(value)}")
    if below is not None and not value < below:
        raise ConfigError(f"{name} must be below {below:g}, got {shown(value)}")


def _is_plain(annotation: Any) -> bool:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return all(_is_plain(choice) for choice in arguments)
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is ... and _is_plain(arguments[0])
    if origin in (Iterable, Mapping):
        return all(map(_is_plain, arguments))
    return origin is typing.Literal or annotation in _NAMES


def build(cls: type[T], table: Any, location: Location) -> T:
    """Build a dataclass from a table; lists become tuples.

    Args:
        cls: The dataclass.
        table: Values by the name of a field.
        location: Where the table is.

    Raises:
        ConfigError: If a key is unknown or missing, or a value has the wrong type.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"'{location.path[-1]}' must be a table, got {shown(table)}", where=location.of(""))
    hints = typing.get_type_hints(cls)
    declared = [one for one in fields(cls) if one.init]  # type: ignore[arg-type]
    refuse_unknown(table, [one.name for one in declared], location)
    values: dict[str, Any] = {}
    for one in declared:
        if one.name in table:
            values[one.name] = converted(one.name, table[one.name], hints[one.name], location)
        elif one.default is MISSING and one.default_factory is MISSING:
            raise location.error(one.name, f"'{one.name}' is missing")
    try:
        return cls(**values)
    except ConfigError as error:
        required = {f.name for f in declared if f.default is MISSING and f.default_factory is MISSING}
        key = find_refused(cls, values, required=required)
        raise ConfigError(error.message, where=error.where or location.of(key or ""), hint=error.hint) from error


def find_refused(make: Callable[..., Any], values: Mapping[str, Any], *, required: Collection[str] = ()) -> str | None:
    """Return the first setting whose value is refused by itself, or ``None`` if only the combination is refused.

    Args:
        make: A class or function that raises a ``ConfigError`` for settings that it refuses.
        values: The settings.
        required: The settings without which ``make`` cannot be called.
    """
    always = {name: values[name] for name in required}
    for name, value in values.items():
        try:
            make(**{**always, name: value})
        except ConfigError:
            return name
    return None


def converted(name: str, value: Any, annotation: Any, location: Location | None = None) -> Any:
    """Return the value of a setting as its annotation says: lists as tuples, integers as floats.

    Args:
        name: The name of the setting.
        value: The value.
        annotation: Its type.
        location: Where its table is.

    Raises:
        ConfigError: If the value is of another type.
    """
    matches, out = _convert(value, annotation)
    if not matches:
        text = f"'{name}' must be {_type_name(annotation)}, got {shown(value)}"
        raise (location or Location()).error(name, text)
    return out


def _convert(value: Any, annotation: Any) -> tuple[bool, Any]:
    """Whether a value matches an annotation, and the value converted to it: lists to tuples, integers to floats."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return True, value
    if origin in (typing.Union, types.UnionType):
        for choice in arguments:
            matches, converted = _convert(value, choice)
            if matches:
                return True, converted
        return False, value
    if origin is typing.Literal:
        return value in arguments, value
    if origin is Iterable and not isinstance(value, (list, tuple, set, frozenset)):
        # A string is one name; what can be iterated only once is checked by whoever iterates it.
        iterable = isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping))
        return (_convert(value, str)[0] if isinstance(value, str) else iterable), value
    if origin in (tuple, Iterable):
        if not isinstance(value, (list, tuple)) and origin is tuple:
            return False, value
        members = [_convert(member, arguments[0]) for member in value]
        return all(matches for matches, _ in members), tuple(converted for _, converted in members)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return False, value
        inner = {key: _convert(member, arguments[1]) for key, member in value.items()}
        fits = all(_convert(key, arguments[0])[0] and matches for key, (matches, _) in inner.items())
        return fits, {key: converted for key, (_, converted) in inner.items()}
    if annotation is str and isinstance(value, str):
        return not any("\ud800" <= sign <= "\udfff" for sign in value), value  # halves of a pair cannot be written
    if annotation is float:
        matches = isinstance(value, Real) and not isinstance(value, bool) and is_within_floats(value)
        return matches, float(value) if matches else value
    if annotation is int:
        return isinstance(value, Integral) and not isinstance(value, bool), value
    return isinstance(value, annotation), value


def _type_name(annotation: Any) -> str:
    """An annotation for messages, in the terms of Python and TOML."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(choice) for choice in arguments if choice is not type(None))
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(choice) for choice in arguments)
    if origin in (tuple, Iterable):
        plural = _PLURALS.get(arguments[0])
        return f"a list of {plural}" if plural else f"a list, each element {_type_name(arguments[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "a table"
    return _NAMES.get(annotation, "a value")


def at_least(least: int, *, hint: str | None = None) -> Check:
    """Return a check that a number is not lower than ``least``."""

    def check(name: str, value: Any) -> None:
        if value < least:
            raise ConfigError(f"'{name}' must be at least {least}, got {value}", hint=hint)

    return check


def between(low: float, high: float, *, open: bool = False) -> Check:
    """Return a check that a number lies between two others, which are allowed too unless the interval is ``open``."""

    def check(name: str, value: Any) -> None:
        fits = isinstance(value, Real) and (low < float(value) < high if open else low <= float(value) <= high)
        if not fits:
            raise ConfigError(f"'{name}' must lie between {low} and {high}, got {value!r}")

    return check


def setting(
    default: T,
    help: str,
    *,
    name: str | None = "",
    flag: str = "",
    also: str = "",
    check: Check | None = None,
) -> T:
    """Declare a setting of a section.

    Args:
        default: The default.
        help: What it is, in a sentence without its full stop.
        name: The name of the option, where it is not that of the setting; ``None`` for a setting without an option.
        flag: The option on the command line, where it is not the name.
        also: Another setting that the option sets.
        check: Raises if a value is not allowed.
    """
    declared = {"help": help, "name": name, "flag": flag, "also": also, "check": check}
    start: dict[str, Any] = {"default_factory": dict} if default == {} else {"default": default}
    made: T = field(metadata=declared, **start)
    return made


class Section:
    """A section of the configuration: a frozen dataclass whose values are checked as their fields declare."""

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value, check = getattr(self, one.name), one.metadata.get("check")
            if value == "" and one.default != "":
                raise ConfigError(f"'{one.name}' must not be empty", hint=f"set '{one.name}' or leave it out")
            if check is not None and value is not None:
                check(one.name, value)
