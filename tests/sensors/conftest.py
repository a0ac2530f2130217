"""Fixtures of sensor tests: a uniform environment, a stationary vehicle, and checks of noise statistics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pegasus.base.arrays import Array
from pegasus.contracts.state import VehicleState
from pegasus.core.sensor_bank import SensorBank
from pegasus.core.sensor_suite import SensorSuite
from pegasus.environment import Geodetic
from pegasus.sensors import Reading, Sensor

IRIS_AXES = np.tile([0.0, 0.0, 1.0], (4, 1))


@dataclass
class PlainEnvironment:
    """Uniform fields and a flat map of one metre per degree, so that GPS errors are read directly."""

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    pressure: float = 100_000.0
    temperature: float = 288.15
    magnetic_field: tuple[float, float, float] = (-1e-6, 25e-6, -36e-6)
    # At the equator the map's y is north for metres around.
    origin: Geodetic = field(default_factory=lambda: Geodetic(0.0, 0.0))

    def gravity_vector(self, position: Array) -> Array:
        return np.tile(self.gravity, (len(position), 1))

    def air(self, position: Array) -> SimpleNamespace:
        n = len(position)
        return SimpleNamespace(pressure=np.full(n, self.pressure), temperature=np.full(n, self.temperature))

    def magnetic_field_at(self, position: Array) -> Array:
        return np.tile(self.magnetic_field, (len(position), 1))

    disturbed_field_at = magnetic_field_at

    def geodetic(self, position: Array) -> tuple[Array, Array, Array]:
        return position[:, 1], position[:, 0], position[:, 2]


@dataclass
class Bench:
    """Test bench: binds sensors to a vehicle at rest, and takes readings at their nominal instants."""

    environment: PlainEnvironment
    banks: dict[int, Any] = field(default_factory=dict)

    def bind(
        self,
        sensor: Sensor,
        *,
        count: int = 1,
        seed: int = 0,
        axis: Array = IRIS_AXES,
        spin: Array | None = None,
        rate: float | None = None,
    ) -> VehicleState:
        """Bind a sensor to a vehicle of a simulation that takes a reading at every step, or at a rate."""
        spin = np.ones(len(axis)) if spin is None else spin
        state = VehicleState.at_rest(count, len(axis))
        vehicle: Any = SimpleNamespace(
            count=count,
            channels=(),
            layout=SimpleNamespace(axis=axis, position=np.zeros_like(axis), spin=spin),
            name="bench",
            physics_rate=rate or sensor.rate_hz,
            sensors=SensorSuite({"sensor": sensor}),
            state=state,
            battery=SimpleNamespace(current=np.full(count, 12.0)),
            spec=SimpleNamespace(propeller=SimpleNamespace(blade_count=3)),
        )
        environment: Any = self.environment
        sensor.bind(vehicle, environment, np.random.default_rng(seed))
        self.banks[id(sensor)] = SensorBank(vehicle.physics_rate), vehicle
        return state

    def step(self, sensor: Sensor, state: VehicleState, t: float) -> Any:
        """Advance by one step and return the last reading."""
        bank, vehicle = self.banks[id(sensor)]
        assert state is vehicle.state
        bank.measure([vehicle], vars(state), round(t * vehicle.physics_rate), t)
        return sensor.measure(state, t)

    def measure(self, sensor: Sensor, state: VehicleState, t: float) -> Any:
        """Return the reading that is due at t."""
        reading = self.step(sensor, state, t) if id(sensor) in self.banks else sensor.measure(state, t)
        assert reading.stamp == t
        return reading

    def readings(self, sensor: Sensor, state: VehicleState, reading_count: int) -> list[Any]:
        return [self.measure(sensor, state, k / sensor.rate_hz) for k in range(reading_count)]

    def series(self, sensor: Sensor, name: str, *, seconds: float, count: int = 1, seed: int = 0) -> Array:
        """Return readings of a new sensor on a vehicle at rest, shape (time, N, ...)."""
        state = self.bind(sensor, count=count, seed=seed)
        readings = self.readings(sensor, state, round(seconds * sensor.rate_hz) + 1)
        return np.array([getattr(reading, name) for reading in readings])


@pytest.fixture
def environment() -> PlainEnvironment:
    return PlainEnvironment()


@pytest.fixture
def bench(environment: PlainEnvironment) -> Bench:
    return Bench(environment)


@pytest.fixture
def same_readings() -> Callable[[Reading, Reading], bool]:
    """Return whether two readings are equal bit for bit."""

    def same(one: Reading, other: Reading) -> bool:
        return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())

    return same


@pytest.fixture
def allan_deviation() -> Callable[..., Array]:
    """Return the Allan deviation over the first axis, pooled over the second (vehicles)."""

    def deviation(samples: Array, *, rate_hz: float, tau: float) -> Array:
        width = round(tau * rate_hz)
        assert width == tau * rate_hz
        bins = len(samples) // width
        means = samples[: bins * width].reshape(bins, width, *samples.shape[1:]).mean(axis=1)
        return np.sqrt(0.5 * np.mean(np.diff(means, axis=0) ** 2, axis=(0, 1)))

    return deviation


@pytest.fixture
def assert_white(allan_deviation: Callable[..., Array]) -> Callable[..., None]:
    """Assert that each axis is white noise of a density: slope -1/2, and the density at 1 s."""

    def check(samples: Array, *, rate_hz: float, density: Any) -> None:
        taus = np.array([0.2, 0.5, 1.0, 2.0])
        curve = np.array([allan_deviation(samples, rate_hz=rate_hz, tau=tau) for tau in taus])
        # The estimate at tau has some 2/3 (bins - 1) N degrees of freedom; five of its sigmas are allowed.
        freedom = 2 / 3 * (len(samples) / (taus * rate_hz) - 1) * samples.shape[1]
        error = 5 / np.sqrt(2 * freedom)
        curve = curve.reshape(len(taus), -1)
        expected = np.asarray(density) / np.sqrt(taus)[:, None]
        assert np.all(np.abs(curve / expected - 1) < error[:, None])
        slope = np.polyfit(np.log(taus), np.log(curve), 1)[0]
        np.testing.assert_allclose(slope, -0.5, atol=error[-1] / np.log(10))

    return check


@pytest.fixture
def assert_gauss_markov() -> Callable[..., None]:
    """Assert the stationary sigma at every instant, and a correlation of 1/e after one time constant."""

    def check(samples: Array, *, rate_hz: float, sigma: float, correlation_time: float) -> None:
        flat = samples.reshape(len(samples), -1) / sigma
        n = flat.shape[1]
        lag = round(correlation_time * rate_hz)
        assert len(flat) > 3 * lag
        # Variance of n independent samples: sigma sqrt(2 / n); five of these are allowed.
        for k in (0, lag, len(flat) - 1):
            assert abs(np.mean(flat[k] ** 2) - 1) < 5 * np.sqrt(2 / n)
        expected = np.exp(-lag / rate_hz / correlation_time)
        correlation = np.mean(flat[0] * flat[lag])
        assert abs(correlation - expected) < 5 * np.sqrt((1 + expected**2) / n)

    return check
