"""``thence check``: read and check all inputs and report what mining would do, without mining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence._base.display.percent import percent
from thence.cli.job import Strict, default_folder, with_table
from thence.cli.options import AsJson, Quiet
from thence.cli.screen import console, facts_table, number_notes, print_json, say
from thence.errors import GraphError, RunError
from thence.runs.configuration import Config

if TYPE_CHECKING:
    from thence.data.graph.system import System
    from thence.data.readings.windows import WindowedReadings
    from thence.tables.transactions import FeatureTable, TransactionTable

_SHOWN = 20


@with_table(reads="job")
def check(source: Config, strict: Strict = False, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Read and check all inputs and report what 'mine' would do, without mining."""
    found = examine(source)
    if as_json:
        print_json(found)
    elif not quiet:
        _print(found)
    if strict:
        _refuse(found.get("ontology"))


def refuse_breaches(system: System) -> None:
    """Raise a ``GraphError`` if the graph of a system violates its ontology."""
    _refuse(_ontology(system))


def _refuse(ontology: dict[str, Any] | None) -> None:
    if ontology and ontology["breaches"]:
        first = ontology["breaches"][0]
        raise GraphError(f"the graph violates its ontology {len(ontology['breaches'])} times; first: {first}")


def examine(config: Config) -> dict[str, Any]:
    """Return what is known of a job before mining, ready for JSON."""
    found = _examine_rows(config) if config.input.has_rows else _examine_system(config)
    return {**found, "output": _output(config)}


def _output(config: Config) -> dict[str, Any]:
    from thence._base.atomic import require_writable

    target = Path(config.output.path) if config.output.path else default_folder(config)
    out = {"path": str(target), "exists": target.exists()}
    try:
        require_writable(target.absolute())
    except RunError as error:
        return out | {"refused": error.message}
    return out


def _examine_rows(config: Config) -> dict[str, Any]:
    """What is known of a table whose rows are transactions."""
    from thence.runs.frames import build_row_features, build_rows, read_rows
    from thence.runs.planning import plan

    config, miner = plan(
        config, settings={"consequent": config.input.target} if config.input.target else {}, graph=False
    )
    frame = read_rows(config.input.sensors, config.input)
    raw = miner.wants == "numbers"
    table = build_row_features(frame, config.input) if raw else build_rows(frame, config.input, config.discretize)
    return {"table": _describe(table), "search": _search(table, miner)}


def _examine_system(config: Config) -> dict[str, Any]:
    """What is known of readings and the graph around them."""
    from thence.runs.health import check_system
    from thence.runs.inputs import load_job
    from thence.runs.pipeline import plan_search, prepare_search
    from thence.runs.planning import given_settings, plan

    asked = config
    config, miner = plan(config)
    system = load_job(config)
    checked = {part.name: part.sensors.check().describe() for part in system.sites}
    data, table = prepare_search(system, config, miner)
    readings = data.readings
    search = plan_search(data.config, miner, table, system, given_settings(asked, None, {}))
    described = _describe(table)
    return {
        **({"systems": checked} if len(system.sites) > 1 else {"sensors": checked[system.name]}),
        "graph": None if system.graph is None else {"nodes": len(system.graph.nodes), "edges": len(system.graph.edges)},
        "ontology": _ontology(system),
        "binding": None
        if system.binding is None
        else {
            "bound": len(system.binding),
            "nodes": len(system.binding.nodes),
            "left_out": dict(system.binding.left_out),
        },
        "health": check_system(system, hold=config.windows.hold).to_dicts(),
        "windows": _windows(readings),
        "table": {**described, "notes": list(dict.fromkeys([*readings.notes, *described["notes"], *search.notes]))},
        "search": _search(search.searched, search.miner),
    }


def _windows(readings: WindowedReadings) -> dict[str, Any]:
    """The length, the number and the span of the windows; of several systems, of each."""
    from thence.runs.preparation import window_text

    every = window_text(readings)
    if readings.site_times:
        return {"every": every, "systems": {name: _span(times) for name, times in readings.site_times.items()}}
    return {"every": every, **_span(readings.times)}


def _span(times: Any) -> dict[str, Any]:
    start, end = (str(times[at].astype("datetime64[s]")) if len(times) else None for at in (0, -1))
    return {"count": len(times), "start": start, "end": end}


def _ontology(system: System) -> dict[str, Any] | None:
    if system.ontology is None or system.graph is None:
        return None
    breaches = system.ontology.validate(system.graph)
    return {"classes": len(system.ontology.classes), "breaches": [str(breach) for breach in breaches]}


def _describe(table: TransactionTable | FeatureTable) -> dict[str, Any]:
    from thence.tables.transactions import TransactionTable

    if isinstance(table, TransactionTable):
        return table.describe()
    return {"rows": table.n_rows, "features": len(table.features), "items": None, "notes": []}


