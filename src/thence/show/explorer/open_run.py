"""A run that is open in the explorer: its index, its reviews, and the data behind it, which are read in the background.

Answers questions about one run as plain dicts. Must not know requests or other runs.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.graph.system import System
from thence.errors import nearest
from thence.runs.reviews import REVIEWS, Review, Reviews, load_reviews, save_reviews
from thence.runs.run import Run
from thence.show.explorer.asset import statements_at
from thence.show.explorer.cache import Cache
from thence.show.explorer.graph_view import MOST_NEIGHBOURS, node_properties, patterns_at, sensors_at
from thence.show.explorer.listing import KINDS, Entry, count_choices, entries_of, entries_of_things, fold
from thence.show.explorer.problems import NotFoundError
from thence.show.explorer.rule_index import RuleFilter, RuleIndex, rank_choices
from thence.show.explorer.schema import (
    Facet,
    FindingsPage,
    Hit,
    NodeDetail,
    Outline,
    Reviewed,
    RunEntry,
    Scatter,
)
from thence.show.reports.cards import Cards
from thence.show.reports.choosing import ANYWHERE, Aim
from thence.show.reports.material import Material, material_of
from thence.show.reports.method import describe_mining
from thence.show.reports.rows import control_rows, law_rows, rule_rows
from thence.show.reports.schema import Card, ControlRow, Drawing, LawRow, Report, RuleRow
from thence.statements.controls.control import Controls
from thence.statements.findings import Findings
from thence.statements.keys import key_text
from thence.statements.laws.law import Laws
from thence.statements.search import Named, named_things, order_named

MOST_POINTS = 5_000
"""Number of rules of which the scatter shows a sample."""
MOST_NODES = 20_000
"""Number of nodes that are drawn."""
_MOST_KEPT = 200
_NAMED = ("place", "sensor")
_MOST_NAMED = 5
"""Places and sensors that are listed before the findings of a search."""
Mask = npt.NDArray[np.bool_]


class OpenRun:
    """A run that is open.

    Args:
        number: Its id in the explorer.
        run: The run.
        name: What it is called.
        system: The system that was mined, if the configuration of the run does not name it.

    Examples:
        >>> import thence as th
        >>> opened = OpenRun(0, th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off"), name="toy")
        >>> opened.load()
        >>> opened.describe()["data"]
        'ready'
    """

    def __init__(self, number: int, run: Run, *, name: str, system: System | None = None) -> None:
        self.number, self.run, self.name = number, run, name
        self.index = RuleIndex(run.rules, self._entries)
        self._system = system
        self._material: Material | None = None
        self._lock = threading.Lock()
        self._cache = Cache(_MOST_KEPT)
        self._in_memory = Reviews()
        self._read: tuple[Any, Reviews, dict[int, Review]] = (None, Reviews(), {})

    def load(self) -> None:
        """Read the data behind the run; takes a while, and never raises because of them."""
        try:
            found = material_of(self.run, system=self._system)
        except Exception as error:
            found = Material(self.run, why=f"The data of the run cannot be read again ({type(error).__name__}).")
        # What was made without the data is made again with them. The order matters: the new store sees the data.
        self._material = found
        self._cache = Cache(_MOST_KEPT)

    def describe(self) -> RunEntry:
        """Return the run as the explorer lists it."""
        material = self._material
        ready = material is not None and (material.table is not None or material.readings is not None)
        return {
            "id": self.number,
            "name": self.name,
            "rules": len(self.run.rules),
            "laws": len(self.run.laws or ()),
            "controls": len(self.run.controls or ()),
            "enrichment": str(self.run.summary.get("enrichment", "")),
            "saved": self.run.path is not None,
            "data": "loading" if material is None else "ready" if ready else "missing",
            "why": "" if material is None else material.why,
        }

    @property
    def material(self) -> Material:
        """The run with its data, as far as they are available now."""
        return self._material or Material(self.run, why="The data of the run are being read.")

    @property
    def reviews(self) -> Reviews:
        """What people said of the rules."""
        return self._reviews()[0]

    @property
    def verdicts(self) -> dict[int, str]:
        """The verdicts by the positions of rules."""
        return {position: review.verdict for position, review in self._reviews()[1].items()}

    def select(self, wanted: RuleFilter) -> tuple[Mask, Mapping[int, str], Mask | None]:
        """Return which rules meet conditions, with the verdicts and the rules about the node that it took.

        Args:
            wanted: The conditions.
        """
        verdicts = self.verdicts
        about = None if wanted.node is None else self.rules_about(wanted.node)
        return self.index.select(wanted, reviewed=verdicts, about=about), verdicts, about

    def page(
        self,
        wanted: RuleFilter,
        *,
        what: str = "",
        sort: str = "",
        descending: bool = True,
        offset: int = 0,
        limit: int = 50,
    ) -> FindingsPage:
        """Return a page of what meets conditions.

        Args:
            wanted: The conditions.
            what: One of ``KINDS``; an empty string for findings of all kinds.
            sort: The measure by which rules are sorted.
            descending: Whether high values come first.
            offset: Where the page begins.
            limit: How many it has.
        """
        begin = time.perf_counter()
        mask, verdicts, about = self.select(wanted)
        rules = self.index.positions(self.index.fold(mask), sort=sort, descending=descending)
        by_key = {key: review.verdict for key, review in self.reviews.items()}
        groups = fold(one for one in (*self._logic, *self._named) if one.fits(wanted, by_key))
        counts = dict.fromkeys(KINDS, 0) | Counter(group[0].kind for group in groups) | {"rule": len(rules)}
        shown = (what,) if what else KINDS[:3]
        listed = [group for group in groups if group[0].kind in shown]
        past = offset if what in _NAMED else max(offset - len(listed), 0)
        own = rules[past : max(offset + limit - len(listed), 0)] if "rule" in shown else rules[:0]
        return {
            "counts": counts,
            "variants": int(mask.sum()) - len(rules),
            "total": sum(counts[kind] for kind in shown),
            "offset": offset,
            "findings": [*self._logic_rows(listed[offset : offset + limit]), *self.rows(own, mask=mask)],
            "named": self._hits(groups, wanted, what)[offset : offset + (limit if what else _MOST_NAMED)],
            "facets": self._facets(wanted, shown, mask=mask, verdicts=verdicts, about=about, by_key=by_key),
            "milliseconds": round(1000 * (time.perf_counter() - begin), 1),
        }

    def _hits(self, groups: Iterable[list[Entry]], wanted: RuleFilter, what: str) -> list[Hit]:
        """The places and sensors that were found, if they are listed: those whose names fit best come first."""
        kinds = (what,) if what else _NAMED if wanted.words else ()
        found = [self._things[one.position] for one, *_ in groups if one.kind in kinds and one.kind in _NAMED]
        return [
            {"kind": one.kind, "id": one.id, "what": one.what, "node": one.node}
            for one in order_named(found, " ".join(wanted.words))
        ]

    def _facets(
        self,
        wanted: RuleFilter,
        shown: Sequence[str],
        *,
        mask: Mask,
        verdicts: Mapping[int, str],
        about: Mask | None,
        by_key: Mapping[str, str],
    ) -> list[Facet]:
        """The choices of each facet with the numbers of findings of the kinds that are shown."""
        of_rules = self.index.counts(mask, wanted, reviewed=verdicts, about=about) if "rule" in shown else {}
        others = count_choices([one for one in (*self._logic, *self._named) if one.kind in shown], wanted, by_key)
        none: Counter[str] = Counter()
        return [rank_choices(name, of_rules.get(name, none) + counts, wanted) for name, counts in others.items()]

    @cached_property
    def _logic(self) -> list[Entry]:
        """The controls and laws."""
        return entries_of(self.run.findings)

    @property
    def _things(self) -> list[Named]:
        """The places and sensors, as far as the system is available now."""
        system = self.material.system
        return [] if system is None else self._cache.get("things", lambda: named_things(system))

    @property
    def _named(self) -> list[Entry]:
        return self._cache.get("named", lambda: entries_of_things(self._things))

    def _logic_rows(self, groups: Iterable[list[Entry]]) -> list[ControlRow | LawRow]:
        chosen = {one.key for group in groups for one in group}
        found, reviews = self.run.findings, self.reviews
        rows = control_rows(found.controls, reviews=reviews, chosen=chosen) if chosen else []
        return [*rows, *law_rows(found.laws if chosen else (), reviews=reviews, chosen=chosen)]

    def rows(self, positions: Any, *, mask: Mask | None = None) -> list[RuleRow]:
        """Return rules as rows.

        Args:
            positions: The positions of the rules.
            mask: The rules that are shown as their variants; by default all of their findings.
        """
        entries: Sequence[Sequence[int]] = self._entries
        if mask is not None:
            entries = [self.index.variants(int(position), mask) for position in positions]
        return rule_rows(self.run.rules, positions, reviews=self.reviews, entries=entries)

    def row(self, about: str, position: int) -> RuleRow | LawRow | ControlRow:
        """Return one finding as a row.

        Args:
            about: ``"rule"``, ``"law"`` or ``"control"``.
            position: Its position.

        Raises:
            NotFoundError: If there is none at this position.
        """
        found = self.run.findings
        _require(position, len(found.by_kind[f"{about}s"]), about)
        if about == "rule":
            return self.rows([position])[0]
        if about == "law":
            return law_rows(found.laws, reviews=self.reviews, chosen={found.laws[position].key})[0]
        return next(row for row in control_rows(found.controls, reviews=self.reviews) if position in row["members"])

    def chosen(self, *, rules: Iterable[int] = (), laws: Iterable[int] = (), controls: Iterable[int] = ()) -> Findings:
        """Return some of the findings, each once.

        Args:
            rules: The positions of rules.
            laws: The positions of laws.
            controls: The positions of controls.

        Raises:
            NotFoundError: If there is none at one of the positions.
        """
        found = self.run.findings
        given: dict[str, tuple[Sized, Iterable[int]]]
        given = {"rule": (found.rules, rules), "law": (found.laws, laws), "control": (found.controls, controls)}
        at = {
            kind: [_require(position, len(there), kind) for position in dict.fromkeys(positions)]
            for kind, (there, positions) in given.items()
        }
        return replace(
            found,
            rules=found.rules.take(np.array(at["rule"], np.int64)),
            laws=Laws(tuple(found.laws[one] for one in at["law"])),
            controls=Controls(found.controls[one] for one in at["control"]),
        )

    def found(self, wanted: RuleFilter, *, what: str = "", sort: str = "", descending: bool = True) -> Findings:
        """Return the findings that meet conditions, with all variants of each.

        Args:
            wanted: The conditions.
            what: ``"rule"``, ``"law"`` or ``"control"``; otherwise findings of all kinds.
            sort: The measure by which rules are sorted.
            descending: Whether high values come first.
        """
        mask, _, _ = self.select(wanted)
        by_key = {key: review.verdict for key, review in self.reviews.items()}
        fitting = [one for one in self._logic if what in ("", one.kind) and one.fits(wanted, by_key)]
        at = {kind: [one.position for one in fitting if one.kind == kind] for kind in ("law", "control")}
        rules = self.index.positions(mask, sort=sort, descending=descending).tolist() if what in ("", "rule") else []
        return self.chosen(rules=rules, laws=at["law"], controls=at["control"])

    def scatter(self, mask: Mask) -> Scatter:
        """Return the measures of some rules; of many, those of a sample at even steps.

        Args:
            mask: Which rules.
        """
        found = np.flatnonzero(mask)
        total = len(found)
        if total > MOST_POINTS:
            found = found[(np.arange(MOST_POINTS) * total) // MOST_POINTS]
        taken = self.run.rules.take(found)
        columns = {
            name: [float(value) if np.isfinite(value) else None for value in taken.measure(name)]
            for name in ("support", "confidence", "zhang")
        }
        return {
            "total": total,
            "ids": found.tolist(),
            "support": columns["support"],
            "confidence": columns["confidence"],
            "zhang": columns["zhang"],
        }

    def review(self, key: str, verdict: Any, note: str) -> Reviewed:
        """Keep what a person says of a rule, a law or a control.

        Args:
            key: Its key.
            verdict: ``"accepted"``, ``"rejected"`` or an empty string.
            note: A note; an empty one removes an earlier one.

        Raises:
            ConfigError: If nothing in the run has the key, or the review is not valid.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        given = Review(verdict, note, now, self.run.findings[key].sentence())
        with self._lock:
            if self.run.path is not None:
                kept = save_reviews(self.run.path, {key: given})
            else:
                rest = {name: one for name, one in self._in_memory.items() if name != key}
                self._in_memory = kept = Reviews(rest | ({key: given} if verdict or note else {}))
        own = kept.get(key)
        return {"key": key, "review": None if own is None else {"verdict": own.verdict, "note": own.note}}

    def card(self, about: str, position: int, aim: Aim = ANYWHERE) -> Card | None:
        """Return the evidence for a rule, a law or a control; ``None`` if its data are not available.

        Args:
            about: ``"rule"``, ``"law"`` or ``"control"``.
            position: Its position.
            aim: The place and the period to show.

        Raises:
            NotFoundError: If there is none at this position.
        """
        found = self.run.findings
        there: dict[str, Sized] = {"rule": found.rules, "law": found.laws, "control": found.controls}
        _require(position, len(there[about]), about)

        def make() -> Card | None:
            return self._cache.get("cards", lambda: Cards(self.material)).card(about, position, aim)

        return self._cache.get(("card", about, position, aim), make)

    def drawing(self) -> Drawing | None:
        """Return the graph as it is drawn; ``None`` without one."""
        from thence.show.reports.drawing import draw

        system = self.material.system
        if system is None or system.graph is None:
            return None
        return self._cache.get("drawing", lambda: draw(system, most=MOST_NODES))

    def outline(self) -> Outline:
        """Return how the run was mined, and what is not available."""
        run, why = self.run, self.material.why
        return {
            "mining": describe_mining(run),
            "notes": [why] if why else [],
        }

    def report(self) -> Report:
        """Return the report of the run, without evidence cards and with few rules."""
        from thence.show.reports.build import build_report

        return self._cache.get("report", lambda: build_report(self.material, rules=50, cards=0))

    def rules_about(self, node: str) -> Mask:
        """Return which rules speak of a node.

        Args:
            node: The id of the node.
        """

        def make() -> Mask:
            material = self.material
            matching = self._cache.get("patterns", lambda: patterns_at(material.transactions))
            sensors = frozenset(sensors_at(material.system, node))
            return self.index.rules_about(node, sensors=sensors, patterns=matching.get(node, frozenset()))

        return self._cache.get(("about", node), make)

    def node(self, name: str) -> NodeDetail:
        """Return what is known of a node.

        Args:
            name: The id of the node.

        Raises:
            NotFoundError: If there is no such node, or the graph is not available.
        """
        system = self.material.system
        if system is None or system.graph is None:
            raise NotFoundError(self.material.why or "the run has no graph")
        if name not in system.graph:
            raise NotFoundError(f"there is no node '{name[:80]}'", hint=nearest(name[:80], system.graph.nodes))
        node = system.graph.nodes[name]
        own, neighbours = list(sensors_at(system, name)), list(system.graph.neighbours(name))[:MOST_NEIGHBOURS]
        return {
            "id": name,
            "classes": sorted(node.labels),
            "properties": node_properties(system, node),
            "sensors": own,
            "near": [] if own else [one for node_id in neighbours for one in sensors_at(system, node_id)],
            "neighbours": neighbours,
            "here": self._cache.get(("here", name), lambda: statements_at(self.run, name)),
            "alerts": [],
            "findings": self.page(RuleFilter(node=name), limit=0)["total"],
        }

    @cached_property
    def _entries(self) -> list[list[int]]:
        rules = self.run.rules
        return rules.entries if rules.grouped and len(rules) <= MOST_POINTS else []

    def _reviews(self) -> tuple[Reviews, dict[int, Review]]:
        """The reviews, read again if the file has changed, and by position."""
        with self._lock:
            if self.run.path is None:
                stamp: Any = id(self._in_memory)
            else:
                stamp = _stamp(self.run.path / REVIEWS)
            if stamp != self._read[0]:
                reviews = self._in_memory if self.run.path is None else load_reviews(self.run.path)
                known = np.array([int(key, 16) for key in reviews], np.uint64)
                found = np.flatnonzero(np.isin(self.run.rules.keys, known)).tolist() if len(known) else []
                by_position = {at: reviews[key_text(self.run.rules.keys[at])] for at in found}
                self._read = (stamp, reviews, by_position)
            return self._read[1], self._read[2]


def _require(position: int, count: int, what: str) -> int:
    if not 0 <= position < count:
        raise NotFoundError(f"there is no {what} {position}", hint=f"the run has {count:,}, counted from 0")
    return position


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
