"""What the first page of a run needs: the sentences worth knowing, laws, controls, and how it was mined.

Looks at few rules, however many there are, so that the page opens at once. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Mapping

from thence.runs.reviews import Review
from thence.show.explorer.schema import Outline
from thence.show.reports.facts import choose_facts
from thence.show.reports.inputs import describe_graph
from thence.show.reports.material import Material
from thence.show.reports.method import describe_mining
from thence.show.reports.rows import control_rows, law_rows

__all__ = ["outline_of"]


def outline_of(material: Material, *, reviews: Mapping[str, Review] | None = None) -> Outline:
    """Return the outline of a run.

    Args:
        material: The run, with what is at hand of its data.
        reviews: What people said, by key.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> outline = outline_of(material_of(run))
        >>> outline["kinds"], outline["classes"], len(outline["facts"]) > 0
        (['flow', 'pressure'], ['Junction', 'Pipe'], True)
    """
    run, system, readings = material.run, material.system, material.readings
    graph = None if system is None else system.graph
    return {
        "facts": choose_facts(run, reviews=reviews),
        "laws": law_rows(run.laws or (), reviews=reviews),
        "controls": control_rows(run.controls or (), reviews=reviews),
        "mining": describe_mining(run),
        "kinds": [] if readings is None else sorted({one.kind for one in readings.sensors if one.kind}),
        "classes": [] if graph is None else [one["name"] for one in describe_graph(graph)["classes"]],
        "notes": [material.why] if material.why else [],
    }
