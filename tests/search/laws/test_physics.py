"""Formulas: those of known plants are found with their constants, and nothing where nothing is true."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import thence as th
from tests.helpers.formula_plants import PLANTS, Expected, Plant
from tests.noise.zoo import GENERATORS
from thence.checks.application.logic import apply_laws
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.search.laws.curves import choose_curve, fit_curve
from thence.search.laws.physics import search_physics
from thence.search.laws.trials import Times, fresh_rows
from thence.statements.laws.counting import count_law, law_sensors, law_states
from thence.statements.laws.law import Law, Laws
from thence.statements.schema import statement_from_dict


@cache
def plant(number: int) -> Plant:
    return PLANTS[number](0)


@cache
def found(number: int, noise: float = 0.0, missing: float = 0.0) -> tuple[Law, ...]:
    system = plant(number).system(1, noise=noise, missing=missing)
    return tuple(search_physics(window(system.sensors), system))


def law_of(laws: tuple[Law, ...], expected: Expected) -> Law:
    return next(
        law for law in laws if law.form in expected.forms and any(expected.left in one.sensors for one in law.by_place)
    )


@pytest.mark.parametrize("number", range(len(PLANTS)), ids=lambda number: PLANTS[number].__name__)
def test_formulas_of_a_known_plant_are_found_with_their_constants(number: int) -> None:
    for expected in plant(number).expected:
        law = law_of(found(number), expected)
        assert max(expected.distances(law), default=0) <= 0.02
        assert law.later_share >= 0.75


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5], ids=lambda number: PLANTS[number].__name__)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_noise_and_gaps_leave_them(number: int, missing: float) -> None:
    for expected in plant(number).expected:
        law = law_of(found(number, 0.01, missing), expected)
        assert max(expected.distances(law), default=0) <= 0.1


@pytest.mark.parametrize("number", range(len(PLANTS)), ids=lambda number: PLANTS[number].__name__)
def test_nothing_is_found_where_each_sensor_is_read_at_another_time(number: int) -> None:
    for seed in range(3):
        system = PLANTS[number](seed).system(seed + 50, shifted=True)
        assert search_physics(window(system.sensors), system) == []


@pytest.mark.parametrize("generator", sorted(GENERATORS))
def test_nothing_is_found_in_noise_with_the_names_of_a_plant(generator: str) -> None:
    rng = np.random.default_rng(7)
    of = plant(0)
    noise = {name: 40 + 10 * GENERATORS[generator](rng, 4000, 48) for name in of.series if name != "pump"}
    noise["pump"] = (GENERATORS["regimes"](rng, 4000, 48) > 0).astype(float)
    system = replace(of, series=noise).system()
    assert search_physics(window(system.sensors), system) == []


def test_a_law_of_sensors_survives_json_and_is_counted_again() -> None:
    system = plant(0).system(1)
    readings = window(system.sensors)
    laws = Laws(found(0))
    assert Laws.from_dict(json.loads(json.dumps(laws.to_dict()))).laws == laws.laws
    for law in laws:
        assert statement_from_dict(json.loads(json.dumps(law.to_dict()))) == law
        again = count_law(law, readings, system)
        assert (again.rows, again.held) == (law.rows, law.held)
        states = law_states(law, readings, system)
        assert int((states.codes == 1).sum()) == law.held
        place = law.by_place[0].place
        terms = len(law.terms)
        assert set(law_sensors(law, readings, system, place)) == set(law.by_place[0].sensors[:terms])
    later = system.between("2024-03-01")
    counted = count_law(laws[0], window(later.sensors), later)
    assert 0 < counted.rows < laws[0].rows


def test_a_violated_formula_is_evidence() -> None:
    law = law_of(found(0), Expected(("product",), "power"))
    system = plant(0).system(1)
    readings = window(system.sensors)
    values = readings.values.copy()
    column = [sensor.id for sensor in readings.numeric].index("power")
    values[100:200, column] *= 3
    broken = replace(readings, values=values)
    states = law_states(law, broken, system)
    flow = readings.values[100:200, [sensor.id for sensor in readings.numeric].index("flow")]
    assert ((states.codes[0, 100:200] == 2) == (flow > 0)).all()


def test_sentences_name_units_numbers_and_conditions() -> None:
    texts = [law.statement for law in found(0)]
    assert any(text.startswith("the thermal power is 4.186 kJ/(L·K) (the heat capacity of water) ×") for text in texts)
    assert any("computed, not measured" in text for text in texts)
    assert any(text.startswith("while the pump is on, the hot water supply temperature follows") for text in texts)
    (curve,) = [law.statement for law in found(1) if law.form == "clipped"]
    assert "is 18 °C at or below 5 °C of the outdoor air temperature and falls by 0.4 K per K to 12 °C" in curve


def test_python_of_a_law_computes_what_it_says() -> None:
    law = law_of(found(1), Expected(("clipped",), "satsp"))
    space: dict[str, object] = {}
    exec(law.to_python(), space)
    function = space["supply_air_temperature_setpoint"]
    assert function(driver=10.0) == pytest.approx(16.0)  # type: ignore[operator]
    assert function(driver=-20.0) == pytest.approx(18.0)  # type: ignore[operator]
    assert space["BAND"] == law.band.absolute
    with pytest.raises(ConfigError, match="no place 'nowhere'"):
        law.to_python("nowhere")


def test_factors_of_pipes_are_explained_by_their_sizes() -> None:
    (law,) = found(4)
    assert "diameter to the power of −4.87 × length to the power of 1 × roughness to the power of −1.85" in law.remark
    assert law.places == 12


def test_without_kinds_and_units_the_names_are_read() -> None:
    system = plant(1).system(1)
    bare = [replace(sensor, kind="", unit="") for sensor in system.sensors.sensors]
    names = {sensor.id: f"ahu1.{sensor.id}" for sensor in bare}
    frame = system.sensors.to_polars().rename(names)
    data = th.SensorData.from_wide(frame, sensors=[replace(one, id=names[one.id]) for one in bare])
    laws = search_physics(window(data), th.System(data))
    assert {law.form for law in laws} == {"follows", "mixing", "clipped"}
    assert any("at ahu1: while fan is 1, sat follows satsp" in law.statement for law in laws)


def test_a_run_without_a_graph_has_them_and_its_files_too(tmp_path) -> None:  # type: ignore[no-untyped-def]
    system = plant(3).system(1)
    run = th.mine(system, progress="off", out=tmp_path / "run")
    assert run.laws is not None and {law.form for law in run.laws} == {
        "ratio",
        "counter",
    }  # the copy is left out before
    assert [law.key for law in th.load_run(tmp_path / "run").laws or ()] == [law.key for law in run.laws]
    applied = th.apply(run, system).laws()
    assert applied["verdict"].to_list() == ["holds"] * 2


def test_what_is_driven_never_drives() -> None:
    for number in range(len(PLANTS)):
        for law in found(number):
            assert all(one.sensors[0] != "oat" for one in law.by_place)


def test_formulas_are_checked_in_another_building_by_the_kinds_of_their_sensors() -> None:
    laws = Laws(found(1))
    other = PLANTS[1](5).system(6, noise=0.005)
    names = {sensor.id: f"B2 {sensor.id.upper()}" for sensor in other.sensors.sensors}
    frame = other.sensors.to_polars().rename(names)
    sensors = [replace(sensor, id=names[sensor.id]) for sensor in other.sensors.sensors]
    data = th.SensorData.from_wide(frame, sensors=sensors)
    applied = apply_laws(laws, window(data), th.System(data), same_system=False)
    assert not isinstance(applied, str)
    by_form = {law.form: law for law in applied.now}
    assert by_form["mixing"].rows > 5000 and by_form["mixing"].values("share") == pytest.approx((0.01,))
    assert by_form["follows"].share > 0.85
    assert {id for law in applied.now for one in law.by_place for id in one.sensors} <= set(names.values())


def test_curves_are_as_simple_as_they_can_be() -> None:
    rng = np.random.default_rng(3)
    driver = rng.uniform(-10, 25, 4000)
    blocks = np.arange(4000) // 200
    noise = 0.3 * rng.standard_normal(4000)
    shapes = {
        "constant": noise,
        "line": 3 * driver + noise,
        "hinge": np.minimum(driver, 12) + noise,
        "clipped": np.clip(driver, 0, 15) + noise,
    }
    for form, values in shapes.items():
        chosen = choose_curve(driver, values, blocks)
        assert chosen is not None and chosen.form == form
    clipped = fit_curve(driver, shapes["clipped"], "clipped")
    assert clipped is not None and clipped.low == pytest.approx(0, abs=0.2)
    assert fit_curve(np.ones(50), np.ones(50), "line") is None


def test_shifts_keep_the_hour_and_the_weekday() -> None:
    times = np.datetime64("2024-01-01T00:00") + np.arange(48 * 150) * np.timedelta64(30, "m")
    for at in Times(times, 100).shifts:
        known = at >= 0
        apart = (times[at[known]] - times[known]).astype("timedelta64[m]").astype(int)
        assert len(set(apart.tolist())) == 1 and apart[0] % (7 * 24 * 60) == 0 and apart[0] != 0


def test_held_readings_are_skipped_where_they_are_fitted() -> None:
    rng = np.random.default_rng(0)
    fresh = rng.standard_normal(2000)
    repeats = rng.random(2000) < 0.5
    repeats[0] = False
    held = fresh[np.maximum.accumulate(np.where(repeats, 0, np.arange(2000)))]
    used = fresh_rows({"left": held, "x": np.ones(2000)}, np.ones(2000, bool))
    assert not used[repeats].any() and used[~repeats].all()


def test_a_formula_of_the_user_is_bound_fitted_and_told() -> None:
    system = plant(0).system(1)
    text = "power = k * flow * (supply - return)"
    laws = [law for law in search_physics(window(system.sensors), system, formulas=[text]) if law.formula]
    (law,) = laws
    assert law.form == "formula" and law.values("k")[0] == pytest.approx(4.186, rel=0.01)
    assert law.by_place[0].sensors == ("power", "flow", "supply", "return")
    assert law.statement.startswith(f"{text} with k = 4.186, within ±")
    assert Law.from_dict(json.loads(json.dumps(law.to_dict()))) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pressure = k * flow", "no sensor is called 'pressure'"),
        ("power = a * b * c", "no sensor is called 'a', 'b', 'c'"),
        ("power = flow + k * supply", "different dimensions"),
        ("power = k * (flow + supply)", "different dimensions are added"),
    ],
)
def test_a_formula_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    system = plant(0).system(1)
    with pytest.raises(ConfigError, match=message):
        search_physics(window(system.sensors), system, formulas=[text])


def test_a_formula_that_does_not_hold_is_a_note() -> None:
    laws = th.find_laws(plant(0).system(1), formulas=["return = a + b * flow"], progress="off")
    assert "the formula 'return = a + b * flow' does not hold at any place" in laws.notes
    with pytest.raises(ConfigError, match="one '='"):
        th.mine(plant(0).system(1), formulas=["return"], progress="off")


def test_rules_between_a_reading_and_what_it_is_proportional_to_are_left_out() -> None:
    system = plant(3).system(1, noise=0.01)
    with_laws = th.mine(system, laws=True, progress="off")
    alone = th.mine(system, laws=False, progress="off")

    def between(run: th.Run) -> int:
        sides = [{item.feature.subject for item in (*rule.antecedent, rule.consequent)} for rule in run.rules]
        return sum(side == {"flow", "valve"} for side in sides)

    assert between(alone) > 0 and between(with_laws) == 0
    assert any("follow" in note and "left out" in note for note in with_laws.rules.notes)


def test_a_detector_has_formulas_as_evidence() -> None:
    system = plant(2).system(1)
    detector = th.Detector(rules=False, ranges=False, controls=False).fit(system.sensors.upto("2024-02-15"))
    later = system.sensors.between("2024-02-15", "2024-03-15").to_polars()
    wrong = later.with_columns(heat=later["heat"] * 1.5)
    kinds = system.sensors.sensors
    normal, broken = (detector.score(th.SensorData.from_wide(one, sensors=kinds)) for one in (later, wrong))
    assert normal["alarm"].mean() < 0.05 < 0.9 < broken["alarm"].mean()
