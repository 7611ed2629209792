"""Configuration: from and to TOML, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from thence.config import Config, DiscretizeConfig, InputConfig, MinerConfig, OutputConfig, RefineConfig
from thence.constraints import Where
from thence.errors import ConfigError

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
edges = { flow = [1, 2.5] }
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
    assert config.discretize.edges == {"flow": (1.0, 2.5)}
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


def test_refining_starts_with_any_of_its_settings() -> None:
    assert RefineConfig(top=3, min={"lift": 1.0}).steps is None
    assert RefineConfig(apply=True).steps == {}
    assert RefineConfig(cover=0.9, merge=False).steps == {"cover": 0.9, "merge": False}
    assert RefineConfig(null={"draws": 9}).steps == {"null": {"draws": 9}}


def test_defaults_round_trip() -> None:
    assert Config.from_mapping(Config().to_mapping()) == Config()


def test_settings_of_a_made_miner_are_written_by_their_fields(tmp_path: Path) -> None:
    settings = {"antecedent": (Where(kind="flow"), Where(cls=("Pipe", "Pump")))}
    text = Config(miner=MinerConfig(settings=settings)).to_toml()
    back = Config.from_toml(write(tmp_path, text))
    assert back.miner.settings["antecedent"] == [{"kind": "flow"}, {"cls": ["Pipe", "Pump"]}]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('seed = 1\n[windws]\nevery = "1h"', "line 2", "unknown section or setting 'windws' (did you mean 'windows'?)"),
        ('[windows]\n\nevry = "1h"', "line 3, [windows]", "unknown setting 'evry' (did you mean 'every'?)"),
        ("[discretize]\nbins = 'ten'", "line 2, [discretize]", "'bins' must be a whole number, got 'ten'"),
        ("[discretize]\nbins = 2.5", "line 2, [discretize]", "'bins' must be a whole number, got 2.5"),
        ("[discretize]\nbins = true", "line 2, [discretize]", "'bins' must be a whole number, got True"),
        ("[windows]\nderive = 'hour'", "line 2, [windows]", "'derive' must be a list, each member a text, got 'hour'"),
        ("[windows]\naggregate = 3", "line 2, [windows]", "'aggregate' must be a text or a table, got 3"),
        ("[enrich]\nedges = 1", "line 2, [enrich]", "'edges' must be true or false, got 1"),
        ("seed = 'a'", "line 1", "'seed' must be a whole number, got 'a'"),
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
        ("[input]\nsensors = 'a.csv'\ndataset = 'toy'", "line 1, [input]", "a data set brings its own sensors"),
        ("[input]\n[input.options]\ndays = 3", "line 2, [input]", "'options' are for a data set"),
        ("[refine]\ntop = 0", "line 2, [refine]", "'top' must be at least 1"),
        (
            "[refine.null]\ndrws = 9",
            "line 2, [refine.null]",
            "unknown setting 'drws' (did you mean 'draws'?)",
        ),
        ("[refine]\ncover = 'all'", "line 2, [refine]", "'cover' must be true or false or a number, got 'all'"),
        ("[output]\nalso = ['../rules.md']", "line 2, [output]", "names files inside the run folder"),
    ],
)
def test_mistakes_are_refused_with_place_and_nearest_name(text: str, line: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        Config.from_toml(path)
    assert str(caught.value).startswith(f"{path}, {line}")
    assert message in str(caught.value)


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"this is not TOML.*line 2"):
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
