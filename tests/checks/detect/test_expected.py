"""What is expected of a column: against least squares, with gaps, rounding and constants."""

from __future__ import annotations

import numpy as np
import pytest

from thence.checks.detect.expected import Expected, find_step, fit_expected


def readings(n: int = 3000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 3))
    mixed = base @ np.array([[1.0, 0.5, 0.2, 2.0], [0.0, 1.0, -0.7, 0.3], [0.0, 0.0, 1.0, 1.0]])
    return mixed + 0.3 * rng.normal(size=mixed.shape) + np.array([10.0, 0.0, -5.0, 100.0])


def fitted(values: np.ndarray, *, squares: bool = False) -> tuple[Expected, np.ndarray]:
    clock = np.arange(len(values)) % 24 * 1.0
    folds = np.arange(len(values)) // 100 % 5
    return fit_expected(values, clock, folds, hours=False, squares=squares, ridge=1e-9)


def by_least_squares(values: np.ndarray, others: list[np.ndarray], column: int) -> np.ndarray:
    """The error of a column given others, standardised as the fit does."""
    table = np.column_stack([*others, np.ones(len(values))])
    return values[:, column] - table @ np.linalg.lstsq(table, values[:, column], rcond=None)[0]


@pytest.mark.parametrize("column", range(4))
def test_one_inverted_covariance_gives_the_regression_of_each_column(column: int) -> None:
    values = readings()
    fit, _ = fitted(values)
    errors, _ = fit.errors(values, np.zeros(len(values)))
    others = [values[:, at] for at in range(4) if at != column]
    assert errors[:, column] == pytest.approx(by_least_squares(values, others, column), abs=1e-5)


def test_squares_of_the_others_are_conditions_and_that_of_a_column_is_none_of_its_own() -> None:
    values = readings()
    fit, _ = fitted(values, squares=True)
    errors, _ = fit.errors(values, np.zeros(len(values)))
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    others = [part for at in (0, 1, 3) for part in (standard[:, at], standard[:, at] ** 2)]
    assert errors[:, 2] == pytest.approx(by_least_squares(values, others, 2), abs=1e-5)


def test_a_missing_condition_is_left_out_as_if_it_had_never_been_there() -> None:
    values = readings()
    fit, _ = fitted(values)
    gaps = values.copy()
    gaps[:, 3] = np.nan
    errors, units = fit.errors(gaps, np.zeros(len(values)))
    assert errors[:, 0] == pytest.approx(by_least_squares(values, [values[:, 1], values[:, 2]], 0), abs=1e-5)
    assert np.isnan(errors[:, 3]).all()
    assert (units[:, 0] > fit.unit[0]).all()


def test_the_usual_error_is_that_of_time_that_was_not_learned() -> None:
    values = readings()
    fit, errors = fitted(values)
    assert np.sqrt((errors**2).mean(axis=0)) == pytest.approx(np.ones(4), rel=1e-3)
    later = fit.residuals(readings(seed=1), np.zeros(3000))
    assert np.sqrt((later**2).mean(axis=0)) == pytest.approx(np.ones(4), rel=0.1)


def test_an_error_of_one_column_is_found_beyond_the_range_of_the_others() -> None:
    values = readings()
    fit, _ = fitted(values)
    wrong = values[:50].copy()
    wrong[:, 1] += 1000
    standard = np.abs(fit.residuals(wrong, np.zeros(50)))
    assert (standard.argmax(axis=1) == 1).all()
    errors, _ = fit.errors(wrong, np.zeros(50))
    assert errors[:, 1].mean() == pytest.approx(1000, rel=0.05)


def test_coarser_readings_raise_no_errors_that_rounding_explains() -> None:
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=4000)) * 0.01
    values = np.column_stack([x, 2 * x + 1])  # an exact relation
    fit, _ = fit_expected(values, np.zeros(4000), np.arange(4000) // 200 % 5, hours=False, squares=False)
    rounded = values.round(1)
    plain = np.abs(fit.residuals(rounded, np.zeros(4000))).max()
    coarse = np.abs(fit.at_steps(np.full(2, 0.1)).residuals(rounded, np.zeros(4000))).max()
    assert coarse < 4 < plain


def test_any_change_of_a_constant_is_an_error() -> None:
    values = np.column_stack([readings()[:, 0], np.full(3000, 20.0)])
    fit, _ = fitted(values)
    later = values[:10].copy()
    later[5:, 1] = 20.01
    standard = fit.residuals(later, np.zeros(10))
    assert (np.abs(standard[:5, 1]) < 1e-6).all() and (np.abs(standard[5:, 1]) > 100).all()


def test_it_survives_arrays() -> None:
    values = readings()
    fit, _ = fitted(values, squares=True)
    again = Expected.from_arrays(fit.to_arrays())
    assert np.array_equal(again.residuals(values, np.zeros(3000)), fit.residuals(values, np.zeros(3000)))


@pytest.mark.parametrize("step", [5.0, 0.5, 0.25, 0.01])
def test_the_step_of_readings_is_found(step: float) -> None:
    values = np.round(np.random.default_rng(0).normal(0, 100 * step, 2000) / step) * step
    assert find_step(values) == pytest.approx(step)
    assert find_step(values + np.random.default_rng(1).normal(0, 0.1, 2000)) == 0
