"""``apply``: the rules of a run on other data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.application.applied import Applied
from thence.checks.application.later import Later, Reference, gather_later, prepare_later
from thence.checks.application.logic import AppliedControls, AppliedLaws, apply_controls, apply_laws
from thence.checks.application.parts import Part, Target, encode_rules, targets_of
from thence.checks.application.verdicts import Verdict, independent_rows, judge_rules
from thence.errors import ConfigError
from thence.runs.inputs import load_job
from thence.runs.preparation import Table
from thence.runs.reviews import LeftOut, Reviewed
from thence.runs.run import Run, find_left_out, load_run
from thence.statements.counting.assurance import SPANS, require_assurance
from thence.statements.counting.encoding import find_countable
from thence.statements.counting.recount import Spans, count_spans
from thence.statements.counting.states import Tallies, tally_states
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable


def apply(
    rules: Run | RuleSet | str | Path,
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    like: Run | str | Path | None = None,
    reference: Reference = None,
    same_system: bool | None = None,
    assurance: float = 0.95,
    recount: bool = False,
    reviewed: Reviewed = "not-rejected",
) -> Applied:
    """Apply the rules of a run to later data, or to another system.

    Each rule is satisfied, violated, not applicable or missing in every window, at every place of its pattern. Windows,
    bins, states and patterns are those of the run. The laws and controls of the run are applied too.

    Readings without a graph belong to the graph of the run, if the run was made from files or from a data set. Rules
    about named sensors bind to the same system only; rules about patterns bind wherever the pattern matches.

    Args:
        rules: A run, the folder of a run, or some of its rules with ``like``.
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: The graph of another system, or the present graph of the same; whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes; by default that of the run.
        like: The run that ``rules`` come from, if they are a rule set.
        reference: The period on which ranks ("its highest fifth") are fitted of sensors that the run has not seen, such
            as ``"2024-01-01/2024-02-01"``, or a share of the windows from the first on. By default all readings here,
            and a note says so. Sensors of the run keep their bins.
        same_system: Whether the data are of the system that was mined; by default decided by the names of the systems
            and the nodes of the sensors.
        assurance: Probability with which each end of an interval holds, at least 0.5 and below 1.
        recount: Whether to read the mined data again, so that each place is compared with what it was then. It is
            needed only if the run has so many rules and places that it does not keep their counts.
        reviewed: Which rules, laws and controls of a run to apply: ``"not-rejected"``, ``"accepted"`` in a review, or
            ``"all"``. The others keep their numbers and are left out. A rule set is applied as it is.

    Returns:
        What became of each rule, and the violations by rule, place and time.

    Raises:
        ConfigError: If the rules need a graph that is not given, or a setting is out of range.
        InputError: If readings have another unit than those that were mined, or cannot be read.

    Examples:
        >>> import thence as th
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy.between(end="2024-01-02"), windows="1h", bins=3, refine=None, progress="off")
        >>> applied = th.apply(run, toy.between(start="2024-01-02"))
        >>> applied.by_rule().columns[:5]
        ['rule', 'sentence', 'verdict', 'then', 'now']
        >>> applied.violations().columns[:4]
        ['rule', 'sentence', 'place', 'node']
    """
    require_assurance(assurance)
    chosen, run = _rules_of(rules, like)
    left_out = find_left_out(run, reviewed, rules=not isinstance(rules, RuleSet))
    system = gather_later(run, sensors, graph, binding, ontology)
    return apply_to(
        chosen,
        run,
        system,
        reference=reference,
        same_system=same_system,
        assurance=assurance,
        recount=recount,
        left_out=left_out,
    )


def _rules_of(rules: Any, like: Any) -> tuple[RuleSet, Run]:
    if isinstance(rules, RuleSet):
        if like is None:
            raise ConfigError(
                "rules alone do not say how their data were prepared", hint="pass like=run, the run that they come from"
            )
        return rules, _as_run(like)
    if like is not None:
        raise ConfigError("'like' is for a rule set, but a run is given", hint="leave out 'like'")
    run = _as_run(rules)
    return run.rules, run


def _as_run(given: Any) -> Run:
    if isinstance(given, Run):
        return given
    if isinstance(given, (str, Path)):
        return load_run(given)
    raise ConfigError(
        f"rules must be a Run, the folder of a run or a RuleSet, got {type(given).__name__}",
        hint="th.mine returns a Run, and th.load_run reads one",
    )


def apply_to(
    rules: RuleSet,
    run: Run,
    system: Any,
    *,
    reference: Reference = None,
    same_system: bool | None = None,
    assurance: float = 0.95,
    recount: bool = False,
    left_out: LeftOut | None = None,
) -> Applied:
    """Apply rules to a system that has been read; see ``apply``.

    Args:
        rules: The rules.
        run: The run that they come from.
        system: The system, or several.
        reference: The period on which ranks of new sensors are fitted.
        same_system: Whether it is the system that was mined.
        assurance: Probability with which each end of an interval holds.
        recount: Whether to read the mined data again, to compare places.
        left_out: What is left out because of its reviews; nothing by default.
    """
    out = left_out or LeftOut()
    later = prepare_later(rules, run, system, reference=reference, same_system=same_system)
    later = replace(later, not_bound=tuple(one for one in later.not_bound if one.rule not in out.rules))
    lost = {*(one.rule for one in later.not_bound), *out.rules}
    bound = np.array([at for at in range(len(rules)) if at not in lost], np.int64)
    some = rules.take(bound)
    parts, targets = encode_rules(some, later.table, times=later.data.readings.times)
    confidence = np.nan_to_num(np.asarray(some.measure("confidence"), np.float64), nan=1.0)
    tallies = tuple(_tally(part, len(targets), 1 - confidence[part.rules]) for part in parts)
    moved = tuple(replace(part, rules=bound[part.rules]) for part in parts)
    satisfied, violated = np.zeros(len(rules), np.int64), np.zeros(len(rules), np.int64)
    for part, found in zip(moved, tallies, strict=True):
        satisfied[part.rules] += found.satisfied
        violated[part.rules] += found.violated
    counted, independent = _count_in_time(some, later)
    compared = judge_rules(
        rules,
        counted,
        independent,
        bound,
        applied=satisfied + violated,
        satisfied=satisfied,
        assurance=assurance,
        min_confidence=_least_confidence(run),
    )
    verdicts = tuple(Verdict.LEFT_OUT if at in out.rules else one for at, one in enumerate(compared.verdicts))
    compared = replace(compared, verdicts=verdicts)
    laws, controls, said = _apply_logic(run, later, assurance, out)
    notes = (*later.notes, *said, *out.notes)
    then_at = np.full(len(targets), np.nan)
    if later.same_system:
        before = _mined_table(rules, run, recount=recount)
        then_at = _kept_then(some, run, targets) if before is None else _violated_then(some, before, targets)
    news = run.constants.changed(later.data.readings) if later.same_system else ()
    return Applied(rules, later, moved, tuple(targets), tallies, compared, then_at, laws, controls, notes, news)


def _tally(part: Part, n_targets: int, rates: npt.NDArray[np.float64] | None = None) -> Tallies:
    return tally_states(
        part.bank,
        antecedents=part.antecedents,
        consequents=part.consequents,
        slots=part.slots,
        targets=part.targets,
        n_targets=n_targets,
        rates=rates,
    )


def _mined_table(rules: RuleSet, run: Run, *, recount: bool) -> Table | None:
    """Return the table that was mined, if it is at hand, or may be built again."""
    if run.table is not None or not recount:
        return run.table
    recorded = run.config
    if recorded.input.sensors is None and recorded.input.dataset is None and not recorded.system:
        raise ConfigError(
            "the run does not record where its data are: they were objects of Python", hint="leave out 'recount'"
        )
    return prepare_later(rules, run, load_job(recorded), same_system=True).table


def _violated_then(rules: RuleSet, table: Table | None, targets: Sequence[Target]) -> npt.NDArray[np.float64]:
    """Return the share of violations at each target when the rules were mined, as far as that table is at hand."""
    out = np.full(len(targets), np.nan)
    if table is None or not len(rules) or not find_countable(rules, table)[0].all():
        return out
    parts, before = encode_rules(rules, table)
    counts = np.zeros((len(before), 2))
    for part in parts:
        found = _tally(part, len(before))
        counts += np.stack([found.target_applicable, found.target_violated], axis=1)
    known = {target: violated / applied for target, (applied, violated) in zip(before, counts, strict=True) if applied}
    return np.array([known.get(target, np.nan) for target in targets], np.float64)


def _kept_then(rules: RuleSet, run: Run, targets: Sequence[Target]) -> npt.NDArray[np.float64]:
    """The same from the counts that the run folder keeps: those by place, and of other rules those over all rows."""
    out = np.full(len(targets), np.nan)
    kept = run.find_places()
    if kept is None or not len(rules) or run.config.miner.settings.get("denominator", "present") != "present":
        return out
    counts: dict[Target, npt.NDArray[np.int64]] = {}
    by_place = {counted.rule: counted for counted in kept.of(rules)}
    own = np.full(len(rules), -1) if rules.pattern_of is None else rules.pattern_of
    for rule in range(len(rules)):
        feature = rules.items[rules.consequents[rule]].feature
        if rule in by_place:
            found = by_place[rule]
            read = targets_of(feature, found.block)
            pairs = np.stack([found.n_antecedent, found.n_antecedent - found.n_both], axis=1)
        elif own[rule] >= 0:
            return out  # not among the rules that were counted by place
        else:
            applied = int(rules.counts.n_antecedent[rule])
            read, pairs = targets_of(feature, None), np.array([[applied, applied - int(rules.counts.n_both[rule])]])
        for target, pair in zip(read, pairs, strict=True):
            counts[target] = counts.get(target, 0) + pair
    known = {target: violated / applied for target, (applied, violated) in counts.items() if applied}
    return np.array([known.get(target, np.nan) for target in targets], np.float64)


def _count_in_time(rules: RuleSet, later: Later) -> tuple[Spans | None, npt.NDArray[np.float64]]:
    if not len(rules) or not isinstance(later.table, TransactionTable):
        return None, np.zeros(len(rules))
    return count_spans(rules, later.table, spans=SPANS), independent_rows(rules, later.table)


def _least_confidence(run: Run) -> float | None:
    """The least confidence that the miner of a run asked for, if it is set."""
    value = run.config.miner.settings.get("min_confidence")
    return float(value) if isinstance(value, (int, float)) else None


def _apply_logic(
    run: Run, later: Later, assurance: float, out: LeftOut
) -> tuple[AppliedLaws | None, AppliedControls | None, list[str]]:
    """Return the laws and controls then and now, and why some could not be applied."""
    said: list[str] = []
    laws: AppliedLaws | str | None = None
    controls: AppliedControls | str | None = None
    if run.laws:
        laws = apply_laws(run.laws, later.data.readings, later.data.system, same_system=later.same_system)
    if run.controls:
        controls = apply_controls(
            run.controls,
            later.data.readings,
            later.data.system,
            same_system=later.same_system,
            timezone=run.config.windows.timezone,
            assurance=assurance,
        )
    said += [one for one in (laws, controls) if isinstance(one, str)]
    return (
        replace(laws, left_out=out.laws) if isinstance(laws, AppliedLaws) else None,
        replace(controls, left_out=out.controls) if isinstance(controls, AppliedControls) else None,
        said,
    )
