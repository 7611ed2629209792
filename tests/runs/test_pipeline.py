"""The wiring: every way in gives the same table and the same rules, and what was done is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import thence as th
from thence._base.progress import Progress, silent
from thence.errors import BindingError, ConfigError, MiningError
from thence.runs.configuration import Config, InputConfig, RefineConfig
from thence.runs.pipeline import run_config
from thence.runs.planning import plan
from thence.search.base import make_miner
from thence.search.refine import p_values
from thence.statements.rules.ruleset import RuleSet


@pytest.fixture(scope="module")
def toy() -> Any:
    return th.datasets.load("toy")


@pytest.fixture(scope="module")
def files(toy: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy data as the files that a user would have."""
    folder = tmp_path_factory.mktemp("toy")
    toy.sensors.to_polars().write_csv(folder / "sensors.csv")
    kinds = [(s.id, s.kind, s.unit) for s in toy.sensors.sensors]
    pl.DataFrame(kinds, schema=["sensor", "kind", "unit"], orient="row").write_csv(folder / "kinds.csv")
    nodes = [(n.id, *n.labels, n.properties.get("length")) for n in toy.graph.nodes.values()]
    pl.DataFrame(nodes, schema=["id", "labels", "length [m]"], orient="row").write_csv(folder / "nodes.csv")
    edges = [(e.source, e.target, *e.labels) for e in toy.graph.edges.values()]
    pl.DataFrame(edges, schema=["source", "target", "labels"], orient="row").write_csv(folder / "edges.csv")
    pl.DataFrame(list(toy.binding.items()), schema=["sensor", "node"], orient="row").write_csv(folder / "binding.csv")
    return folder


def texts(rules: RuleSet) -> list[str]:
    return [str(rule) for rule in rules]


def test_files_objects_and_a_data_set_give_the_same_rules(toy: Any, files: Path) -> None:
    settings: dict[str, Any] = {"windows": "1h", "bins": 3, "enrich": "none", "refine": None, "progress": "off"}
    objects = th.mine(toy.sensors, toy.graph, toy.binding, **settings)
    read = Config(input=InputConfig(read_sensors={"kinds": str(files / "kinds.csv")}))
    named = th.mine(files / "sensors.csv", files, files / "binding.csv", config=read, **settings)
    data_set = th.mine(config=Config(input=InputConfig(dataset="toy")), **settings)
    assert len(objects.rules) > 50
    assert texts(objects.rules) == texts(named.rules) == texts(data_set.rules)
    assert objects.rules.counts.n_both.tolist() == named.rules.counts.n_both.tolist()
    # Only files have a name and a hash.
    assert objects.config.input == InputConfig()
    assert named.config.input.sensors == str(files / "sensors.csv")
    assert [Path(f["path"]).name for f in named.provenance["inputs"]["graph"]] == [
        *("binding.csv", "edges.csv", "kinds.csv", "nodes.csv", "sensors.csv")
    ]
    assert data_set.provenance["inputs"]["dataset"] == {"name": "toy", "options": {}}


