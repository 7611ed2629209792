"""The table "Does it work?" of the README and the home page: six questions, each answered by cells of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tools.record_tables import find_cell, read_rows
from tools.result_numbers import ROOT, read_csv

DOCS = ROOT / "docs"
UNTOUCHED = ("ky4", "ky10", "net6")
"""Networks on which no setting of the search for controls was chosen."""


def evidence_rows(prefix: str) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """Return the heads and the rows.

    Args:
        prefix: What leads from the page to ``docs``, such as ``docs/``.
    """
    pages = {name: f"[{name}]({prefix}{page})" for name, page in PAGES.items()}
    return ["question", "measured", ""], [
        ["Does it find known controls?", _controls(), pages["rediscovery"]],
        ["Do laws hold at hidden places, later?", _laws(), pages["laws"]],
        ["Do findings hold later?", _later(), pages["later"]],
        ["Nothing from noise?", _noise(), pages["noise"]],
        ["Are leaks found?", _leaks(), pages["detection"]],
        ["How large?", _scale(), pages["scale"]],
    ]


PAGES: Mapping[str, str] = {
    "rediscovery": "results/rediscovery/index.md",
    "laws": "results/rediscovery/index.md#laws",
    "later": "results/defaults.md#later",
    "noise": "results/defaults.md#noise",
    "detection": "results/detection/index.md",
    "scale": "results/scale/index.md",
}


def _controls() -> str:
    lines = [line for line in _csv("rediscovery/controls.csv") if line["network"] in UNTOUCHED]
    recalled: dict[str, int] = {}
    for line in lines:
        recalled[line["contender"]] = recalled.get(line["contender"], 0) + int(line["recalled"])
    controls = sum(int(line["controls"]) for line in lines if line["contender"] == "Thence")
    best = max(number for name, number in recalled.items() if name != "Thence")
    return f"{recalled['Thence']} of {controls} in three networks; best other miner: {best}"


def _laws() -> str:
    (line,) = (one for one in _csv("rediscovery/laws.csv") if (one["network"], one["law"]) == ("net6", "mass balance"))
    share = int(line["unseen_held"]) / int(line["unseen_rows"])
    return f"Net6, mass balance at {int(line['unseen_places']):,} nodes: {100 * share:.2f} %"


def _later() -> str:
    path = DOCS / "records" / "holding.md"
    shares = {name: float(find_cell(path, (name,), "all hold").partition(" ")[0]) for name in (*SIMULATED, *MEASURED)}
    texts = [
        f"{kind} {100 * min(shares[name] for name in names):.0f} to {100 * max(shares[name] for name in names):.0f} %"
        for kind, names in (("simulated", SIMULATED), ("measured", MEASURED))
    ]
    return "; ".join(texts)


SIMULATED = ("net3", "hanoi", "ltown")
MEASURED = ("citybench", "lbnl-ahu MZVAV-2-1", "lbnl-ahu SZCAV", "lbnl-ahu SZVAV", "open-smart-home")


def _noise() -> str:
    path = DOCS / "records" / "holding.md"
    cells = [find_cell(path, ("all", ""), column) for column in ("nothing reported", "systems")]
    return f"nothing in {cells[0]} of {cells[1]} systems of noise"


def _leaks() -> str:
    path = DOCS / "results" / "detection" / "record.md"
    ours = [row["F1"] for _, cells, row in read_rows(path) if cells[0].startswith("thence, sparse") and "F1" in row][-1]
    theirs = max(find_cell(path, (f"minimum night flow, {share} % (published)",), "F1") for share in (10, 20, 30))
    found = find_cell(path, ("the detector's …",), "leaks found within 300 m")
    chance = find_cell(path, ("as many at the same times, random pipes…",), "leaks found within 300 m")
    return f"Hanoi: F1 {ours} (published baseline {theirs}); L-Town: {found} located, by chance {chance.split()[0]}"


def _scale() -> str:
    (line,) = (
        one
        for one in _csv("scale/scale.csv")
        if (one["part"], one["sensors"], one["frames"]) == ("lifted", "10000", "100000")
    )
    return f"10⁹ readings, two cores: {float(line['seconds']) / 60:.0f} minutes, {float(line['gib']):.0f} GiB"


def _csv(name: str) -> list[Mapping[str, str]]:
    return list(read_csv(DOCS / "results" / name))


CONTENDERS = ("Thence", "Exact", "Aerial", "pyaerial", "mlxtend")
LAWS: Mapping[str, str] = {
    "mass balance": "mass balance of junctions",
    "tank": "change of a tank's level against its inflow",
    "closed": "no flow in a closed link",
    "head": "flow from the higher head to the lower",
    "check valve": "one direction through a check valve",
    "reducing valve": "pressure behind a reducing valve",
}


def rediscovered_controls() -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """Return the controls that each contender found, by network, and how exact those of Thence are."""
    lines = {(line["network"], line["contender"]): line for line in _csv("rediscovery/controls.csv")}
    rows = []
    for network in dict.fromkeys(network for network, _ in lines):
        own = lines[network, "Thence"]
        others = [_recalled(lines[network, name]) for name in CONTENDERS[1:]]
        exact = f"{100 * float(own['error']):.2f} %"
        told = f"{own['true']} of {own['looked_at']}"
        rows.append([network, f"{int(own['sensors']):,}", own["controls"], own["recalled"], told, exact, *others])
    return ["network", "sensors", "controls", "found", "of those reported, true", "error", *CONTENDERS[1:]], rows


def _recalled(line: Mapping[str, str]) -> str:
    return "stopped" if line["seconds"] == "inf" else line["recalled"]


def rediscovered_laws() -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """Return in what share of the rows of later time a law holds, and at how many hidden places."""
    lines = {(line["network"], line["law"]): line for line in _csv("rediscovery/laws.csv")}
    networks = list(dict.fromkeys(network for network, _ in lines))
    rows = [[text, *(_law_cell(lines[network, name]) for network in networks)] for name, text in LAWS.items()]
    return ["law", *networks], rows


def _law_cell(line: Mapping[str, str]) -> str:
    if line["places"] == "0":
        return "no place"
    if line["later_share"] == "nan":
        return "not found"
    share = f"{100 * float(line['later_share']):.2f} %"
    if line["unseen_rows"] == "0":
        return share
    hidden = int(line["unseen_held"]) / int(line["unseen_rows"])
    return f"{share}; {100 * hidden:.2f} % at {int(line['unseen_places']):,} hidden"
