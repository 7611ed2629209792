"""Alerts of a running monitor: added, torn, cut and replaced files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence.checks.monitor.alerts import Alert, Watched, tell_violation
from thence.errors import InputError
from thence.show.explorer.alert_text import read_alert
from thence.show.explorer.alerts import AlertReader, open_monitor
from thence.show.explorer.state import open_state


def line(number: int, message: str = "x") -> str:
    return (
        Alert(number, "drifted", "2024-01-02T00:00:00Z", message, {"rule": number, "places": ["P1"]}).to_json() + "\n"
    )


def test_alerts_are_read_as_they_are_added(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    watched = open_monitor(path, 3)
    assert watched.describe()["health"]["file"] == "does not exist yet"
    path.write_text(line(1) + line(2)[:10])
    page = watched.page(0)
    assert [alert["id"] for alert in page["alerts"]] == [1]
    with path.open("a") as file:
        file.write(line(2)[10:] + line(3))
    later = watched.page(page["last"])
    assert [alert["id"] for alert in later["alerts"]] == [2, 3]
    assert later["alerts"][0]["monitor"] == 3
    assert later["alerts"][0]["time"] == 1_704_153_600_000
    assert later["alerts"][0]["where"] == ["P1"]
    assert [alert["rule"] for alert in later["alerts"]] == [1, 2]
    assert watched.page(later["last"])["alerts"] == []
    assert watched.describe()["alerts"] == 3
    assert watched.describe()["health"]["drifted"] == "3"


def test_a_file_that_is_cut_or_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_text(line(1) + line(2))
    watched = AlertReader(0, "x", path)
    last = watched.page(0)["last"]
    path.write_text(line(3))
    cut = watched.page(last)
    assert [alert["rule"] for alert in cut["alerts"]] == [2]
    other = tmp_path / "new"
    other.write_text(line(4) + line(5) + line(6))
    other.replace(path)
    assert len(watched.page(cut["last"])["alerts"]) == 3
    path.unlink()
    assert watched.page(0)["last"] == 6


def test_lines_that_are_no_alerts_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    bad = [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"kind": "x", "time": 5, "message": "m"}',
        "\xff",
        "null",
        '{"time": "2024-01-01"}',
    ]
    path.write_bytes("\n".join(bad).encode("latin-1") + b"\n" + line(1).encode())
    watched = AlertReader(0, "x", path)
    assert len(watched.page(0)["alerts"]) == 1
    assert watched.describe()["health"]["lines that are no alerts"] == "7"


@given(st.lists(st.one_of(st.binary(max_size=40), st.integers(1, 9).map(lambda n: line(n).encode())), max_size=8))
def test_whatever_the_file_holds(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("alerts") / "alerts.jsonl"
    watched = AlertReader(0, "x", path)
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        json.dumps(watched.page(0), allow_nan=False)
    assert watched.describe()["alerts"] == len(watched.page(0)["alerts"])


def test_alerts_that_are_too_old_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.show.explorer.alerts._MOST_KEPT", 3)
    path = tmp_path / "alerts.jsonl"
    path.write_text("".join(line(number) for number in range(1, 11)))
    page = AlertReader(0, "x", path).page(2)
    assert [alert["id"] for alert in page["alerts"]] == [8, 9, 10]
    assert page["forgotten"] == 5


def test_what_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither"):
        open_monitor(tmp_path, 0)
    with pytest.raises(InputError, match="no such folder"):
        open_monitor(tmp_path / "missing", 0)
    with pytest.raises(InputError, match="no such folder"):
        open_monitor(tmp_path / "missing" / "alerts.jsonl", 0)


def test_the_state_of_a_monitor_is_described(tmp_path: Path) -> None:
    from thence.checks.monitor.store import Store

    with Store(tmp_path) as store:
        store.save({"rejected": {"late": 3}}, {})
        watched = open_monitor(tmp_path, 0)
        health = watched.describe()["health"]
    assert health["messages rejected"] == "3"
    assert "state saved" in health
    (tmp_path / "state.npz").write_bytes(b"damaged")
    assert watched.describe()["health"]["state"] == "cannot be read"


def test_an_alert_says_what_it_rests_on(tmp_path: Path) -> None:
    details = {"rule": 21, "confidence_mined": 0.877413, "confidence_now": 0.713454, "bound": 0.825019}
    details |= {"applied": 3434, "violated": 984, "period": "14 d", "evidence": 11076.6, "gateway": "north"}
    path = tmp_path / "alerts.jsonl"
    path.write_text(Alert(1, "drifted", "2024-01-02T00:00:00Z", "x", details).to_json() + "\n")
    (alert,) = AlertReader(0, "x", path).page(0)["alerts"]
    assert alert["evidence"] == [
        "It was right in 2,450 of 3,434 cases (71.3 %) in the last 14 d.",
        "When it was mined, it was right in 87.7 %; the test asks for 82.5 %.",
        "Evidence against it: a bet on violations has grown 11,076.6 times.",
        "gateway: north",
    ]


def test_an_alert_leads_to_its_rule(tmp_path: Path, runs: list[th.Run]) -> None:
    rules = runs[1].rules
    start = {"start": 0, "every": 3_600_000_000, "places": ["P1"], "n_places": 3}
    known = tell_violation(Watched(5, rules.rule(4)), number=1, **start).to_dict()
    old = {name: value for name, value in known.items() if name != "key"}
    lines = [known, known | {"rule": 1}, old, old | {"rule": 1}, known | {"key": "0" * 16}, {**old, "rule": "5"}]
    path = tmp_path / "alerts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    state = open_state([runs[2], runs[1]], monitors=[path])
    try:
        alerts = state.alerts(0, 0)["alerts"]
    finally:
        state.close()
    # Run 0 is another run with other rules, some of which are the same: those come first.
    same = [(number, list(run.rules)) for number, run in enumerate((runs[2], runs[1])) if rules.rule(4) in run.rules]
    expected = (same[0][0], same[0][1].index(rules.rule(4)))
    assert [(alert["run"], alert["rule"]) for alert in alerts[:2]] == [expected] * 2
    assert (alerts[2]["run"], alerts[2]["rule"]) == (1, 4)
    assert [alert["run"] for alert in alerts[3:]] == [None] * 3
    assert {alert["title"] for alert in alerts} == {"Rule 5 is violated at P1"}
    assert {alert["says"] for alert in alerts} == {rules.rule(4).english}
    assert "It is violated at 3 places, of which 1 is named." in alerts[0]["evidence"]


def test_the_reasons_of_an_alarm_are_its_statements() -> None:
    """Each was shown by its first field: "rule" or "law"."""
    reasons = [{"family": "law", "statement": "the demand equals the net flow", "place": "Node 3"}]
    line = {"kind": "detector", "time": "2024-01-02T00:00:00Z", "message": "x", "reasons": reasons}
    assert read_alert(line, number=1, monitor=0)["evidence"] == ["the demand equals the net flow"]
