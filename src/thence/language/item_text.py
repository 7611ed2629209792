"""Parser for the text form of items.

The grammar is that of ``str(item)``, plus ASCII spellings of the operators (``!=``, ``<=``, ``>=``, ``in``,
``not in``). A range includes the number next to a square bracket and excludes the one next to a round bracket. This
module only parses text; it does not look up features in tables.
"""

from __future__ import annotations

import math
import re

from thence.errors import InputError
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role, Value

__all__ = ["parse_item"]

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<string>'(?:[^'\\]|\\.)*')"
    r"|(?P<arrow>\]->|\]-|\)-\[)"
    r"|(?P<number>[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf)(?![\w]))"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<op>!=|<=|>=|[=≠<≤>≥∈∉])"
    r"|(?P<mark>[()\[\]{}:.,?])"
    r")"
)


def parse_item(text: str) -> Item:
    """Parse an item from its text form.

    Args:
        text: The text, as ``str(item)`` returns it; ASCII spellings of the operators are accepted.

    Returns:
        The item. Its feature has no metadata (unit, place, classes), which the text form does not contain.

    Raises:
        InputError: If the text does not follow the grammar; the message gives the position.

    Examples:
        >>> item = parse_item("(?p:Pipe).diameter >= 0.4")
        >>> str(item)
        '(?p:Pipe).diameter ≥ 0.4'
        >>> parse_item(str(item)) == item
        True
    """
    return _Parser(text).item()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise self.error("unexpected character", position)
            self.tokens.append((match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
            position = match.end()
        self.at = 0

    def error(self, message: str, position: int | None = None) -> InputError:
        if position is None:
            position = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        return InputError(f"{message} at character {position + 1} of item {self.text!r}")

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        if self.at >= len(self.tokens) or (expected is not None and self.peek() != expected):
            raise self.error(f"expected '{expected}'" if expected else "unexpected end")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def name(self) -> tuple[str, bool]:
        """Parse a name; return it and whether it was quoted."""
        if self.at < len(self.tokens):
            group, text, _ = self.tokens[self.at]
            if group == "quoted":
                self.at += 1
                return text[1:-1].replace("``", "`"), True
            if group == "word":
                self.at += 1
                return text, False
        raise self.error("expected a name")

    def item(self) -> Item:
        negated = self.peek() == "not"
        if negated:
            self.take()
        some = self.peek() == "some"
        if some:
            self.take()
        feature = self.feature()
        if some:
            feature = self.some_value(feature)
        if self.at == len(self.tokens):
            if not feature.is_statement:
                raise self.error("expected an operator")
            item = Item.is_(feature, True)
        else:
            item = self.test(feature)
            if self.at != len(self.tokens):
                raise self.error("unexpected text after the item")
        return item.negated() if negated else item

    def some_value(self, feature: Feature) -> Feature:
        """Parse the test of some value of a property."""
        if feature.aspect is not Aspect.PROPERTY:
            raise self.error("expected a property after 'some'")
        return feature.with_some(self.test(feature))

    def test(self, feature: Feature) -> Item:
        symbol = self.take()
        if symbol == "not":
            self.take("in")
            symbol = "not in"
        try:
            operator = Operator(symbol)
        except ValueError:
            self.at -= 1
            raise self.error("expected an operator") from None
        if operator in (Operator.IN, Operator.NOT_IN):
            return Item.among(feature, self.members(), negated=operator is Operator.NOT_IN)
        at, value = self.at, self.literal()
        try:
            return Item.compare(feature, operator, value)
        except ValueError as error:
            self.at = at
            raise self.error(str(error)) from error

    def members(self) -> Interval | list[Value]:
        if self.peek() in ("[", "("):
            after = self.take() == "("
            low = self.number()
            self.take(",")
            high = self.number()
            last = self.take("]" if self.peek() == "]" else ")") == "]"
            low = math.nextafter(low, math.inf) if after else low
            high = math.nextafter(high, math.inf) if last else high
            if not low < high:
                raise self.error("the low end of an interval must be below its high end")
            return Interval(low, high)
        self.take("{")
        values = [self.literal()]
        while self.peek() == ",":
            self.take()
            values.append(self.literal())
        self.take("}")
        return values

    def number(self) -> float:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "number":
            return float(self.take())
        if self.peek() == "inf":
            self.take()
            return math.inf
        raise self.error("expected a number")

    def literal(self) -> Value:
        if self.at >= len(self.tokens):
            raise self.error("expected a value")
        group, text, _ = self.tokens[self.at]
        if group == "string":
            self.at += 1
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if text in ("true", "false"):
            self.at += 1
            return text == "true"
        return self.number()

    def feature(self) -> Feature:
        if self.peek() == "[":
            self.take()
            subject, _ = self.name()
            label = self.label()
            self.take("]")
            return self.observed(subject, label, Role.EDGE)
        self.take("(")
        if self.peek() == "some":
            return self.existential()
        if self.peek() == "time" and self.peek(1) == ")":
            self.take()
            self.take(")")
            return self.observed("", "", Role.TIME)
        variable = self.peek() == "?"
        if variable:
            self.take()
        subject, _ = self.name()
        label = self.label()
        if self.peek() == ")-[":
            self.take()
            return self.edge(subject, Role.VARIABLE if variable else Role.NODE)
        self.take(")")
        return self.observed(subject, label, Role.VARIABLE if variable else Role.NODE)

    def edge(self, subject: str, role: Role) -> Feature:
        """Parse what follows ``(a)-[``: an edge to another node, or a property of a link between two variables."""
        relation = "" if self.peek() == "]-" else self.name()[0]
        linked = self.peek() == "]-" and role is Role.VARIABLE
        self.take("]-" if linked else "]->")
        self.take("(")
        if role is Role.VARIABLE:
            self.take("?")
        other, _ = self.name()
        self.take(")")
        if not linked:
            return Feature(subject, Aspect.EDGE, relation, role=role, other=other)
        self.take(".")
        return Feature(subject, Aspect.PROPERTY, self.name()[0], role=role, label=relation, other=other)

    def label(self) -> str:
        if self.peek() != ":":
            return ""
        self.take()
        return self.name()[0]

    def observed(self, subject: str, label: str, role: Role) -> Feature:
        """Parse what follows a subject: a measurement, a property, or nothing (then its label is the feature)."""
        if self.peek() != ".":
            if not label:
                raise self.error("expected '.' or a label")
            return Feature(subject, Aspect.LABEL, label, role=role)
        self.take()
        name, quoted = self.name()
        if quoted or name not in ("value", "rank"):
            return Feature(subject, Aspect.PROPERTY, name, role=role, label=label)
        derived = self.label()
        role = Role.SENSOR if role is Role.NODE else role
        return Feature(subject, Aspect.MEASUREMENT, derived, role=role, label=label, relative=name == "rank")

    def existential(self) -> Feature:
        self.take("some")
        kind, _ = self.name()
        host = ""
        if self.peek() == "in":
            self.take()
            host, _ = self.name()
        where: list[Item] = []
        if self.peek() == "{":
            self.take()
            while True:
                name, _ = self.name()
                where.append(self.test(Feature(host, Aspect.PROPERTY, name, role=Role.SOME)))
                if self.take() == "}":
                    break
        self.take(")")
        self.take(".")
        base, _ = self.name()
        derived = self.label()
        relative = base == "rank"
        reading = Feature(host, Aspect.MEASUREMENT, derived, role=Role.SOME, label=kind, relative=relative)
        where.append(self.test(reading))
        return Feature(
            host, Aspect.MEASUREMENT, derived, role=Role.SOME, label=kind, where=tuple(where), relative=relative
        )
