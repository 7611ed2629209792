"""Evidence cards of laws: the quantities of a law at one place, how far they are apart, and how other places do.

Rows are checked by ``thence.statements.laws.counting``, so that a card marks the rows that were counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.language.english import format_number, format_unit
from thence.show.reports.choosing import ANYWHERE, Aim, best_place, tell_choice
from thence.show.reports.evidence import Evidence
from thence.show.reports.periods import add_up, begins_of, choose_period, join_frames
from thence.show.reports.schema import Band, Card, History, PlaceShare
from thence.show.reports.traces import FeatureSeries, as_trace, sensor_series
from thence.statements.laws.counting import check_rows, known_places, lower_bound
from thence.statements.laws.forms import Rows
from thence.statements.laws.law import Law
from thence.statements.laws.places import Places
from thence.statements.laws.sensor_places import SensorPlaces, no_carriers
from thence.statements.laws.sentences import format_term, spell
from thence.statements.laws.terms import Term

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_PLACES = 2_000
"""Places that a card names at most."""
MOST_CELLS = 4_000_000
"""Rows of a law, frames × places, up to which they are counted again over time."""
_MOST_PARTS = 5  # series of a place beyond which a picture becomes no clearer


def make_law_card(evidence: Evidence, position: int, aim: Aim = ANYWHERE) -> Card | None:
    """Return the evidence for a law.

    Args:
        evidence: The data.
        position: The position of the law in the laws of the run.
        aim: What to show.

    Returns:
        The card; ``None`` if the graph that a law needs is not available, or the law applies nowhere.
    """
    laws = evidence.material.run.laws
    if laws is None:
        return None
    law = laws[position]
    if evidence.graph is None and not law.names_sensors:
        return None
    known = [one for one in law.by_place if one.rows]
    found_at = known_places(law, evidence.readings, _carriers(evidence))
    if found_at is None or not known or not len(found_at[0]):
        return None
    places, all_factors = found_at
    rows, held = np.array([one.rows for one in known], np.int64), np.array([one.held for one in known], np.int64)
    sizes = dict(zip(places.ids, map(len, places.sensors_of(law.left, law.right)), strict=True))
    found = np.array([one.place in sizes for one in known], bool)
    keeps = found & (held >= law.min_confidence * rows)
    asked = [at for at in np.flatnonzero(found).tolist() if at == aim.spot or known[at].place == aim.node]
    best = best_place(
        np.where(found, rows, 0),
        np.where(found, held, 0),
        keeps=keeps,
        parts=np.array([min(sizes.get(one.place, 0), _MOST_PARTS) for one in known], np.int64),
    )
    chosen = aim.spot if aim.spot in asked else next(iter(asked), best)
    if chosen is None:
        return None
    place = known[chosen].place
    at = np.array([places.ids.index(place)])
    own, factors = places.take(at), None if all_factors is None else all_factors[at]
    times = evidence.times_at(place)
    frames = np.arange(len(times))
    _, applies, holds = (flags[:, 0] for flags in check_rows(law, own, frames, factors))
    every = evidence.readings.every
    series = _series(evidence, law, own, frames, factors)
    is_known = np.logical_and.reduce([~np.isnan(one.series.values[: len(times)]) for one in series])
    period = choose_period(times, every, held=holds, violated=applies & ~holds, known=is_known, around=aim.moment)
    shown = slice(period.start, period.stop)
    nodes = evidence.linked([place, *(node for one in series for node in one.series.nodes)])
    return {
        "key": f"law-{position}",
        "about": "law",
        "id": position,
        "spot": chosen,
        "violations": begins_of(applies & ~holds, times, every),
        "place": place,
        "why": tell_choice(
            rows,
            held,
            chosen=chosen,
            period=period,
            held_shown=int(holds[shown].sum()),
            broken_shown=int((applies & ~holds)[shown].sum()),
        ),
        "traces": [
            as_trace(one.series, one.bands, times=times, start=period.start, stop=period.stop) for one in series
        ],
        "held": join_frames(holds[shown], times, every, first=period.start),
        "violated": join_frames((applies & ~holds)[shown], times, every, first=period.start),
        "history": _history(evidence, law, places, all_factors),
        "places": _shares(law),
        "n_places": law.places,
        "nodes": nodes,
        "edges": evidence.edges_among(nodes),
    }


def _carriers(evidence: Evidence) -> Carriers:
    return no_carriers() if evidence.graph is None else evidence.all_carriers


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A series of a card with its bands."""

    series: FeatureSeries
    bands: tuple[Band, ...] = ()


