"""Mining again: constraints, progress, cancelling, comparing and saving."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thence as th
from tests.helpers.networks import network
from tests.helpers.processes import PATIENCE
from tests.show.explorer.conftest import Client
from thence.data.graph.sites import pool_systems
from thence.show.explorer.constraints import constrained_config
from thence.show.explorer.mining import read_systems, write_systems
from thence.show.explorer.problems import RequestError
from thence.show.explorer.state import State


def wait(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while job["state"] == "running" and time.monotonic() < end:
        time.sleep(0.1)
        job = client.get(f"/api/jobs/{job['id']}").json()
    return job


def test_a_constraint_is_tried_and_the_run_saved(client: Client, state: State, runs: list[th.Run]) -> None:
    wishes = {"consequent": {"kinds": ["pressure"]}, "min_confidence": 0.9, "most": 0}
    started = client.post("/api/runs/2/mine", wishes)
    assert started.status_code == 200, started.text
    assert client.post("/api/runs/2/mine", wishes).status_code == 409  # one at a time
    job = wait(client, started.json())
    assert job["state"] == "done", job
    assert job["share"] == 1.0
    new = state.run(job["run"])
    expected = th.mine(
        config=runs[2].config, consequent={"kind": "pressure"}, min_confidence=0.9, refine=None, progress="off"
    )
    assert set(new.run.rules) == set(expected.rules)
    assert len(new.run.rules)
    assert {item.feature.label for item in (rule.consequent for rule in new.run.rules)} == {"pressure"}
    compared = client.get(f"/api/compare?a=2&b={job['run']}").json()
    assert compared["n_same"] == len(runs[2].rules & new.run.rules)
    entry = client.get("/api/runs").json()["runs"][job["run"]]
    assert not entry["saved"]
    key = client.get(f"/api/runs/{job['run']}/rules?limit=1").json()["rules"][0]["key"]
    client.post(f"/api/runs/{job['run']}/review", {"key": key, "verdict": "accepted", "note": ""})
    saved = client.post(f"/api/runs/{job['run']}/save", {})
    assert saved.json() == {"run": job["run"], "name": "all-2"}
    folder = runs[2].path.parent / "all-2"
    assert set(th.load_run(folder).rules) == set(expected.rules)
    assert client.post(f"/api/runs/{job['run']}/save", {}).status_code == 409
    assert client.get(f"/api/runs/{job['run']}/rules?review=accepted").json()["total"] == 1


def test_data_in_memory_are_mined_again(client: Client, state: State) -> None:
    job = wait(client, client.post("/api/runs/0/mine", {"min_confidence": 0.95}).json())
    assert job["state"] == "done", job
    expected = th.mine(network(), min_confidence=0.95, progress="off")
    assert set(state.run(job["run"]).run.rules) == set(expected.rules)
    # The first run has no folder to put it beside.
    assert client.post(f"/api/runs/{job['run']}/save", {}).status_code == 409


def test_a_search_is_cancelled(client: Client, state: State) -> None:
    job = client.post("/api/runs/2/mine", {}).json()
    ended = client.request("DELETE", f"/api/jobs/{job['id']}").json()
    assert ended["state"] == "cancelled"
    end = time.monotonic() + PATIENCE
    while client.post("/api/runs/2/mine", {"most": 1}).status_code == 409 and time.monotonic() < end:
        time.sleep(0.1)
    assert client.get(f"/api/jobs/{job['id']}").json()["state"] == "cancelled"
    assert client.request("DELETE", "/api/jobs/nothing").status_code == 404


def test_a_search_that_fails_says_why(client: Client) -> None:
    # A range of numbers that no item lies in is found out by the miner only.
    job = wait(client, client.post("/api/runs/2/mine", {"consequent": {"features": ["pressure >= 1000000"]}}).json())
    assert job["state"] == "failed"
    assert "no item of the table matches" in job["message"]


def test_wishes_become_settings(runs: list[th.Run]) -> None:
    run = runs[2]
    features = run.table.features
    config = constrained_config(
        run.config,
        {
            "antecedent": {"without": ["pressure"]},
            "consequent": {"kinds": ["flow"], "classes": ["Pipe"]},
            "min_support": 0.2,
            "max_antecedents": 1,
            "most": 20,
        },
        features,
    )
    mined = th.mine(config=config, progress="off").rules
    for rule in mined:
        assert all(item.feature.label != "pressure" for item in rule.antecedent)
        assert rule.consequent.feature.label == "flow"
        assert len(rule.antecedent) == 1
    assert 0 < len(mined) <= 20
    assert constrained_config(run.config, {}, features).miner == run.config.miner


def test_names_with_wildcards_in_them_are_excluded_exactly(runs: list[th.Run]) -> None:
    # The text of a lifted feature begins with "(?", and "?" stands for any character in a constraint.
    features = runs[0].table.features
    assert any("?" in str(feature) for feature in features)
    config = constrained_config(runs[0].config, {"consequent": {"without": ["pressure"]}, "most": 0}, features)
    mined = th.mine(network(), config=config, progress="off").rules
    assert len(mined)
    assert all(rule.consequent.feature.label != "pressure" for rule in mined)
    left = {str(feature) for feature in features if feature.label != "pressure"}
    every = constrained_config(runs[0].config, {"most": 0}, features)
    free = th.mine(network(), config=every, progress="off").rules
    assert set(mined) == {rule for rule in free if str(rule.consequent.feature) in left}


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"antecedent": {"kinds": ["presure"]}}, "did you mean 'pressure'"),
        ({"antecedent": {"classes": ["Pump"]}}, "nothing in the data is called 'Pump'"),
        ({"consequent": {"features": ["nobody"]}}, "nobody"),
        ({"consequent": {"without": ["*"]}}, "nothing is left"),
        ({"min_support": 2}, "from 0 to 1"),
        ({"min_support": "a"}, "must be a number"),
        ({"max_antecedents": 1.5}, "must be an integer"),
        ({"max_antecedents": True}, "must be an integer"),
        ({"most": -1}, "from 0"),
        ({"antecedent": {"kinds": "flow"}}, "list of strings"),
        ({"antecedent": {"kinds": [1]}}, "strings"),
        ({"antecedent": ["flow"]}, "must be an object"),
        ({"path": "x"}, "unknown field"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(runs: list[th.Run], wishes: Any, said: str) -> None:
    with pytest.raises(RequestError) as error:
        constrained_config(runs[2].config, wishes, runs[2].table.features)
    assert said in f"{error.value.error} {error.value.hint}"


def test_systems_in_memory_are_written_as_files_and_read_again(tmp_path: Path) -> None:
    one = network()
    both = pool_systems([replace(one, name="north"), replace(one, name="é\n..")])
    write_systems(both, tmp_path / "systems")
    north, other = read_systems(tmp_path / "systems")
    assert (north.name, other.name) == ("north", "é\n..")
    for again in (north, other):
        assert [(s.id, s.kind, s.unit, s.categorical) for s in again.sensors.sensors] == [
            (s.id, s.kind, s.unit, s.categorical) for s in one.sensors.sensors
        ]
        assert again.sensors.to_polars().equals(one.sensors.to_polars())
        assert again.graph is not None and one.graph is not None and again.binding is not None
        assert again.graph.to_dict() == one.graph.to_dict()
        assert dict(again.binding.items()) == dict((one.binding or {}).items())
