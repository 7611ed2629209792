"""A run that is open in the explorer: its index, its reviews, and the data behind it, which are read in the background.

Answers questions about one run as plain dicts. Must not know requests or other runs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sized
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.graph.records import join_values, list_values
from thence.data.graph.system import System
from thence.errors import nearest
from thence.runs.reviews import REVIEWS, Review, Reviews, load_reviews, save_reviews
from thence.runs.run import Run
from thence.show.explorer.cache import Cache
from thence.show.explorer.graph_view import MOST_NEIGHBOURS, node_properties, patterns_at, places_of, sensors_at
from thence.show.explorer.problems import NotFoundError
from thence.show.explorer.rule_index import UNREVIEWED, RuleFilter, RuleIndex
from thence.show.explorer.schema import NodeDetail, Outline, Places, Reviewed, RunEntry, Scatter
from thence.show.reports.cards import Cards
from thence.show.reports.facts import choose_facts
from thence.show.reports.material import Material, material_of
from thence.show.reports.method import describe_mining
from thence.show.reports.rows import control_rows, law_rows, rule_rows
from thence.show.reports.schema import Card, ControlRow, Drawing, LawRow, Report, RuleRow
from thence.statements.keys import key_text
from thence.statements.search import contains
from thence.statements.statement import FACETS, SearchTexts, Statement

MOST_POINTS = 5_000
"""Number of rules of which the scatter shows a sample."""
MOST_NODES = 20_000
"""Number of nodes that are drawn."""
_MOST_KEPT = 200
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
        self.index = RuleIndex(run.rules)
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

    def select_logic(self, wanted: RuleFilter) -> tuple[list[ControlRow], list[LawRow]]:
        """Return the controls and laws that meet conditions; none if a condition is one that only rules can meet.

        Args:
            wanted: The conditions.
        """
        found, reviews = self.run.findings, self.reviews
        if wanted.pattern or wanted.conclusion or wanted.bounds:
            return [], []

        def fits(one: Statement, texts: SearchTexts) -> bool:
            about, review = one.about, reviews.get(one.key)
            verdict = (review.verdict if review is not None else "") or UNREVIEWED
            return (
                contains(texts, wanted.words)
                and all(name in about.named(facet) for facet in FACETS for name in wanted.chosen(facet))
                and (wanted.node is None or wanted.node in about.places)
                and (not wanted.review or verdict in wanted.review)
            )

        chosen = {one.key for one, texts in self._logic if fits(one, texts)}
        rows = control_rows(found.controls, reviews=reviews, chosen=chosen)
        return rows, law_rows(found.laws, reviews=reviews, chosen=chosen)

    @cached_property
    def _logic(self) -> list[tuple[Statement, SearchTexts]]:
        """The controls and laws with their texts."""
        found = self.run.findings
        return [(one, one.search_texts) for part in (found.controls, found.laws) for one in part]

    def rows(self, positions: Any) -> list[RuleRow]:
        """Return rules as rows.

        Args:
            positions: The positions of the rules.
        """
        return rule_rows(self.run.rules, positions, reviews=self.reviews, entries=self._entries)

    def require_rule(self, position: int) -> int:
        """Return the position of a rule, or raise if there is none.

        Args:
            position: The position.

        Raises:
            NotFoundError: If there is no such rule.
        """
        return _require(position, len(self.run.rules), "rule")

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

    def card(self, about: str, position: int) -> Card | None:
        """Return the evidence for a rule, a law or a control; ``None`` if its data are not available.

        Args:
            about: ``"rule"``, ``"law"`` or ``"control"``.
            position: Its position.

        Raises:
            NotFoundError: If there is none at this position.
        """
        found = self.run.findings
        there: dict[str, Sized] = {"rule": found.rules, "law": found.laws, "control": found.controls}
        _require(position, len(there[about]), about)

        def make() -> Card | None:
            return self._cache.get("cards", lambda: Cards(self.material)).card(about, position)

        return self._cache.get(("card", about, position), make)

    def drawing(self) -> Drawing | None:
        """Return the graph as it is drawn; ``None`` without one."""
        from thence.show.reports.drawing import draw

        system = self.material.system
        if system is None or system.graph is None:
            return None
        return self._cache.get("drawing", lambda: draw(system, most=MOST_NODES))

    def outline(self) -> Outline:
        """Return what the first page of the run needs; looks at few rules, so that the page opens at once."""
        run, reviews, why = self.run, self.reviews, self.material.why
        return {
            "facts": choose_facts(run, reviews=reviews),
            "laws": law_rows(run.laws or (), reviews=reviews),
            "controls": control_rows(run.controls or (), reviews=reviews),
            "mining": describe_mining(run),
            "notes": [why] if why else [],
        }

    def report(self) -> Report:
        """Return the report of the run, without evidence cards and with few rules."""
        from thence.show.reports.build import build_report

        return self._cache.get("report", lambda: build_report(self.material, rules=50, cards=0))

    def places(self, position: int) -> Places:
        """Return where a rule applies.

        Args:
            position: The position of the rule.
        """
        self.require_rule(position)
        return self._cache.get(("places", position), lambda: places_of(self.material, position))

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
        found = self.run.findings
        here = {one.key for one, _ in self._logic if name in one.about.places}
        return {
            "id": name,
            "name": join_values(list_values(node.properties.get("name"))) or name,
            "classes": sorted(node.labels),
            "properties": node_properties(system, node),
            "sensors": list(sensors_at(system, name)),
            "neighbours": list(system.graph.neighbours(name))[:MOST_NEIGHBOURS],
            "laws": law_rows(found.laws, reviews=self.reviews, chosen=here),
            "controls": control_rows(found.controls, reviews=self.reviews, chosen=here),
            "rules": int(self.rules_about(name).sum()),
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
