"""Formulas that a user writes: their names are bound to sensors, the other names are fitted.

A name is that of a sensor or a kind, or some of the words of one: ``supply`` is a hot water supply temperature. What no
sensor is called is a parameter. Dimensions are checked for each binding before anything is fitted. This module binds
and fits; whether a formula is reported is decided as for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, nearest
from thence.search.laws.slots import Slot, split_words
from thence.search.laws.trials import Parameters, Trial, Values
from thence.statements.laws.formula import Formula

Floats = npt.NDArray[np.float64]
Predict = Callable[[Floats], Floats]

MOST_PARAMETERS, MOST_BINDINGS = 4, 200
_MIN_R2 = 0.8
_STARTS = (1.0, 0.1, 10.0)
_STEPS, _ROWS = 60, 2_000


def bind_names(formula: Formula, slots: Sequence[Slot]) -> Iterator[dict[str, Slot]]:
    """Yield bindings of the names of a formula to sensors: those of the left side in turn, with the nearest others.

    Args:
        formula: The formula.
        slots: The sensors.

    Raises:
        ConfigError: If no sensor has the name of the left side, too many names are those of no sensor, or the units of
            no binding agree.
    """
    named = {name: _called(name, slots) for name in (formula.left, *formula.names)}
    if not named[formula.left]:
        known = sorted({slot.name for slot in slots})
        raise ConfigError(
            f"no sensor is called '{formula.left}' in the formula '{formula.text}'",
            hint=nearest(formula.left, known) or f"known: {', '.join(known[:8])}",
        )
    free = [name for name in formula.names if not named[name]]
    if len(free) > MOST_PARAMETERS or len(free) == len(formula.names):
        raise ConfigError(
            f"no sensor is called {', '.join(repr(name) for name in free)} in the formula '{formula.text}'",
            hint=f"at most {MOST_PARAMETERS} names may be parameters, and one must be a sensor",
        )
    bound = [name for name in formula.names if named[name]]
    refused: ConfigError | None = None
    count = 0
    for left in named[formula.left]:
        choices = [_nearest(left, named[name]) for name in bound]
        for chosen in product(*choices):
            if len({left.id, *(slot.id for slot in chosen)}) <= len(chosen) or count >= MOST_BINDINGS:
                continue
            binding = {formula.left: left, **dict(zip(bound, chosen, strict=True))}
            try:
                formula.require_dimensions({name: slot.dimension for name, slot in binding.items()}, free)
            except ConfigError as error:
                refused = error
                continue
            count += 1
            yield binding
    if not count and refused is not None:
        raise refused


def _called(name: str, slots: Sequence[Slot]) -> list[Slot]:
    """The sensors that a name may mean: of this id or kind, or else with all of its words."""
    plain = name.lower()
    exact = [slot for slot in slots if plain in (slot.id.lower(), slot.name.lower().replace(" ", "_"))]
    if exact or len(name) == 1:
        return exact
    words = split_words(name)
    found = [slot for slot in slots if words and words <= slot.words]
    if "setpoint" not in words:
        found = [slot for slot in found if not slot.is_setpoint]
    of_quantity = [slot for slot in found if slot.quantity in words]
    return of_quantity or found


def nearest_of(left: Slot, slots: Sequence[Slot]) -> Slot | None:
    """Return the one sensor at the place of another, or else the one next to it, or else the only one.

    Args:
        left: The other sensor.
        slots: The sensors to choose from.
    """
    found = _nearest(left, slots)
    return found[0] if len(found) == 1 else None


def _nearest(left: Slot, slots: Sequence[Slot]) -> list[Slot]:
    here = [slot for slot in slots if slot.is_with(left)]
    return here or [slot for slot in slots if slot.is_near(left)] or list(slots[:1] if len(slots) == 1 else ())


def trial_of(formula: Formula, binding: Mapping[str, Slot]) -> Trial:
    """Return how a formula is tried on sensors.

    Args:
        formula: The formula.
        binding: The sensor of each name.
    """
    free = [name for name in formula.names if name not in binding]
    moving = [name for name in formula.names if name in binding and not binding[name].is_driver]
    return Trial(
        form="formula",
        formula=formula,
        fit=lambda values: fit_parameters(formula, free, values),
        shifted=next(iter(moving), next(name for name in formula.names if name in binding)),
        rivals=lambda values: [values["left"] - values["left"].mean()],
        min_r2=_MIN_R2,
    )


def fit_parameters(formula: Formula, names: Sequence[str], values: Values) -> Parameters | None:
    """Fit the parameters of a formula by least squares.

    Args:
        formula: The formula.
        names: The names of its parameters.
        values: The values of each quantity, in rows without missing ones.

    Returns:
        The parameters; ``None`` if no finite ones were found.

    Examples:
        >>> x = np.linspace(1, 9, 50)
        >>> fitted = fit_parameters(Formula("y = a + b * x"), ["a", "b"], {"left": 2 + 3 * x, "x": x})
        >>> [round(one, 6) for one in fitted]
        [2.0, 3.0]
        >>> fitted = fit_parameters(Formula("y = a * x ** n"), ["a", "n"], {"left": 2 * x**1.85, "x": x})
        >>> [round(one, 3) for one in fitted]
        [2.0, 1.85]
    """
    step = max(len(values["left"]) // _ROWS, 1)
    thin = {name: one[::step] for name, one in values.items()}
    target = thin["left"]
    if not names:
        return ()

    def predict(parameters: Floats) -> Floats:
        given = dict(zip(names, parameters.tolist(), strict=True))
        out = np.asarray(formula.evaluate({**thin, **given}), np.float64)
        return np.broadcast_to(out, target.shape)

    size = len(names)
    base = predict(np.zeros(size))
    columns = np.stack([predict(row) - base for row in np.eye(size)], axis=1)
    probe = np.arange(2.0, size + 2.0)
    if np.isfinite(base).all() and np.allclose(predict(probe), base + columns @ probe, rtol=1e-9, atol=1e-9):
        solved, *_ = np.linalg.lstsq(columns, target - base, rcond=None)
        return tuple(solved.tolist())
    found = [_descend(predict, target, np.full(size, start)) for start in _STARTS]
    known = [one for one in found if one is not None]
    return tuple(min(known, key=lambda one: one[0])[1].tolist()) if known else None


def _descend(predict: Predict, target: Floats, start: Floats) -> tuple[float, Floats] | None:
    """Levenberg and Marquardt's descent from a start, with differences for derivatives."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _descend_from(predict, target, start)


def _descend_from(predict: Predict, target: Floats, start: Floats) -> tuple[float, Floats] | None:
    at, damping = start, 1e-2
    left = target - predict(at)
    if not np.isfinite(left).all():
        return None
    error = float((left * left).sum())
    for _ in range(_STEPS):
        steps = 1e-6 * np.maximum(np.abs(at), 1e-3)
        slopes = np.stack([(predict(at + row) - predict(at)) / row.sum() for row in np.diag(steps)], axis=1)
        square, toward = slopes.T @ slopes, slopes.T @ left
        damped = square + damping * np.diag(np.maximum(np.diag(square), 1e-12))
        try:
            move = np.linalg.solve(damped, toward)
        except np.linalg.LinAlgError:
            return None
        then = target - predict(at + move)
        better = np.isfinite(then).all() and float((then * then).sum()) < error
        if better:
            at, left, error, damping = at + move, then, float((then * then).sum()), damping / 3
        else:
            damping *= 4
        if damping > 1e12 or (better and float(np.abs(move / np.maximum(np.abs(at), 1e-9)).max()) < 1e-9):
            break
    return error, at