def _series(evidence: Evidence, law: Law, place: Places, frames: Ints, factors: Floats | None) -> list[_Drawn]:
    """The quantities of a law at a place: its condition, its terms, and how far the sides are apart."""
    out = _condition(evidence, law, place)
    seen: set[Term] = set()
    limit = _limit(law, place, frames)
    for term in law.terms:
        if term in seen or (limit is not None and term.form == "property"):
            continue
        seen.add(term)
        bands = (limit,) if limit is not None and term == law.left[0][1] else ()
        out.append(_Drawn(_term_series(evidence, term, place, frames), bands))
    if law.definition.is_bounded and limit is None:
        out.append(_apart(law, place, frames, factors))
    return out


def _condition(evidence: Evidence, law: Law, place: Places) -> list[_Drawn]:
    """The state on which a law depends."""
    condition = law.condition
    if isinstance(place, SensorPlaces):
        return _named_condition(evidence, law, place)
    if condition is None or condition.form != "state":
        return []
    at_nodes = place.carriers.matched_by(place.pattern).get(condition.name, {})
    for sensor in at_nodes.get(int(place.nodes[0]), ()):
        found = sensor_series(evidence, sensor, kind=condition.name, node=place.ids[0])
        if found is not None and found.states:
            return [_Drawn(found, (_band("if", condition.value, states=[condition.value]),))]
    return []


def _named_condition(evidence: Evidence, law: Law, place: SensorPlaces) -> list[_Drawn]:
    """The sensor on which a law depends that names its sensors."""
    condition, sensor = law.condition, place.guard_at(0)
    found = sensor_series(evidence, sensor, kind=condition.name, node=place.ids[0]) if condition and sensor else None
    if condition is None or found is None:
        return []
    if condition.form == "state":
        return [_Drawn(found, (_band("if", condition.value, states=[condition.value]),))]
    limit = float(condition.value)
    return [_Drawn(found, (_band("if", f"above {_text(limit)}", low=limit),))]


def _limit(law: Law, place: Places, frames: Ints) -> Band | None:
    """The bound of a law about a single quantity, if it is one number: 0 or a property of the place."""
    if (
        law.expression is not None
        or len(law.left) != 1
        or law.left[0][0] != 1
        or any(term.form != "property" for _, term in law.right)
    ):
        return None
    if not law.definition.is_bounded or law.definition.has_factor or law.band.relative:
        return None
    bound = 0.0
    if law.right and len(frames):
        bound = float(place.combined(law.right, frames[:1])[0, 0])
    if not math.isfinite(bound):
        return None
    unit = f" {format_unit(law.unit)}" if law.unit else ""
    return _bounds(law, bound, law.band.absolute, f"{_text(bound)} ± {_text(law.band.absolute)}{unit}")


def _bounds(law: Law, middle: float, allowed: float, text: str) -> Band:
    """What a law allows around a number, on the sides on which it has a bound."""
    unit = f" {format_unit(law.unit)}" if law.unit else ""
    low, high = middle - allowed, middle + allowed
    if not law.definition.high:
        return _band("then", f"never below {_text(low)}{unit}", low=low)
    if not law.definition.low:
        return _band("then", f"never above {_text(high)}{unit}", high=high)
    return _band("then", text, low=low, high=high)


def _band(
    side: str, text: str, *, low: float | None = None, high: float | None = None, states: list[str] | None = None
) -> Band:
    return {"side": "if" if side == "if" else "then", "low": low, "high": high, "states": states or [], "text": text}


