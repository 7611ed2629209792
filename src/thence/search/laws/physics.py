"""The search for forms that engineers know: which sensors may fill their slots, and which of them are reported.

Dimensions are checked before anything is fitted. What drives a plant from outside is never concluded. Each candidate is
tried by ``thence.search.laws.trials``, without and with conditions; those that pass are joined over places of the same
kinds into one law, and counted exactly over all rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.registry import Registry
from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.resolution import find_resolution
from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_number
from thence.search.laws.curves import Curve, choose_curve, fit_curve
from thence.search.laws.settings import LawSettings
from thence.search.laws.site_data import Guard, SiteData
from thence.search.laws.slots import Slot, type_sensors
from thence.search.laws.trials import (
    COVERED,
    FINEST,
    MIN_DAYS,
    Parameters,
    Passed,
    Times,
    Trial,
    Values,
    central,
    explained,
    has_enough,
    known_rows,
    rounded,
    try_formula,
)
from thence.search.laws.written import bind_names, nearest_of, trial_of
from thence.statements.laws.bands import MARGIN, Band, round_up
from thence.statements.laws.counting import count_at
from thence.statements.laws.forms import FORMS
from thence.statements.laws.formula import Formula
from thence.statements.laws.law import Law, PlaceCounts
from thence.statements.laws.places import Clock
from thence.statements.laws.sensor_places import ANYWHERE, SensorPlaces, no_carriers
from thence.statements.laws.terms import Combination, Condition, Term

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_PLAIN = frozenset({"line", "offset", "counter"})  # forms without a condition, if they hold without one
_TIGHTER = 0.6  # of the band without a condition: a condition has to narrow it by this factor
_MIN_EXPLAINED = 0.98  # of the factors of places by their properties
_JOINED = 3.0  # bands of places that differ by more than this factor are different laws
_MOST_PAIRS = 400  # candidates of a form beyond which none is tried: nothing says which sensors belong together


@dataclass(frozen=True, eq=False)
class Candidate:
    """Sensors in the slots of a form.

    Args:
        trial: What is tried.
        left: The sensor on the left side.
        right: The sensors of the slots on the right side, by slot.
        needs_guard: Whether the formula is tried under conditions only.
        judge: Decides in place of ``try_formula``, if the form has its own way.
        minus: A sensor that is subtracted on the left side.
        plus: A property of the nodes of the left side that is added to their readings, such as an elevation.
    """

    trial: Trial
    left: Slot
    right: Mapping[str, Slot]
    needs_guard: bool = False
    judge: Callable[[Trial, Values, Times, Bools, Guard | None], Passed | None] | None = None
    minus: Slot | None = None
    plus: str = ""

    @property
    def subject(self) -> Slot:
        """The sensor whose place is that of the formula: the left one, or what flows between two."""
        return self.left if self.minus is None else next(iter(self.right.values()))

    @property
    def sensors(self) -> tuple[Slot, ...]:
        """All sensors, those of the left side first."""
        return (self.left, *(() if self.minus is None else (self.minus,)), *self.right.values())


@dataclass(frozen=True, eq=False)
class Find:
    """A candidate that passed.

    Args:
        candidate: The candidate.
        passed: Its parameters and band.
        guard: The condition under which it holds; ``None`` for none.
        remark: What else is known of it.
    """

    candidate: Candidate
    passed: Passed
    guard: Guard | None = None
    remark: str = ""


Search = Callable[[SiteData, "list[Find]"], Iterator[Candidate]]


def search_physics(
    readings: WindowedReadings,
    system: System,
    *,
    settings: LawSettings | None = None,
    formulas: Sequence[str] = (),
    progress: Progress = silent,
) -> list[Law]:
    """Find formulas that engineers know: set points, curves, products, mixing, meters, duplicates.

    A graph says which sensors belong together; without one, the beginnings of their names do.

    Args:
        readings: The readings, in windows.
        system: The system that they belong to, or several systems.
        settings: What counts as a law.
        formulas: Formulas to try beside these, such as ``"power = k * flow * (supply - return)"``.
        progress: Receives the progress.

    Raises:
        ConfigError: If a formula is none, or its names are those of no sensors.
    """
    chosen = settings or LawSettings()
    written = [Formula(text) for text in formulas]
    carriers = _carriers(readings, system)
    clock = Clock.of(readings, chosen.fit_share)
    found: list[Find] = []
    for site in _sites(readings, carriers, clock):
        own: list[Find] = []
        names = list(SEARCHES)
        for number, name in enumerate(names):
            progress("searching formulas", number, len(names))
            for candidate in SEARCHES.load(name)(site, own):
                one = _try(candidate, site)
                if one is not None:
                    own.append(one)
        for formula in written:
            own += [one for each in _written(formula, site) if (one := _try(each, site)) is not None]
        found += own
    progress("searching formulas", 1, 1)
    laws = [
        law for group in _joined(_distinct(found)) if (law := _counted(group, readings, carriers, clock)) is not None
    ]
    return sorted(laws, key=lambda law: (law.definition.order, law.form, -law.places, -law.rows))[: chosen.max_laws]


def bind_law(law: Law, readings: WindowedReadings, system: System) -> Law:
    """Return a law that names its sensors with those of another system that have the same names and are together.

    Its parameters are the medians of those of its places. A law whose sensors are not found has no places.

    Args:
        law: The law.
        readings: The readings of the other system, in windows.
        system: The other system.
    """
    slots = type_sensors(readings.sensors, _carriers(readings, system), tuple(readings.by_site))
    names = [term.name for term in law.terms]
    if law.condition is not None:
        names.append(law.condition.name)
    parameters = tuple(float(np.median(law.values(name))) for name in law.parameters)
    places: dict[str, PlaceCounts] = {}
    for left in (slot for slot in slots if slot.name == names[0] and slot.unit == law.terms[0].unit):
        found = [left, *(nearest_of(left, [slot for slot in slots if slot.name == name]) for name in names[1:])]
        sensors = tuple(slot.id for slot in found if slot is not None)
        if len(sensors) == len(names) == len(set(sensors)):
            place = left.place if left.place and left.place not in places else left.id
            places[place] = PlaceCounts(place, 0, 0, 0, 0, 0, None, parameters, sensors)
    return replace(law, by_place=tuple(places.values()), later_bound=None)


def _written(formula: Formula, site: SiteData) -> Iterator[Candidate]:
    """Yield the sensors that a formula of the user may be about."""
    for binding in bind_names(formula, site.numeric):
        right = {name: binding[name] for name in formula.names if name in binding}
        yield Candidate(trial_of(formula, binding), binding[formula.left], right)


def _carriers(readings: WindowedReadings, system: System) -> Carriers:
    if system.graph is None or system.binding is None:
        return no_carriers()
    index = GraphIndex(system.graph, system.ontology)
    return Carriers.of(index, {sensor.id: sensor.kind for sensor in readings.sensors}, dict(system.binding))


def _sites(readings: WindowedReadings, carriers: Carriers, clock: Clock) -> Iterator[SiteData]:
    slots = type_sensors(readings.sensors, carriers, clock.names)
    for at, (name, times) in enumerate(readings.by_site.items()):
        own = tuple(slot for slot in slots if slot.site == name)
        yield SiteData(readings, own, Times(times, int(clock.begins_later[at])), carriers)


def _try(candidate: Candidate, site: SiteData) -> Find | None:
    """The best way in which a candidate passes: without a condition, unless one narrows its band by far."""
    trial = candidate.trial
    values = {"left": _left_side(candidate, site)}
    if trial.formula.is_change:
        values["left"] = _change(values["left"], site.times.times)
    values |= {role: site.values(slot) for role, slot in candidate.right.items()}
    if trial.formula.is_change:
        values |= {role: _averaged(values[role]) for role in candidate.right}
    everywhere = np.ones(len(site.times.times), bool)

    def run(guard: Guard | None) -> Passed | None:
        met = everywhere if guard is None else guard.met
        if candidate.judge is not None:
            return candidate.judge(trial, values, site.times, met, guard)
        return try_formula(trial, values, site.times, met)

    best: Find | None = None
    if not candidate.needs_guard:
        passed = run(None)
        best = None if passed is None else Find(candidate, passed, None)
    if trial.is_physical or (best is not None and (best.passed.is_computed or trial.form in _PLAIN)):
        return best
    for guard in site.guards_for(candidate.sensors, own_only=candidate.needs_guard):
        passed = run(guard)
        if passed is None:
            continue
        if best is None or passed.band < best.passed.band * (_TIGHTER if best.guard is None else 0.9):
            best = Find(candidate, passed, guard)
    return best


def _left_side(candidate: Candidate, site: SiteData) -> Floats:
    if candidate.minus is None:
        return site.values(candidate.left)
    height = site.property_of(candidate.left, candidate.plus) - site.property_of(candidate.minus, candidate.plus)
    return np.asarray(site.values(candidate.left) - site.values(candidate.minus) + height)


def _change(values: Floats, times: npt.NDArray[np.datetime64]) -> Floats:
    """The change until the next row, per hour; unknown where a meter starts again."""
    out = np.full(len(values), np.nan)
    if len(values) < 2:
        return out
    steps = np.diff(times.astype("datetime64[us]")).astype(np.float64) / 3.6e9
    regular = np.isclose(steps, np.median(steps))
    change = np.diff(values) / steps
    out[:-1] = np.where(regular & (change >= 0), change, np.nan)
    return out


def _averaged(values: Floats) -> Floats:
    """The mean of each row and the next, in which a meter counts what a rate gives."""
    ahead = np.append(values[1:], np.nan)
    return np.asarray((values + ahead) / 2)


# --- forms ---------------------------------------------------------------------------------------------------------


def _formula(form: str) -> Formula:
    return Formula(FORMS.load(form).formula)


def _robust_factor(left: Floats, right: Floats) -> float | None:
    """The factor of a proportion: a ratio of sums, which independent noise does not bias, without what is far off."""
    known = np.isfinite(left) & np.isfinite(right)
    left, right = left[known], right[known]
    square = float((right * right).sum())  # a sum: short products of vectors do not gain from threads
    if square <= 0:
        return None
    factor = float((left * right).sum()) / square
    for _ in range(2):
        apart = np.abs(left - factor * right)
        near = apart <= max(5 * float(np.median(apart)), float(np.quantile(apart, 0.9)))
        weight = np.sign(right[near])
        total = float(np.abs(right[near]).sum())
        if total <= 0:
            return None
        factor = float((left[near] * weight).sum()) / total
    return factor


def _linear_residuals(left: Floats, *columns: Floats) -> Floats:
    """What is left of values after a constant and a factor for each column."""
    design = np.column_stack([np.ones(len(left)), *columns])
    solved, *_ = np.linalg.lstsq(design, left, rcond=None)
    return np.asarray(left - design @ solved)


def _fit_product(values: Values) -> Parameters | None:
    factor = _robust_factor(values["left"], values["flow"] * (values["first"] - values["second"]))
    return None if factor is None or factor <= 0 else (factor,)


def _product_rivals(values: Values) -> list[Floats]:
    left = values["left"]
    return [_linear_residuals(left, values["flow"]), _linear_residuals(left, values["first"] - values["second"])]


PRODUCT = Trial(
    form="product", formula=_formula("product"), fit=_fit_product, shifted="flow", rivals=_product_rivals, min_r2=0.9
)


def _fit_ratio(values: Values) -> Parameters | None:
    factor = _robust_factor(values["left"], values["other"])
    return None if factor is None or factor <= 0 else (factor,)


def _ratio_rivals(values: Values) -> list[Floats]:
    """A constant; and a constant added to the factor must not be far better, or it is no proportion."""
    left = values["left"]
    return [left - left.mean()]


RATIO = Trial(
    form="ratio", formula=_formula("ratio"), fit=_fit_ratio, shifted="other", rivals=_ratio_rivals, max_band=0.15
)


def _fit_mixing(values: Values) -> Parameters | None:
    apart = values["first"] - values["second"]
    target = values["left"] - values["second"]
    design = np.column_stack([apart, apart * values["damper"]])
    solved, *_ = np.linalg.lstsq(design, target, rcond=None)
    residual = np.abs(target - design @ solved)
    near = residual <= max(5 * float(np.median(residual)), float(np.quantile(residual, 0.9)))
    solved, *_ = np.linalg.lstsq(design[near], target[near], rcond=None)
    base, share = float(solved[0]), float(solved[1])
    low, high = np.quantile(values["damper"], [0.05, 0.95])
    ends = base + share * low, base + share * high
    if share <= 0 or min(ends) < -0.15 or max(ends) > 1.15:
        return None  # a share outside 0 to 1 mixes nothing
    if abs(base) < 0.02:  # nothing where the damper is closed
        product = apart[near] * values["damper"][near]
        base, share = 0.0, float(product @ target[near]) / float(product @ product)
    return base, share


def _mixing_rivals(values: Values) -> list[Floats]:
    left, first, second = values["left"], values["first"], values["second"]
    return [_linear_residuals(left, first), _linear_residuals(left, second), left - first, left - second,
            _linear_residuals(left - second, first - second)]  # fmt: skip


MIXING = Trial(
    form="mixing", formula=_formula("mixing"), fit=_fit_mixing, shifted="damper", rivals=_mixing_rivals, min_r2=0.8
)


def _fit_offset(values: Values) -> Parameters | None:
    apart = values["left"] - values["other"]
    offset = float(np.median(apart))
    typical = float(np.median(np.abs(apart - offset)))
    return (0.0,) if abs(offset) <= max(0.2 * typical, 1e-9) else (offset,)


OFFSET = Trial(
    form="offset",
    formula=_formula("offset"),
    fit=_fit_offset,
    shifted="other",
    rivals=lambda values: [values["left"] - values["left"].mean()],
    min_r2=0.95,
    max_band=0.15,
    min_near=0.99,
)

FOLLOWS = Trial(
    form="follows",
    formula=_formula("follows"),
    fit=lambda values: (),
    shifted="setpoint",
    rivals=lambda values: [values["left"] - np.median(values["left"])],
    min_r2=-np.inf,
    max_band=0.3,
)


def _fit_counter(values: Values) -> Parameters | None:
    factor = _robust_factor(values["left"], values["rate"])
    return None if factor is None or factor <= 0 else (factor,)


COUNTER = Trial(
    form="counter",
    formula=_formula("counter"),
    fit=_fit_counter,
    shifted="rate",
    rivals=lambda values: [values["left"] - values["left"].mean()],
    min_r2=0.8,
    max_band=0.3,
)


def search_duplicates(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield pairs of sensors of one quantity at one place, which may be one truth.

    Args:
        site: The site.
        found: What was found before.
    """
    slots = [slot for slot in site.numeric if not slot.is_driver and not slot.is_setpoint]
    pairs = [(a, b) for a, b in combinations(slots, 2) if a.is_alike(b) and a.is_with(b) and (a.quantity or a.unit)]
    pairs += [(a, b) for a, b in combinations(slots, 2) if not a.is_alike(b) and _named_copy(a, b)]
    for first, second in pairs if len(pairs) <= _MOST_PAIRS else ():
        if _alike_values(site, first, second):
            copy, original = (second, first) if len(second.id) >= len(first.id) else (first, second)
            yield Candidate(OFFSET, copy, {"other": original})


