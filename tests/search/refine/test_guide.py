"""The guide names every public function of refinement; ``tests/test_docs.py`` runs its examples."""

from __future__ import annotations

from pathlib import Path

from thence.search.refine import __all__ as public

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "refinement.md"


def test_the_guide_names_all_functions() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in set(public) - {"add_simpler"}:
        assert name in text, f"{name} is not in the guide"
