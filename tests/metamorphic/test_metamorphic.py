"""What is found does not depend on how a system is written down: for every kind of statement."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import thence as th
from tests.metamorphic.changes import CHANGES, FACTOR, SCALED, new_names
from tests.noise.planted import find_truths, make_plant

KINDS = ("control", "law", "rule")
SYSTEMS = ("plant", "another plant", "sensors alone")
Found = Counter[tuple[str, int, int]]
"""Sentences with the number of rows in which they apply and hold."""


@cache
def plant(name: str) -> th.System:
    """A system with planted truths: a rule, a law, a control and a schedule."""
    if name == "another plant":
        return make_plant(seed=8, generator="seasonal", noise=4, weeks=3)
    made = make_plant(seed=3, noise=5)
    return made if name == "plant" else replace(made, graph=None, binding=None)


@cache
def mined(name: str, change: str) -> th.Run:
    """The run of a system after a change; of the system itself without one."""
    with TemporaryDirectory() as folder:
        system = CHANGES[change].apply(plant(name), Path(folder)) if change else plant(name)
        return th.mine(system, progress="off")


def _mask(sentence: str) -> str:
    """The sentence without its numbers and units, which differ between units."""
    return re.sub(r"(?<![A-Za-z])[-−]?\d[\d.,]*", "#", sentence).replace("# mm", "# m").replace("# mA", "# A")


def _ordered(sentence: str) -> str:
    """The sentence with its conditions in alphabetical order, which they have by the names of sensors."""
    start, given, end = re.fullmatch(r"(.*?if )?(.*?)(, then .*)?", sentence, re.DOTALL).groups(default="")  # type: ignore[union-attr]
    return f"{start}{' and '.join(sorted(given.split(' and ')))}{end}" if start and end else sentence


def found(run: th.Run, kind: str, change: str, name: str, *, before: bool) -> Found:
    """The statements of a kind, in the words that they have after a change."""
    how = CHANGES[change]
    out: Found = Counter()
    for one in run.findings:
        if one.kind == kind:
            said = _ordered(how.words(plant(name), one.sentence()) if before else one.sentence())
            out[said if how.numbers else _mask(said), one.counts.applies, one.counts.holds] += 1
    return out


def require_alike(earlier: Found, later: Found, change: str) -> None:
    """Fail if statements are lost, or, where the same are expected, if there are new ones."""
    lost, new = earlier - later, later - earlier
    if CHANGES[change].expects == "stay":
        new = Counter()
    assert not lost and not new, f"with {change}: lost {dict(lost)}, new {dict(new)}"


CASES = [(name, change, kind) for name in SYSTEMS for change in CHANGES for kind in KINDS]


@pytest.mark.parametrize(("name", "change", "kind"), CASES)
def test_statements_do_not_depend_on_how_a_system_is_written_down(name: str, change: str, kind: str) -> None:
    earlier = found(mined(name, ""), kind, change, name, before=True)
    if (name, change) == ("sensors alone", "a duplicated sensor"):
        # A digest is a selection: rules about the copy take the places of others, but not of what was planted.
        planted = {one for said in find_truths(mined(name, "")).values() for one in said}
        earlier = Counter({one: count for one, count in earlier.items() if one[0] in planted})
        assert earlier or kind == "law"
    require_alike(earlier, found(mined(name, change), kind, change, name, before=False), change)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_systems_have_statements_of_every_kind(name: str) -> None:
    truths = {truth for truth, said in find_truths(mined(name, "")).items() if said}
    assert truths >= ({"control", "schedule", "rule"} if name == "sensors alone" else {*find_truths(mined(name, ""))})


@pytest.mark.parametrize("name", ["plant", "another plant"])
def test_an_inverse_edge_adds_no_law(name: str) -> None:
    """Both roles of an edge that is stored both ways are one node: a sensor was compared with itself."""
    earlier, later = ([one.sentence() for one in mined(name, change).laws or ()] for change in ("", "inverse edges"))
    assert len(later) == len(earlier), later


@pytest.mark.parametrize("name", SYSTEMS)
def test_thresholds_scale_with_the_unit(name: str) -> None:
    def thresholds(run: th.Run) -> dict[str, tuple[float, str]]:
        return {one.key: (one.threshold, one.unit) for one in run.controls or () if one.sensor}

    earlier, later = thresholds(mined(name, "")), thresholds(mined(name, "other units"))
    assert earlier and earlier.keys() == later.keys()
    for key, (threshold, unit) in earlier.items():
        assert later[key] == (pytest.approx(FACTOR * threshold, abs=1.001), f"m{unit}"), (
            "more than one step of readings"
        )


@pytest.mark.parametrize("name", ["plant", "another plant"])
def test_bands_scale_with_the_unit(name: str) -> None:
    def bands(run: th.Run) -> dict[str, float]:
        return {
            re.sub(r", within.*", "", one.statement): one.band.absolute
            for one in run.laws or ()
            if {term.name for term in one.terms} <= {*SCALED}
        }

    earlier, later = bands(mined(name, "")), bands(mined(name, "other units"))
    assert earlier and later == {said: pytest.approx(FACTOR * band, rel=0.02) for said, band in earlier.items()}


@cache
def ranges(name: str, change: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The ranges that a detector learns, by the sensor that is given and the one that they are about."""
    with TemporaryDirectory() as folder:
        given = Path(folder) / "readings"
        given.mkdir()
        system = CHANGES[change].apply(plant(name), given) if change else plant(name)
        path = th.Detector(rules=False, laws=False).fit(system).save(Path(folder) / "detector.json")
        record = json.loads(path.read_text(encoding="utf-8"))
    learned = record["ranges"]
    listed = learned["ranges"] if isinstance(learned, dict) else learned
    return {(one["given"], one["sensor"]): one for one in listed}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_ranges_do_not_depend_on_how_a_system_is_written_down(name: str, change: str) -> None:
    earlier, later = ranges(name, ""), ranges(name, change)
    assert earlier
    names = new_names(plant(name)) if change == "other names" else {}
    kinds = {sensor.id: sensor.kind for sensor in plant(name).sensors.sensors}
    for (given, own), one in earlier.items():
        other = later[names.get(given, given), names.get(own, own)]
        assert (other["rows"], other["violated"]) == (one["rows"], one["violated"])
        for sensor, fields in ((given, ("edges",)), (own, ("low", "high"))):
            factor = FACTOR if change == "other units" and kinds[sensor] in SCALED else 1
            for field in fields:
                assert other[field] == pytest.approx([factor * number for number in one[field]])
    if CHANGES[change].expects == "same":
        assert len(later) == len(earlier)
