"""Several systems in one table: every number is the sum over the sites, and the order of the sites decides nothing."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.buildings import START, building
from tests.helpers.networks import network
from tests.helpers.tables import count_by_hand
from thence.data.graph.system import System
from thence.errors import ConfigError, MiningError
from thence.runs.configuration import Config, InputConfig
from thence.runs.folders import find_system_files
from thence.runs.inputs import gather_system
from thence.search.aerial.rows import BlockRows
from thence.search.refine.significance.nulls import Null
from thence.search.refine.significance.statistics import PreparedBank
from thence.statements.counting.by_place import count_sites
from thence.statements.counting.encoding import find_countable
from thence.statements.counting.recount import count_rules, data_coverage
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

SETTINGS: dict[str, Any] = {"enrich": "lifted", "windows": "1h", "bins": 2}
DERIVE = ["hour", "change", "lag:2", "switch", "duration", "within:2h"]
ALL: dict[str, Any] = {"min_support": 0, "min_confidence": 0}

sizes = st.lists(st.tuples(st.integers(0, 50), st.integers(3, 30)), min_size=2, max_size=3)


def named(given: list[tuple[int, int]]) -> list[System]:
    return [
        replace(building(seed, frames=frames, rooms=3), name=f"site{at}") for at, (seed, frames) in enumerate(given)
    ]


def counted(rules: RuleSet) -> dict[str, tuple[int, ...]]:
    counts = rules.counts
    matrix = np.stack([counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both, counts.n_rows], axis=1)
    return {str(rule): tuple(row) for rule, row in zip(rules, matrix.tolist(), strict=True)}


@settings(max_examples=5, deadline=None)
@given(sizes, st.sampled_from(["present", "all"]))
def test_counts_are_the_sums_of_the_sites_alone_with_the_same_bins(given: list[tuple[int, int]], how: str) -> None:
    sites = named(given)
    pool = th.transactions(sites, **SETTINGS, patterns="paths", derive=DERIVE, edges=True)
    if not pool.blocks:
        return
    rules = th.Exact(max_antecedents=1, denominator=how, **ALL).mine(pool)
    patterns = [str(block.pattern) for block in pool.blocks]
    total: Counter[str] = Counter()
    times: Counter[str] = Counter()
    rows = 0
    comparable = np.ones(len(rules), bool)
    for system in sites:
        alone = th.transactions(system, **SETTINGS, patterns=patterns, derive=DERIVE, edges=True, like=pool)
        assert not any("fitted on the readings here" in note for note in alone.notes)
        rows += alone.n_rows
        # A property with one value at a site, or an edge that all its places have, is no column of its table alone.
        has = np.isin([rule.pattern for rule in rules], [str(block.pattern) for block in alone.blocks])
        comparable &= find_countable(rules, alone)[0] | ~has
        part = rules.take(np.flatnonzero(find_countable(rules, alone)[0]))
        if not len(part):
            continue
        again = count_rules(part, alone, denominator=how)
        total.update({text: row[3] for text, row in counted(again).items()})
        frames = alone.blocks[0].n_frames
        share = again.extras["support_time"]
        times.update({str(rule): round(share[r] * frames) for r, rule in enumerate(again)})
    assert rows == pool.n_rows
    blocks = {str(block.pattern): block for block in pool.blocks}
    assume(comparable.any() or not len(rules))
    for r in np.flatnonzero(comparable).tolist():
        rule = rules.rule(r)
        assert rules.counts.n_both[r] == total[str(rule)]
        block = blocks[rule.pattern]
        frames = sum(len(block.sites[site]) for site in np.unique(block.site_of).tolist())
        assert rules.extras["support_time"][r] == pytest.approx(times[str(rule)] / frames)


@settings(max_examples=5, deadline=None)
@given(sizes, st.randoms())
def test_the_order_of_the_sites_decides_nothing(given: list[tuple[int, int]], random: Any) -> None:
    sites = named(given)
    shuffled = list(sites)
    random.shuffle(shuffled)
    first, second = (th.transactions(some, **SETTINGS, derive=DERIVE) for some in (sites, shuffled))
    assert first.n_rows == second.n_rows
    mined = [th.Exact(max_antecedents=1, min_support=0.02).mine(table) for table in (first, second)]
    assert counted(mined[0]) == counted(mined[1])
    for name in ("support_time", "support_embeddings", "confidence_low"):
        values = [dict(zip(map(str, rules), rules.extras.get(name, ()), strict=True)) for rules in mined]
        assert values[0] == pytest.approx(values[1])


@settings(max_examples=5, deadline=None)
@given(sizes)
def test_rows_are_the_frames_of_each_site_and_counts_are_those_by_hand(given: list[tuple[int, int]]) -> None:
    table = th.transactions(named(given), **SETTINGS, derive=DERIVE, edges=True)
    rng = np.random.default_rng(0)
    for at, block in enumerate(table.blocks):
        codes = block.flat()
        assert len(codes) == block.n_rows == block.bank.n_rows
        assert block.site_of is not None
        # The same rows, site by site and embedding by embedding.
        parts = [one for name in table.sites for one in table.at_site(name).blocks if one.pattern == block.pattern]
        order = np.argsort(block.site_of, kind="stable")
        rows = np.split(codes, np.cumsum(block.frames_of)[:-1])
        assert np.array_equal(np.concatenate([rows[e] for e in order]), np.concatenate([one.flat() for one in parts]))
        chosen = rng.integers(0, block.n_rows, 20)
        sampled = BlockRows(block, np.arange(len(block.columns))).take(chosen)
        assert np.array_equal(sampled, codes[chosen])
        single = replace(table, blocks=(table.blocks[at],))
        rules = th.Exact(max_antecedents=2, min_support=0.05, min_confidence=0.6).mine(single)
        where = {column.feature: c for c, column in enumerate(block.columns)}
        own = rules.counts
        numbers = list(
            zip(*(part.tolist() for part in (own.n, own.n_antecedent, own.n_consequent, own.n_both)), strict=True)
        )
        for r in rng.permutation(len(rules))[:20].tolist():
            rule = rules.rule(r)
            left = [(where[i.feature], block.columns[where[i.feature]].codes_of(i)[0]) for i in rule.antecedent]
            right = (
                where[rule.consequent.feature],
                block.columns[where[rule.consequent.feature]].codes_of(rule.consequent)[0],
            )
            assert numbers[r] == count_by_hand(codes, left, right)
        covered = np.zeros(len(codes), bool)
        some = rules.take(np.arange(min(len(rules), 10)))
        for rule in some:
            hits = [
                codes[:, where[i.feature]] == block.columns[where[i.feature]].codes_of(i)[0] for i in rule.antecedent
            ]
            covered |= np.logical_and.reduce(hits)
        assert data_coverage(some, single) == pytest.approx(covered.mean() if len(some) else 0)


def pooled(frames: tuple[int, int] = (200, 120), **more: Any) -> tuple[list[System], TransactionTable]:
    sites = [
        replace(network(n, seed), name=name) for name, n, seed in zip(("north", "south"), frames, (1, 2), strict=True)
    ]
    return sites, th.transactions(sites, enrich="lifted", windows="30min", bins=3, **more)


def test_each_site_has_its_own_period_and_calendar() -> None:
    early = replace(network(48), name="early")
    late = replace(network(30, seed=1), name="late")
    moved = late.sensors.to_polars().with_columns(pl.col("time") + timedelta(days=100, hours=5))
    late = replace(late, sensors=th.SensorData.from_wide(moved, sensors=late.sensors.sensors))
    table = th.transactions([early, late], enrich="lifted", windows="30min", bins=2, derive=["hour"])
    block = table.blocks[0]
    hours = next(column for column in block.columns if column.feature.name == "hour")
    assert [str(site.times[0].astype("datetime64[h]")) for site in block.sites] == ["2024-01-01T00", "2024-04-10T05"]
    assert block.site_of is not None
    assert set(hours.codes[hours.series[block.site_of == 1][0]][:3].tolist()) == {5, 6}
    assert (hours.codes[hours.series[block.site_of == 1][0]][30:] == -1).all()


def test_support_and_confidence_by_site(tmp_path: Path) -> None:
    sites, _ = pooled()
    run = th.mine(sites, windows="30min", bins=3, confirm=False, progress="off", out=tmp_path / "run")
    frame = th.evaluate.by_site(run.rules, run.table)
    assert frame.height == 2 * len(run.rules) and set(frame["site"]) == {"north", "south"}
    together = frame.group_by("rule").agg(pl.col("holds").sum(), pl.col("applies").sum()).sort("rule")
    assert together["holds"].to_list() == run.rules.counts.n_both.tolist()
    assert together["applies"].to_list() == run.rules.counts.n_antecedent.tolist()
    south = frame.filter(pl.col("site") == "south")["confidence"].to_numpy()
    assert np.allclose(run.rules.extras["confidence_south"], south, equal_nan=True)
    again = th.load_run(tmp_path / "run")
    assert np.allclose(again.rules.measure("confidence_south"), south, equal_nan=True)
    # Counted on another table, the columns of these sites are gone.
    alone = th.transactions(sites[0], enrich="lifted", windows="30min", bins=3, like=run)
    assert "confidence_south" not in th.evaluate.count_rules(run.rules, alone).extras
    with pytest.raises(MiningError, match="one system"):
        th.evaluate.by_site(run.rules, alone)


def test_a_rule_is_not_counted_where_a_site_has_no_place_for_it() -> None:
    whole, part = replace(network(60), name="whole"), replace(network(60, seed=3), name="part")
    part = part.select_kinds(["pressure"])
    table = th.transactions([whole, part], enrich="lifted", windows="30min", bins=3)
    rules = th.Exact(max_antecedents=1).mine(table)
    counts = count_sites(rules, table)
    flows = np.array(["flow" in rule.pattern.partition("|")[0] for rule in rules])
    assert flows.any() and (counts["part"].n[flows] == 0).all() and (counts["whole"].n[flows] > 0).all()


def test_tables_of_several_sites_can_be_saved_and_cut_in_time(tmp_path: Path) -> None:
    _, table = pooled(derive=["hour"])
    table.save(tmp_path / "table.npz")
    again = TransactionTable.load(tmp_path / "table.npz")
    assert again.sites == ("north", "south") and again.n_rows == table.n_rows
    for ours, theirs in zip(table.blocks, again.blocks, strict=True):
        assert np.array_equal(ours.flat(), theirs.flat())
        assert [str(s.times[-1]) for s in ours.sites] == [str(s.times[-1]) for s in theirs.sites]
    first, second = table.frames(slice(0, 150)), table.frames(slice(150, None))
    assert first.n_rows + second.n_rows == table.n_rows
    assert [len(site) for site in first.blocks[0].sites] == [150, 120]
    assert [len(site) for site in second.blocks[0].sites] == [50, 0]
    rules = th.Exact(max_antecedents=1).mine(table)
    parts = [count_rules(rules, part).counts for part in (first, second)]
    assert parts[0] + parts[1] == rules.counts
    with pytest.raises(MiningError, match="in order"):
        table.frames(np.array([2, 1]))


def test_bins_fitted_until_a_time_are_those_of_each_site() -> None:
    sites, _ = pooled()
    until = (START + timedelta(hours=24)).isoformat()
    table = th.transactions(sites, enrich="lifted", windows="30min", bins=3, fit_until=until)
    for system in sites:
        alone = th.transactions(system, enrich="lifted", windows="30min", bins=3, fit_until=until)
        for sensor in system.sensors.ids:
            ours = table.discretizer.binnings[f"{system.name}/{sensor}"]
            assert np.array_equal(ours.bin_edges, alone.discretizer.binnings[sensor].bin_edges)
    with pytest.raises(ConfigError, match="no window of 'north'"):
        th.transactions(sites, enrich="lifted", windows="30min", fit_until="2023-01-01")


def test_time_is_permuted_within_each_site() -> None:
    _, table = pooled()
    block, null = table.blocks[0], Null(draws=20)
    drawn = null.draw(table, rng=np.random.default_rng(0))
    assert set(drawn.by_frames) == {200, 120}
    prepared = PreparedBank.of(block.bank, null.centre)
    words = prepared.permuted(drawn, 3)
    for site, bank in zip(block.sites, block.bank.sites(), strict=True):
        own = np.flatnonzero(np.array([one.name for one in block.sites])[block.site_of] == site.name)
        expected = drawn.by_frames[len(site)][3].apply(bank.words)
        rows = block.bank.row_of[:, own]
        shown = words[rows][..., : expected.shape[1]]
        assert np.array_equal(shown, expected[rows])
        assert not words[rows][..., expected.shape[1] :].any()


def test_independent_sites_of_unequal_length_give_no_significant_rules() -> None:
    rng = np.random.default_rng(5)
    sites = []
    for name, frames in (("long", 900), ("short", 150)):
        system = network(frames)
        shuffled = system.sensors.to_polars()
        shuffled = shuffled.with_columns(
            **{s: rng.permutation(shuffled[s].to_numpy()) for s in shuffled.columns if s != "time"}
        )
        sites.append(
            replace(system, sensors=th.SensorData.from_wide(shuffled, sensors=system.sensors.sensors), name=name)
        )
    table = th.transactions(sites, enrich="lifted", windows="30min", bins=3, patterns="paths")
    rules = th.Exact(max_antecedents=1, min_support=0.01, min_confidence=0.3).mine(table)
    assert len(rules) > 100
    assert len(th.refine(rules, table, significance=0.05, null=Null(draws=99))) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "has no name"),
        ({"name": "north"}, "two systems are named 'north'"),
        ({"name": "a/b"}, "must not contain '/'"),
        ({"graph": None, "binding": None}, "has no graph"),
    ],
)
def test_what_cannot_be_pooled_is_named(change: dict[str, Any], message: str) -> None:
    sites, _ = pooled()
    with pytest.raises(ConfigError, match=message):
        th.transactions([sites[0], replace(sites[1], **change)], enrich="lifted")


def test_other_enrichments_are_refused() -> None:
    sites, _ = pooled()
    for mode in ("none", "grounded", "existential"):
        with pytest.raises(ConfigError, match=f"together with the enrichment '{mode}'"):
            th.transactions(sites, enrich=mode)
    with pytest.raises(ConfigError, match="raw numbers"):
        th.baselines.feature_table(sites)


def test_a_kind_has_one_unit_at_all_sites() -> None:
    sites, _ = pooled()
    frame = sites[1].sensors.to_polars()

    def with_unit(unit: str) -> th.System:
        sensors = [replace(s, unit=unit) if s.kind == "pressure" else s for s in sites[1].sensors.sensors]
        return replace(sites[1], sensors=th.SensorData.from_wide(frame, sensors=sensors))

    feet = gather_system([sites[0], with_unit("ft")], None, None, None, InputConfig(), "lifted")
    assert {s.unit for s in feet.sensors.sensors if s.kind == "pressure"} == {"m"}
    (note,) = [note for note in feet.sensors.report.notes if "one unit" in note]
    assert note.startswith("south: readings converted to one unit for each kind: ft → m in ")
    other = gather_system([sites[0], with_unit("A")], None, None, None, InputConfig(), "lifted")
    kinds = {s.kind for s in other.sensors.sensors}
    assert len({"pressure in A", "pressure in m"} & kinds) == 1, "what cannot be converted is not pooled"
    assert th.transactions([sites[0], with_unit("A")], enrich="lifted").n_rows


def test_windows_are_long_enough_for_every_site() -> None:
    quick, slow = replace(network(60), name="quick"), replace(network(60, seed=1), name="slow")
    frame = slow.sensors.to_polars()
    stretched = frame.with_columns(time=START + pl.duration(hours=pl.int_range(pl.len()))).select(frame.columns)
    slow = replace(slow, sensors=th.SensorData.from_wide(stretched, sensors=slow.sensors.sensors))
    table = th.transactions([quick, slow], enrich="lifted")
    assert [len(site) for site in table.blocks[0].sites] == [30, 60]


def test_systems_in_a_configuration_and_in_folders(tmp_path: Path) -> None:
    sites, _ = pooled((60, 40))
    for system in sites:
        folder = tmp_path / system.name
        folder.mkdir()
        system.sensors.to_polars().write_parquet(folder / "readings.parquet")
        assert system.graph is not None and system.binding is not None
        (folder / "graph.json").write_text(json.dumps(system.graph.to_dict()))
        pl.DataFrame(list(system.binding.items()), schema=["sensor", "node"], orient="row").write_csv(
            folder / "binding.csv"
        )
        kinds = [(s.id, s.kind, s.unit) for s in system.sensors.sensors]
        pl.DataFrame(kinds, schema=["sensor", "kind", "unit"], orient="row").write_csv(folder / "kinds.csv")
    (tmp_path / "job.toml").write_text(
        "".join(
            f'[[system]]\nname = "{name}"\nsensors = "{name}/readings.parquet"\ngraph = "{name}/graph.json"\n'
            f'binding = "{name}/binding.csv"\n[system.read_sensors]\nkinds = "{name}/kinds.csv"\n'
            for name in ("north", "south")
        )
        + '[windows]\nevery = "30min"\n[discretize]\nbins = 3\n'
    )
    config = Config.from_toml(tmp_path / "job.toml")
    assert Config.from_mapping(config.to_mapping()) == config
    run = th.mine(config=config, progress="off")
    direct = th.mine(
        [replace(s, ontology=th.graph.Ontology.water()) for s in sites], windows="30min", bins=3, progress="off"
    )
    assert counted(run.rules) == counted(direct.rules)
    found = find_system_files("north", tmp_path / "north")
    assert Path(str(found.graph[0] if found.graph else "")).name == "graph.json"
    assert [Path(p).name for p in (*(found.sensors or ()), *(found.binding or ()))] == [
        "readings.parquet",
        "binding.csv",
    ]
    again = th.mine(
        config=Config(system=(found, find_system_files("south", tmp_path / "south"))),
        windows="30min",
        bins=3,
        progress="off",
    )
    assert counted(again.rules) == counted(direct.rules)
    assert set(run.provenance["inputs"]["systems"]) == {"north", "south"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[system]]\nsensors = "a.csv"\n', "needs a 'name'"),
        ('[[system]]\nname = "a"\n', "'a' has no readings"),
        ('[system]\nname = "a"\n', "must be a list of tables"),
        ('[[system]]\nname = "a"\ndataset = "toy"\n[[system]]\nname = "a"\ndataset = "toy"\n', "two systems are named"),
        ('[input]\ndataset = "toy"\n[[system]]\nname = "a"\ndataset = "toy"\n', "exclude each other"),
        ('[[system]]\nname = "a"\ndatset = "toy"\n', "did you mean 'dataset'"),
    ],
)
def test_mistakes_in_a_list_of_systems(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        Config.from_toml(tmp_path / "job.toml")


def test_leaving_out_each_site() -> None:
    sites = [replace(network(120, seed), name=f"s{seed}") for seed in range(3)]
    result = th.evaluate.generalise(sites, by="site", windows="30min", bins=3)
    assert list(result.sites) == ["s0", "s1", "s2"]
    for found in result.sites.values():
        lifted = found.modes["lifted"]
        assert lifted.wholly_unseen.places == 10 and lifted.wholly_unseen.applications > 0
        assert lifted.partly_unseen.places == 0 and lifted.seen.places == 20
    assert "measured on the site left out" in str(result) and set(result.describe()["sites"]) == {"s0", "s1", "s2"}
    with pytest.raises(ConfigError, match="at least two"):
        th.evaluate.generalise(sites[:1], by="site")
    with pytest.raises(ConfigError, match="about one site"):
        th.evaluate.generalise(sites, by="site", enrich="none")
    with pytest.raises(ConfigError, match="several systems are given"):
        th.evaluate.generalise(sites)


def test_the_graphs_stand_side_by_side() -> None:
    sites, _ = pooled()
    pool = th.System.of_sites(sites)
    assert (
        len(pool.graph.nodes) == 22 and "north/P1" in pool.graph.nodes and pool.binding["south/flow_P1"] == "south/P1"
    )
    assert {edge.source.partition("/")[0] == edge.target.partition("/")[0] for edge in pool.graph.edges.values()} == {
        True
    }


def test_one_site_is_a_list_of_one() -> None:
    toy = th.datasets.load("toy")
    assert toy.sites == (toy,) and toy.names == ("toy",)
    assert th.System.of_sites([toy]) is toy
    with pytest.raises(ConfigError, match="no systems are given"):
        th.System.of_sites([])


def test_the_readings_of_sites_have_the_names_of_their_sites() -> None:
    sites, _ = pooled()
    both = th.System.of_sites(sites)
    assert both.names == ("north", "south") and [site.name for site in both.sites] == ["north", "south"]
    frame = both.sensors.to_polars()
    for site in both.sites:
        own = site.sensors.to_polars()
        for id in site.sensors.ids:
            theirs = frame.select("time", f"{site.name}/{id}").drop_nulls()
            assert theirs.rows() == own.select("time", id).drop_nulls().rows()
    assert both.describe()["sensors"] == len(both.sensors) == 2 * len(sites[0].sensors)
    assert [one["name"] for one in both.describe()["sites"]] == ["north", "south"]
    assert "north, south" in both._repr_html_()


def test_a_part_of_several_sites_is_taken_site_by_site() -> None:
    sites, _ = pooled()
    both = th.System.of_sites(sites)
    kept = both.select(["south/flow_P1", "north/flow_P2"])
    assert kept.sensors.ids == ("north/flow_P2", "south/flow_P1")
    assert both.select(["south/flow_P1"]).names == ("south",)
    span = sites[0].sensors.span
    assert span is not None
    half = span[0] + (span[1] - span[0]) / 2
    assert [site.sensors.span for site in both.between(None, half).sites] == [
        site.sensors.between(None, half).span for site in sites
    ]
    nested = th.System.of_sites([th.System.of_sites(sites[:1]), both.sites[1]])
    assert nested.names == both.names


def test_sites_in_one_object_are_mined_as_a_list_of_them() -> None:
    sites, _ = pooled()
    options = {"windows": "1h", "bins": 3, "enrich": "lifted", "progress": "off"}
    listed, whole = th.mine(sites, **options), th.mine(th.System.of_sites(sites), **options)
    assert list(whole.rules) == list(listed.rules) and len(whole.rules)
    measured = th.evaluate.generalise(th.System.of_sites(sites), by="site", windows="1h", bins=3)
    assert measured.describe() == th.evaluate.generalise(sites, by="site", windows="1h", bins=3).describe()
