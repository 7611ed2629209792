"""What is open in an explorer: runs and monitors, by number.

Runs are added, never removed, so a number stays what it is. Must not know requests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thence.data.graph.system import System
from thence.errors import ConfigError
from thence.runs.run import Run, load_run
from thence.show.explorer.alerts import AlertReader, open_monitor
from thence.show.explorer.cache import Cache
from thence.show.explorer.open_run import OpenRun
from thence.show.explorer.problems import NotFoundError
from thence.show.explorer.schema import Alert, AlertPage, Comparison, NodeDetail, Runs, StatementChange
from thence.show.reports.rows import measure_columns
from thence.statements.controls.control import Control
from thence.statements.laws.law import Law
from thence.statements.rules.ruleset import RuleSet

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Differences:
    """What became of the rules of one set in another.

    Args:
        gained: Positions of rules of the second set that the first lacks, in order.
        lost: Positions of rules of the first set that the second lacks, in order.
        changed: Positions in both sets of rules whose confidence or support differs, the largest difference of the
            confidence first.
        same: Number of rules that are in both sets with the same confidence and support.
    """

    gained: Ints
    lost: Ints
    changed: Ints
    same: int


def compare_rules(a: RuleSet, b: RuleSet) -> Differences:
    """Compare two rule sets. A rule that a set has several times counts once, where it comes first.

    Args:
        a: The first set.
        b: The second set.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
        >>> found = compare_rules(rules, rules[1:])
        >>> found.gained.tolist(), found.lost.tolist(), len(found.changed), found.same == len(rules) - 1
        ([], [0], 0, True)
    """
    (known_a, at_a), (known_b, at_b) = (np.unique(own, return_index=True) for own in (a.keys, b.keys))
    at = np.searchsorted(known_b, known_a)
    found = np.zeros(len(known_a), bool)
    inside = at < len(known_b)
    found[inside] = known_b[at[inside]] == known_a[inside]
    in_b = at[found]
    new = np.ones(len(known_b), bool)
    new[in_b] = False
    gained, lost = np.sort(at_b[new]), np.sort(at_a[~found])
    both = np.stack([at_a[found], at_b[in_b]], axis=1)
    before, after = a.counts[both[:, 0]], b.counts[both[:, 1]]
    # Ratios of integers are compared crosswise, so nothing is rounded.
    confidence = _differ(before.n_both, before.n_antecedent, after.n_both, after.n_antecedent)
    support = _differ(before.n_both, before.n, after.n_both, after.n)
    changed = both[confidence | support]
    change = np.abs(a.measure("confidence")[changed[:, 0]] - b.measure("confidence")[changed[:, 1]])
    order = np.lexsort([changed[:, 0], -np.nan_to_num(change, nan=np.inf)])
    return Differences(gained, lost, changed[order], len(both) - len(changed))


def _differ(
    top: npt.NDArray[np.int64],
    bottom: npt.NDArray[np.int64],
    other_top: npt.NDArray[np.int64],
    other: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Where two ratios of integers differ; 0/0 is the same as 0/0 only."""
    most = max((int(part.max(initial=0)) for part in (top, bottom, other_top, other)), default=0)
    kind: npt.DTypeLike = np.int64 if most < 1 << 31 else object
    left, right = top.astype(kind) * other, other_top.astype(kind) * bottom
    return np.asarray((left != right) | ((bottom == 0) != (other == 0)), bool)


def compare_statements(a: Iterable[Law | Control], b: Iterable[Law | Control]) -> list[StatementChange]:
    """Compare laws or controls of two runs by their keys: those that one lacks, and those that held more or less often.

    Args:
        a: Those of the first run.
        b: Those of the second run.
    """
    before, after = ({one.key: one for one in some} for some in (a, b))
    parts = [("gained", after, before), ("lost", before, after), ("changed", after, before)]
    return [
        {
            "kind": one.kind,
            "part": part,  # type: ignore[typeddict-item]
            "sentence": one.sentence(),
            "before": _held(before.get(key)),
            "after": _held(after.get(key)),
        }
        for part, some, others in parts
        for key, one in some.items()
        if (part == "changed") == (key in others) and _is_other(one, others.get(key))
    ]


def _is_other(one: Law | Control, other: Law | Control | None) -> bool:
    """Whether another run lacks a statement, or has another share of it that holds; compared in integers."""
    if other is None:
        return True
    mine, theirs = one.counts, other.counts
    return mine.holds * theirs.applies != theirs.holds * mine.applies


def _held(one: Law | Control | None) -> str:
    return "" if one is None else f"{one.counts.holds:,} of {one.counts.applies:,}"


MOST_CHANGES = 200
"""Number of rules of each list of a comparison."""
_MOST_ALERTS = 20
_MOST_COMPARED = 8