def _term_series(evidence: Evidence, term: Term, place: Places, frames: Ints) -> FeatureSeries:
    ids = [id for _, id in sorted(place.sensors_of(((1, term),))[0]) if id in evidence.sensor_of]
    role = spell(term.name) if term.form == "sensor" else format_term(term, place.pattern)
    focus = place.ids[0]
    if role.startswith("its "):
        role = f"the {role.removeprefix('its ')} of {focus}"
    elif role.startswith("the change of its "):
        role = f"{role.replace('of its', 'of the', 1).removesuffix(' per hour')} of {focus} per hour"
    nodes = tuple(dict.fromkeys(evidence.node_of.get(id, "") for id in ids))
    unit = f"{term.unit}/h" if term.change and term.unit else term.unit
    values = place.series(term, frames)[:, 0]
    sensor = ids[0] if len(ids) == 1 else ""
    # Of its own sensor a place shows the reading itself; everything else is named by what it is.
    name = sensor if sensor and not term.role and not term.plus and not term.change else role
    return FeatureSeries(name, sensor, term.name, unit, focus, role, values, (), tuple(filter(None, nodes)))


def _apart(law: Law, place: Places, frames: Ints, factors: Floats | None) -> _Drawn:
    """How far the sides of a law are apart, in its unit or, if the band depends on their size, in parts of the band."""
    rows = Rows(law, place, frames, factors)
    apart = rows.residual[:, 0]
    unit = f" {format_unit(law.unit)}" if law.unit else ""
    allowed = law.band.absolute
    name, of = "the difference between the two sides", law.unit
    if law.band.relative:
        sizes = np.asarray(rows.allowed)[:, 0]
        apart = np.divide(apart, sizes, out=np.full_like(apart, np.nan), where=sizes > 0)
        name, of, allowed = "how far the sides are apart, as a share of what is allowed", "", 1.0
        text = "what the law allows"
    else:
        text = f"± {_text(allowed)}{unit}"
    if allowed > 0:
        # Differences that are far smaller than what is allowed are those of floats.
        apart = np.round(apart, max(3 - math.floor(math.log10(allowed)), 0)) + 0.0
    return _Drawn(FeatureSeries(name, "", "", of, place.ids[0], name, apart), (_bounds(law, 0.0, allowed, text),))


def _text(value: float) -> str:
    return format_number(float(f"{value:.5g}") + 0.0)


def _history(evidence: Evidence, law: Law, places: Places, factors: Floats | None) -> History | None:
    """How often the law applied and held over time; ``None`` if counting again would take too long."""
    size = len(evidence.readings)
    if len(places) * size > MOST_CELLS:
        return None
    sites = len(places.clock.names)
    applied, held = np.zeros((sites, size), np.int64), np.zeros((sites, size), np.int64)
    for frames in places.blocks():
        _, applies, holds = check_rows(law, places, frames, factors)
        for site in range(sites):
            own = places.site_of == site
            applied[site, frames] += applies[:, own].sum(axis=1)
            held[site, frames] += holds[:, own].sum(axis=1)
    parts = []
    for site in range(sites):
        some = np.flatnonzero(places.site_of == site)
        if len(some):
            times = evidence.times_at(places.ids[int(some[0])])
            parts.append((times, applied[site, : len(times)], held[site, : len(times)]))
    return add_up(parts, evidence.readings.every)


def _shares(law: Law) -> list[PlaceShare]:
    """How the law does at its places: exceptions first, the lowest share first, then the largest places."""
    broken = {one.place for one in law.exceptions}
    spot = {one.place: at for at, one in enumerate(one for one in law.by_place if one.rows)}
    rest = sorted((one for one in law.by_place if one.rows and one.place not in broken), key=lambda one: -one.rows)
    out: list[PlaceShare] = []
    for one in [*law.exceptions, *rest][:MOST_PLACES]:
        low = lower_bound(np.array([one.held]), np.array([one.rows]))
        out.append(
            {
                "spot": spot.get(one.place, -1),
                "name": one.place,
                "rows": one.rows,
                "held": one.held,
                "share": round(one.share, 6),
                "low": None if low is None else round(low, 6),
                "exception": one.place in broken,
                "nodes": [one.place],
            }
        )
    return out
