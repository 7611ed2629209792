"""The logic of a plant beside its rules: laws and controls, searched in files, systems and the readings of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thence._base.progress import Progress, show_progress
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, nearest
from thence.language.items import Aspect, Operator
from thence.language.patterns import Pattern
from thence.runs.configuration import Config, WindowsConfig
from thence.runs.inputs import gather_system
from thence.runs.preparation import Prepared, window_readings
from thence.search.controls.search import search_controls
from thence.search.controls.settings import ControlSettings
from thence.search.laws.search import search_laws
from thence.search.laws.settings import LawSettings
from thence.statements.controls.control import Controls
from thence.statements.laws.law import Law, Laws
from thence.statements.rules.ruleset import Rule, RuleSet


def find_laws(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    windows: str = "auto",
    aggregate: str | Mapping[str, str] = "mean",
    formulas: Sequence[str] = (),
    progress: str | bool | Progress = "auto",
    **settings: Any,
) -> Laws:
    """Find the laws of a plant: balances, proportions, signs and bounds at every place of a kind, and formulas.

    Formulas (set points, curves of the outdoor temperature, products, mixing, meters) need no graph; what is found
    without one follows from the names, kinds and units of the sensors. Bands and factors are fitted on the first part
    of the time. Counts are exact and over all rows; a law is kept only if it also holds in the later part.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        windows: The length of a window; by default the step of the readings.
        aggregate: How a window becomes one value, for all sensors or by kind.
        formulas: Formulas to try beside the known ones, such as ``"power = k * flow * (supply - return)"``; names are
            those of sensors, kinds or parts of them, and what is none is a parameter.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.
        **settings: Settings of ``LawSettings``, such as ``min_confidence=0.999``.

    Returns:
        The laws, the tightest first.

    Raises:
        ConfigError: If a setting is unknown or out of range.

    Examples:
        >>> import thence as th
        >>> laws = th.find_laws(th.datasets.load("net3", days=7), progress="off")
        >>> print(laws[0].statement.partition(", within")[0].replace("there minus", "there\\nminus"))
        for every Node: its demand equals the total flow of the Links that end there
        minus that of the Links that start there
    """
    chosen = _settings(LawSettings, settings)
    system, readings = _read(sensors, graph, binding, ontology, windows, aggregate, "lifted")
    with show_progress(progress) as report:
        return search_laws(readings, system, settings=chosen, formulas=formulas, progress=report)


def find_controls(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    windows: str = "auto",
    aggregate: str | Mapping[str, str] = "mean",
    progress: str | bool | Progress = "auto",
    **settings: Any,
) -> Controls:
    """Find what makes actuators switch: a threshold of a reading, or a time of day.

    Args:
        sensors: A ``System``, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes; it names places and prefers near ones.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        windows: The length of a window; by default the step of the readings.
        aggregate: How a window becomes one value, for all sensors or by kind.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.
        **settings: Settings of ``ControlSettings``, such as ``min_switches=10``.

    Returns:
        The controls, the best first.

    Raises:
        ConfigError: If several systems are given, or a setting is unknown or out of range.

    Examples:
        >>> import thence as th
        >>> found = th.find_controls(th.datasets.load("net3"), progress="off")
        >>> print(found.sentences[0])
        Pump 10 opens at 01:00 (28 of 28 days) and closes at 15:00 (28 of 28 days)
    """
    chosen = _settings(ControlSettings, settings)
    system, readings = _read(sensors, graph, binding, ontology, windows, aggregate, "none")
    system.require_one_site("controls are searched in one system at a time", hint="call it for each system")
    with show_progress(progress) as report:
        return search_controls(readings, system, settings=chosen, progress=report)


def search_logic(data: Prepared, *, progress: Progress) -> tuple[Laws | None, Controls | None]:
    """Return the laws and the controls that a configuration asks for.

    Args:
        data: The system with its readings in windows, and the configuration, of which ``logic`` and the time zone are
            used. Controls are searched in a single site only.
        progress: Callback that reports progress.
    """
    readings, system, logic = data.readings, data.system, data.config.logic
    laws = search_laws(readings, system, formulas=logic.formulas, progress=progress) if logic.laws else None
    if not logic.controls or len(system.sites) > 1:
        return laws, None
    settings = ControlSettings(timezone=data.config.windows.timezone)
    return laws, search_controls(readings, system, settings=settings, progress=progress)


def drop_implied(rules: RuleSet, laws: Laws) -> RuleSet:
    """Leave out rules that say no more than a law.

    These are rules about the same quantities as a balance or a proportion, rules about the same sensors as a formula,
    and rules from a state to the 0 of which a law says that it holds in this state. A rule that also holds vice versa
    says more.

    Args:
        rules: The rules; a note says how many were left out.
        laws: The laws.
    """
    exact = [law for law in laws if law.definition.is_equation or law.definition.has_factor]
    stated = {_quantities_of_law(law) for law in exact if law.condition is None}
    at_rest = {_state_of_law(law) for law in laws} - {None}
    formulas = {about for law in laws for about in _sensors_of_law(law)}
    implied = np.array(
        [
            _quantities_of_rule(rule) in stated or _state_of_rule(rule) in at_rest or _sensors_of_rule(rule) in formulas
            for rule in rules
        ],
        bool,
    )
    if not implied.any():
        return rules
    count = int(implied.sum())
    which = "1 rule that follows from a law is" if count == 1 else f"{count} rules that follow from a law are"
    note = f"{which} left out"
    if implied.all():
        note += ", so that no rule remains: the laws tell it all (laws=False, or --no-laws, keeps the rules instead)"
    return replace(rules.take(np.flatnonzero(~implied)), notes=(*rules.notes, note))


def _sensors_of_law(law: Law) -> Iterator[frozenset[str]]:
    """The sensors that a formula relates at each place, and their kinds; none of a bound, which says less."""
    if law.names_sensors and law.definition.low and law.definition.high and len(law.terms) > 1:
        yield frozenset(term.name for term in law.terms)
        yield from (frozenset(one.sensors[: len(law.terms)]) for one in law.by_place)


def _sensors_of_rule(rule: Rule) -> frozenset[str] | None:
    """The sensors of a rule about readings, or their kinds if it is about every place; ``None`` for other rules."""
    features = [item.feature for item in (*rule.antecedent, rule.consequent)]
    if any(one.aspect is not Aspect.MEASUREMENT or one.reads for one in features):
        return None
    return frozenset(one.label if rule.pattern else one.subject for one in features)


_Quantities = tuple[str, frozenset[tuple[str, str]]]


def _quantities_of_law(law: Law) -> _Quantities:
    """The class of the places, and the kind and role of each quantity; the role of the place itself is empty."""
    return _focus(law.pattern), frozenset((term.name, term.role) for term in law.terms)


def _quantities_of_rule(rule: Rule) -> _Quantities | None:
    """The same of a rule in a star; ``None`` for other rules."""
    if not rule.pattern:
        return None
    roles = {str(role): (role.kind, role.name) for role in Pattern.parse(rule.pattern).roles}
    quantities: set[tuple[str, str]] = set()
    for item in (*rule.antecedent, rule.consequent):
        feature = item.feature
        if feature.aspect is not Aspect.MEASUREMENT:
            return None
        own = {(feature.label, "")}
        quantities |= {roles[text] for text in feature.reads if text in roles} if feature.reads else own
    return _focus(rule.pattern), frozenset(quantities)


_State = tuple[str, str, str, str]


def _state_of_law(law: Law) -> _State | None:
    """The class, the sensor and its state, and the quantity, of a law that something is 0 in a state."""
    condition = law.condition
    is_zero = law.definition.is_equation and not law.right and len(law.left) == 1
    if not is_zero or condition is None or condition.form != "state":
        return None
    (term,) = law.terms
    return None if term.role else (_focus(law.pattern), condition.name, condition.value, term.name)


def _state_of_rule(rule: Rule) -> _State | None:
    """The same of a rule with one condition, a state, and 0 as its conclusion; ``None`` for other rules."""
    if not rule.pattern or rule.both_ways or len(rule.antecedent) != 1:
        return None
    given, then = rule.antecedent[0], rule.consequent
    plain = all(item.operator is Operator.EQ and item.feature.time is None for item in (given, then))
    if not plain or not isinstance(given.value, str) or then.value not in ("0", 0.0):
        return None
    if given.feature.reads or then.feature.reads or then.feature.name == "change":
        return None
    return _focus(rule.pattern), given.feature.label, given.value, then.feature.label


def _focus(pattern: str) -> str:
    return Pattern.parse(pattern).nodes[0].label


def _read(
    sensors: Any, graph: Any, binding: Any, ontology: Any, windows: str, aggregate: Any, needs: str
) -> tuple[System, WindowedReadings]:
    config = replace(Config(), windows=WindowsConfig(every=windows, aggregate=aggregate))
    system = gather_system(sensors, graph, binding, ontology, config.input, needs)
    return system, window_readings(system, config, clean=True)


def _settings(of: Any, given: Mapping[str, Any]) -> Any:
    known = list(of.__dataclass_fields__)
    for name in given:
        if name not in known:
            raise ConfigError(f"unknown setting '{name}'", hint=nearest(name, known) or "known: " + ", ".join(known))
    return of(**given)
