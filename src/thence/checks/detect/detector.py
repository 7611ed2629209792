"""The detector: learns from normal readings what holds, and scores later readings by how much of it is violated."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.atomic import new_file
from thence._base.integrity.checksums import read_sealed, seal
from thence._base.progress import Progress, show_progress
from thence._base.settings.numbers import require_integer
from thence.checks.detect.calibration import Calibration, calibrate
from thence.checks.detect.control_checks import ControlChecks
from thence.checks.detect.detection import Detection, Explanation
from thence.checks.detect.evidence import join_tallies, take_frames
from thence.checks.detect.law_checks import LawChecks
from thence.checks.detect.range_checks import RangeChecks
from thence.checks.detect.residuals import WORST, ResidualChecks, fit_residuals, hours_of
from thence.checks.detect.rule_checks import RuleChecks
from thence.checks.detect.scorer import Scorer, Tallied, known_states
from thence.checks.detect.timescale import LEAST_DAYS, TimeScale, choose_scale
from thence.data.graph.system import System
from thence.data.readings.durations import parse_duration
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, InputError, RunError, quote
from thence.runs.configuration import Config, WindowsConfig
from thence.runs.inputs import gather_system
from thence.runs.planning import plan
from thence.runs.preparation import window_readings, window_text, with_zone
from thence.runs.reviews import Reviewed, Reviews, describe_left_out, is_used, require_reviewed, select_reviewed
from thence.search.base import BaseMiner
from thence.search.controls.search import search_controls
from thence.search.controls.settings import ControlSettings
from thence.search.laws.search import search_laws
from thence.statements.constants import Constants, find_constants
from thence.statements.controls.control import Controls
from thence.statements.laws.law import Laws
from thence.statements.rules.ruleset import RuleSet
from thence.statements.statement import Statement
from thence.tables.later import read_alike

_FAMILIES = ("residual", "law", "control", "range", "rule")
_Found = TypeVar("_Found", bound=Statement)
_FORMAT = 2
_FIT, _CYCLE = 3, 5  # of five blocks of time, three are learned from and two are held out
_MOST_VIOLATED = 0.1
_PER_FEATURE = 20
_LEAST_FRAMES = 200
_YEAR = 330  # days from which every season was seen
ALARM_ON = ("residual", "law", "control")
"""What raises alarms by default. Rules and ranges say why, and where."""


class Checks(NamedTuple):
    """The statements of each family."""

    rules: RuleChecks
    laws: LawChecks
    ranges: RangeChecks
    controls: ControlChecks = ControlChecks(Controls(()))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What a detector has learned."""

    config: Config
    checks: Checks
    calibration: Calibration
    sensors: tuple[str, ...]
    notes: tuple[str, ...]
    residuals: ResidualChecks | None = None
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    system: System | None = None
    constants: Constants = field(default_factory=Constants)
    categorical: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Judge:
    """Which of the statements that were found are used, given reviews."""

    reviews: Reviews
    reviewed: Reviewed

    def used(self, found: Sequence[_Found], notes: list[str]) -> tuple[_Found, ...]:
        """The laws or controls that are used; a note says how many are not."""
        kept = tuple(one for one in found if is_used(self.reviews.get(one.key), self.reviewed))
        if len(kept) < len(found):
            notes.append(describe_left_out(len(found) - len(kept), found[0].kind, self.reviewed))
        return kept

    def rules(self, rules: RuleSet, notes: list[str]) -> RuleSet:
        """The rules that are used; a note says how many are not."""
        kept = select_reviewed(rules, self.reviews, self.reviewed)
        if kept.all():
            return rules
        notes.append(describe_left_out(int((~kept).sum()), "rule", self.reviewed))
        return rules.take(np.flatnonzero(kept))


