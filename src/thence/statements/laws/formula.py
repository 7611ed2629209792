"""Formulas: the right side of a law as an expression of named quantities and parameters.

One text gives the values that a law predicts, the check of its dimensions, and a Python function for other tools. It is
parsed with Python's own grammar, of which arithmetic and a few functions are taken; nothing is executed. This module
evaluates; it fits nothing.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError
from thence.statements.laws.dimensions import NUMBER, Dimension, power_of, times

Floats = npt.NDArray[np.float64]

_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs),
    "sign": (1, np.sign),
    "sqrt": (1, np.sqrt),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "clip": (3, lambda value, low, high: np.minimum(np.maximum(value, low), high)),
}
_CHANGE = re.compile(r"change\s*\(\s*([A-Za-z_]\w*)\s*\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", np.add),
    ast.Sub: ("-", np.subtract),
    ast.Mult: ("*", np.multiply),
    ast.Div: ("/", np.divide),
    ast.Pow: ("**", np.power),
}
_FREE = None  # the dimension of what has a parameter as a factor
_HINT = 'write, for example, "power = k * flow * (supply - return)"'


@dataclass(frozen=True)
class Formula:
    """A formula.

    Args:
        text: The formula, such as ``"power = k * flow * (supply - return)"``. The left side is a quantity, or
            ``change(quantity)``, its change per hour.

    Raises:
        ConfigError: If it is no formula.

    Examples:
        >>> formula = Formula("power = k * flow * (supply - return)")
        >>> formula.left, formula.names
        ('power', ('k', 'flow', 'supply', 'return'))
        >>> float(formula.evaluate({"k": 4.0, "flow": 2.0, "supply": 60.0, "return": 45.0}))
        120.0
        >>> Formula("power = open('x')")
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: 'open' is not a function of formulas (known: abs, clip, max, min, sign, sqrt)
    """

    text: str

    def __post_init__(self) -> None:
        if self.text.count("=") != 1:
            raise ConfigError(f"a formula must have one '=', got {self.text!r}", hint=_HINT)
        left = self.text.partition("=")[0].strip()
        if not (_NAME.fullmatch(left) or _CHANGE.fullmatch(left)):
            raise ConfigError(f"the left side of a formula must be one quantity, got {left!r}", hint=_HINT)
        if self.left in self.names:
            raise ConfigError(f"'{self.left}' is on both sides of the formula {self.text!r}", hint=_HINT)

    @property
    def left(self) -> str:
        """The quantity on the left side."""
        left = self.text.partition("=")[0].strip()
        found = _CHANGE.fullmatch(left)
        return found[1] if found else left

    @property
    def is_change(self) -> bool:
        """Whether the left side is the change of a quantity per hour."""
        return _CHANGE.fullmatch(self.text.partition("=")[0].strip()) is not None

    @property
    def right(self) -> str:
        """The text of the right side."""
        return self.text.partition("=")[2].strip()

    @cached_property
    def _tree(self) -> ast.expr:
        return _parse(self.right)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names on the right side, in order."""
        return tuple(dict.fromkeys(_names(self._tree)))

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the value of the right side; arrays are broadcast.

        Args:
            values: The value of each name.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return _evaluate(self._tree, values)

    def require_dimensions(self, known: Mapping[str, Dimension | None], parameters: Sequence[str]) -> None:
        """Raise an error if quantities of different dimensions are added or compared.

        Args:
            known: The dimension of each quantity; ``None`` where its unit is not known.
            parameters: The names that are parameters, whose dimensions follow.

        Raises:
            ConfigError: If the dimensions do not agree.

        Examples:
            >>> Formula("power = k * (flow + supply)").require_dimensions(
            ...     {"power": (2, 1, -3, 0, 0), "flow": (3, 0, -1, 0, 0), "supply": (0, 0, 0, 1, 0)}, ["k"])
            Traceback (most recent call last):
            ...
            thence.errors.ConfigError: quantities of different dimensions are added in 'flow + supply'
        """
        given = {**known, **dict.fromkeys(parameters, _FREE)}
        right = _dimension(self._tree, given)
        left = given.get(self.left)
        if self.is_change and left is not None:
            left = times(left, (0, 0, 1, 0, 0), -1)
        if right is not None and left is not None and right != left:
            raise ConfigError(
                f"the sides of {self.text!r} have different dimensions",
                hint="add a factor to be fitted, such as k, or check the units of the sensors",
            )

    def to_python(self, values: Mapping[str, float], *, name: str, about: str) -> str:
        """Return a Python function without imports that computes the right side.

        Args:
            values: The parameters.
            name: The name of the function.
            about: Its docstring.
        """
        arguments = [_safe(one) for one in self.names if one not in values]
        docs = about.replace("\\", "\\\\").replace('"""', "'''")
        return f'def {name}({", ".join(arguments)}):\n    """{docs}"""\n    return {_render(self._tree, values)}\n'


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.expr:
    # A prefix makes names of Python's keywords, such as "return", into plain names.
    marked = _NAME.sub(lambda found: f"n_{found[0]}", re.sub(r"(\d)[eE]([+-]?\d)", r"\1e\2", text))
    marked = re.sub(r"(\d)n_e", r"\1e", marked).replace("^", "**")
    try:
        tree = ast.parse(marked, mode="eval").body
    except SyntaxError as error:
        raise ConfigError(f"{text!r} is not an expression: {error.msg}", hint=_HINT) from None
    for node in ast.walk(tree):
        _check(node, text)
    return tree


