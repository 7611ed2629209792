"""What is known of one node: how each statement does there. Looks counts up; counts nothing."""

from __future__ import annotations

import numpy as np
import polars as pl

from thence.errors import MiningError
from thence.runs.run import Run
from thence.show.explorer.schema import Here
from thence.show.reports.rows import control_rows
from thence.statements.statement import Features

MOST_RULES = 5_000
"""With more rules than this, rules are listed without their counts at a node: that needs a look at every place."""


def statements_at(run: Run, node: str) -> list[Here]:
    """Return the statements that apply at a node with how often they held there: exceptions first, the lowest first.

    Args:
        run: The run.
        node: The id of the node.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off")
        >>> {one["kind"] for one in statements_at(run, "Pipe AB")}
        {'rule'}
    """
    found = run.findings
    out: list[Here] = []
    for row in control_rows(found.controls):
        if row["switches"] and any(node in found.controls[at].about.places for at in row["members"]):
            held, rows = row["explained"], row["switches"]
            out.append(
                Here(kind="control", id=row["id"], sentence=row["sentence"], rows=rows, held=held, exception=False)
            )
    for at, law in enumerate(found.laws):
        applies, holds = law.counts.by_place.get(node, (0, 0))
        if applies:
            fails = any(one.place == node for one in law.exceptions)
            out.append(Here(kind="law", id=at, sentence=law.sentence(), rows=applies, held=holds, exception=fails))
    out += _rules_at(run, node)
    return sorted(out, key=lambda one: (not one["exception"], one["held"] / one["rows"] if one["exception"] else 0.0))


def _rules_at(run: Run, node: str) -> list[Here]:
    if len(run.rules) > MOST_RULES:
        return []
    rules = run.rules
    named = run.findings.texts.carried([node in Features.of([item.feature]).places for item in rules.items])
    whole = np.full(len(rules), True) if rules.pattern_of is None else rules.pattern_of < 0
    sums = {
        at: (int(rules.counts.n_antecedent[at]), int(rules.counts.n_both[at]))
        for at in np.flatnonzero(named & whole).tolist()
    }
    fails: set[int] = set()
    try:
        counted, failing = run.places(), run.exceptions()
    except MiningError:  # of very many rules or places the counts are not kept
        counted = failing = pl.DataFrame()
    if counted.height:
        own = counted.filter(_is_at(node) & (pl.col("applies") > 0))
        fails = set(own.join(failing.select("rule", "place"), on=["rule", "place"], how="semi")["rule"].to_list())
        for rule, applies, holds in own.select("rule", "applies", "holds").iter_rows():
            before = sums.get(rule, (0, 0))
            sums[rule] = before[0] + applies, before[1] + holds
    return [
        Here(
            kind="rule",
            id=int(at),
            sentence=rules.rule(at).english,
            rows=sums[at][0],
            held=sums[at][1],
            exception=at in fails,
        )
        for at in sorted(sums)
        if sums[at][0]
    ]


def _is_at(node: str) -> pl.Expr:
    """Whether a place has a node."""
    return pl.col("nodes").list.eval(pl.element().struct.field("node") == node).list.any()