class Detector:
    """Detect leaks, faults and attacks as what does not fit normal time.

    Each reading is compared with what all other sensors and the hour let expect (its residual), and statements say why:
    rules as ``mine`` finds them, the laws of the plant, and ranges, which are rules about two numbers ("if the flow in
    A is 310–330 m³/h, then the pressure in B is 41.2–42.5 m"). Thresholds come from how far each normal day goes when
    it was not learned from: residuals are learned five times, each time without a fifth of the weeks, and statements on
    three fifths of the normal time. No labels are used. With less than four normal days only states that were never
    seen and laws that were never violated raise alarms.

    Args:
        windows: The length of a window; by default the step of the readings.
        enrich: The enrichment of the rules; by default ``"lifted"`` with a graph and ``"none"`` without.
        derive: Further features for the rules, such as ``"hour"`` or ``"lag:1h"``.
        bins: The number of bins for the rules.
        rules: Whether to use mined rules.
        laws: Whether to use laws; without a graph, those that are formulas.
        ranges: Whether to use ranges.
        controls: Whether to use controls: a switch of an actuator that nothing explains is a violation.
        residuals: Whether to compare each reading with what the others let expect.
        alarm_on: What raises alarms: some of ``"residual"``, ``"law"``, ``"control"``, ``"range"`` and ``"rule"``. The
            others only say why.
        memory: How long a violation counts: after this time it has faded to 37 %. By default twelve windows: one to six
            hours where there are days.
        false_alarms: Allowed false alarms a month (30 days).
        retire_after: What a sensor reads after it has moved away slowly for most of this time is its new reference: it
            is reported as drifted once. A change that began at one moment stays an alarm. ``None`` for never.
        max_rules: Most mined rules.
        range_bins: Most bins of the sensor that a range is given.
        range_partners: Most ranges for each sensor.
        miner: The miner, as in ``mine``.
        seed: Random seed.
        **settings: Settings of the miner. The default of ``min_confidence`` is 0.95.

    Examples:
        >>> import thence as th
        >>> data = th.datasets.load("net3", days=28)
        >>> detector = Detector(rules=False, laws=False).fit(data.between(None, "2024-01-22"))
        >>> scores = detector.score(data.between("2024-01-22"))
        >>> scores.columns, scores.height
        (['time', 'score', 'alarm'], 336)
    """

    def __init__(
        self,
        *,
        windows: str = WindowsConfig.every,
        enrich: str | None = None,
        derive: str | Iterable[str] = (),
        bins: int | None = None,
        rules: bool = True,
        laws: bool = True,
        ranges: bool = True,
        controls: bool = False,
        residuals: bool = True,
        alarm_on: Iterable[str] = ALARM_ON,
        memory: str = "auto",
        false_alarms: float = 1.0,
        retire_after: str | None = "14d",
        max_rules: int = 300,
        range_bins: int = 20,
        range_partners: int = 5,
        miner: Any = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        if not (rules or laws or ranges or controls or residuals):
            raise ConfigError(
                "a detector needs residuals, rules, laws, ranges or controls", hint="leave one of them on"
            )
        self.alarm_on = (alarm_on,) if isinstance(alarm_on, str) else tuple(alarm_on)
        for one in self.alarm_on:
            if one not in _FAMILIES:
                raise ConfigError(f"'{one}' raises no alarms", hint=f"use some of {', '.join(_FAMILIES)}")
        if not false_alarms > 0:
            raise ConfigError(f"false_alarms must be above 0 a month, got {false_alarms}")
        require_integer("max_rules", max_rules, least=1)
        require_integer("range_bins", range_bins, least=2)
        require_integer("range_partners", range_partners, least=1)
        self.windows, self.enrich, self.bins = windows, enrich, bins
        self.derive = (derive,) if isinstance(derive, str) else tuple(derive)
        self.rules, self.laws, self.ranges, self.controls = rules, laws, ranges, controls
        self.memory, self.false_alarms, self.retire_after = memory, float(false_alarms), retire_after
        self.max_rules, self.range_bins, self.range_partners = max_rules, range_bins, range_partners
        self.miner, self.seed, self.settings = miner, seed, dict(settings)
        self.residuals = residuals
        self._memory_hours = None if memory == "auto" else parse_duration(memory) / 3.6e9
        self._retire_hours = None if retire_after is None else parse_duration(retire_after) / 3.6e9
        self._fitted: _Fitted | None = None
        self._last: Detection | None = None

    def fit(
        self,
        sensors: Any,
        graph: Any = None,
        binding: Any = None,
        *,
        ontology: Any = None,
        progress: str | bool | Progress = "off",
        reviews: Reviews | None = None,
        reviewed: Reviewed = "not-rejected",
    ) -> Detector:
        """Learn from normal readings, without leaks, faults or attacks.

        Args:
            sensors: A ``System``, ``SensorData``, or whatever ``read_sensors`` takes.
            graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
            binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
            ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
            progress: ``"off"``, ``"auto"`` (bars on a terminal), ``"on"``, or a function.
            reviews: The reviews of a run, such as ``run.reviews``; by default none. A detector learns rules and laws of
                its own, and the review of a rule is about one that says exactly the same.
            reviewed: Which rules and laws to use, given these reviews: ``"not-rejected"``, ``"accepted"`` or ``"all"``.

        Returns:
            The detector itself.
        """
        require_reviewed(reviewed)
        judge = _Judge(Reviews(), "all") if reviews is None else _Judge(reviews, reviewed)
        config = replace(Config(), windows=WindowsConfig(every=self.windows, derive=self.derive)).with_seed(self.seed)
        if self.enrich is not None:
            config = config.with_enrichment(self.enrich)
        config = replace(config, discretize=replace(config.discretize, bins=self.bins))
        system = gather_system(sensors, graph, binding, ontology, config.input, self.enrich or "none")
        system.require_one_site("a detector learns one system at a time", hint="fit one detector per system")
        has_graph = system.graph is not None and system.binding is not None
        planned, miner = plan(config, self.miner, {"min_confidence": 0.95, **self.settings}, graph=has_graph)
        planned = with_zone(planned, system)
        readings = window_readings(system, planned, clean=True)
        planned = replace(planned, windows=replace(planned.windows, every=window_text(readings)))
        if len(readings) < _LEAST_FRAMES:
            raise InputError(
                f"{len(readings)} windows are too few to learn what is normal; {_LEAST_FRAMES} are needed",
                hint="give a longer normal period, or shorter windows",
            )
        held_out = hold_out(readings)
        with show_progress(progress) as tell:
            self._fitted = self._learn(readings, system, held_out, planned, miner, tell, judge)
        self._last = None
        return self

    def _learn(
        self,
        readings: WindowedReadings,
        system: System,
        held_out: npt.NDArray[np.bool_],
        config: Config,
        miner: BaseMiner,
        tell: Progress,
        judge: _Judge,
    ) -> _Fitted:
        learn, check = take_frames(readings, ~held_out), take_frames(readings, held_out)
        notes: list[str] = []
        laws = LawChecks(Laws(()))
        if self.laws:
            known = search_laws(learn, system, progress=tell)
            laws = LawChecks(replace(known, laws=judge.used(known, notes))).judged(check, system, most=_MOST_VIOLATED)
        ranges = RangeChecks(())
        if self.ranges:
            ranges = RangeChecks.fit(learn, bins=self.range_bins, partners=self.range_partners)
            ranges = ranges.judged(check, most=_MOST_VIOLATED)
        controls = Checks._field_defaults["controls"]
        if self.controls:
            timezone = config.windows.timezone
            switching = search_controls(learn, system, settings=ControlSettings(timezone=timezone), progress=tell)
            controls = ControlChecks(Controls(judge.used(switching, notes)), timezone).judged(
                check, most=_MOST_VIOLATED
            )
        rules = _no_rules(config)
        if self.rules:
            found = RuleChecks.fit(learn, system, config, miner, progress=tell)
            found = replace(found, rules=judge.rules(found.rules, notes))
            rules = found.judged(check, system, most=_MOST_VIOLATED, per_feature=_PER_FEATURE, max_rules=self.max_rules)
        checks = Checks(rules, laws, ranges, controls)
        timezone = config.windows.timezone
        expected: ResidualChecks | None = None
        daily: dict[str, npt.NDArray[np.float64]] = {}
        refused = ""
        if self.residuals:
            expected, daily, refused = fit_residuals(readings, memory=self._memory_hours, timezone=timezone)
        if expected is None and not (len(rules.rules) or len(laws.laws) or ranges.ranges or len(controls.controls)):
            raise InputError(
                f"nothing holds in normal time: no rule, no law and no range{refused and '; ' + refused}",
                hint="give a longer normal period, or more sensors",
            )
        scale = self._scale(readings) if expected is None else expected.scale
        calibration = calibrate(
            join_tallies([one.tally(readings, system) for one in checks], len(readings)),
            hours_of(readings),
            held_out,
            daily if "residual" in self.alarm_on else {},
            scale=scale,
            alarming=self.alarm_on,
            per_month=self.false_alarms,
        )
        if expected is not None:
            expected = expected.alarming_above(calibration.thresholds.get(WORST, 1.0))
        notes += _notes(calibration, readings, refused)
        ids = tuple(sensor.id for sensor in readings.sensors)
        constants = find_constants(
            readings, lambda id: "" if system.binding is None else str(system.binding.get(id, ""))
        )
        states = known_states(readings)
        categorical = frozenset(sensor.id for sensor in readings.categorical)
        return _Fitted(config, checks, calibration, ids, tuple(notes), expected, states, system, constants, categorical)

    def _scale(self, readings: WindowedReadings) -> TimeScale:
        every = readings.every.total_seconds() / 3600
        return choose_scale(hours_of(readings), every=every, memory=self._memory_hours)

    @property
    def fitted(self) -> bool:
        """Whether the detector has learned."""
        return self._fitted is not None

    @property
    def calibration(self) -> Calibration:
        """What is usual in held-out normal time: levels, weights and thresholds."""
        return self._known.calibration

    @property
    def config(self) -> Config:
        """The configuration of windows and rules, with every default written out."""
        return self._known.config

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the thresholds; one sentence each."""
        return self._known.notes

    @property
    def _known(self) -> _Fitted:
        if self._fitted is None:
            raise InputError("the detector has not learned yet", hint="call fit with normal readings first")
        return self._fitted

    def describe(self) -> dict[str, Any]:
        """Return how many statements of each family are used, on how much held-out normal time, ready for JSON."""
        known = self._known
        rules, laws, ranges, controls = known.checks
        return {
            "rules": len(rules.rules),
            "laws": len(laws.laws),
            "ranges": len(ranges.ranges),
            **({"controls": len(controls.controls)} if self.controls else {}),
            "residuals": 0 if known.residuals is None else len(known.residuals.columns),
            "targets": len(known.calibration.levels),
            "normal_days": known.calibration.days,
            "would_have_alarmed": known.calibration.would_alarm,
            "false_alarms_a_month": known.calibration.per_month,
            "window": known.config.windows.every,
        }

    def detect(self, sensors: Any, graph: Any = None, binding: Any = None, *, ontology: Any = None) -> Detection:
        """Score later readings of the same system, and return scores, alarms, drifts and explanations.

        Args:
            sensors: A ``System``, ``SensorData``, or whatever ``read_sensors`` takes.
            graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes; by default that of the normal readings.
            binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes; by default that
                of the normal readings.
            ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        """
        known = self._known
        system, notes = self._later(sensors, graph, binding, ontology)
        readings = window_readings(system, known.config)
        changed = known.constants.changed(readings)
        self._last = Detection(readings, system, known.checks, self.scorer(), (*known.notes, *notes), changed)
        return self._last

    def scorer(self, *, every_statement: bool = True) -> Scorer:
        """Return what gives the scores of windows, of any time and in any pieces.

        Args:
            every_statement: Whether to check statements that raise no alarms too; explanations need them.
        """
        known = self._known
        rules, laws, ranges, controls = known.checks
        families: dict[str, Tallied] = {"rule": rules, "law": laws, "range": ranges, "control": controls}
        chosen = tuple(one for name, one in families.items() if every_statement or name in self.alarm_on)
        return Scorer(chosen, known.residuals, known.states, known.calibration, self._retire_hours)

    def score(self, sensors: Any, graph: Any = None, binding: Any = None, *, ontology: Any = None) -> pl.DataFrame:
        """Score later readings: one row per window with ``time``, ``score`` and ``alarm``.

        The score is in units of the threshold: above 1 is an alarm.

        Args:
            sensors: As in ``detect``.
            graph: As in ``detect``.
            binding: As in ``detect``.
            ontology: As in ``detect``.
        """
        return self.detect(sensors, graph, binding, ontology=ontology).frame

    def _later(self, sensors: Any, graph: Any, binding: Any, ontology: Any) -> tuple[System, list[str]]:
        known = self._known
        if not isinstance(sensors, System) and graph is None and known.system is not None:
            normal = known.system
            plain = gather_system(sensors, None, None, None, known.config.input)
            ids = set(known.sensors)
            mine = [sensor.id for sensor in plain.sensors.sensors if sensor.id in ids]
            data = plain.sensors.select(mine) if mine else plain.sensors
            bound = None if normal.binding is None else normal.binding.select(data)
            system = replace(normal, sensors=_with_kinds(data, normal.sensors), binding=bound, labels=None)
            given = len(plain.sensors.sensors)
        else:
            whole = gather_system(sensors, graph, binding, ontology, known.config.input)
            whole.require_one_site("a detector scores one system at a time", hint="call it for each system")
            mine = [sensor.id for sensor in whole.sensors.sensors if sensor.id in set(known.sensors)]
            given = len(whole.sensors.sensors)
            system = whole.select(mine) if mine else whole
        if not mine:
            raise InputError(
                "none of the sensors is one that the detector has learned",
                hint="the later readings must have the same sensor ids as the normal ones",
            )
        notes = []
        if given > len(mine):
            notes.append(f"{_sensors(given - len(mine), 'new')}, not checked")
        if len(mine) < len(known.sensors):
            notes.append(
                f"{_sensors(len(known.sensors) - len(mine), 'missing')}: what was learned about them is not checked"
            )
        alike = read_alike(system.sensors, known.checks.rules.bins)
        # Without rules there are no bins; a short time may show two values of a number, or numbers for states.
        states = [id for id in alike.ids if id in known.categorical]
        numbers = [id for id in alike.ids if id not in known.categorical]
        return replace(system, sensors=alike.with_states(states, numbers=numbers)), notes

    def explain(self, at: Any = None) -> Explanation:
        """Say why there is an alarm in the readings that were scored last.

        Args:
            at: An alarm, or a time within a window; by default the first alarm.
        """
        return self._scored.explain(at)

    def locate(self, at: Any = None) -> pl.DataFrame:
        """Return the nodes that the evidence speaks for in the readings that were scored last, the first most.

        Args:
            at: An alarm, or a time within a window; by default the first alarm.
        """
        return self._scored.locate(at)

    @property
    def _scored(self) -> Detection:
        if self._last is None:
            raise InputError("no readings have been scored yet", hint="call score or detect first")
        return self._last

    def save(self, path: str | Path) -> Path:
        """Write what was learned as JSON with a checksum; the graph is not part of it.

        Args:
            path: The file to write.
        """
        known = self._known
        rules, laws, ranges, controls = known.checks
        record = {
            "format": _FORMAT,
            "settings": self._settings(),
            "config": known.config.to_mapping(),
            "sensors": list(known.sensors),
            "notes": list(known.notes),
            "rules": rules.to_dict(),
            "laws": laws.to_dict(),
            "ranges": ranges.to_dict(),
            **({"controls": controls.to_dict()} if self.controls else {}),
            "calibration": known.calibration.to_dict(),
            "states": {id: list(states) for id, states in known.states.items()},
            "categorical": sorted(known.categorical),
            **(known.constants.to_dict() if known.constants else {}),
        }
        if known.residuals is not None:
            record["residuals"] = {**known.residuals.to_dict(), "arrays": _pack(known.residuals.to_arrays())}
        target = Path(path)
        with new_file(target) as draft:
            draft.write_text(json.dumps(seal(record), ensure_ascii=False, allow_nan=False), encoding="utf-8")
        return target

    def _settings(self) -> dict[str, Any]:
        names = ("windows", "enrich", "bins", "rules", "laws", "ranges", "residuals", "memory", "false_alarms")
        more = ("retire_after", "max_rules", "range_bins", "range_partners", "seed")
        given = {name: getattr(self, name) for name in (*names, *more)}
        return (
            {"derive": list(self.derive), "alarm_on": list(self.alarm_on)}
            | given
            | ({"controls": True} if self.controls else {})
        )

    @staticmethod
    def load(path: str | Path) -> Detector:
        """Read a detector that ``save`` wrote. Score a ``System``, or pass graph and binding with the readings.

        Args:
            path: The file.

        Raises:
            RunError: If the file cannot be read, is not a detector, or was changed after it was written.
        """
        try:
            record, _ = read_sealed(Path(path), hint="restore a copy, or fit the detector again")
            if record["format"] != _FORMAT:
                raise RunError(f"format {record['format']} is not known", where=str(path), hint="update Thence")
            detector = Detector(**record["settings"])
            detector._fitted = _Fitted(
                Config.from_mapping(record["config"]),
                Checks(
                    RuleChecks.from_dict(record["rules"]),
                    LawChecks.from_dict(record["laws"]),
                    RangeChecks.from_dict(record["ranges"]),
                    *([ControlChecks.from_dict(record["controls"])] if detector.controls else []),
                ),
                Calibration.from_dict(record["calibration"]),
                tuple(map(_text, record["sensors"])),
                tuple(map(_text, record["notes"])),
                _residuals_of(record["residuals"]) if "residuals" in record else None,
                {_text(id): tuple(map(_text, states)) for id, states in record["states"].items()},
                constants=Constants.from_dict({"constants": [], **record}),
                categorical=frozenset(map(_text, record["categorical"])),
            )
        except OSError as error:
            raise RunError(f"cannot be read: {error.strerror}", where=str(path)) from error
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
            raise RunError(
                f"is not a detector ({quote(error)[1:-1]})", where=str(path), hint="write it with Detector.save"
            ) from None
        return detector

    def __repr__(self) -> str:
        if self._fitted is None:
            return "Detector(not fitted)"
        found = self.describe()
        families = (name for name in ("residuals", "rules", "laws", "ranges", "controls") if name in found)
        return f"Detector({', '.join(f'{found[name]} {name}' for name in families)})"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, got a {type(value).__name__}")
    return value


def _sensors(number: int, what: str) -> str:
    return f"1 sensor is {what}" if number == 1 else f"{number} sensors are {what}"


def _no_rules(config: Config) -> RuleChecks:
    from thence.tables.discretization import Discretizer

    return RuleChecks(RuleSet.empty(), Discretizer(), config)


def _pack(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Arrays as text: a file of numpy in base 64."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _residuals_of(record: Mapping[str, Any]) -> ResidualChecks:
    with np.load(io.BytesIO(base64.b64decode(record["arrays"])), allow_pickle=False) as arrays:
        return ResidualChecks.from_parts(record, dict(arrays))


def _notes(calibration: Calibration, readings: WindowedReadings, refused: str) -> list[str]:
    """What to know about the thresholds."""
    out, scale = [], calibration.scale
    if refused:
        out.append(
            f"{refused}; {LEAST_DAYS} days are needed: until then only states that were never seen and laws that were "
            "never violated raise alarms"
        )
    if calibration.days:
        unit = "days" if not scale.is_short else f"parts of {scale.block * 60:.3g} minutes"
        out.append(
            f"{calibration.would_alarm} of {calibration.days} normal {unit} would have had an alarm, had they not been "
            "learned"
        )
        if scale.is_short:
            out.append(
                f"the normal time is too short for a rate per month: {calibration.per_month:g} false alarms are "
                f"allowed in 30 runs of {scale.day * 60:.3g} minutes"
            )
        elif calibration.days * calibration.per_month < 30 * max(len(calibration.thresholds), 1):
            out.append(
                f"{calibration.days} normal days cannot show {calibration.per_month:g} false alarms a month: the "
                "thresholds are extrapolated"
            )
    span = (readings.times[-1] - readings.times[0]) / np.timedelta64(1, "D")
    if not scale.is_short and span < _YEAR:
        out.append(
            f"the normal time spans {span:.0f} days: where seasons matter, no rate of false alarms holds in the others"
        )
    return out


def hold_out(readings: WindowedReadings) -> npt.NDArray[np.bool_]:
    """Return which frames are held out: two of every five blocks of time.

    Blocks are weeks; days if there are less than ten weeks, and fifths of the time if there are less than ten days.

    Args:
        readings: The readings.
    """
    frames, every = len(readings), readings.every.total_seconds() / 3600
    total = frames * every
    block = 168.0 if total >= 70 * 24 else 24.0 if total >= 240 else total / _CYCLE
    number = np.floor(np.arange(frames) * every / block).astype(np.int64)
    return np.asarray(number % _CYCLE >= _FIT)


def _with_kinds(later: SensorData, normal: SensorData) -> SensorData:
    """Later readings with the kinds and units of the normal ones."""
    here = set(later.ids)
    return later.with_kinds({one.id: (one.kind, one.unit) for one in normal.sensors if one.id in here and one.kind})
