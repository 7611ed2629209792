"""The end points: what they answer, and that nothing a client sends makes them fail."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from tests.show.explorer.conftest import ALERT, TOKEN, Client
from thence.errors import ConfigError
from thence.show.explorer.app import create_app
from thence.show.explorer.state import State


def test_what_is_open(client: Client) -> None:
    data = client.get("/api/runs").json()
    assert [(run["id"], run["name"], run["data"]) for run in data["runs"]] == [
        (0, "network", "ready"),
        (1, "toy", "ready"),
        (2, "all", "ready"),
    ]
    assert data["monitors"][0]["alerts"] == 1


def test_pages_of_rules_are_a_partition(client: Client, runs: list[th.Run]) -> None:
    total = len(runs[2].rules)
    assert total > 25
    ids: list[int] = []
    for offset in range(0, total, 25):
        page = client.get(f"/api/runs/2/findings?offset={offset}&limit=25&sort=lift").json()
        assert page["total"] == total
        ids += [row["id"] for row in page["findings"]]
    assert sorted(ids) == list(range(total))
    lifts = runs[2].rules.measure("lift")[ids]
    assert (lifts[:-1] >= lifts[1:]).all()
    assert client.get(f"/api/runs/2/findings?offset={total}").json()["findings"] == []


def test_filters_agree_with_the_rule_set(client: Client, runs: list[th.Run]) -> None:
    page = client.get("/api/runs/2/findings?min_confidence=0.9&min_lift=2&limit=500").json()
    expected = runs[2].rules.filter(min_confidence=0.9, min_lift=2)
    assert page["total"] == len(expected)
    assert [row["sentence"] for row in page["findings"]] == [rule.english for rule in expected][:500]
    scatter = client.get("/api/runs/2/scatter?min_confidence=0.9&min_lift=2").json()
    assert scatter["total"] == len(scatter["ids"]) == len(expected)
    assert scatter["confidence"] == expected.measure("confidence").tolist()


def test_the_rules_of_a_node(client: Client, runs: list[th.Run]) -> None:
    drawing = client.get("/api/runs/1/drawing").json()
    for node in drawing["nodes"]:
        detail = client.get(f"/api/runs/1/node?id={quote(node['id'])}").json()
        page = client.get(f"/api/runs/1/findings?node={quote(node['id'])}").json()
        assert detail["findings"] == page["total"]
        assert detail["sensors"] == node["sensors"]


def test_the_page_of_a_node_has_its_statements_and_its_alerts(client: Client, runs: list[th.Run]) -> None:
    run = runs[0]
    failing = {(row["rule"], node["node"]) for row in run.exceptions().to_dicts() for node in row["nodes"]}
    seen = 0
    for node in client.get("/api/runs/0/drawing").json()["nodes"]:
        detail = client.get("/api/runs/0/node", params={"id": node["id"]}).json()
        for one in detail["here"]:
            assert 0 <= one["held"] <= one["rows"]
            if one["kind"] == "law":
                assert run.laws is not None
                assert (one["rows"], one["held"]) == run.laws[one["id"]].counts.by_place[node["id"]]
            if one["kind"] == "rule":
                assert one["exception"] == ((one["id"], node["id"]) in failing)
        assert not detail["near"] or not detail["sensors"]
        marks = [one["exception"] for one in detail["here"]]
        assert marks == sorted(marks, reverse=True)
        seen += len(marks)
    assert seen
    (alert,) = client.get("/api/runs/0/node?id=P1").json()["alerts"]
    assert alert["where"] == ["P1"]
    assert client.get("/api/runs/0/node?id=P2").json()["alerts"] == []


def test_evidence_at_any_place_and_at_any_moment(client: Client, runs: list[th.Run]) -> None:
    first = next(
        (path, card)
        for at in range(len(runs[0].rules))
        for path in [f"/api/runs/0/rules/{at}/card"]
        for card in [client.get(path).json()]
        if len(card["places"]) > 2 and any(one["held"] < one["rows"] for one in card["places"])
    )
    path, shown = first
    assert shown["spot"] in [one["spot"] for one in shown["places"]]
    assert len(shown["places"]) == shown["n_places"]
    for place in shown["places"]:
        card = client.get(f"{path}?spot={place['spot']}").json()
        assert (card["spot"], card["place"]) == (place["spot"], place["name"])
        assert bool(card["violations"]) == (place["held"] < place["rows"])
        for moment in card["violations"]:
            there = client.get(f"{path}?spot={place['spot']}&moment={moment}").json()
            assert moment in [one["start"] for one in there["violated"]]
        node = place["nodes"][0]
        at_node = client.get(path, params={"node": node}).json()
        assert node in next(one["nodes"] for one in at_node["places"] if one["spot"] == at_node["spot"])
    assert client.get(f"{path}?spot=99999&node=nowhere").json() == shown


def test_cards_report_and_series(client: Client, runs: list[th.Run]) -> None:
    card = client.get("/api/runs/1/rules/0/card").json()
    assert card["about"] == "rule"
    assert card["traces"]
    report = client.get("/api/runs/1/report").json()
    assert report["mining"]["rules"] == len(runs[1].rules)
    sensor = runs[1].readings.sensors[0].id if runs[1].readings else ""
    page = client.get(f"/api/runs/1/series?sensor={quote(sensor)}&points=7").json()
    (series,) = page["series"]
    assert len(series["times"]) == len(series["low"]) == len(series["high"]) == 7
    start, end = series["times"][2], series["times"][4]
    zoomed = client.get(f"/api/runs/1/series?sensor={quote(sensor)}&start={start}&end={end}").json()
    assert zoomed["start"] == start
    assert all(start <= time < end for time in zoomed["series"][0]["times"])


def test_runs_are_compared_as_sets(client: Client, runs: list[th.Run]) -> None:
    same = client.get("/api/compare?a=2&b=2").json()
    assert (same["n_gained"], same["n_lost"], same["n_changed"]) == (0, 0, 0)
    found = client.get("/api/compare?a=1&b=2").json()
    a, b = runs[1].rules, runs[2].rules
    assert found["n_gained"] == len(b - a)
    assert found["n_lost"] == len(a - b)
    assert found["n_changed"] + found["n_same"] == len(a & b)


def test_exports_hold_the_rules_of_the_filter(client: Client, runs: list[th.Run]) -> None:
    data = client.get("/api/runs/2/export?format=parquet&min_lift=2&sort=support").content
    frame = pl.read_parquet(io.BytesIO(data))
    assert frame.height == len(runs[2].rules.filter(min_lift=2))
    assert frame["support"].is_sorted(descending=True)
    answer = client.get("/api/runs/2/export?format=csv&rule=3&rule=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="rules.csv"'
    rows = pl.read_csv(io.BytesIO(answer.content))
    assert rows["english"].to_list() == [runs[2].rules.rule(at).english for at in (3, 1)]
    assert (
        client.get("/api/runs/2/export?format=md").text.startswith("#")
        or "|" in client.get("/api/runs/2/export?format=md").text
    )
    assert client.get("/api/runs/2/export?format=exe").status_code == 422


def test_many_ticked_rules_are_exported(client: Client, runs: list[th.Run]) -> None:
    chosen = list(range(len(runs[2].rules)))[::-1]
    assert len(chosen) > 100
    answer = client.post("/api/runs/2/export", {"format": "parquet", "rules": chosen})
    frame = pl.read_parquet(io.BytesIO(answer.content))
    assert frame.height == len(chosen)
    assert frame["confidence"].to_list() == runs[2].rules.measure("confidence")[chosen].tolist()
    for rules in ([], [-1], [len(chosen)], [True], ["1"], [0.5], [0] * 5_001, 3, None):
        assert 400 <= client.post("/api/runs/2/export", {"format": "csv", "rules": rules}).status_code < 500


def test_laws_and_controls_are_reviewed_too(client: Client, runs: list[th.Run]) -> None:
    outline = client.get("/api/runs/0/outline").json()
    assert outline["mining"]["rules"] == len(runs[0].rules)
    law, *others = client.get("/api/runs/0/findings?what=law").json()["findings"]
    assert len(others) + 1 == len(runs[0].laws or ())
    client.post("/api/runs/0/review", {"key": law["key"], "verdict": "accepted", "note": "x"})
    page = client.get("/api/runs/0/findings?review=accepted").json()
    assert page["findings"] == [{**law, "review": {"verdict": "accepted", "note": "x"}}]
    assert client.get("/api/runs/0/laws/0").json() == page["findings"][0]
    client.post("/api/runs/0/review", {"key": law["key"], "verdict": "rejected", "note": ""})
    assert client.get("/api/runs/0/laws/0").json()["review"] == {"verdict": "rejected", "note": ""}
    client.post("/api/runs/0/review", {"key": law["key"], "verdict": "", "note": ""})
    assert client.get("/api/runs/0/outline").json() == outline


def test_reviews_are_kept_in_the_run_folder(client: Client, runs: list[th.Run]) -> None:
    from thence.runs.reviews import load_reviews

    row = client.get("/api/runs/1/findings?limit=1").json()["findings"][0]
    said = client.post("/api/runs/1/review", {"key": row["key"], "verdict": "rejected", "note": "a <b>test</b>"})
    assert said.json() == {"key": row["key"], "review": {"verdict": "rejected", "note": "a <b>test</b>"}}
    assert load_reviews(runs[1].path)[row["key"]].note == "a <b>test</b>"
    page = client.get("/api/runs/1/findings?review=rejected").json()
    assert [one["key"] for one in page["findings"]] == [row["key"]]
    assert page["findings"][0]["review"]["verdict"] == "rejected"
    exported = client.get("/api/runs/1/export?format=parquet").content
    assert "review" in pl.read_parquet(io.BytesIO(exported)).columns
    back = client.post("/api/runs/1/review", {"key": row["key"], "verdict": "", "note": ""})
    assert back.json()["review"] is None
    assert client.get("/api/runs/1/findings?review=rejected").json()["total"] == 0


def test_reviews_of_a_run_in_memory_are_kept_while_it_is_open(client: Client, runs: list[th.Run]) -> None:
    row = client.get("/api/runs/0/findings?limit=1").json()["findings"][0]
    client.post("/api/runs/0/review", {"key": row["key"], "verdict": "accepted", "note": ""})
    assert client.get("/api/runs/0/findings?review=accepted").json()["total"] == 1
    client.post("/api/runs/0/review", {"key": row["key"], "verdict": "", "note": ""})
    assert client.get("/api/runs/0/findings?review=accepted").json()["total"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"key": "zz"}, 422),
        ({"key": "0" * 16, "verdict": "accepted"}, 422),
        ({"key": 1}, 422),
        ({"key": None}, 422),
        ({"path": "/etc/passwd"}, 422),
    ],
)
def test_wrong_reviews_are_refused(client: Client, body: Any, status: int) -> None:
    answer = client.post("/api/runs/1/review", body)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_a_wrong_verdict_is_refused(client: Client) -> None:
    key = client.get("/api/runs/1/findings?limit=1").json()["findings"][0]["key"]
    answer = client.post("/api/runs/1/review", {"key": key, "verdict": "maybe"})
    assert answer.status_code == 422
    assert "verdict" in answer.json()["error"]


def test_alerts(client: Client) -> None:
    page = client.get("/api/monitors/0/alerts").json()
    (alert,) = page["alerts"]
    assert alert["sentence"] == ALERT["message"]
    assert alert["where"] == ["P1"]
    assert client.get(f"/api/monitors/0/alerts?after={page['last']}").json()["alerts"] == []
    assert client.get("/api/monitors/7/alerts").status_code == 404


def test_a_run_without_data_says_why(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    run = th.mine(frame, progress="off", out=tmp_path / "table")
    state = State()
    state.add(th.load_run(tmp_path / "table"), name="table", load=False).load()
    client = Client(create_app(state, TOKEN))
    entry = client.get("/api/runs").json()["runs"][0]
    assert entry["data"] == "missing"
    assert entry["why"]
    assert client.get("/api/runs/0/findings").json()["total"] == len(run.rules)
    for path in ("rules/0/card", "series?sensor=a"):
        answer = client.get(f"/api/runs/0/{path}")
        assert answer.status_code == 404
        assert answer.json()["error"] == entry["why"]
    assert client.get("/api/runs/0/drawing").json() is None
    assert client.get("/api/runs/0/report").status_code == 200


def test_a_run_without_rules(tmp_path: Path) -> None:
    run = th.mine(pl.DataFrame({"a": ["x"] * 20, "b": ["u"] * 20}), progress="off")
    state = State()
    state.add(run, name="none", load=False).load()
    client = Client(create_app(state, TOKEN))
    assert len(run.rules) == 0
    assert client.get("/api/runs/0/findings?q=x&sort=lift").json()["total"] == 0
    assert client.get("/api/runs/0/scatter").json()["ids"] == []
    assert client.get("/api/compare?a=0&b=0").json()["n_same"] == 0
    assert client.get("/api/runs/0/export?format=csv").status_code == 200


def test_hostile_names_are_text(tmp_path: Path) -> None:
    names = ['<script>alert("1")</script>', "a\nb", "{{x}}", "\u202eabc"]
    frame = pl.DataFrame({name: ["<img src=x>", "</script>"] * 20 for name in names})
    state = State()
    state.add(th.mine(frame, refine=None, progress="off"), name="</title>", load=False).load()
    client = Client(create_app(state, TOKEN))
    answer = client.get("/api/runs/0/findings")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<script>" in " ".join(row["sentence"] for row in answer.json()["findings"])


# Whatever a client sends, the answer has a status below 500 and is JSON that says what is wrong.

texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "0", "1", "-1", "1e309", "nan", "inf", "99999999999999999999", "true", "0x1", "..", "%00", "½", "１"]
    ),
    st.sampled_from(["flow", "accepted", "lift", "the whole system", "Pipe 1", "parquet", "shacl", "sparql", "json"]),
)
segments = st.one_of(
    st.sampled_from(["0", "1", "2", "3", "-1", "..", "%2e%2e", "x", "0.5", "１", "9" * 40]), st.text(max_size=8)
)
templates = st.sampled_from(
    [
        *(
            "/api/runs",
            "/api/runs/{}/outline",
            "/api/runs/{}/report",
            "/api/runs/{}/findings",
            "/api/runs/{}/scatter",
            "/api/runs/{}/drawing",
        ),
        *(
            "/api/runs/{}/rules/{}",
            "/api/runs/{}/rules/{}/card",
            "/api/runs/{}/laws/{}/card",
            "/api/runs/{}/controls/{}/card",
        ),
        *("/api/runs/{}/laws/{}", "/api/runs/{}/node", "/api/runs/{}/series", "/api/compare", "/api/runs/{}/export"),
        *("/api/monitors/{}/alerts", "/static/{}", "/{}", "/api/{}/{}", "/"),
    ]
)
names = st.sampled_from(
    [
        *("q", "kind", "class", "property", "pattern", "conclusion", "review", "node", "min_support", "max_lift"),
        *("min_confidence", "sort", "descending", "offset", "limit", "rule", "id", "sensor", "start", "end", "points"),
        *("what", "spot", "moment"),
        *("a", "b", "format", "after", "token", "nonsense"),
    ]
)
valid = st.sampled_from(
    [
        ("offset", "3"),
        ("limit", "2"),
        ("sort", "zhang"),
        ("rule", "0"),
        ("a", "1"),
        ("b", "2"),
        ("points", "5"),
        ("start", "0"),
        ("end", "-5"),
        ("format", "csv"),
        ("node", "Pipe 1"),
    ]
)
queries = st.lists(st.one_of(st.tuples(names, texts), valid), max_size=4)
fuzz = settings(
    max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def check(answer: Any) -> None:
    assert answer.status_code < 500, answer.text
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"):
        assert name in answer.headers
    if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
        assert answer.json()["error"]


@fuzz
@given(templates, st.lists(segments, min_size=2, max_size=2), queries)
def test_no_query_makes_it_fail(client: Client, template: str, parts: list[str], query: list[tuple[str, str]]) -> None:
    path = template.format(*(quote(part, safe="%" if part.startswith("%") else "") for part in parts))
    text = "&".join(f"{name}={quote(value, safe='', errors='replace')}" for name, value in query)
    check(client.get(f"{path}?{text}"))


bodies = st.one_of(
    st.binary(max_size=60),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=10)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.one_of(
                    st.sampled_from(["key", "verdict", "note", "format", "rules"]),
                    st.text(max_size=5),
                ),
                inner,
                max_size=4,
            ),
        ),
        max_leaves=8,
    ).map(lambda data: json.dumps(data).encode()),
)


@fuzz
@given(st.sampled_from(["review", "export", "nothing"]), st.sampled_from(["0", "1", "9", "x"]), bodies)
def test_no_body_makes_it_fail(client: Client, end: str, run: str, body: bytes) -> None:
    check(client.request("POST", f"/api/runs/{run}/{end}", content=body))


@fuzz
@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"]), templates, queries
)
def test_no_method_makes_it_fail(client: Client, method: str, template: str, query: list[tuple[str, str]]) -> None:
    answer = client.request(method, template.format("0", "0"), params=query, content=b"{}" if method != "GET" else None)
    assert answer.status_code < 500


def test_large_bodies_are_refused(client: Client) -> None:
    large = b"x" * (1 << 17)
    assert client.request("POST", "/api/runs/0/review", content=large).status_code == 413

    async def parts() -> Any:
        for _ in range(20):
            yield b" " * 8192

    assert client.request("POST", "/api/runs/0/review", content=parts()).status_code == 413


def test_deep_bodies_are_refused(client: Client) -> None:
    assert client.request("POST", "/api/runs/0/review", content=b"[" * 60_000).status_code == 400


def test_keys_of_the_rows_are_those_of_the_rules(client: Client, runs: list[th.Run]) -> None:
    rows = client.get("/api/runs/2/findings?limit=10").json()["findings"]
    keys = runs[2].rules.keys
    assert [int(row["key"], 16) for row in rows] == [int(keys[row["id"]]) for row in rows]


def test_a_disk_that_is_full_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    row = client.get("/api/runs/1/findings?limit=1").json()["findings"][0]
    monkeypatch.setattr("thence.show.explorer.open_run.save_reviews", fail)
    answer = client.post("/api/runs/1/review", {"key": row["key"], "verdict": "accepted", "note": ""})
    assert answer.status_code == 409
    assert "No space left" in answer.json()["error"]


def _sites() -> list[th.System]:
    from dataclasses import replace

    toy = th.datasets.load("toy")
    return [replace(toy, name="north"), replace(toy, name="south")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: th.mine(
            th.datasets.load("toy"), windows="1h", bins=3, enrich="existential", confirm=False, progress="off"
        ),
        lambda: th.mine(th.datasets.load("toy"), windows="1h", bins=3, enrich="none", confirm=False, progress="off"),
        lambda: th.mine(
            th.datasets.load("toy").sensors,
            windows="1h",
            bins=3,
            derive=["change", "hour"],
            confirm=False,
            progress="off",
        ),
        lambda: th.mine(_sites(), windows="1h", bins=3, confirm=False, progress="off"),
        lambda: th.mine(
            pl.DataFrame({"a": ["x", "y", None] * 9, "b": [1.5, 2.5, None] * 9}), refine=None, progress="off"
        ),
    ],
    ids=["existential", "no graph used", "no graph", "sites", "table"],
)
def test_every_kind_of_run_can_be_explored(make: Any) -> None:
    run = make()
    state = State()
    state.add(run, name="run", load=False).load()
    client = Client(create_app(state, TOKEN))
    page = client.get("/api/runs/0/findings?limit=500").json()
    assert page["counts"]["rule"] == len(run.rules.entries) > 0
    assert sum(len(row["members"]) for row in page["findings"] if row["kind"] == "rule") == len(run.rules)
    for path in ("report", "drawing", "scatter", "export?format=csv"):
        assert client.get(f"/api/runs/0/{path}").status_code == 200, path
    drawing = client.get("/api/runs/0/drawing").json()
    drawn = {node["id"] for node in drawing["nodes"]} if drawing else set()
    for row in [one for one in page["findings"] if one["kind"] == "rule"][:10]:
        answer = client.get(f"/api/runs/0/rules/{row['id']}/card")
        assert answer.status_code in (200, 404)
        places = answer.json().get("places", [])
        assert {node for place in places for node in place["nodes"]} <= drawn or not drawn
    for node in sorted(drawn):
        assert client.get("/api/runs/0/node", params={"id": node}).status_code == 200
    for sensor in () if run.readings is None else run.readings.sensors:
        (series,) = client.get("/api/runs/0/series", params={"sensor": sensor.id}).json()["series"]
        assert series["times"]
    for facet in page["facets"]:
        for choice in facet["choices"]:
            found = client.get("/api/runs/0/findings", params={facet["name"]: choice["name"]}).json()
            assert found["total"] == choice["count"]


def test_what_does_not_exist_has_status_404_whatever_the_message_says(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning of the message decided: any wrong value of which it said "there is no …" had status 404."""
    for path in ("runs/9/findings", "runs/0/rules/99999/card", "runs/0/node?id=x", "runs/0/series?sensor=x"):
        assert client.get(f"/api/{path}").status_code == 404, path

    def fail(*_: Any, **__: Any) -> None:
        raise ConfigError("there is no such value")

    monkeypatch.setattr("thence.show.explorer.open_run.OpenRun.scatter", fail)
    assert client.get("/api/runs/0/scatter").status_code == 422