def _named_copy(first: Slot, second: Slot) -> bool:
    short, long = sorted((first.id, second.id), key=len)
    return long.startswith(short) and first.site == second.site


def _alike_values(site: SiteData, first: Slot, second: Slot) -> bool:
    one, two = site.values(first), site.values(second)
    known = ~np.isnan(one) & ~np.isnan(two)
    if known.sum() < 50:
        return False
    step = max(int(known.sum()) // _LOOKED_AT, 1)
    one, two = one[known][::step], two[known][::step]
    one, two = one - one.mean(), two - two.mean()
    return float((one * two).sum()) > 0.9 * float(np.sqrt((one * one).sum() * (two * two).sum())) > 0


def _copies(found: Iterable[Find]) -> frozenset[str]:
    """The sensors that only repeat another one."""
    return frozenset(
        one.candidate.left.id
        for one in found
        if one.candidate.trial.form == "offset" and one.passed.parameters == (0.0,)
    )


def search_setpoints(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield readings with their set points.

    Args:
        site: The site.
        found: What was found before.
    """
    copies = _copies(found)
    numeric = [slot for slot in site.numeric if slot.id not in copies]
    for setpoint in (slot for slot in numeric if slot.is_setpoint):
        own = [
            slot
            for slot in numeric
            if not slot.is_setpoint and not slot.is_driver and slot.unit == setpoint.unit and slot.is_with(setpoint)
            and (slot.quantity == setpoint.quantity != "" or (not setpoint.quantity and slot.roles & setpoint.roles))
        ]  # fmt: skip
        best = max((_shared(slot, setpoint) for slot in own), default=0)
        for slot in own:
            if _shared(slot, setpoint) == best and (best > 0 or len(own) <= 2):
                yield Candidate(FOLLOWS, slot, {"setpoint": setpoint})


def _shared(one: Slot, other: Slot) -> int:
    """How many words of what distinguishes them two sensors have in common, less those in which they differ."""
    return 2 * len(one.roles & other.roles) - len(one.roles ^ other.roles) + 2 * len(one.words & other.words)


def search_products(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield a power, a flow and two temperatures.

    Args:
        site: The site.
        found: What was found before.
    """
    slots = [
        slot for slot in site.numeric if not slot.is_driver and not slot.is_setpoint and slot.id not in _copies(found)
    ]
    powers = [slot for slot in slots if slot.quantity == "power"]
    flows = [slot for slot in slots if slot.quantity == "flow"]
    heats = [slot for slot in slots if slot.quantity == "temperature"]
    made = [
        Candidate(PRODUCT, power, {"flow": flow, "first": first, "second": second})
        for power in powers
        for flow in flows
        if flow.is_near(power)
        for first, second in _opposite(heats, flow)
        if first.unit == second.unit and _right_way(site, power, flow, first, second)
    ]
    yield from made if len(made) <= _MOST_PAIRS else ()


def _opposite(heats: Sequence[Slot], flow: Slot) -> Iterator[tuple[Slot, Slot]]:
    """Pairs of temperatures around a flow: of a supply and a return of one medium, or any two if these have no role."""
    near = [slot for slot in heats if slot.is_with(flow)] or [slot for slot in heats if slot.is_near(flow)]
    for first, second in permutations(near, 2):
        one, two = first.roles & {"supply", "return"}, second.roles & {"supply", "return"}
        opposite = one and two and one != two and first.roles - one == second.roles - two
        if opposite or (not one and not two and len(near) <= 3):
            yield first, second


def _right_way(site: SiteData, power: Slot, flow: Slot, first: Slot, second: Slot) -> bool:
    product = site.values(flow) * (site.values(first) - site.values(second)) * site.values(power)
    return bool(np.nansum(product) > 0)


def search_mixing(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield a mixed temperature, the two that are mixed, and a damper.

    Args:
        site: The site.
        found: What was found before.
    """
    heats = [slot for slot in site.numeric if slot.quantity == "temperature" and not slot.is_setpoint]
    dampers = [slot for slot in site.numeric if slot.quantity == "position"]
    for mixed in (slot for slot in heats if "mixed" in slot.roles):
        first = [slot for slot in heats if "outdoor" in slot.roles and slot.unit == mixed.unit]
        second = [slot for slot in heats if "return" in slot.roles and slot.unit == mixed.unit and slot.is_near(mixed)]
        for damper in dampers:
            if not damper.is_near(mixed) or "damper" not in damper.words | {w for w in damper.words if w == "mix"}:
                continue
            if damper.roles & {"return", "exhaust", "supply", "zone"}:
                continue
            for one in first:
                for two in second:
                    yield Candidate(MIXING, mixed, {"first": one, "second": two, "damper": damper})


def search_ratios(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield pairs of flows, powers and positions at one place, of which one may be proportional to the other.

    Args:
        site: The site.
        found: What was found before.
    """
    order = {"flow": 0, "power": 1, "position": 2, "speed": 3}
    copies = _copies(found)
    slots = [slot for slot in site.numeric if slot.quantity in order and not slot.is_setpoint and slot.id not in copies]
    pairs = [(a, b) for a, b in combinations(slots, 2) if a.is_with(b) and (a.quantity, a.unit) != (b.quantity, b.unit)]
    for pair in pairs if len(pairs) <= _MOST_PAIRS else ():
        left, other = sorted(pair, key=lambda slot: (order[slot.quantity], slot.id))
        if not (left.quantity == other.quantity and left.unit == other.unit):
            yield Candidate(RATIO, left, {"other": other})


def search_counters(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield meters, and rates of what they count.

    Args:
        site: The site.
        found: What was found before.
    """
    meters = [slot for slot in site.numeric if _only_grows(site.values(slot))]
    rates = [slot for slot in site.numeric if slot.quantity in ("power", "flow") and slot not in meters]
    if len(meters) * len(rates) > _MOST_PAIRS:
        return
    counted = {"energy": "power", "volume": "flow"}
    for meter in meters:
        for rate in rates:
            if counted.get(meter.quantity, rate.quantity) == rate.quantity and meter.is_near(rate):
                yield Candidate(COUNTER, meter, {"rate": rate})


def _only_grows(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    if len(known) < 100:
        return False
    steps = np.diff(known)
    return bool((steps > 0).mean() > 0.2 and (steps < 0).mean() < 0.002 and np.ptp(known) > 0)


def search_orders(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield the supply and the return of one medium, of which one may be above the other while something runs.

    Args:
        site: The site.
        found: What was found before.
    """
    heats = [slot for slot in site.numeric if slot.quantity == "temperature" and not slot.is_setpoint]
    for first, second in permutations(heats, 2):
        one, two = first.roles & {"supply", "return"}, second.roles & {"supply", "return"}
        if not one or not two or one == two or first.unit != second.unit or not first.is_with(second):
            continue
        if first.roles - one == second.roles - two and "air" not in first.words | second.words:
            trial = Trial(form="above", formula=_formula("above"), fit=_fit_margin, shifted="second", min_later=0.95)
            yield Candidate(trial, first, {"second": second}, judge=_judge_order)


def _fit_margin(values: Values) -> Parameters | None:
    gap = values["left"] - values["second"]
    median = float(np.median(gap))
    if median <= 0:
        return None
    margin = min(float(np.quantile(gap, 0.02)), median / 2)
    return (max(float(np.floor(margin * 10) / 10), 0.0),)


def _judge_order(trial: Trial, values: Values, times: Times, met: Bools, guard: Guard | None) -> Passed | None:
    """Accept an order that is broken far more often at another time, or while nothing runs."""
    known = known_rows(values)
    early, late = known & met & ~times.is_later, known & met & times.is_later
    if not has_enough(early, late, times):
        return None
    fitted = _fit_margin({name: one[early] for name, one in values.items()})
    for margin in () if fitted is None else dict.fromkeys((fitted[0], round(fitted[0] / 2, 1), 0.0)):
        passed = _order_above(trial, values, times, (early, late, known & ~met), guard, margin)
        if passed is not None:
            return passed
    return None


def _order_above(
    trial: Trial, values: Values, times: Times, rows: tuple[Bools, Bools, Bools], guard: Guard | None, margin: float
) -> Passed | None:
    early, late, off = rows
    gap = values["left"] - values["second"] - margin
    own, share = float((gap[early] < 0).mean()), float((gap[late] >= 0).mean())
    if own > 0.05 or share < trial.min_later:
        return None
    if guard is not None:
        off = off & guard.known
    idle = len(np.unique(times.days[off])) >= MIN_DAYS and float((gap[off] < 0).mean()) >= max(5 * own, 0.2)
    if not idle and not _breaks_when_shifted(values, times, early, margin, own):
        return None
    return Passed((margin,), 0.0, float("nan"), share, False, int((early | late).sum()))


def _breaks_when_shifted(values: Values, times: Times, rows: Bools, margin: float, own: float) -> bool:
    worst = []
    for at in times.shifts:
        other = np.where(at >= 0, values["second"][at], np.nan)
        used = rows & ~np.isnan(other)
        if used.any():
            worst.append(float((values["left"][used] - other[used] < margin).mean()))
    return bool(worst) and min(worst) >= max(5 * own, 0.03)


def search_held(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield readings that may be held at a number while something runs.

    Args:
        site: The site.
        found: What was found before.
    """
    known = {one.candidate.left.id for one in found if one.candidate.trial.form in ("follows", "offset")}
    trial = Trial(
        form="held", formula=_formula("held"), fit=lambda values: (float(np.median(values["left"])),),
        shifted="", max_band=0.1, min_later=0.8,
    )  # fmt: skip
    for slot in site.numeric:
        regulated = slot.quantity in ("temperature", "pressure", "level") and not slot.is_driver
        if regulated and not slot.is_setpoint and slot.id not in known:
            yield Candidate(trial, slot, {}, needs_guard=True, judge=_judge_held)


def _judge_held(trial: Trial, values: Values, times: Times, met: Bools, guard: Guard | None) -> Passed | None:
    """Accept a number that a reading keeps while something runs, and leaves while nothing does."""
    assert guard is not None
    left = values["left"]
    known = ~np.isnan(left)
    early, late = known & met & ~times.is_later, known & met & times.is_later
    off = known & ~met & guard.known
    if not has_enough(early, late, times) or len(np.unique(times.days[off])) < MIN_DAYS:
        return None
    (level,) = rounded((float(np.median(left[early])),))
    apart = np.abs(left - level)
    band = round_up(max(MARGIN * float(np.quantile(apart[early], COVERED)), find_resolution(left[early][:20_000])))
    share = float((apart[late] <= band).mean())
    own = max(1 - float((apart[early] <= band).mean()), 0.02)
    leaves = float((apart[off] > band).mean())
    if (
        band <= 0
        or band > trial.max_band * central(left[known])
        or share < trial.min_later
        or leaves < max(5 * own, 0.5)
    ):
        return None
    return Passed((level,), band, float("nan"), share, False, int((early | late).sum()))


def search_curves(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield set points and temperatures of water as curves of what is outdoors.

    Args:
        site: The site.
        found: What was found before.
    """
    copies = _copies(found)
    drivers = [slot for slot in site.numeric if slot.is_driver and slot.quantity == "temperature"]
    if len(drivers) > 3:
        return
    tracked = {one.candidate.left.id for one in found if one.candidate.trial.form == "follows"}
    curves = [
        slot
        for slot in site.numeric
        if (slot.quantity == "temperature" or (slot.is_setpoint and not slot.quantity)) and not slot.is_driver
        and slot.id not in copies | tracked and (slot.is_setpoint or ("water" in slot.words and "supply" in slot.roles))
    ]  # fmt: skip
    trial = Trial(form="line", formula=_formula("line"), fit=lambda values: None, shifted="driver")
    for slot in curves:
        for driver in drivers:
            yield Candidate(trial, slot, {"driver": driver}, judge=_judge_curve)


ENDS = ("first", "second")
"""The names of the two ends of what a flow passes."""
_EXPONENTS = (1.0, 2.5)  # between laminar flow and full turbulence
_LOOKED_AT = 5_000  # rows that show how two sensors are related
_NEEDED_PIPES = 3


def search_head_losses(site: SiteData, found: list[Find]) -> Iterator[Candidate]:
    """Yield pipes with the heads at their two ends, which a power of the flow may set apart.

    All pipes of a site have one exponent. What its factor depends on is said by ``_remark``.

    Args:
        site: The site.
        found: What was found before.
    """
    heads = {slot.node: slot for slot in site.numeric if slot.quantity == "head" and slot.node}
    plus = ""
    if not heads:
        heads = {slot.node: slot for slot in site.numeric if slot.quantity == "pressure" and slot.unit == "m"}
        plus = next((name for name in ("elevation", "Elevation") if site.knows_property(name, heads.values())), "")
        if not plus:
            return
    pipes = []
    for flow in (slot for slot in site.numeric if slot.quantity == "flow" and slot.place == slot.node != ""):
        ends = sorted(node for node in flow.near - {flow.place} if node in heads)
        if len(ends) == 2 and len(flow.near) == 3:
            first, second = (heads[node] for node in site.in_flow_order(flow.node, ends))
            pipes.append(Candidate(_head_loss(0.0), first, {"flow": flow}, minus=second, plus=plus))
    slopes = [slope for pipe in pipes if (slope := _own_exponent(pipe, site)) is not None]
    if len(slopes) < _NEEDED_PIPES:
        return
    weights = np.array([weight for _, weight in slopes])
    exponent = float(f"{(weights * np.array([slope for slope, _ in slopes])).sum() / weights.sum():.4g}")
    if _EXPONENTS[0] < exponent < _EXPONENTS[1]:
        yield from (replace(pipe, trial=_head_loss(exponent)) for pipe in pipes)


def _head_loss(exponent: float) -> Trial:
    def fit(values: Values) -> Parameters | None:
        flow = values["flow"]
        factor = _robust_factor(values["left"], np.sign(flow) * np.abs(flow) ** exponent)
        return None if factor is None or factor <= 0 else (factor, exponent)

    return Trial(
        form="head_loss", formula=_formula("head_loss"), fit=fit, shifted="flow", min_r2=0.98, is_physical=True
    )


def _own_exponent(pipe: Candidate, site: SiteData) -> tuple[float, float] | None:
    """The slope of the logarithm of the head loss over that of the flow in one pipe, and its weight."""
    drop, flow = _left_side(pipe, site), site.values(pipe.right["flow"])
    used = (drop * flow > 0) & ~site.times.is_later
    if used.sum() < 50:
        return None
    step = max(int(used.sum()) // _LOOKED_AT, 1)
    drop, flow = np.abs(drop[used][::step]), np.abs(flow[used][::step])
    clear = (drop > 0.1 * np.quantile(drop, 0.9)) & (flow > 0.1 * np.quantile(flow, 0.9))
    x, y = np.log(flow[clear]), np.log(drop[clear])
    if len(x) < 50 or x.std() < 0.02:
        return None
    x, y = x - x.mean(), y - y.mean()
    weight = float((x * x).sum())
    slope = float((x * y).sum()) / weight
    return (slope, weight) if explained(y, y - slope * x) >= 0.5 else None


_MIN_ALTERNATE, _MIN_LATER_R2, _MIN_IN_BAND, _MIN_GAIN, _MIN_WEEKS = 0.4, 0.2, 0.75, 0.15, 0.75
_WIDEST = 0.35  # of the spread: a curve with a wider band says little
_CLEARLY = 0.02  # by which a curve of all seasons has to hold more often than that of the first part


@dataclass(frozen=True)
class _Curved(Passed):
    """A curve that passed, the range of its driver, and every how many days it was fitted; 0 for the first part."""

    form: str = "line"
    seen: tuple[float, float] = (0.0, 0.0)
    curve: Curve = field(default_factory=lambda: Curve("constant", 0.0))
    every: int = 0


def _judge_curve(trial: Trial, values: Values, times: Times, met: Bools, guard: Guard | None) -> Passed | None:
    """Accept a curve that holds on blocks of time that it was not fitted on, in most weeks, and not when shifted.

    Seasons differ, so that the first part of a year may not show a knee. Then it is fitted on every other block.
    """
    known = known_rows(values) & met
    early, late = known & ~times.is_later, known & times.is_later
    if not has_enough(early, late, times):
        return None
    left, driver = values["left"], values["driver"]
    days = max(1, min(28, times.span_days // 8))
    even = times.blocks(days) % 2 == 0
    weeks = times.blocks(max(1, min(7, times.span_days // 8)))
    best: _Curved | None = None
    for fitted_on, rest, every in ((early, late, 0), (known & even, known & ~even, days)):
        some = np.flatnonzero(fitted_on)[:: max(int(fitted_on.sum()) // _LOOKED_AT, 1)]
        chosen = choose_curve(driver[some], left[some], weeks[some]) if rest.any() else None
        if chosen is None or chosen.form == "constant":
            continue
        made = _curved(chosen, left, driver, fitted_on, rest, every)
        if made is not None and (best is None or made.later_share > best.later_share + _CLEARLY):
            best = made
    if best is None:
        return None
    first = fit_curve(driver[early], left[early], best.form)
    own = _alternate(driver, left, known, even, best.form)
    if first is None or own is None or own < _MIN_ALTERNATE:
        return None
    flat = np.ptp(left[late]) <= 2 * best.band
    if not flat and not explained(left[late], left[late] - first.predict(driver[late])) >= _MIN_LATER_R2:
        return None
    apart, middle = np.abs(left - best.curve.predict(driver)), float(np.median(left[known]))
    better = [
        apart[one].mean() < np.abs(left[one] - middle).mean()
        for week in np.unique(weeks[known])
        if (one := known & (weeks == week)).any()
    ]
    if np.mean(better) < _MIN_WEEKS or _best_shift(values, times, known, even, best.form) > own - _MIN_GAIN:
        return None
    return best


def _curved(chosen: Curve, left: Floats, driver: Floats, fitted_on: Bools, rest: Bools, every: int) -> _Curved | None:
    """A curve with its band, if that has enough of the rows on which it was not fitted."""
    curve = _rounded_curve(chosen)
    apart = np.abs(left - curve.predict(driver))
    band = MARGIN * float(np.quantile(apart[fitted_on], COVERED))
    band = round_up(max(band, find_resolution(left[fitted_on][:20_000]), FINEST * central(left[fitted_on])))
    share = float((apart[rest] <= band).mean())
    if share < _MIN_IN_BAND or band > _WIDEST * central(left[fitted_on | rest]):
        return None
    seen = float(driver[fitted_on].min()), float(driver[fitted_on].max())
    rows = int((fitted_on | rest).sum())
    return _Curved(curve.parameters, band, float("nan"), share, False, rows, curve.form, seen, curve, every)


def _rounded_curve(curve: Curve) -> Curve:
    """The curve with the digits that its sentence has: its levels are rounded, and its knees follow."""
    base, slope = rounded((curve.base, curve.slope))
    if curve.form == "hinge":
        below = np.isfinite(curve.high)
        at = curve.high if below else curve.low
        knee, level = rounded((at, curve.base + curve.slope * at))
        low, high = (-np.inf, knee) if below else (knee, np.inf)
        return replace(curve, base=level - slope * knee, slope=slope, low=low, high=high)
    if curve.form == "clipped":
        levels = rounded((curve.base + curve.slope * curve.low, curve.base + curve.slope * curve.high))
        low, high = ((level - base) / slope for level in levels)
        return replace(curve, base=base, slope=slope, low=low, high=high)
    return replace(curve, base=base, slope=slope)


def _alternate(driver: Floats, left: Floats, known: Bools, first: Bools, form: str) -> float | None:
    """Share of the variance that a curve explains in the blocks that it was not fitted on."""
    parts = []
    for half in (first, ~first):
        fitted_on, rest = known & half, known & ~half
        curve = fit_curve(driver[fitted_on], left[fitted_on], form) if fitted_on.sum() >= 50 else None
        if curve is None or not rest.any():
            return None
        parts.append((left[rest], left[rest] - curve.predict(driver[rest])))
    values, residuals = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    return explained(values, residuals)


def _best_shift(values: Values, times: Times, known: Bools, first: Bools, form: str) -> float:
    best = -np.inf
    for at in times.shifts:
        driver = np.where(at >= 0, values["driver"][at], np.nan)
        used = known & ~np.isnan(driver)
        share = _alternate(driver, values["left"], used, first, form) if used.sum() >= 100 else None
        if share is not None:
            best = max(best, share)
    return best if np.isfinite(best) else 1.0


_NAMES = (
    *("duplicates", "setpoints", "products", "mixing", "ratios", "counters", "orders", "held", "curves"),
    "head_losses",
)
SEARCHES: Registry[Any] = Registry(
    "search for formulas",
    {name: f"thence.search.laws.physics:search_{name}" for name in _NAMES},
    group="thence.formula_searches",
    of=object,
)
"""Functions from the data of a site, and what was found before, to candidates; called in this order."""


# --- joining and counting ------------------------------------------------------------------------------------------


def _distinct(found: list[Find]) -> list[Find]:
    """Leave out what another find says of the same sensors with a tighter band, or in the same terms."""
    best: dict[tuple[str, str], Find] = {}
    for one in _without_chains(found):
        key = one.candidate.subject.id, _family(one)
        other = best.get(key)
        if other is None or one.passed.band < other.passed.band:
            best[key] = one
    return list(best.values())


def _without_chains(found: list[Find]) -> list[Find]:
    """Leave out duplicates of which both are already duplicates of a third, the tightest first."""
    group: dict[str, str] = {}
    out = [one for one in found if one.candidate.trial.form != "offset"]
    for one in sorted((one for one in found if one.candidate.trial.form == "offset"), key=lambda one: one.passed.band):
        left, other = (group.setdefault(slot.id, slot.id) for slot in one.candidate.sensors)
        if left != other:
            out.append(one)
            group = {id: other if own == left else own for id, own in group.items()}
    return out


def _family(one: Find) -> str:
    """Forms of which a reading has one: by its set point, by its product, by its duplicate."""
    form = one.candidate.trial.form
    if form == "formula":
        return one.candidate.trial.formula.text
    return f"{form} {one.candidate.right['other'].id}" if form == "offset" else form


def _joined(found: Iterable[Find]) -> list[list[Find]]:
    """Finds that say the same of sensors of the same names at several places."""
    groups: defaultdict[tuple[object, ...], list[Find]] = defaultdict(list)
    for one in found:
        groups[one.candidate.trial.formula.text, _form(one), _sides(one), _condition(one)].append(one)
    out: list[list[Find]] = []
    for group in groups.values():
        rest = sorted(group, key=lambda one: one.passed.band)
        while rest and rest[0].candidate.trial.is_physical:  # one law of all pipes, large and small
            out.append(sorted(rest, key=lambda one: one.candidate.subject.id))
            rest = []
        while rest:
            most = rest[0].passed.band * _JOINED
            own = {one.candidate.subject.id: one for one in reversed(rest) if one.passed.band <= most}
            out.append(sorted(own.values(), key=lambda one: one.candidate.subject.id))
            rest = [one for one in rest if own.get(one.candidate.subject.id) is not one]
    return out


def _condition(one: Find) -> Condition | None:
    """The condition of a find, with the place of its sensor if that is another one."""
    if one.guard is None:
        return None
    own = {slot.place for slot in one.candidate.sensors}
    return one.guard.condition if one.guard.slot.place in own else replace(one.guard.condition, at=one.guard.slot.place)


def _form(one: Find) -> str:
    return one.passed.form if isinstance(one.passed, _Curved) else one.candidate.trial.form


def _sides(one: Find) -> tuple[Combination, Combination]:
    trial = one.candidate.trial
    slot, minus, plus = one.candidate.left, one.candidate.minus, one.candidate.plus
    left: Combination = ((1, Term("sensor", slot.name, trial.formula.left, slot.unit, "", trial.formula.is_change)),)
    if minus is not None:
        first = Term("sensor", slot.name, ENDS[0], slot.unit, plus)
        left = ((1, first), (-1, Term("sensor", minus.name, ENDS[1], minus.unit, plus)))
    right = tuple((1, Term("sensor", slot.name, role, slot.unit)) for role, slot in one.candidate.right.items())
    return left, right


def _counted(group: list[Find], readings: WindowedReadings, carriers: Carriers, clock: Clock) -> Law | None:
    first = group[0]
    left, right = _sides(first)
    names = _place_names(group)
    band = max(one.passed.band for one in group)
    remark = _remark(group, carriers)
    law = Law(
        _form(first),
        str(ANYWHERE),
        left,
        right,
        Band(band),
        condition=_condition(first),
        min_confidence=0.9 if first.candidate.trial.form == "above" else 0.75,
        by_place=tuple(
            PlaceCounts(name, 0, 0, 0, 0, 0, None, one.passed.parameters, _sensor_ids(one))
            for name, one in zip(names, group, strict=True)
        ),
        remark=remark,
        formula=first.candidate.trial.formula.text if _form(first) == "formula" else "",
    )
    counted = count_at(law, SensorPlaces.of_law(law, readings, carriers, clock), keepers=True)
    if counted.later_bound is None or counted.later_bound < law.min_confidence:
        return None
    return counted


def _sensor_ids(one: Find) -> tuple[str, ...]:
    ids = tuple(slot.id for slot in one.candidate.sensors)
    return ids if one.guard is None else (*ids, one.guard.slot.id)


def _place_names(group: Sequence[Find]) -> list[str]:
    """The place of each find, or the sensor that it concludes where a place has several or no name."""
    places = [one.candidate.subject.place for one in group]
    return [
        place if place and places.count(place) == 1 else one.candidate.subject.id
        for place, one in zip(places, group, strict=True)
    ]


def _remark(group: Sequence[Find], carriers: Carriers) -> str:
    parts = []
    if group[0].candidate.trial.form == "head_loss":
        parts += [text for text in [_explain_factors(group, carriers)] if text]
    if all(one.passed.is_computed and one.candidate.trial.form in ("product", "ratio", "mixing") for one in group):
        parts.append("computed, not measured")
    seen = [one.passed.seen for one in group if isinstance(one.passed, _Curved)]
    if seen:
        driver = group[0].candidate.right["driver"]
        low, high = min(low for low, _ in seen), max(high for _, high in seen)
        ends = (format_number(float(f"{end:.4g}")) for end in (low, high))
        parts.append(f"{driver.name.replace('_', ' ')} was {' to '.join(ends)} where it was fitted")
        days = max(one.passed.every for one in group if isinstance(one.passed, _Curved))
        parts += [f"fitted on every other {days} days, since seasons differ"] if days else []
    return "; ".join(parts)


def _explain_factors(group: Sequence[Find], carriers: Carriers) -> str:
    """Which powers of the numbers of the pipes in the graph their factors follow; empty if they follow none."""
    graph = carriers.index.graph
    pipes = [one.candidate.right["flow"].node for one in group]
    facts = [graph.node(pipe).properties for pipe in pipes]
    names = sorted({name for fact in facts for name, value in fact.items() if _is_size(value)})
    names = [name for name in names if all(_is_size(fact.get(name)) for fact in facts)]
    columns = {name: np.log([float(fact[name]) for fact in facts]) for name in names}  # type: ignore[arg-type]
    columns = {name: one for name, one in columns.items() if one.std() > 1e-3}
    if not columns or len(group) < 3 * (len(columns) + 1):
        return ""
    target = np.log([one.passed.parameters[0] for one in group])
    design = np.column_stack([np.ones(len(target)), *columns.values()])
    solved, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
    if rank < design.shape[1] or explained(target, target - design @ solved) < _MIN_EXPLAINED:
        return ""
    powers = [(name, float(power)) for name, power in zip(columns, solved[1:], strict=True) if abs(power) >= 0.02]
    said = " × ".join(f"{name} to the power of {format_number(float(f'{power:.2f}'))}" for name, power in powers)
    return f"over {len(group)} places the factor follows {said}"


def _is_size(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