def _check(node: ast.AST, text: str) -> None:
    allowed = (ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Name, ast.Load, ast.Constant, ast.Call, *_OPERATORS)
    if not isinstance(node, allowed) or (isinstance(node, ast.Constant) and not isinstance(node.value, (int, float))):
        raise ConfigError(f"{text!r} has more than arithmetic: {type(node).__name__.lower()}", hint=_HINT)
    if isinstance(node, ast.Call):
        name = _plain(node.func)
        if name not in _FUNCTIONS:
            known = ", ".join(sorted(_FUNCTIONS))
            raise ConfigError(f"'{name}' is not a function of formulas (known: {known})")
        if len(node.args) != _FUNCTIONS[name][0] or node.keywords:
            raise ConfigError(f"'{name}' takes {_FUNCTIONS[name][0]} values, got {len(node.args)}")


def _plain(node: ast.expr) -> str:
    return node.id.removeprefix("n_") if isinstance(node, ast.Name) else ""


def _names(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield _plain(node)
    elif isinstance(node, ast.BinOp):
        yield from _names(node.left)
        yield from _names(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _names(node.operand)
    elif isinstance(node, ast.Call):
        for argument in node.args:
            yield from _names(argument)


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return values[_plain(node)]
    if isinstance(node, ast.UnaryOp):
        inner = _evaluate(node.operand, values)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)][1](_evaluate(node.left, values), _evaluate(node.right, values))
    assert isinstance(node, ast.Call)
    return _FUNCTIONS[_plain(node.func)][1](*(_evaluate(one, values) for one in node.args))


def _dimension(node: ast.expr, known: Mapping[str, Dimension | None]) -> Dimension | None:
    """The dimension of an expression; ``None`` where a parameter or an unknown unit leaves it open."""
    if isinstance(node, ast.Constant):
        return NUMBER
    if isinstance(node, ast.Name):
        return known.get(_plain(node))
    if isinstance(node, ast.UnaryOp):
        return _dimension(node.operand, known)
    if isinstance(node, ast.BinOp):
        left, right = _dimension(node.left, known), _dimension(node.right, known)
        if isinstance(node.op, (ast.Mult, ast.Div)):
            sign = 1 if isinstance(node.op, ast.Mult) else -1
            return None if left is None or right is None else times(left, right, sign)
        if isinstance(node.op, ast.Pow):
            if right not in (None, NUMBER):
                raise ConfigError(f"the exponent in {_render(node, {})!r} has a unit")
            whole = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
            return power_of(left, int(node.right.value)) if whole and left is not None else None  # type: ignore[attr-defined]
        return _same(node, [left, right])
    assert isinstance(node, ast.Call)
    parts = [_dimension(one, known) for one in node.args]
    name = _plain(node.func)
    if name == "sign":
        return NUMBER
    return None if name == "sqrt" else _same(node, parts)


def _same(node: ast.expr, parts: Sequence[Dimension | None]) -> Dimension | None:
    found = {part for part in parts if part is not None}
    if len(found) > 1:
        raise ConfigError(f"quantities of different dimensions are added in {_render(node, {})!r}")
    return found.pop() if found else None


_CALLS = {"clip": "min(max({0}, {1}), {2})", "sign": "(({0} > 0) - ({0} < 0))", "sqrt": "(({0}) ** 0.5)"}
"""Functions that Python does not have without an import."""
_RANKS: dict[type[ast.operator], int] = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.Pow: 4}


def _render(node: ast.expr, values: Mapping[str, float], above: int = 0) -> str:
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.Name):
        name = _plain(node)
        if name not in values:
            return _safe(name)
        return repr(float(values[name])) if values[name] >= 0 else f"({float(values[name])!r})"
    if isinstance(node, ast.UnaryOp):
        sign = "-" if isinstance(node.op, ast.USub) else ""
        return f"{sign}{_render(node.operand, values, 3)}"
    if isinstance(node, ast.BinOp):
        rank, symbol = _RANKS[type(node.op)], _OPERATORS[type(node.op)][0]
        right = rank if isinstance(node.op, (ast.Add, ast.Mult)) else rank + 1
        left = rank + 1 if isinstance(node.op, ast.Pow) else rank
        text = f"{_render(node.left, values, left)} {symbol} {_render(node.right, values, right)}"
        return f"({text})" if rank < above else text
    assert isinstance(node, ast.Call)
    name, parts = _plain(node.func), [_render(one, values) for one in node.args]
    return _CALLS[name].format(*parts) if name in _CALLS else f"{name}({', '.join(parts)})"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
