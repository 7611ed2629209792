"""Features of time in sentences, in the text form and in the names that people write."""

from __future__ import annotations

import math

import pytest

from thence.language.english import format_clause, format_rule, format_test
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.language.short_text import short_item
from thence.language.time_names import Tense, TimeForm, TimeName, parse_time_name


def status(name: str) -> Feature:
    unit = "h" if name.startswith("duration") else ""
    return Feature("s", name=name, label="status", place="Pump 335", unit=unit)


def flow(name: str) -> Feature:
    return Feature("f", name=name, label="flow", place="Pipe 1", unit="m3/h")


CASES = {
    "the flow sensor in Pipe 1 read 2–4 m³/h half an hour ago": Item.is_(flow("lag:30min"), Interval(2, 4)),
    "the flow sensor in Pipe 1 read at least 4 m³/h a day ago": Item.is_(flow("lag:1d"), Interval(4, math.inf)),
    "the status sensor in Pump 335 read open 1 hour 30 minutes ago": Item.is_(status("lag:1h30min"), "open"),
    "the status of Pump 335 switches to open": Item.is_(status("switch"), "open"),
    "the status of Pump 335 switches to closed or open": Item.among(status("switch"), ["open", "closed"]),
    "the status of Pump 335 switches": Item.is_(status("switch"), False).negated(),
    "the status of Pump 335 does not switch": Item.is_(status("switch"), False),
    "the flow of Pipe 1 becomes 0": Item.is_(flow("switch:0"), "0"),
    "the flow of Pipe 1 stops being 0": Item.is_(flow("switch:0"), "not 0"),
    "the flow of Pipe 1 becomes 0 or stops being 0": Item.is_(flow("switch:0"), False).negated(),
    "the status of Pump 335 switches to 0": Item.is_(status("switch"), "0"),
    "the status of Pump 335 switches to a state other than e": Item.among(status("switch"), ["e", False], negated=True),
    "the status of Pump 335 has been open for 2–4 h": Item.is_(status("duration:open"), Interval(2, 4)),
    "the status of Pump 335 has been open for less than 30 min": Item.is_(
        status("duration:open"), Interval(-math.inf, 0.5)
    ),
    "the status of Pump 335 has been open for 10–30 min": Item.is_(status("duration:open"), Interval(1 / 6, 0.5)),
    "the status of Pump 335 has been open for 30 min to 2 h": Item.is_(status("duration:open"), Interval(0.5, 2)),
    "the status of Pump 335 has been open for at least 2 days": Item.is_(
        status("duration:open"), Interval(48, math.inf)
    ),
    "the status of Pump 335 is open": Item.is_(status("duration:open"), False).negated(),
    "the status of Pump 335 is not open": Item.is_(status("duration:open"), False),
    "the flow of Pipe 1 has been other than 0 for 8–24 h": Item.is_(flow("duration:not 0"), Interval(8, 24)),
    "within the next 30 minutes the status of Pump 335 switches to open": Item.is_(
        status("within:30min:to:open"), True
    ),
    "within the next hour the status of Pump 335 is open at some time": Item.is_(status("within:1h:is:open"), True),
    "within the next hour the status of Pump 335 is never open": Item.is_(status("within:1h:is:open"), False),
    "within the next 5 minutes the flow of Pipe 1 does not become 0": Item.is_(flow("within:5min:to:0"), False),
}


@pytest.mark.parametrize("sentence", CASES)
def test_clauses(sentence: str) -> None:
    item = CASES[sentence]
    assert format_clause(item) == sentence
    assert format_test(item)
    assert Item.parse(str(item)) == item
    assert Item.from_dict(item.to_dict()) == item


def test_a_rule_with_a_switch_says_when() -> None:
    level = Feature("l", label="level", place="Tank 1", unit="m")
    low = Item.is_(level, Interval(-math.inf, 5.2))
    said = format_rule([Item.is_(status("switch"), "open")], low)
    assert said == "when the status of Pump 335 switches to open, then the level sensor in Tank 1 reads below 5.2 m"
    assert format_rule([low], Item.is_(status("within:1h:to:open"), True)) == (
        "if the level sensor in Tank 1 reads below 5.2 m, "
        "then within the next hour the status of Pump 335 switches to open"
    )


def test_variables_and_some_sensor() -> None:
    flow = Feature("f", name="lag:1h", label="flow", role=Role.VARIABLE, place="p", relative=True)
    size = Feature("p", Aspect.PROPERTY, "length", role=Role.VARIABLE, unit="m")
    pump = Feature("g", name="switch", label="status", role=Role.VARIABLE, place="q")
    given = [Item.is_(flow, Interval(0, 0.2)), Item.is_(size, Interval(1, 2)), Item.is_(pump, "on")]
    assert format_rule(given[:2], given[2], "for every Pump p") == (
        "for every Pump: if its flow was in its lowest fifth an hour ago and it has length 1–2 m, "
        "then the status of q switches to on"
    )
    assert format_rule(given[:2], given[2], "for every Pump p, Tank q where p feeds q") == (
        "for every Pump p, Tank q where p feeds q: if the flow of p (length 1–2 m) was in its lowest fifth "
        "an hour ago, then the status of q switches to on"
    )
    for name, value, some, no in (
        ("switch", "on", "the status in some Pump switches to on", "the status in no Pump switches to on"),
        ("lag:1h", "on", "some status sensor in a Pump read on an hour ago", "no status sensor in a Pump read on an"),
        ("within:1h:to:on", True, "within the next hour the status in some Pump", "within the next hour the status in"),
    ):  # fmt: skip
        reading = Feature("Pump", name=name, label="status", role=Role.SOME)
        item = Item.is_(
            Feature("Pump", name=name, label="status", role=Role.SOME, where=(Item.is_(reading, value),)), True
        )
        assert format_clause(item).startswith(some)
        assert format_clause(item.negated()).startswith(no)
        assert Item.parse(str(item)) == item


def test_names_and_tenses() -> None:
    for name, tense in (
        ("lag:30min", Tense.PAST),
        ("duration:a:b", Tense.PAST),
        ("switch", Tense.PRESENT),
        ("switch:0", Tense.PRESENT),
        ("within:1h:to:a:b", Tense.FUTURE),
        ("within:1h:is:on", Tense.FUTURE),
    ):
        found = parse_time_name(name)
        assert found is not None and found.tense is tense and str(found) == name
        assert parse_time_name(f"state:{name}") == found
    assert parse_time_name("within:1h:to:a:b") == TimeName(TimeForm.WITHIN, "1h", "a:b", True)
    for name in ("", "change", "state", "total of the Pipes", "lag", "within:1h", "switches", "switch:1", "duration"):
        assert parse_time_name(name) is None
    assert Feature("x", Aspect.PROPERTY, "switch").time is None
    assert short_item(Item.is_(Feature("pump", name="switch"), "on")) == "switch of pump = on"
