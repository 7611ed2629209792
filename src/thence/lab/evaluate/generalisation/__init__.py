"""Generalisation: whether rules hold at sensors and times that they were not mined on.

Some nodes are hidden together with their sensors. Rules are mined on the other nodes in the earlier part of the time
and measured on the whole system in the later part. Alternatively they are mined on one system and measured on another.

The unit of measurement is the *place-frame*: a node that carries sensors, in a frame in which one of them has a value.
A rule covers it if the antecedent holds in an embedding in which the rule reads the node. The unit is the same for
every enrichment, so that their numbers can be compared; existential rules have no place, and one that applies in a
frame covers all places of it.

Results are given for three groups of places: *seen*; *partly unseen*, which are hidden but near a seen place, so that
a rule may apply there by reading seen sensors; and *wholly unseen*, around which everything is hidden as far as a rule
reaches. No rule was mined on or chosen by a reading of either.

With ``by="site"`` there are several systems: each is left out once, rules are mined on the others together, and
measured on the one left out.

Of the mined rules, few are selected that together cover as much as possible, the most confident first. By default the
selection looks at seen places in the earlier part of the time only, so that no reading of a hidden sensor decides
which rules are kept. Which patterns there are, and where hidden sensors are, is known from the graph. A rank ("in its
highest tenth") needs the history of a sensor: at hidden sensors the edges of the ranks come from their own readings in
the earlier part of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer, require_seed
from thence.data.graph.system import System
from thence.errors import ConfigError
from thence.lab.evaluate.generalisation.hiding import PARTLY, SEEN, WHOLLY, classify_places, hide_places
from thence.lab.evaluate.generalisation.places import (
    GroupResult,
    Groups,
    PlaceEvaluator,
    find_present,
    measure_frames,
    select_applicable,
    select_frame_cover,
)
from thence.lab.evaluate.generalisation.results import Generalisation, ModeResult, SiteGeneralisation
from thence.lab.evaluate.generalisation.split import (
    SplitSettings,
    carriers_of,
    sensors_at,
    window_sites,
    window_system,
)
from thence.lab.evaluate.generalisation.transfer import choose_candidates, measure_across, measure_left_out
from thence.runs.configuration import EnrichConfig
from thence.runs.options import OTHER_DEFAULTS
from thence.runs.preparation import Prepared
from thence.search.exact.miner import Exact
from thence.tables.enrich import ENRICHMENTS

__all__ = ["Generalisation", "GroupResult", "ModeResult", "SiteGeneralisation", "generalisation"]

CHOICES = ("seen", "transductive")
_DEFAULTS = OTHER_DEFAULTS["generalisation"]
ENRICHED = ("none", "grounded", "existential", "lifted")


@overload
def generalisation(system: System, *, by: Literal["place"] = ..., **settings: Any) -> Generalisation: ...


@overload
def generalisation(
    system: System | Sequence[System], *, by: Literal["site"], **settings: Any
) -> SiteGeneralisation: ...


def generalisation(  # type: ignore[misc]  # the overloads leave the keywords to this signature
    system: System | Sequence[System],
    *,
    by: Literal["place", "site"] = "place",
    enrich: str | Sequence[str] | None = None,
    unseen: float = 0.3,
    split: str = "region",
    choose: str = "seen",
    seed: int = 0,
    windows: str = _DEFAULTS["windows"],
    bins: int = _DEFAULTS["bins"],
    kinds: Sequence[str] | None = None,
    train_share: float = 0.7,
    min_support: float = _DEFAULTS["min_support"],
    min_confidence: float = Exact.min_confidence,
    max_antecedents: int = Exact.max_antecedents,
    max_rules: int = 100,
    hops: int = _DEFAULTS["hops"],
    min_embeddings: int = EnrichConfig.min_embeddings,
    other: System | None = None,
    progress: Progress = silent,
) -> Generalisation | SiteGeneralisation:
    """Mine rules at some places and times and measure them at others.

    Rules are mined by ``th.Exact`` on the sensors of the seen nodes, in the first ``train_share`` of the time, and
    measured in the rest of the time on seen, partly unseen and wholly unseen nodes. A hidden node is wholly unseen if
    all nodes with sensors within ``hops`` edges of it are hidden too.

    Args:
        system: A system with a graph and a binding; one of several sites, or several systems, for ``by="site"``.
        by: Hide places of one system (``"place"``), or leave out one of several systems at a time (``"site"``). Sites
            have lifted rules only; ``unseen``, ``split``, ``seed`` and ``other`` are not used.
        enrich: Enrichments to measure, one or several; by default all that there are, and ``"lifted"`` for sites.
        unseen: Share of the nodes with sensors to hide, between 0 and 1 (exclusive).
        split: Hide a ``"region"``, the nodes nearest to a random one, so that some are wholly unseen; or ``"random"``
            nodes, of which hardly any is wholly unseen.
        choose: Select rules by where they apply at ``"seen"`` nodes in the earlier part of the time; or
            ``"transductive"``: at all nodes, so that readings of hidden sensors in the earlier part of the time take
            part in the choice (their consequents do not).
        seed: Random seed of the split.
        windows: Length of a window.
        bins: Number of bins.
        kinds: Kinds of sensors to use; all by default.
        train_share: Share of the time to mine on, between 0 and 1 (exclusive).
        min_support: Minimum support.
        min_confidence: Minimum confidence.
        max_antecedents: Maximum number of items in an antecedent.
        max_rules: Maximum number of rules to select and measure per enrichment.
        hops: Maximum length of a path in a pattern of lifted rules, and with it how far rules reach.
        min_embeddings: Minimum number of embeddings of a pattern of lifted rules.
        other: Another system to measure on. No node of ``system`` is hidden then, and all nodes of ``other`` are
            wholly unseen; rules about named sensors cannot apply there. ``unseen``, ``split`` and ``seed`` are not
            used.
        progress: Called with the progress.

    Returns:
        For each enrichment and group of places: coverage, confidence, the share of the sensors that rules read, and
        the counts behind them. They are ``None`` where no rule ever applies.

    Raises:
        ConfigError: An enrichment, a split, a choice or a kind is unknown, or a share is out of range.

    Examples:
        >>> import thence as th
        >>> result = th.generalisation(th.datasets.load("toy"), enrich="none", unseen=0.4, min_support=0.05)
        >>> print(result.modes["none"].wholly_unseen.coverage)
        None
    """
    wanted = [enrich] if isinstance(enrich, str) else list(enrich or (ENRICHED if by == "place" else ("lifted",)))
    for mode in wanted:
        ENRICHMENTS.check(mode)
    for name, share in (("unseen", unseen), ("train_share", train_share)):
        if not 0 < share < 1:
            raise ConfigError(f"{name} must be between 0 and 1 (exclusive), got {share}")
    require_seed(seed)
    require_integer("max_rules", max_rules)
    require_integer("min_embeddings", min_embeddings)
    require_integer("hops", hops, least=0)
    if choose not in CHOICES:
        raise ConfigError(f"unknown choose '{choose}'", hint="use 'seen' or 'transductive'")
    settings = SplitSettings(
        Exact(min_support=min_support, min_confidence=min_confidence, max_antecedents=max_antecedents, on_limit="stop"),
        bins,
        max_rules,
        hops,
        min_embeddings,
        train_share,
        transductive=choose == "transductive",
    )
    whole = system if isinstance(system, System) else System.of_sites(system)
    if by == "site":
        _require_several(whole, wanted)
        return _leave_out_sites(whole.sites, settings, kinds, windows, choose, progress)
    if by != "place":
        raise ConfigError(f"unknown by '{by}'", hint="use 'place' or 'site'")
    whole.require_one_site("several systems are given", hint="pass by='site' to leave out one at a time")
    graph, _ = whole.require_graph()
    here = window_system(whole, kinds, windows)
    results = {}
    there = None if other is None else window_system(other, kinds, windows)
    hidden = set() if there else hide_places(list(here.places), graph, share=unseen, split=split, seed=seed, hops=hops)
    groups = classify_places(list(here.places), hidden, graph, hops)
    for done, mode in enumerate(wanted):
        progress("generalising", done, len(wanted), mode)
        if there is None:
            results[mode] = _measure_within(mode, here, groups, settings)
        else:
            results[mode] = measure_across(mode, here, there, settings)
    progress("generalising", len(wanted), len(wanted))
    measured = there or here
    cut = settings.split_frame(measured)
    wholly = {place for place, group in zip(here.places, groups.tolist(), strict=True) if group == WHOLLY}
    return Generalisation(
        results,
        "another system" if there else split,
        choose,
        there.places if there else tuple(sorted(hidden)),
        there.places if there else tuple(sorted(wholly)),
        tuple(sorted(set(here.places) - hidden)),
        str(measured.readings.times[cut].astype("datetime64[m]")) if cut < len(measured.readings) else "",
        len(measured.readings) - cut,
    )


def _measure_within(mode: str, timed: Prepared, groups: Groups, settings: SplitSettings) -> ModeResult:
    earlier, later = settings.split_time(timed)
    hidden = set(sensors_at(timed, groups != SEEN))
    seen = [sensor.id for sensor in timed.readings.sensors if sensor.id not in hidden]
    patterns: Any = "auto"
    if mode == "lifted":
        every = settings.find_patterns(timed)
        carriers = carriers_of(timed, patterns=every, sensors=seen)
        patterns = [pattern for pattern in every if not carriers.lacking(pattern)]
    train = settings.table(timed, mode, patterns=patterns, sensors=seen)
    mined = settings.miner.mine(train.frames(earlier))
    candidates = choose_candidates(mined)
    if mode == "existential":
        selected = select_frame_cover(candidates, train.frames(earlier), settings.max_rules)
        present = find_present(timed)[:, later]

        def measure(group: int) -> GroupResult:
            sensors = sensors_at(timed, groups == group)
            if not sensors:
                return GroupResult(sensors_read=None)
            table = settings.table(timed, mode, bins=train.discretizer, sensors=sensors)
            return measure_frames(selected, table.frames(later), present[groups == group], len(sensors))

        return ModeResult(mode, len(mined), len(selected), measure(SEEN), measure(PARTLY), measure(WHOLLY), selected)
    applied = train
    if mode == "lifted" and len(candidates):
        used = [pattern for pattern, _ in candidates.patterns]
        applied = settings.table(timed, mode, bins=train.discretizer, patterns=used)
    places = PlaceEvaluator(applied, timed, groups)
    if settings.transductive:
        pool = select_applicable(candidates, applied)
        selected = places.select_cover(pool, earlier, settings.max_rules, unseen=True)
    else:
        selected = PlaceEvaluator(train, timed, groups).select_cover(candidates, earlier, settings.max_rules)
    return ModeResult(mode, len(mined), len(selected), *places.measure(selected, later), selected)


def _require_several(system: System, enrich: Sequence[str]) -> None:
    if len(system.sites) < 2:
        raise ConfigError("leaving out a site needs at least two", hint="pass several systems: generalisation([a, b])")
    unfit = [mode for mode in enrich if mode != "lifted"]
    if unfit:
        raise ConfigError(
            f"rules with the enrichment '{unfit[0]}' are about one site and cannot be measured on another",
            hint="use enrich='lifted'",
        )


def _leave_out_sites(
    systems: Sequence[System],
    settings: SplitSettings,
    kinds: Sequence[str] | None,
    windows: str,
    choose: str,
    progress: Progress,
) -> SiteGeneralisation:
    """Leave out each system once: mine on the others together, and measure on the one left out."""
    out = {}
    # A pattern with one place in each of several sites is worth as much as one with several places in one.
    settings = replace(settings, min_embeddings=min(settings.min_embeddings, max(2, len(systems) - 1)))
    for done, left in enumerate(systems):
        progress("generalising", done, len(systems), left.name)
        others = [system for system in systems if system is not left]
        earlier, later = window_sites(others, kinds, windows, settings.train_share)
        there = window_system(left, kinds, windows)
        found = measure_left_out(earlier, later, there, settings)
        cut = settings.split_frame(there)
        times = there.readings.times
        out[left.name] = Generalisation(
            {"lifted": found},
            f"site '{left.name}' left out",
            choose,
            there.places,
            there.places,
            earlier.places,
            str(times[cut].astype("datetime64[m]")) if cut < len(times) else "",
            len(times) - cut,
        )
    progress("generalising", len(systems), len(systems))
    return SiteGeneralisation(out)
