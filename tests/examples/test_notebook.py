"""The example notebook: every cell runs in a kernel of its own, and objects show themselves as HTML and charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "rules.ipynb"

# The packages of Jupyter warn about their own future; only the notebook is tested here.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def outputs(notebook: Any, start: str) -> dict[str, str]:
    """The last output of the cell whose last line begins like this, by type."""
    (cell,) = (
        c for c in notebook.cells if c.cell_type == "code" and c.source.splitlines()[-1].strip().startswith(start)
    )
    return dict(cell.outputs[-1].get("data", {}))


def test_the_notebook_is_stored_without_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        ("system", "System net3"),
        ("run.table", "TransactionTable: "),
        ("rules.rule(0)", "<code>"),
    ],
)
def test_objects_show_themselves(start: str, shown: str, executed: Any) -> None:
    assert shown in outputs(executed, start)["text/html"]


def test_a_run_and_its_rules_are_shown_as_sentences(executed: Any) -> None:
    for start in ("run", "rules"):
        cells = [c for c in executed.cells if c.cell_type == "code" and c.source.splitlines()[-1] == start]
        (data,) = (cell.outputs[-1]["data"] for cell in cells)
        assert "confidence" in data["text/html"]
        assert "%" in data["text/html"]
        assert len(data["text/plain"]) < 200


@pytest.mark.parametrize("start", ["run.rules.plot()", 'run.rules.plot("matrix")'])
def test_charts_are_charts(start: str, executed: Any) -> None:
    shown = outputs(executed, start)
    assert "vega" in shown.get("text/html", "") or any("vega" in kind for kind in shown)
