"""Configuration: from and to TOML, and what is said about mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thence.errors import ConfigError, PatternError
from thence.language.constraints import ItemFilter
from thence.runs.configuration import Config, DiscretizeConfig, InputConfig, MinerConfig, OutputConfig, RefineConfig

FULL = """\
seed = 7

[input]
sensors = ["data/a.parquet", "/data/b.parquet"]
graph = "net.inp"
ontology = "water"
binding = "binding.csv"
select = ["s1", "s2"]
start = "2024-01-01"

[input.read_sensors]
separator = ";"
kinds = "kinds.csv"

[input.bind]
partial = true

[windows]
every = "1h"
aggregate = { flow = "sum", pressure = "min" }
derive = ["change", "hour"]

[discretize]
bins = 5
scope = "sensor"
method = "width"
bin_edges = { flow = [1, 2.5] }
fit_until = "2024-06-01"

[enrich]
mode = "lifted"
patterns = ["(f:flow)-[in]->(p:Pipe)"]

[miner]
name = "exact"
min_support = 0.05
max_antecedents = 3

[miner.consequent]
kind = "pressure"

[refine]
top = 50
by = "lift"

[refine.min]
zhang = 0.5

[output]
path = "runs/a"
also = ["rules.md"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_section_is_read(tmp_path: Path) -> None:
    config = Config.from_toml(write(tmp_path, FULL))
    assert config.seed == 7
    assert config.input.sensors == (str(tmp_path / "data/a.parquet"), "/data/b.parquet")
    assert config.input.graph == str(tmp_path / "net.inp")
    assert config.input.ontology == "water"
    assert config.input.read_sensors == {"separator": ";", "kinds": str(tmp_path / "kinds.csv")}
    assert config.windows.aggregate == {"flow": "sum", "pressure": "min"}
    assert config.windows.derive == ("change", "hour")
    assert config.discretize.bin_edges == {"flow": (1.0, 2.5)}
    assert config.enrich.patterns == ("(f:flow)-[in]->(p:Pipe)",)
    assert config.miner == MinerConfig(
        name="exact", settings={"min_support": 0.05, "max_antecedents": 3, "consequent": {"kind": "pressure"}}
    )
    assert config.refine == RefineConfig(by="lift", top=50, min={"zhang": 0.5})
    assert config.output == OutputConfig(path=str(tmp_path / "runs/a"), also=("rules.md",))


def test_toml_round_trip(tmp_path: Path) -> None:
    config = Config.from_toml(write(tmp_path, FULL))
    again = Config.from_toml(write(tmp_path, config.to_toml()))
    assert again == config


def test_rules_are_refined_unless_told_otherwise() -> None:
    assert RefineConfig(apply=False, top=3, min={"lift": 1.0}).steps is None
    assert RefineConfig().steps == RefineConfig(apply=True).steps == {}
    with pytest.raises(ConfigError, match="'cover' is a setting of the refinement, which is switched off"):
        RefineConfig(apply=False, cover=0.9)
    assert (RefineConfig().most, RefineConfig(cover=0.9).most, RefineConfig(digest=7).most) == (50, 0, 7)
    assert RefineConfig(cover=0.9, merge=False).steps == {"cover": 0.9, "merge": False}
    assert RefineConfig(null={"draws": 9}).steps == {"null": {"draws": 9}}


def test_defaults_round_trip() -> None:
    assert Config.from_mapping(Config().to_mapping()) == Config()


def test_settings_of_a_made_miner_are_written_by_their_fields(tmp_path: Path) -> None:
    settings = {"antecedent": (ItemFilter(kind="flow"), ItemFilter(cls=("Pipe", "Pump")))}
    text = Config(miner=MinerConfig(settings=settings)).to_toml()
    back = Config.from_toml(write(tmp_path, text))
    assert back.miner.settings["antecedent"] == [{"kind": "flow"}, {"cls": ["Pipe", "Pump"]}]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('seed = 1\n[windws]\nevery = "1h"', "line 2", "unknown section or setting 'windws' (did you mean 'windows'?)"),
        ('[windows]\n\nevry = "1h"', "line 3, [windows]", "unknown setting 'evry' (did you mean 'every'?)"),
        ("[discretize]\nbins = 'ten'", "line 2, [discretize]", "'bins' must be an integer, got 'ten'"),
        ("[discretize]\nbins = 2.5", "line 2, [discretize]", "'bins' must be an integer, got 2.5"),
        ("[discretize]\nbins = true", "line 2, [discretize]", "'bins' must be an integer, got True"),
        ("[windows]\nderive = 'hour'", "line 2, [windows]", "'derive' must be a list of strings, got 'hour'"),
        ("[windows]\naggregate = 3", "line 2, [windows]", "'aggregate' must be a string or a table, got 3"),
        ("[enrich]\nedges = 1", "line 2, [enrich]", "'edges' must be a boolean, got 1"),
        ("seed = 'a'", "line 1", "'seed' must be an integer >= 0, got 'a'"),
        ("seed = 0\nwindows = '1h'", "line 2", "'windows' must be a table, got '1h'"),
        (
            "[miner]\nname = 'exact'\nmin_suport = 0.1",
            "line 3, [miner]",
            "the miner 'exact' has no setting 'min_suport' (did you mean 'min_support'?)",
        ),
        ("[miner]\nmin_support = 2.0", "line 2, [miner]", "min_support must lie between 0 and 1, got 2.0"),
        ("[miner]\nname = 'exat'", "line 2, [miner]", "unknown miner 'exat' (did you mean 'exact'?)"),
        ("[input]\ndataset = 'tooy'", "line 2, [input]", "(did you mean 'toy'?)"),
        (
            "[input]\ndataset = 'net3'\n[input.options]\ndys = 3",
            "line 4, [input.options]",
            "the data set 'net3' has no option 'dys' (did you mean 'days'?)",
        ),
        (
            "[input]\nsensors = 'a.csv'\n[input.read_sensors]\nseperator = ';'",
            "line 4, [input.read_sensors]",
            "unknown setting 'seperator' (did you mean 'separator'?)",
        ),
        (
            "[input]\nsensors = 'a.csv'\ndataset = 'toy'",
            "line 1, [input]",
            "'dataset' and 'sensors' exclude each other",
        ),
        ("[input]\n[input.options]\ndays = 3", "line 2, [input]", "'options' are for a data set"),
        ("[refine]\ntop = 0", "line 2, [refine]", "'top' must be at least 1"),
        (
            "[refine.null]\ndrws = 9",
            "line 2, [refine.null]",
            "unknown setting 'drws' (did you mean 'draws'?)",
        ),
        ("[refine]\ncover = 'all'", "line 2, [refine]", "'cover' must be a boolean or a number, got 'all'"),
        ("[output]\nalso = ['../rules.md']", "line 2, [output]", "'also' must name files inside the run folder"),
        # What follows was once found after mining, when all rules were lost, or never.
        (
            "[output]\nalso = ['rules.xyz']",
            "line 2, [output]",
            "no format has the suffix '.xyz'",
        ),
        ("[output]\nalso = ['summary.json']", "line 2, [output]", "which every run writes itself"),
        ("[refine]\nby = 'zang'", "line 2, [refine]", "unknown measure 'zang' (did you mean 'zhang'?)"),
        ("[refine]\nby = 'p_adjusted'", "line 2, [refine]", "unknown measure 'p_adjusted'"),
        ("[refine]\ncover = 2", "line 2, [refine]", "'cover' must lie between 0 and 1, got 2"),
        ("[refine]\nimprovement = 3", "line 2, [refine]", "'improvement' must lie between 0 and 1, got 3"),
        ("[refine]\nmin_confidence = 3", "line 2, [refine]", "'min_confidence' must lie between 0 and 1, got 3"),
        ("[refine]\nsignificance = 2", "line 2, [refine]", "'significance' must lie between 0 and 1, got 2"),
        ("[refine.min]\nlft = 1", "line 2, [refine.min]", "unknown measure 'lft' (did you mean 'lift'?)"),
        ("[refine.null]\ndraws = 0", "line 2, [refine.null]", "draws must be an integer >= 1, got 0"),
        ("[refine.null]\ndraws = 'x'", "line 2, [refine.null]", "'draws' must be an integer, got 'x'"),
        ("[enrich]\nhops = -1", "line 2, [enrich]", "'hops' must be at least 0, got -1"),
        ("[enrich]\npatterns = '(x:Pip'", "line 2, [enrich]", "(x:Pip"),
        ("[windows]\ntimezone = 'Mars'", "line 2, [windows]", "'timezone' must be an IANA time zone, got 'Mars'"),
        (
            "[input.read_sensors]\ntimezone = 'Mars'",
            "line 2, [input.read_sensors]",
            "'timezone' must be an IANA time zone, got 'Mars'",
        ),
        ("seed = -1", "line 1", "'seed' must be an integer >= 0, got -1"),
        ("[miner]\nmin_support = 'abc'", "line 2, [miner]", "min_support must be a finite number, got 'abc'"),
        ("[miner]\nbounds = 3", "line 2, [miner]", "'bounds' must be a table, got 3"),
        ("[miner]\ndenominator = 'foo'", "line 2, [miner]", "unknown denominator 'foo' ('present' or 'all')"),
        ("[miner]\nname = 'aerial'\nepochs = 'x'", "line 3, [miner]", "epochs must be an integer >= 1, got 'x'"),
        ("[miner]\nname = 'aerial'\nseed = -1", "line 3, [miner]", "seed must be an integer from 0 to"),
        ("[miner]\nnear = 'x'", "line 2, [miner]", "'near' must be an integer number of hops"),
        (
            "[miner]\nantecedent = 3",
            "line 2, [miner]",
            "'antecedent': a constraint must be text, a th.ItemFilter or a list of them, got 3",
        ),
        ("[miner]\nconsequent = [{ kind = 3 }]", "line 2, [miner]", "'consequent': 'kind' of a constraint must be"),
        ("[miner.consequent]\nknd = 'flow'", "line 1, [miner]", "unknown constraint 'knd' (did you mean 'kind'?)"),
        (
            "[miner]\nname = 'aerial'\nsettings = { epocs = 3 }",
            "line 3, [miner]",
            "unknown training setting 'epocs' (did you mean 'epochs'?)",
        ),
        (
            "[input]\ndataset = 'net3'\n[input.options]\ndays = 'abc'",
            "line 4, [input.options]",
            "'days' must be an integer, got 'abc'",
        ),
    ],
)
def test_mistakes_are_refused_with_place_and_nearest_name(text: str, line: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises((ConfigError, PatternError)) as caught:
        Config.from_toml(path)
    assert str(caught.value).startswith(f"{path}, {line}")
    assert message in str(caught.value)


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not valid TOML.*line 2"):
        Config.from_toml(write(tmp_path, "a = 1\nb = = 2"))


def test_a_missing_file_and_a_binary_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Config.from_toml(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        Config.from_toml(tmp_path / "x.toml")


def test_a_miner_is_not_loaded_unless_checked(tmp_path: Path) -> None:
    path = write(tmp_path, "[miner]\nname = 'of another package'\nanything = 1")
    assert Config.from_toml(path, check=False).miner.settings == {"anything": 1}
    with pytest.raises(ConfigError, match="unknown miner"):
        Config.from_toml(path)


def test_sections_are_values() -> None:
    assert DiscretizeConfig(bins=3) == DiscretizeConfig(bins=3)
    with pytest.raises(AttributeError):
        InputConfig().sensors = "a"  # type: ignore[misc]


def test_columns_that_the_chosen_steps_add_can_be_ordered_and_bounded_by() -> None:
    tested = {"significance": 0.05, "assurance": 0.9, "by": "p_adjusted", "min": {"assured_confidence": 0.5}}
    assert Config.from_mapping({"refine": tested}).refine.by == "p_adjusted"
    assert Config.from_mapping({"miner": {"name": "aerial"}, "refine": {"by": "probability"}})
    assert Config.from_mapping({"enrich": {"mode": "lifted"}, "refine": {"by": "support_time"}})
    assert Config.from_mapping({"refine": {"apply": True, "by": "improvement"}})


def test_another_seed_is_also_that_of_the_miner() -> None:
    # A run records the seed of its miner, which then overruled every other.
    recorded = Config.from_mapping({"miner": {"name": "aerial", "seed": 0, "similarity": 0.7}})
    assert recorded.with_seed(5).miner.settings == {"similarity": 0.7}
    nested = replace(recorded, miner=replace(recorded.miner, settings={"settings": {"seed": 3, "epochs": 2}}))
    assert nested.with_seed(5).miner.settings == {"settings": {"epochs": 2}}


def test_another_enrichment_has_its_own_scope_and_settings() -> None:
    recorded = Config.from_mapping({"enrich": {"mode": "grounded", "hops": 2}, "discretize": {"scope": "kind"}})
    assert recorded.with_enrichment("lifted", recorded=True).discretize.scope is None
    assert recorded.with_enrichment("lifted").discretize.scope == "kind"
    assert recorded.with_enrichment("lifted").enrich.hops == 2
    assert recorded.with_enrichment("none").enrich.hops is None
    unusual = Config.from_mapping({"enrich": {"mode": "grounded"}, "discretize": {"scope": "sensor"}})
    assert unusual.with_enrichment("existential", recorded=True).discretize.scope == "sensor"


def test_only_an_ontology_can_be_named_water(tmp_path: Path) -> None:
    # A folder of readings with that name was taken for the ontology of the package.
    text = "[input]\nsensors = 'water'\ngraph = ['water']\nontology = ['water', 'more.ttl']\n"
    given = Config.from_toml(write(tmp_path, text)).input
    assert given.sensors == str(tmp_path / "water")
    assert given.graph == (str(tmp_path / "water"),)
    assert given.ontology == ("water", str(tmp_path / "more.ttl"))
