"""Options with values that cannot be meant: refused before the work, with the option named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import TOY, fail, succeed
from thence.lab.evaluate.comparison import published_methods


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    succeed("mine", *TOY, "--out", folder, "--quiet", "--no-report")
    return folder


@pytest.mark.parametrize(
    "flag",
    ["--start", "--end", "--scope", "--towards", "--bind-rule", "--windows", "--select", "--fit-until"],
)
def test_empty_texts_are_refused(flag: str) -> None:
    """``--start ""`` and others were taken for options that are left out."""
    assert f"{flag} must not be empty" in fail("check", *TOY, flag, "")


@pytest.mark.parametrize(("section", "name"), [("input", "start"), ("discretize", "scope"), ("output", "path")])
def test_empty_texts_in_a_file_are_refused(section: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'[{section}]\n{name} = ""\n', encoding="utf-8")
    assert f"a.toml, line 2, [{section}]: '{name}' must not be empty" in fail("check", file)


@pytest.mark.parametrize("flag", ["--max-rules", "--min-embeddings"])
@pytest.mark.parametrize("value", ["0", "-1"])
def test_generalise_refuses_numbers_below_one(flag: str, value: str) -> None:
    """They were accepted, and gave an empty table."""
    assert f"{flag[2:].replace('-', '_')} must be an integer >= 1, got {value}" in fail(
        "generalise", "--dataset", "toy", flag, value
    )


def test_bounds_must_be_numbers(run: Path, tmp_path: Path) -> None:
    assert "--bound min_lift takes a number, got nan" in fail("show", run, "--bound", "min_lift=nan")
    file = tmp_path / "a.toml"
    file.write_text("[refine.min]\nlift = nan\n", encoding="utf-8")
    assert "the bound on 'lift' must be a number, got nan" in fail("check", file)


@pytest.mark.parametrize("flag", ["--feature", "--antecedent", "--consequent"])
def test_empty_filters_are_refused(run: Path, flag: str) -> None:
    assert f"{flag} must not be empty" in fail("show", run, flag, "")


def test_the_numbers_of_ts_narm_apply_by_each_of_its_names() -> None:
    """``compare --method ts-narm --evaluations 400`` ran 50,000 evaluations."""
    for name in ("ts-narm", "de", "jde"):
        (method,) = published_methods([name], evaluations=400, population=30, seed=7).values()
        assert (method.evaluations, method.population, method.seed) == (400, 30, 7)  # type: ignore[union-attr]


def test_very_long_antecedents_are_refused() -> None:
    """100,000 wanted 24 GiB for the toy data."""
    message = fail("check", *TOY, "--max-antecedents", "100000")
    assert "max_antecedents must be an integer from 1 to 100, got 100000" in message


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5_000])
def test_numbers_with_hundreds_of_digits_are_refused(value: str, tmp_path: Path) -> None:
    """They ended in OverflowError and ValueError."""
    file = tmp_path / "a.toml"
    file.write_text(f"[miner]\nmin_support = {value}\n", encoding="utf-8")
    assert len(fail("check", file)) < 500


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_terminals_without_some_characters_get_escapes(run: Path, encoding: str) -> None:
    """Characters such as ≥ ended in UnicodeEncodeError."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "thence", "show", str(run), "--text"]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    # Where a terminal says ascii, which is hardly ever true, click writes UTF-8.
    assert "confidence" in done.stdout.decode("utf-8" if encoding == "ascii" else encoding)


@pytest.mark.parametrize(
    "arguments", [("check", "a.toml", "1" * 5_000), ("x" * 5_000,), ("--" + "x" * 5_000,), ("datasets", "x " * 5_000)]
)
def test_wrong_usage_quotes_the_beginning_of_what_is_long(arguments: tuple[str, ...]) -> None:
    """The whole of it was quoted; seen by fuzzing."""
    message = fail(*arguments, code=2)
    assert len(message) < 3_000 and "…" in message