class State:
    """What is open.

    Args:
        monitors: The monitors that are watched.

    Examples:
        >>> import thence as th
        >>> state = State()
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> state.add(run, name="toy").number, [one["name"] for one in state.describe()["runs"]]
        (0, ['toy'])
    """

    def __init__(self, monitors: Iterable[AlertReader] = ()) -> None:
        self._runs: list[OpenRun] = []
        self._monitors = list(monitors)
        self._lock = threading.Lock()
        self._differences = Cache(_MOST_COMPARED)
        self.closing = threading.Event()

    def add(self, run: Run, *, name: str, system: System | None = None, load: bool = True) -> OpenRun:
        """Open a run, and read its data in the background.

        Args:
            run: The run.
            name: What it is called; a number is added if another run is called so.
            system: The system that was mined, if the configuration of the run does not name it.
            load: Whether to read its data.
        """
        with self._lock:
            opened = OpenRun(len(self._runs), run, name=self._free_name(name), system=system)
            self._runs.append(opened)
        if load:
            threading.Thread(target=_prepare, args=(opened,), daemon=True, name=f"load {name}").start()
        return opened

    def run(self, number: int) -> OpenRun:
        """Return an open run.

        Args:
            number: Its number.

        Raises:
            NotFoundError: If there is none.
        """
        if not 0 <= number < len(self._runs):
            raise NotFoundError(f"there is no run {number}", hint=f"{len(self._runs)} are open, counted from 0")
        return self._runs[number]

    def monitor(self, number: int) -> AlertReader:
        """Return a monitor that is watched.

        Args:
            number: Its number.

        Raises:
            NotFoundError: If there is none.
        """
        if not 0 <= number < len(self._monitors):
            raise NotFoundError(
                f"there is no monitor {number}", hint=f"{len(self._monitors)} are watched; add one with --monitor"
            )
        return self._monitors[number]

    def alerts(self, monitor: int, after: int) -> AlertPage:
        """Return the alerts of a monitor after a given one, with the rules of open runs that they are about.

        Args:
            monitor: The number of the monitor.
            after: The id of the last alert that is known; 0 for all.
        """
        page = self.monitor(monitor).page(after)
        return {**page, "alerts": [self._with_rule(alert) for alert in page["alerts"]]}

    def node(self, run: int, name: str) -> NodeDetail:
        """Return what is known of a node of a run, with the alerts about it.

        Args:
            run: The number of the run.
            name: The id of the node.
        """
        found = self.run(run).node(name)
        names = {name, *found["sensors"]}
        alerts = [alert for number in range(len(self._monitors)) for alert in self.alerts(number, 0)["alerts"]]
        about = [alert for alert in alerts if not names.isdisjoint(_nodes_of(alert))]
        return {**found, "alerts": sorted(about, key=lambda one: -one["time"])[:_MOST_ALERTS]}

    def describe(self) -> Runs:
        """Return what is open."""
        return {
            "version": version("thence"),
            "measures": measure_columns(),
            "runs": [run.describe() for run in self._runs],
            "monitors": [monitor.describe() for monitor in self._monitors],
        }

    def compare(self, a: int, b: int) -> Comparison:
        """Compare the rules, laws and controls of two runs: what ``b`` has that ``a`` lacks is gained.

        Args:
            a: The number of the first run.
            b: The number of the second run.
        """
        before, after = self.run(a), self.run(b)
        # The rules of an open run stay as they are; reviews may change.
        found = self._differences.get((a, b), lambda: compare_rules(before.run.rules, after.run.rules))
        listed = found.changed[:MOST_CHANGES]
        changes = zip(before.rows(listed[:, 0]), after.rows(listed[:, 1]), strict=True)
        return {
            "a": a,
            "b": b,
            "gained": after.rows(found.gained[:MOST_CHANGES]),
            "lost": before.rows(found.lost[:MOST_CHANGES]),
            "changed": [{"rule": rule, "other": other} for rule, other in changes],
            "n_gained": len(found.gained),
            "n_lost": len(found.lost),
            "n_changed": len(found.changed),
            "n_same": found.same,
            "statements": [
                *compare_statements(before.run.controls or (), after.run.controls or ()),
                *compare_statements(before.run.laws or (), after.run.laws or ()),
            ],
        }

    def close(self) -> None:
        """End what runs in the background: live alerts."""
        self.closing.set()

    def _with_rule(self, alert: Alert) -> Alert:
        """The alert with its rule: by the key; without one, by the number, if the rule there says the same."""
        for opened in self._runs:
            found = opened.run.findings.rule_at(alert["key"])
            number, rules = alert["rule"], opened.run.rules
            if found is None and not alert["key"] and number is not None and number < len(rules):
                found = number if rules.rule(number).english == alert["says"] else None
            if found is not None:
                return {**alert, "run": opened.number, "rule": found}
        return {**alert, "run": None, "rule": None}

    def _free_name(self, name: str) -> str:
        taken = {run.name for run in self._runs}
        number = 2
        free = name
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        return free


def open_state(
    runs: Iterable[Run | str | Path], *, monitors: Iterable[str | Path] = (), systems: Iterable[System | None] = ()
) -> State:
    """Open runs and monitors.

    Args:
        runs: Runs, or their folders.
        monitors: Files of alerts, or folders of the state of monitors.
        systems: The systems that were mined, for runs whose configuration does not name their data.

    Raises:
        RunError: If a folder is not a run.
        InputError: If a monitor cannot be watched.
    """
    watched = [open_monitor(path, number) for number, path in enumerate(monitors)]
    loaded = [one if isinstance(one, Run) else load_run(one) for one in runs]
    if not loaded:
        raise ConfigError("no run was given", hint="give a run, or the folder of one")
    given = [*systems, *([None] * len(loaded))]
    state = State(watched)
    for run, system in zip(loaded, given, strict=False):
        state.add(run, name=_name(run), system=system)
    return state


def _name(run: Run) -> str:
    if run.path is not None:
        return run.path.name
    system = run.system
    return (system.name if system is not None else "") or run.config.input.dataset or "run"


def _prepare(opened: OpenRun) -> None:
    try:
        opened.index.warm()
    finally:
        opened.load()


def _nodes_of(alert: Alert) -> list[str]:
    """The nodes and sensors that an alert names; the place of a lifted rule is a chain of them."""
    return [name for where in alert["where"] for name in (where, *where.split(" – "))]