def _search(table: TransactionTable | FeatureTable, miner: Any) -> dict[str, Any]:
    """The size of the search space, and the memory that the bitmaps of the items need."""
    from thence.tables.transactions import TransactionTable

    longest = miner.max_antecedents
    out: dict[str, Any] = {"miner": miner.name, "max_antecedents": longest, "antecedents": None, "bitmap_bytes": None}
    out["rules"] = _expected_rules(table, miner)
    if isinstance(table, TransactionTable):
        counts = [[column.n_codes for column in block.columns] for block in table.blocks]
        out["antecedents"] = sum(_combinations(sizes, longest) for sizes in counts)
        out["bitmap_bytes"] = sum(block.n_items * ((block.n_rows + 63) // 64) * 8 for block in table.blocks)
    return out


def _expected_rules(table: TransactionTable | FeatureTable, miner: Any) -> dict[str, Any] | None:
    """About how many rules a search will find before refinement, if its miner can estimate it."""
    from thence.search.exact.estimate import estimate_rules
    from thence.search.exact.miner import Exact
    from thence.tables.transactions import TransactionTable

    if not isinstance(miner, Exact) or not isinstance(table, TransactionTable) or miner.near is not None:
        return None
    found = estimate_rules(table, miner)
    return {"text": str(found), "about": found.rules, "low": found.low, "high": found.high, "exact": found.exact}


def _combinations(sizes: list[int], longest: int) -> int:
    """The number of sets of up to ``longest`` items with at most one per feature.

    These are elementary symmetric polynomials of the numbers of items per feature.
    """
    if len(set(sizes)) == 1:
        return sum(comb(len(sizes), k) * sizes[0] ** k for k in range(1, longest + 1))
    ways = [1] + [0] * longest
    for size in sizes:
        for k in range(longest, 0, -1):
            ways[k] += ways[k - 1] * size
    return sum(ways[1:])


def _print(found: dict[str, Any]) -> None:
    lines = [
        *_sensor_lines(found),
        *_graph_lines(found),
        *_health_lines(found),
        *_window_lines(found),
        *_table_lines(found),
    ]
    console().print(facts_table([*lines, *number_notes(found["table"]["notes"])]))
    breaches = (found.get("ontology") or {}).get("breaches", ())
    for breach in breaches[:_SHOWN]:
        say(f"  {breach}")
    if (more := len(breaches) - _SHOWN) > 0:
        say(f"  … and {more:,} more")


def _sensor_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    several = found.get("systems") or ({"sensors": found["sensors"]} if "sensors" in found else {})
    for name, sensors in several.items():
        kinds = ", ".join(f"{count} {kind}" for kind, count in sensors["kinds"].items())
        period = f"{sensors['start']} to {sensors['end']}" if sensors["start"] else "no readings"
        yield name, f"{sensors['sensors']} ({kinds}); {sensors['readings']:,} readings, {period}"
        yield from _finding_lines(sensors["report"])


def _graph_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "graph" in found:
        graph = found["graph"]
        yield "graph", f"{graph['nodes']:,} nodes, {graph['edges']:,} edges" if graph else "none"
    if found.get("ontology"):
        breaches = found["ontology"]["breaches"]
        violations = f"the graph violates it {len(breaches):,} times" if breaches else "the graph conforms to it"
        yield "ontology", f"{found['ontology']['classes']:,} classes; {violations}"
    if found.get("binding"):
        left = found["binding"]["left_out"]
        bound = f"{found['binding']['bound']} sensors at {found['binding']['nodes']} nodes"
        yield "binding", bound + (f", {len(left)} left out: {', '.join(list(left)[:_SHOWN])}" if left else "")


def _health_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    findings = found.get("health")
    if findings is None:
        return
    counts = Counter(one["what"] for one in findings)
    yield "health", ", ".join(f"{count:,} {what}" for what, count in counts.items()) or "nothing wrong with the sensors"
    for one in findings[:_SHOWN]:
        yield f"  {one['what']}", one["sentence"]
    if (more := len(findings) - _SHOWN) > 0:
        yield "  …", f"and {more:,} more; --json lists all"


def _window_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "windows" not in found:
        return
    every = found["windows"]["every"]
    for name, windows in found["windows"].get("systems", {"": found["windows"]}).items():
        span = f", {windows['start']} to {windows['end']}" if windows["count"] else ""
        yield f"windows{f' in {name}' if name else ''}", f"{windows['count']:,} of {every}{span}"


def _table_lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    table, search, output = found["table"], found["search"], found["output"]
    items = (
        ""
        if table["items"] is None
        else f", {table['items']:,} items, {percent(table['missing_share'], digits=1)} missing"
    )
    yield "table", f"{table['rows']:,} transactions × {table['features']:,} features{items}"
    size = ""
    if search["antecedents"] is not None:
        size = f": {search['antecedents']:,} possible antecedents, bitmaps of {search['bitmap_bytes'] / 2**20:,.1f} MiB"
    yield "search", f"{search['miner']}, up to {search['max_antecedents']} antecedents{size}"
    if search["rules"]:
        yield "rules", f"{search['rules']['text']} to be found, before refinement"
    state = " (exists: needs --force)" if output["exists"] else f" ({output['refused']})" if "refused" in output else ""
    yield "output", output["path"] + state


def _finding_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The findings of reading, one line each; two findings may have the same name."""
    findings = report["findings"]
    out = [
        (f"  {finding['what']}", f"{finding['count']:,} {finding['sensor'] or finding['where']}".rstrip())
        for finding in findings[:_SHOWN]
    ]
    if (more := len(findings) - _SHOWN) > 0:
        out.append(("  …", f"and {more:,} more; --json lists all"))
    return out + number_notes(report["notes"], indent="  ")
