"""What miners of association rules say about switches: Exact without the graph, Aerial, pyaerial and mlxtend.

All work on one table: the same windows, ten bins of equal frequency per reading, states as they are, and the hour of
the day. Rules with one antecedent and a status as consequent are kept, since that is the form of a control, and are put
in order of Zhang's measure. The end of a bin is taken as a threshold. Each peer runs in a process of its own, which is
this script, and is stopped after a limit.
"""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _rediscovery_score import Condition, Proposal
from numpy.typing import NDArray

import thence as th
from thence.language.items import Item, Role
from thence.statements.counting.recount import recount

BINS = 10
MIN_SUPPORT = 0.01
MIN_CONFIDENCE = 0.8
STATUS = th.ItemFilter(kind="status")


def peer_table(system: th.System, *, whole: bool = False) -> th.TransactionTable:
    """Return the table of the peers: the levels, the states and the hour, or the whole readings and the hour."""
    sensors = system.sensors
    if not whole:
        sensors = sensors.select([one.id for one in sensors.sensors if one.kind in ("level", "status")])
    return th.transactions(sensors, bins=BINS, scope="sensor", derive=("hour",))


def mine_exact(table: th.TransactionTable) -> th.RuleSet:
    """Mine all rules about a status with th.Exact."""
    miner = th.Exact(
        max_antecedents=1, min_support=MIN_SUPPORT, min_confidence=MIN_CONFIDENCE, consequent=STATUS, on_limit="stop"
    )
    return miner.mine(table)


def mine_aerial(table: th.TransactionTable) -> th.RuleSet:
    """Mine rules about a status with th.Aerial."""
    return th.Aerial(max_antecedents=1, consequent=STATUS, seed=0).mine(table)


def mine_pyaerial(table: th.TransactionTable) -> th.RuleSet:
    """Mine rules about a status with pyaerial."""
    import torch
    from _aerial_jobs import as_frame, pyaerial

    torch.manual_seed(0)
    train = pyaerial("model").train
    logging.getLogger("aerial").setLevel(logging.WARNING)
    model = train(as_frame(table.codes), show_progress=False)
    names = [f"f{at:04d}" for at in range(table.n_features)]
    targets = [name for name, feature in zip(names, table.features, strict=True) if feature.label == "status"]
    found = pyaerial("rule_extraction").generate_rules(
        model,
        min_rule_frequency=MIN_SUPPORT,
        min_rule_strength=MIN_CONFIDENCE,
        max_antecedents=1,
        target_classes=targets,
    )
    offsets = dict(zip(names, table.blocks[0].offsets[:-1].tolist(), strict=True))
    rows = [] if not found else found["rules"]
    place = lambda part: offsets[part["feature"]] + int(part["value"])  # noqa: E731
    return _count([(place(row["antecedents"][0]), place(row["consequent"])) for row in rows], table)


def mine_mlxtend(table: th.TransactionTable) -> th.RuleSet:
    """Mine rules about a status with mlxtend's FP-Growth."""
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    flags = [table.codes[:, [at]] == np.arange(column.n_codes) for at, column in enumerate(table.blocks[0].columns)]
    frame = pd.DataFrame(np.concatenate(flags, axis=1))
    itemsets = fpgrowth(frame, min_support=MIN_SUPPORT, max_len=2)
    rules = association_rules(itemsets, num_itemsets=len(frame), min_threshold=MIN_CONFIDENCE)
    pairs = [(min(left), min(right)) for left, right in zip(rules["antecedents"], rules["consequents"], strict=True)]
    about = np.repeat([feature.label == "status" for feature in table.features], np.diff(table.blocks[0].offsets))
    return _count([(left, right) for left, right in pairs if about[right]], table)


def _count(pairs: list[tuple[int, int]], table: th.TransactionTable) -> th.RuleSet:
    numbers: NDArray[Any] = np.array(pairs, np.int64).reshape(-1, 2)
    return recount(numbers[:, :1], numbers[:, 1], table)


WHOLE = "Exact, all readings"
"""The peer that sees all readings."""
PEERS: dict[str, Callable[[th.TransactionTable], th.RuleSet]] = {
    WHOLE: mine_exact,
    "Exact": mine_exact,
    "Aerial": mine_aerial,
    "pyaerial": mine_pyaerial,
    "mlxtend": mine_mlxtend,
}


def as_proposals(rules: th.RuleSet) -> list[Proposal]:
    """Return rules about a status as proposals, in order of Zhang's measure."""
    ordered = rules.sort("zhang")
    proposals = []
    for rule in ordered:
        conditions = tuple(condition for item in rule.antecedent for condition in _conditions(item))
        consequent = rule.consequent
        proposals.append(Proposal(consequent.feature.subject, str(consequent.value), conditions, rule.english))
    return proposals


def _conditions(item: Item) -> list[Condition]:
    """Return what an item may say: both ends of a range, or the beginning of an hour."""
    feature = item.feature
    if feature.role is Role.TIME:
        return [Condition("", None, float(item.value))] if isinstance(item.value, (int, float)) else []
    span = item.interval
    if span is None:
        return []
    ends = (("above", span.low), ("below", span.high))
    return [Condition(feature.subject, side, end) for side, end in ends if math.isfinite(end)]


@dataclass(frozen=True)
class PeerResult:
    """What a peer found.

    Args:
        features: The number of columns that it saw; 0 if it was stopped.
        proposals: Its rules about switches, best first.
        seconds: How long binning and mining took; infinite if it was stopped.
    """

    features: int
    proposals: tuple[Proposal, ...]
    seconds: float


def run_peer(label: str, network: str, *, days: int, limit_s: int) -> PeerResult:
    """Run a peer in a process of its own.

    Args:
        label: The name of the peer.
        network: The name of the data set.
        days: The number of days.
        limit_s: After how many seconds it is stopped.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        try:
            subprocess.run(
                [sys.executable, __file__, label, network, str(days), str(file)], check=True, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            return PeerResult(0, (), math.inf)
        found = json.loads(file.read_text(encoding="utf-8"))
    proposals = tuple(
        Proposal(one["actuator"], one["status"], tuple(Condition(**part) for part in one["conditions"]), one["text"])
        for one in found["proposals"]
    )
    return PeerResult(found["features"], proposals, found["seconds"])


def main() -> None:
    """Run one peer and write what it found."""
    label, network, days, file = sys.argv[1:]
    system = th.datasets.load(network, step_minutes=5, days=int(days))
    begin = time.perf_counter()
    table = peer_table(system, whole=label == WHOLE)
    rules = PEERS[label](table)
    seconds = time.perf_counter() - begin
    found = {"features": table.n_features, "proposals": list(map(asdict, as_proposals(rules))), "seconds": seconds}
    Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
