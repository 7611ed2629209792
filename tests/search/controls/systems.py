"""Made systems: actuators that nothing controls among readings that have nothing to do with them, and true controls.

Habits vary with the seed: the step of the log, its length, the number of sensors, how long states last. Nothing here
comes from a published network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.statements.controls.plants import windows
from thence.data.readings.windows import WindowedReadings

Floats = npt.NDArray[np.float64]


def telegraph(rng: np.random.Generator, steps: int, dwell: tuple[float, float]) -> list[str]:
    """States that change at random after about this number of windows, off and on."""
    out: list[str] = []
    state = int(rng.integers(2))
    while len(out) < steps:
        out += [("off", "on")[state]] * int(rng.geometric(1 / max(dwell[state], 1.0)))
        state = 1 - state
    return out[:steps]


def pulses(rng: np.random.Generator, hours: Floats, rate: float, *, daily: bool) -> list[str]:
    """Pulses of one window at random, ``daily`` mostly in working hours."""
    shape = np.exp(-(((hours - 13) / 3.5) ** 2)) * 3 if daily else np.ones(hours.size)
    return ["on" if one else "off" for one in rng.random(hours.size) < np.minimum(rate * shape, 0.6)]


def walk_of(rng: np.random.Generator, steps: int, memory: float) -> Floats:
    """An autoregressive series; a random walk if its memory is 1."""
    out = np.zeros(steps)
    noise = rng.normal(size=steps)
    for at in range(1, steps):
        out[at] = memory * out[at - 1] + noise[at]
    return out


def number_of(rng: np.random.Generator, steps: int, hours: Floats) -> Floats:
    """A series that has nothing to do with any other."""
    habit = rng.integers(5)
    if habit == 0:
        return walk_of(rng, steps, float(rng.choice([0.5, 0.9, 0.98, 0.99])))
    if habit == 1:
        return walk_of(rng, steps, 1.0)
    if habit == 2:
        daily = np.sin(2 * np.pi * (hours / 24 + rng.random()))
        return 20 + 5 * daily + 0.3 * walk_of(rng, steps, 0.95)
    if habit == 3:
        return np.round(walk_of(rng, steps, 0.99) / 4)
    return np.abs(walk_of(rng, steps, 0.97)) * (rng.random() < 0.5) + rng.normal(size=steps)


def noise_system(seed: int) -> WindowedReadings:
    """States and numbers without any relation, but for the hours in which people move."""
    rng = np.random.default_rng([71, seed])
    minutes = int(rng.choice([5, 10, 15, 30]))
    steps = int(rng.integers(14, 57)) * 1440 // minutes
    hours = np.arange(steps) * minutes / 60 % 24
    sensors = int(rng.integers(10, 61))
    actuators = int(rng.integers(2, 2 + sensors // 4))
    states: dict[str, list[str]] = {}
    for number in range(actuators):
        habit = rng.integers(4)
        if habit == 0:
            found = telegraph(rng, steps, (float(rng.uniform(2, 60)), float(rng.uniform(1, 60))))
        elif habit == 1:
            found = telegraph(rng, steps, (float(rng.uniform(5, 100)), 1.0))
        else:
            found = pulses(rng, hours, float(rng.uniform(0.01, 0.4)), daily=habit == 2)
        states[f"state{number}"] = found
    numbers = {f"number{at}": number_of(rng, steps, hours) for at in range(sensors - actuators)}
    kinds = {name: str(rng.choice(["temperature", "pressure", "flow"])) for name in numbers}
    return windows(numbers, states, minutes=minutes, kinds=kinds)


@dataclass(frozen=True)
class Planted:
    """A true control.

    Args:
        actuator: The sensor of states.
        to_state: The state after.
        sensor: The reading; empty for a time of day.
        threshold: The threshold, or the time in seconds after midnight.
        tolerance: How far a threshold that is found may be off.
    """

    actuator: str
    to_state: str
    sensor: str
    threshold: float
    tolerance: float


class _Plant:
    """Sensors of one made system and its true controls."""

    def __init__(self, seed: int, *, minutes: int, days: int, noise: float) -> None:
        self.rng = np.random.default_rng([93, seed])
        self.minutes, self.noise = minutes, noise
        self.steps = days * 1440 // minutes
        self.hours = np.arange(self.steps) * minutes / 60 % 24
        self.days = np.arange(self.steps) * minutes // 1440
        self.numbers: dict[str, Floats] = {}
        self.states: dict[str, list[str]] = {}
        self.kinds: dict[str, str] = {}
        self.truth: list[Planted] = []

    def read(self, name: str, kind: str, values: Floats) -> None:
        """Add a reading with noise, in per cent of its span."""
        span = float(values.max() - values.min())
        self.numbers[name] = np.round(values + self.noise * span * self.rng.normal(size=values.size), 4)
        self.kinds[name] = kind

    def add_tank(self, name: str) -> None:
        """A tank that a pump fills between two levels, with the pump's flow and power and a pressure beside it."""
        low, high = 1.0 + self.rng.random(), 3.0 + self.rng.random()
        use = 0.10 * (1.2 + np.sin(2 * np.pi * (self.hours / 24 + self.rng.random())))
        fine = 10  # the plant moves on between two readings
        step = self.minutes / 60 / fine
        level, on, levels, states, flows = (low + high) / 2, False, [], [], []
        for at in range(self.steps):
            levels.append(level)
            states.append("on" if on else "off")
            flows.append(40.0 * on)
            for _ in range(fine):
                level += step * (0.6 * on - use[at] * self.rng.uniform(0.5, 1.5))
                on = True if level <= low else False if level >= high else on
        self.states[f"{name}_pump"] = states
        self.read(f"{name}_level", "level", np.array(levels))
        runs = np.array(flows)
        self.read(
            f"{name}_pressure", "pressure", 20 + np.array(levels) + 0.05 * runs + self.rng.normal(size=self.steps)
        )
        self.numbers[f"{name}_flow"] = runs * self.rng.uniform(0.9, 1.1, self.steps)
        self.kinds[f"{name}_flow"] = "flow"
        off = 0.06 * (high - low)
        self.truth += [
            Planted(f"{name}_pump", "on", f"{name}_level", low, off),
            Planted(f"{name}_pump", "off", f"{name}_level", high, off),
        ]

    def add_room(self, name: str) -> None:
        """A room whose heating starts below one temperature and stops above another."""
        low, high = 19.5 + self.rng.random(), 21.5 + self.rng.random()
        outside = 4 + 4 * np.sin(2 * np.pi * (self.hours - 9) / 24) + 0.1 * walk_of(self.rng, self.steps, 0.995)
        warm, on, temperatures, states = (low + high) / 2, False, [], []
        fine = 10
        step = self.minutes / 60 / fine
        for at in range(self.steps):
            temperatures.append(warm)
            states.append("heating" if on else "idle")
            for _ in range(fine):
                warm += step * (4.0 * on - (warm - outside[at]) * 0.08 * self.rng.uniform(0.8, 1.2))
                on = True if warm <= low else False if warm >= high else on
        self.states[f"{name}_valve"] = states
        self.read(f"{name}_temperature", "temperature", np.array(temperatures))
        self.read(f"{name}_outside", "outside", outside)
        off = 0.06 * (high - low)
        self.truth += [
            Planted(f"{name}_valve", "heating", f"{name}_temperature", low, off),
            Planted(f"{name}_valve", "idle", f"{name}_temperature", high, off),
        ]

    def add_shade(self, name: str, *, late: int) -> None:
        """A valve that opens above a temperature and closes below a lower one, some windows late."""
        slow = walk_of(self.rng, self.steps, 0.97 ** (self.minutes / 15))
        x = 18 + 6 * np.sin(2 * np.pi * (self.hours / 24)) + 3 * slow / slow.std()
        x = np.convolve(np.pad(x, 3, mode="edge"), np.ones(7) / 7, "valid")
        low, high = 17.0, 20.0
        wanted, states, on = [], [], False
        for value in x:
            on = True if value >= high else False if value <= low else on
            wanted.append(on)
            states.append("open" if wanted[max(0, len(wanted) - 1 - late)] else "closed")
        self.states[f"{name}_damper"] = states
        self.read(f"{name}_air", "temperature", x)
        off = 0.06 * float(x.max() - x.min())
        self.truth += [
            Planted(f"{name}_damper", "open", f"{name}_air", high, off),
            Planted(f"{name}_damper", "closed", f"{name}_air", low, off),
        ]

    def add_fan(self, name: str, *, jitter: int, holidays: int) -> None:
        """A fan that runs in working hours from Monday to Friday, but not on holidays."""
        start, end = int(self.rng.integers(5, 9)), int(self.rng.integers(16, 20))
        per_hour = 60 // self.minutes
        running = np.zeros(self.steps, bool)
        free = set(self.rng.choice([day for day in range(self.steps * self.minutes // 1440) if day % 7 < 5], holidays))
        for day in range(self.steps * self.minutes // 1440):
            if day % 7 >= 5 or day in free:
                continue
            first, last = (
                (day * 24 + hour) * per_hour + int(self.rng.integers(0, jitter + 1)) for hour in (start, end)
            )
            running[first:last] = True
        self.states[f"{name}_fan"] = ["on" if one else "off" for one in running]
        power = np.where(running, 4.0 + 0.3 * self.rng.normal(size=self.steps), 0.0)
        self.numbers[f"{name}_power"], self.kinds[f"{name}_power"] = power, "power"
        off = jitter * self.minutes * 60 + 1
        self.truth += [
            Planted(f"{name}_fan", "on", "", start * 3600.0, off),
            Planted(f"{name}_fan", "off", "", end * 3600.0, off),
        ]


def planted_system(seed: int) -> tuple[WindowedReadings, list[Planted]]:
    """A system with true controls, in a habit that depends on the seed."""
    choose = np.random.default_rng([17, seed])
    minutes = (5, 15, 1)[seed % 3]
    plant = _Plant(seed, minutes=minutes, days=14 if minutes == 1 else 42, noise=(0.0, 0.005, 0.01)[seed // 3 % 3])
    plant.add_tank("a")
    plant.add_room("b")
    plant.add_shade("c", late=int(choose.integers(0, 2)))
    plant.add_fan("d", jitter=int(choose.integers(0, 2)), holidays=2)
    for at in range(int(choose.integers(3, 20))):
        plant.numbers[f"other{at}"] = number_of(plant.rng, plant.steps, plant.hours)
        plant.kinds[f"other{at}"] = str(choose.choice(["temperature", "pressure", "flow"]))
    return windows(plant.numbers, plant.states, minutes=minutes, kinds=plant.kinds), plant.truth
