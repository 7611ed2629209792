"""Commands as the tests give them: in this process, with what they print."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from thence.cli.app import app

TOY = ["--dataset", "toy", "--windows", "1h", "--bins", "3", "--no-confirm"]


def thence(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: str | Path) -> str:
    result = thence(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*arguments: str | Path, code: int = 1) -> str:
    result = thence(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr
