"""Violations as frames: one row per episode of a rule at a place, with what was read instead.

Episodes are gathered rule by rule and become frames in batches, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.application.episodes import find_episodes, link_frames
from thence.checks.application.observed import observe_episodes
from thence.checks.application.parts import Part, Target
from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_test
from thence.statements.rules.ruleset import RuleSet

Ints = npt.NDArray[np.int64]

_MOMENT = pl.Datetime("us", "UTC")
VIOLATIONS: dict[str, Any] = {
    "rule": pl.Int64,
    "sentence": pl.String,
    "place": pl.String,
    "node": pl.String,
    "sensor": pl.String,
    "start": _MOMENT,
    "end": _MOMENT,
    "windows": pl.Int64,
    "expected": pl.String,
    "lowest": pl.Float64,
    "highest": pl.Float64,
    "state": pl.String,
    "unit": pl.String,
}
"""The columns of a frame of violations."""

_BATCH = 200_000  # episodes that become a frame at once


class _Episodes(NamedTuple):
    """Episodes of several rules: one entry each."""

    rules: Ints
    embeddings: Ints
    targets: Ints
    starts: Ints
    stops: Ints


def iter_violations(
    rules: RuleSet,
    parts: Sequence[Part],
    targets: Sequence[Target],
    readings: WindowedReadings,
    *,
    chosen: Collection[int],
    sentence: Callable[[int], str],
) -> Iterator[pl.DataFrame]:
    """Yield the episodes in which rules are violated, in frames with the columns ``VIOLATIONS``.

    Args:
        rules: The rules.
        parts: The rules as item numbers of bitmaps, with their positions in ``rules``.
        targets: What consequents read.
        readings: The readings in windows.
        chosen: The rules whose episodes are wanted.
        sentence: The sentence of a rule.
    """
    for part in parts:
        linked = link_frames(part.times, readings.every, n_frames=part.bank.n_frames)
        kept: list[_Episodes] = []
        size = 0
        for at, rule in enumerate(part.rules.tolist()):
            if rule not in chosen:
                continue
            found = find_episodes(
                part.bank, antecedent=part.antecedents[at], consequent=int(part.consequents[at]), linked=linked
            )
            if not len(found):
                continue
            embeddings, starts, stops = found.T
            kept.append(
                _Episodes(
                    np.full(len(found), rule), embeddings, part.targets[part.slots[at]][embeddings], starts, stops
                )
            )
            size += len(found)
            if size >= _BATCH:
                yield _frame(rules, part, targets, readings, kept, sentence)
                kept, size = [], 0
        if kept:
            yield _frame(rules, part, targets, readings, kept, sentence)


def _frame(
    rules: RuleSet,
    part: Part,
    targets: Sequence[Target],
    readings: WindowedReadings,
    kept: Sequence[_Episodes],
    sentence: Callable[[int], str],
) -> pl.DataFrame:
    every = _Episodes(*(np.concatenate(columns) for columns in zip(*kept, strict=True)))
    numbers, rule_at = np.unique(every.rules, return_inverse=True)
    items = [rules.items[int(rules.consequents[rule])] for rule in numbers.tolist()]
    lowest, highest, states = _observe(rules, every, targets, readings)
    length = np.timedelta64(readings.every, "us")
    nothing = np.full(len(every.starts), np.datetime64("NaT", "us"))
    times = None if part.times is None else part.times.astype("datetime64[us]")
    used, target_at = np.unique(every.targets, return_inverse=True)
    places, place_at = np.unique(every.embeddings, return_inverse=True)
    names = part.place_names()
    return pl.DataFrame(
        {
            "rule": every.rules,
            "sentence": _gather([sentence(rule) for rule in numbers.tolist()], rule_at),
            "place": _gather([names[place] or None for place in places.tolist()], place_at),
            "node": _gather([targets[target].node or None for target in used.tolist()], target_at),
            "sensor": _gather([targets[target].sensor or None for target in used.tolist()], target_at),
            "start": pl.Series(nothing if times is None else times[every.starts]).dt.replace_time_zone("UTC"),
            "end": pl.Series(nothing if times is None else times[every.stops - 1] + length).dt.replace_time_zone("UTC"),
            "windows": every.stops - every.starts,
            "expected": _gather([format_test(item) for item in items], rule_at),
            "lowest": pl.Series(lowest, nan_to_null=True),
            "highest": pl.Series(highest, nan_to_null=True),
            "state": pl.Series(states.tolist(), dtype=pl.String),
            "unit": _gather([item.feature.unit or None for item in items], rule_at),
        },
        schema=VIOLATIONS,
    )


def _gather(texts: Sequence[str | None], at: Ints) -> pl.Series:
    return pl.Series(texts, dtype=pl.String).gather(at)


def _observe(
    rules: RuleSet, episodes: _Episodes, targets: Sequence[Target], readings: WindowedReadings
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Return what was read during each episode, one feature and sensor after the other."""
    size = len(episodes.starts)
    lowest, highest, states = np.full(size, np.nan), np.full(size, np.nan), np.full(size, None, object)
    keys = np.column_stack([rules.consequents[episodes.rules], episodes.targets])
    groups, group_of = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group_of.reshape(-1), kind="stable")
    bounds = np.searchsorted(group_of.reshape(-1)[order], np.arange(len(groups) + 1))
    for number, (item, target) in enumerate(groups.tolist()):
        own = order[bounds[number] : bounds[number + 1]]
        seen = observe_episodes(
            readings, rules.items[item].feature, targets[target].sensor, episodes.starts[own], episodes.stops[own]
        )
        lowest[own], highest[own], states[own] = seen
    return lowest, highest, states