def test_two_runs_are_the_same_byte_for_byte(toy: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        th.mine(
            toy.sensors,
            toy.graph,
            toy.binding,
            windows="1h",
            bins=3,
            confirm=False,
            enrich="lifted",
            out=tmp_path / name,
        )
    for file in ("rules.json", "rules.parquet", "config.toml", "discretizer.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_a_run_can_be_repeated_from_its_own_configuration(files: Path, tmp_path: Path) -> None:
    read = Config(input=InputConfig(read_sensors={"kinds": str(files / "kinds.csv")}))
    first = th.mine(
        str(files / "sensors.csv"),
        str(files),
        str(files / "binding.csv"),
        config=read,
        windows="2h",
        bins=4,
        enrich="grounded",
        min_confidence=0.95,
        consequent=th.ItemFilter(kind="pressure"),
        refine={"digest": 0, "top": 20, "by": "lift"},
        out=tmp_path / "a",
    )
    again = run_config(Config.from_toml(tmp_path / "a" / "config.toml"))
    assert len(first.rules) == 20
    assert texts(again.rules) == texts(first.rules)
    assert again.config.miner.settings["min_confidence"] == 0.95


@pytest.mark.parametrize("enrich", ["none", "grounded", "existential", "lifted"])
def test_every_enrichment_runs_end_to_end(enrich: str, toy: Any) -> None:
    run = th.mine(
        toy.sensors,
        toy.graph,
        toy.binding,
        ontology=toy.ontology,
        windows="2h",
        bins=3,
        enrich=enrich,
        min_support=0.1,
        confirm=False,
    )
    assert len(run.rules) > 0
    assert run.summary["enrichment"] == enrich
    assert run.config.discretize.scope == ("sensor" if enrich == "lifted" else "kind")
    assert run.table is not None
    # The counts that a run reports are those of a count from scratch.
    counted = th.evaluate.count_rules(list(run.rules), run.table)
    assert counted.counts.n_both.tolist() == run.rules.counts.n_both.tolist()
    assert run.summary["data_coverage"] == pytest.approx(run.rules.data_coverage)


def test_keywords_overrule_the_configuration(toy: Any) -> None:
    config = Config.from_mapping(
        {
            "seed": 3,
            "windows": {"every": "4h", "aggregate": "max"},
            "discretize": {"bins": 7},
            "miner": {"name": "exact", "min_support": 0.3, "min_confidence": 0.9},
        }
    )
    settled = th.mine(toy.sensors, windows="2h", min_support=0.2, config=config, progress="off").config
    assert (settled.seed, settled.windows.every, settled.windows.aggregate) == (3, "2h", "max")
    assert settled.discretize.bins == 7
    assert settled.miner.settings["min_support"] == 0.2
    assert settled.miner.settings["min_confidence"] == 0.9


def test_miners_come_by_name_class_and_instance(toy: Any) -> None:
    made = th.Exact(min_confidence=0.9)
    runs = [
        th.mine(toy.sensors, windows="1h", bins=3, miner="exact", min_confidence=0.9, confirm=False, progress="off"),
        th.mine(toy.sensors, windows="1h", bins=3, miner=th.Exact, min_confidence=0.9, confirm=False, progress="off"),
        th.mine(toy.sensors, windows="1h", bins=3, miner=made, confirm=False, progress="off"),
    ]
    assert texts(runs[0].rules) == texts(runs[1].rules) == texts(runs[2].rules)
    assert runs[0].config == runs[1].config == runs[2].config
    with pytest.raises(ConfigError, match="not an instance"):
        th.mine(toy.sensors, miner=made, min_support=0.1)


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A miner that learns: it has a seed, a model, and trains before it extracts."""

    name: ClassVar[str] = "learner"
    wants: ClassVar[str] = "codes"
    enrichment: ClassVar[str] = "existential"
    seed: int = 99

    def train(self, table: Any, *, progress: Progress = silent) -> Any:
        @dataclass(frozen=True)
        class Model:
            seed: int

            def save(self, path: Path) -> None:
                (path / "seed").write_text(str(self.seed))

        return Model(self.seed)

    def extract(self, model: Any, table: Any, *, progress: Progress = silent) -> RuleSet:
        return th.Exact(min_confidence=0.95).mine(table)

    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        raise AssertionError("a miner with a model is used in two steps")


def test_a_miner_with_a_model_is_saved_with_it_and_gets_the_seed(toy: Any, tmp_path: Path) -> None:
    run = th.mine(toy.sensors, toy.graph, toy.binding, windows="2h", bins=3, miner=Learner, seed=12, out=tmp_path / "a")
    assert (tmp_path / "a" / "model" / "seed").read_text() == "12"
    assert run.summary["enrichment"] == "existential"
    explicit, miner = plan(Config(seed=12), Learner(seed=4))
    assert explicit.miner.settings == {"seed": 4} and miner.name == "learner"


@dataclass(frozen=True, kw_only=True)
class Local:
    """A miner that keeps to neighbours."""

    name: ClassVar[str] = "local"
    wants: ClassVar[str] = "codes"
    near: Any = None

    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        return RuleSet.empty(f"near: {self.near}")


def test_a_number_of_hops_becomes_the_neighbourhoods_of_the_table(toy: Any) -> None:
    run = th.mine(toy.sensors, toy.graph, toy.binding, miner=Local, near=1, refine=None, progress="off")
    assert run.config.miner.settings == {"near": 1}
    assert run.table is not None and isinstance(run.table, th.TransactionTable)
    assert run.rules.notes == (f"near: {run.table.within_hops(toy.graph, hops=1)}",)
    with pytest.raises(ConfigError, match="counts hops in the graph"):
        th.mine(toy.sensors, miner=Local, near=1, progress="off")


def test_numbers_go_to_miners_that_want_them(toy: Any) -> None:
    class Numbers:
        name, wants = "numbers", "numbers"

        def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
            assert isinstance(table, th.tables.FeatureTable)
            return RuleSet.empty(f"saw {table.n_rows} rows")

    run = th.mine(toy.sensors, windows="1h", miner=Numbers(), progress="off")
    assert run.summary["notes"] == ["saw 48 rows"]
    assert run.discretizer is None


def test_an_interrupted_miner_leaves_a_run_that_says_so(toy: Any, tmp_path: Path) -> None:
    def stop(stage: str, done: float, total: float, note: str = "") -> None:
        if stage.startswith("mining"):
            raise KeyboardInterrupt

    run = th.mine(toy.sensors, windows="30min", bins=5, confirm=False, out=tmp_path / "a", progress=stop)
    assert (run.complete, run.interrupted) == (False, True)
    back = th.load_run(tmp_path / "a")
    assert (back.complete, back.interrupted) == (False, True)
    assert "interrupted" in back.summary["notes"][0]
    whole = th.mine(toy.sensors, windows="30min", bins=5, refine=None, progress="off")
    assert set(back.rules) <= set(whole.rules)


def test_an_interruption_before_mining_leaves_nothing(toy: Any, tmp_path: Path) -> None:
    class Eager:
        name, wants = "eager", "codes"

        def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.mine(toy.sensors, miner=Eager(), out=tmp_path / "a", progress="off")
    assert list(tmp_path.iterdir()) == []


def test_refinement_is_that_of_the_function(toy: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"windows": "1h", "bins": 3, "enrich": "none", "progress": "off"}
    settings["ontology"] = toy.ontology
    plain = th.mine(toy.sensors, toy.graph, toy.binding, refine=None, **settings)
    assert isinstance(plain.table, th.TransactionTable)
    expected = th.refine(plain.rules, plain.table, cover=True, min_confidence=0.8, ontology=toy.ontology)
    wanted = {"cover": True}
    run = th.mine(toy.sensors, toy.graph, toy.binding, refine=wanted, out=tmp_path / "a", **settings)
    assert set(run.rules) == set(expected)
    assert len(run.rules) < len(plain.rules) == run.summary["rules_found"]
    assert run.summary["refine"]["rules_before"] == len(plain.rules)
    assert run.summary["data_coverage"] == pytest.approx(expected.data_coverage)
    back = th.load_run(tmp_path / "a")
    assert (back.config.refine.apply, back.config.refine.cover) == (True, True)
    assert back.rules.facts["refine"]["rules_after"] == len(expected)
    all_steps = th.mine(toy.sensors, toy.graph, toy.binding, refine={"digest": 0}, **settings)
    assert len(run.rules) <= len(all_steps.rules) < len(plain.rules)


def test_significance_is_seeded(toy: Any) -> None:
    chosen = {"significance": 0.2, "confirm": False, "null": {"draws": 49}}
    first, second = (
        th.mine(toy.sensors, windows="1h", bins=3, max_antecedents=1, refine=chosen, seed=3, progress="off")
        for _ in range(2)
    )
    assert texts(first.rules) == texts(second.rules)
    steps = [step["step"] for step in first.summary["refine"]["steps"]]
    assert "significance" in steps


def test_the_test_of_significance_knows_the_constraints_of_the_miner(toy: Any) -> None:
    # Rules that the miner was told to leave out competed with those that it found, and p-values were too large.
    settings: dict[str, Any] = {
        "bins": 3,
        "min_support": 0.05,
        "max_antecedents": 2,
        "consequent": {"kind": "pressure"},
        "enrich": "none",
    }
    plain = th.mine(toy.sensors, toy.graph, toy.binding, refine=None, progress="off", **settings)
    assert isinstance(plain.table, th.TransactionTable)
    expected = p_values(
        plain.rules, plain.table, alpha=0.5, min_support=0.05, min_confidence=0.8, consequent={"kind": "pressure"}
    )
    alone = {"significance": 0.5, "trivia": False, "redundancy": False, "merge": False, "digest": 0}
    run = th.mine(toy.sensors, toy.graph, toy.binding, refine=alone, progress="off", **settings)
    assert dict(zip(run.rules, run.rules.measure("p_adjusted"), strict=True)) == dict(
        zip(expected, expected.measure("p_adjusted"), strict=True)
    )


def test_what_cannot_be_tested_is_refused_before_mining(toy: Any) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the miner was started")

    class Idle(th.Exact):
        mine = never  # type: ignore[assignment]

    chosen = {"significance": 0.05, "null": {"period": 1000}}
    with pytest.raises(MiningError, match="too few for a shift"):
        th.mine(toy.sensors, miner=Idle(), refine=chosen, progress="off")


def test_rules_with_their_own_intervals_are_not_refined(toy: Any) -> None:
    class Numbers:
        name, wants = "numbers", "numbers"

        def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
            return RuleSet.empty()

    with pytest.raises(ConfigError, match="have intervals of their own"):
        th.mine(toy.sensors, miner=Numbers(), refine=True, progress="off")


def test_refinement_bounds_orders_and_cuts(toy: Any) -> None:
    chosen = RefineConfig(apply=False, by="lift", top=5, min={"confidence": 0.9}, max={"support": 0.3})
    run = th.mine(toy.sensors, windows="1h", bins=3, refine=chosen, progress="off")
    assert len(run.rules) == 5 < run.summary["rules_found"]
    lift = run.rules.measure("lift")
    assert (np.diff(lift) <= 0).all()
    assert run.rules.measure("confidence").min() >= 0.9
    assert run.rules.measure("support").max() <= 0.3
    with pytest.raises(ConfigError, match="did you mean 'top'"):
        th.mine(toy.sensors, refine={"topp": 3})


def test_bins_are_fitted_on_the_first_part_only(toy: Any) -> None:
    early = th.transactions(toy.sensors.upto("2024-01-02"), windows="1h", bins=3)
    fitted = th.transactions(toy.sensors, windows="1h", bins=3, fit_until="2024-01-02")
    assert fitted.discretizer.to_dict() == early.discretizer.to_dict()
    assert np.array_equal(fitted.codes[:24], early.codes)
    with pytest.raises(ConfigError, match="no window lies before"):
        th.transactions(toy.sensors, windows="1h", fit_until="1999-01-01")


def test_select_and_period_limit_what_is_read() -> None:
    given = InputConfig(dataset="toy", select=("flow_AB", "pressure_A"), start="2024-01-01T12:00", end="2024-01-02")
    run = th.mine(config=Config(input=given), windows="1h", bins=2, enrich="none", confirm=False, progress="off")
    assert (run.summary["n_features"], run.summary["n_transactions"]) == (2, 12)


def test_given_bin_edges_and_patterns(toy: Any) -> None:
    table = th.transactions(toy.sensors, windows="1h", bin_edges={"flow": [20.0]})
    assert table.discretizer.binnings["flow"].bin_edges.tolist() == [20.0]
    text = "(f:flow)-[in]->(p:Pipe)"
    for pattern in (text, [text], th.language.Pattern.parse(text), [th.language.Pattern.parse(text)]):
        lifted = th.transactions(toy.sensors, toy.graph, toy.binding, enrich="lifted", patterns=pattern)
        assert [str(block.pattern) for block in lifted.blocks] == [str(th.language.Pattern.parse(text))]


def test_feature_tables_keep_the_numbers(toy: Any) -> None:
    table = th.baselines.feature_table(toy.sensors, toy.graph, toy.binding, windows="30min", enrich="grounded")
    readings = toy.sensors.to_polars().drop("time").to_numpy()
    assert np.array_equal(table.numbers[:, :5], readings)
    assert sum(table.context) == len(table.features) - 5


def test_missing_and_contradicting_inputs_are_said(toy: Any) -> None:
    with pytest.raises(ConfigError, match="no sensors are given"):
        th.mine()
    with pytest.raises(ConfigError, match="no sensors are given"):
        th.transactions(None)
    with pytest.raises(ConfigError, match="a binding needs the graph"):
        th.mine(toy.sensors, None, toy.binding)
    with pytest.raises(ConfigError, match="needs a graph"):
        th.mine(toy.sensors, enrich="grounded")
    with pytest.raises(BindingError, match="cannot be bound"):
        th.mine(toy.sensors, toy.graph, {"flow_AB": "Pipe XY"}, enrich="grounded")
    with pytest.raises(ConfigError, match="unknown value of 'progress'"):
        th.mine(toy.sensors, progress="loud")
    raw = th.mine(toy.sensors, miner="exact", windows="1h", progress="off")
    with pytest.raises(ConfigError, match="that run has no bins"):
        th.transactions(toy.sensors, like=replace(raw, discretizer=None))


def test_progress_tells_the_stages(toy: Any) -> None:
    told: list[str] = []
    th.mine(toy.sensors, windows="1h", bins=3, progress=lambda stage, *rest: told.append(stage))
    assert "mining" in told


@dataclass(frozen=True)
class _Ours:
    """A miner of others, whose settings have names that Thence uses for something else."""

    name: ClassVar[str] = "ours"
    wants: ClassVar[str] = "codes"
    exhaustive: ClassVar[bool] = False

    near: float = 0.3
    denominator: str = "day"
    consequent: str = "flow"
    k: int = 3

    def mine(self, table: th.TransactionTable, *, progress: object = None) -> th.RuleSet:
        return th.Exact(max_antecedents=1).mine(table)


def test_settings_of_a_miner_of_others_are_its_own() -> None:
    made = make_miner(_Ours, near=0.5, denominator="week", consequent="pressure", k=3.0)
    data = th.datasets.load("toy")
    run = th.mine(
        data.sensors, data.graph, data.binding, windows="1h", bins=3, miner=made, refine={"significance": 0.5},
        progress="off",
    )  # fmt: skip
    assert run.config.miner.settings["denominator"] == "week"


def test_a_misspelt_bound_is_refused_whatever_the_miner() -> None:
    data = th.datasets.load("toy")
    with pytest.raises(ConfigError, match="confidance"):
        th.mine(
            data.sensors, data.graph, data.binding, windows="1h", bins=3, enrich="none", miner=_Ours(),
            refine={"min": {"confidance": 0.9}}, progress="off",
        )  # fmt: skip
