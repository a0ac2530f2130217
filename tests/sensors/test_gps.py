"""Tests of GPS: latency and settling against closed forms, errors against their statistics."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pygeomag import GeoMag
from pygeomag.wmm.wmm_2025 import WMM_2025
from scipy.integrate import quad_vec
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.spatial.transform import Rotation

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import OriginSpec, WorldSpec
from pegasus.environment import Environment, Geodetic
from pegasus.sensors import GPS, SENSORS, Sensor
from pegasus.sensors.gps_errors import error_coefficients, error_covariance

ZERO = (0.0, 0.0, 0.0)
QUIET: dict[str, Any] = {
    "position_error_sigma": ZERO,
    "position_noise_density": ZERO,
    "velocity_noise_density": ZERO,
}


def position(readings: list[Any]) -> Any:
    """Return the measured position, with a map of one metre per degree, shape (time, N, 3)."""
    return np.array([np.stack([r.longitude, r.latitude, r.altitude], axis=-1) for r in readings])


def system(position_time: float, velocity_time: float) -> Any:
    return np.array([[-1 / position_time, 1.0], [0.0, -1 / velocity_time]])


TIMES = [(60.0, 4.0), (2.0, 9.0), (5.0, 5.0)]


@pytest.mark.parametrize("times", TIMES)
def test_error_covariance_solves_the_lyapunov_equation(times: tuple[float, float]) -> None:
    """The stated sigma would not be the stationary one."""
    covariance = error_covariance(*times)
    drive = np.diag([0.0, 2 * covariance[1, 1] / times[1]])
    assert_allclose(covariance, solve_continuous_lyapunov(system(*times), -drive), rtol=1e-12)
    assert covariance[0, 0] == 1.0


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("dt", [0.02, 1.0, 30.0])
def test_error_discretisation_is_exact(times: tuple[float, float], dt: float) -> None:
    """Errors would depend on the rate; the oracle is the matrix exponential and the integral of its noise."""
    matrix = system(*times)
    transition, drive = error_coefficients(*times, dt=dt)
    strength = np.diag([0.0, 2 * error_covariance(*times)[1, 1] / times[1]])
    noise, _ = quad_vec(lambda s: expm(matrix * s) @ strength @ expm(matrix * s).T, 0.0, dt, epsrel=1e-12)
    assert_allclose(transition, expm(matrix * dt), rtol=1e-12)
    # Differences of numbers near 1 lose digits for short steps: what is left is far below the noise itself.
    assert_allclose(drive @ drive.T, noise, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("difference", [1e-3, 1e-6, 1e-9, 1e-12])
def test_nearly_equal_time_constants_lose_no_digits(difference: float) -> None:
    """A quotient of small differences would lose all digits; the oracle computes with 60 digits."""
    times = 5.0, 5.0 * (1 + difference)
    with localcontext() as context:
        context.prec = 60
        a, b = (1 / Decimal(time) for time in times)
        expected = float(((-b * 30).exp() - (-a * 30).exp()) / (a - b))
    transition, _ = error_coefficients(*times, dt=30.0)
    assert transition[0, 1] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("rate", [1.0, 10.0, 50.0])
def test_position_error_is_stationary_at_any_rate(rate: float, bench: Any) -> None:
    """The position error would depend on the rate: a missing dt gives 2.8 mm at 250 Hz and 10 m at 1 Hz."""
    sigma = np.array([0.5, 2.0, 3.0])
    times = 2.0, 0.7
    gps = GPS(
        rate_hz=rate,
        position_error_sigma=tuple(sigma),
        position_correlation_time=times[0],
        velocity_correlation_time=times[1],
        position_noise_density=ZERO,
        velocity_noise_density=ZERO,
    )
    n = 1500
    readings = bench.readings(gps, bench.bind(gps, count=n), round(6 * rate) + 1)
    error = position(readings) / sigma
    velocity = np.array([r.velocity for r in readings]) / sigma
    stationary = error_covariance(*times)
    for k in (0, round(rate), len(readings) - 1):
        assert np.all(np.abs(np.mean(error[k] ** 2, axis=0) - 1) < 5 * math.sqrt(2 / n))
        assert np.all(np.abs(np.mean(velocity[k] ** 2, axis=0) / stationary[1, 1] - 1) < 5 * math.sqrt(2 / n))
    # Correlations over a lag of 2 s, all axes pooled.
    later = expm(system(*times) * 2.0) @ stationary
    for a, b, expected in (
        (error, error, later[0, 0]),
        (velocity, velocity, later[1, 1]),
        (velocity, error, later[0, 1]),
    ):
        lag = round(2 * rate)
        spread = np.std(a[0] * b[lag]) / math.sqrt(3 * n)
        assert abs(np.mean(a[0] * b[lag]) - expected) < 5 * spread


def test_position_error_is_driven_by_the_velocity_error(bench: Any) -> None:
    """Position and velocity errors would be independent: here e_p' = -e_p / tau + e_v on every path."""
    gps = GPS(
        rate_hz=500.0,
        position_correlation_time=3.0,
        position_noise_density=ZERO,
        velocity_noise_density=ZERO,
    )
    readings = bench.readings(gps, bench.bind(gps, count=20), 2001)
    error, velocity = position(readings), np.array([r.velocity for r in readings])
    slope = velocity - error / 3.0
    integral = np.sum((slope[1:] + slope[:-1]) / 2, axis=0) / 500.0
    # What the trapezoid misses of the path between samples: q sqrt(T dt^2 / 12), q^2 = 2 sigma_v^2 / tau_v.
    sigma_v = 1.6 * math.sqrt((1 / 3.0 + 1 / 4.0) / 3.0)
    missed = sigma_v * math.sqrt(2 / 4.0) * math.sqrt(4.0 / 12) / 500.0
    assert np.all(np.abs(error[-1] - error[0] - integral) < 6 * missed)
    assert np.std(error[-1] - error[0]) > 100 * missed


def test_default_velocity_error(bench: Any) -> None:
    """The default velocity error would differ from the docstring's 0.009 m/s."""
    gps = GPS(velocity_noise_density=ZERO)
    velocity = bench.series(gps, "velocity", seconds=0.0, count=3000)[0]
    assert np.all(
        np.abs(np.std(velocity[:, :2], axis=0) / (0.6 * math.sqrt(276) / 1100) - 1) < 5 / math.sqrt(2 * 3000)
    )


@pytest.mark.parametrize("rate", [10.0, 20.0])
def test_white_noise_has_its_density_on_every_axis(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """The noise density would depend on the rate, or an axis would have that of another."""
    position_density, velocity_density = (0.1, 0.2, 0.4), (0.3, 0.05, 0.7)
    gps = GPS(
        rate_hz=rate,
        position_error_sigma=ZERO,
        position_noise_density=position_density,
        velocity_noise_density=velocity_density,
    )
    readings = bench.readings(gps, bench.bind(gps, count=100), round(20 * rate))
    assert_white(position(readings), rate_hz=rate, density=position_density)
    velocity = np.array([r.velocity for r in readings])
    assert_white(velocity, rate_hz=rate, density=velocity_density)


@pytest.mark.parametrize("latency", [0.0, 0.2, 0.13, 0.85, 0.0031])
@pytest.mark.parametrize("rate", [100.0, 37.0])
def test_latency_is_exact(latency: float, rate: float, bench: Any) -> None:
    """A solution would be older or newer than its stated latency, especially between two steps."""
    gps = GPS(**QUIET, latency=latency)
    state = bench.bind(gps, count=2, rate=rate)
    start, speed = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 50.0]]), np.array([3.0, -4.0, 0.5])
    pull = np.array([0.5, 1.0, -9.8])
    given = 0
    for k in range(round(4 * rate)):
        t = k / rate
        state.position[:] = start + speed * t + 0.5 * pull * t * t
        state.velocity[:] = speed + pull * t
        reading = bench.step(gps, state, t)
        if reading.stamp == t:
            given += 1
            then = max(t - latency, 0.0)
            assert reading.valid_at == pytest.approx(then, abs=1e-12)
            assert_allclose(position([reading])[0], start + speed * then + 0.5 * pull * then**2, atol=1e-9)
            assert_allclose(reading.velocity, np.tile(speed + pull * then, (2, 1)), atol=1e-9)
    assert given == 40


def test_late_solution_on_a_circle_at_one_hertz(bench: Any) -> None:
    """Interpolation between solutions would give an error of 2.2 m/s on a circle at 4 m/s."""
    gps = GPS(**QUIET, rate_hz=1.0, latency=0.25)
    state = bench.bind(gps, rate=250.0)
    w, radius = 2.0, 2.0
    for k in range(20 * 250):
        t = k / 250
        state.position[:, :2] = radius * np.array([math.cos(w * t), math.sin(w * t)])
        state.velocity[:, :2] = radius * w * np.array([-math.sin(w * t), math.cos(w * t)])
        reading = bench.step(gps, state, t)
        if reading.stamp == t:
            then = max(t - 0.25, 0.0)
            true = radius * np.array([math.cos(w * then), math.sin(w * then), 0.0])
            assert np.linalg.norm(position([reading])[0, 0] - true) < 1e-9
            velocity = radius * w * np.array([-math.sin(w * then), math.cos(w * then), 0.0])
            # A chord of the velocity over half a step: w^3 r h^2 / 8.
            assert np.linalg.norm(reading.velocity[0] - velocity) < 1.1 * w**3 * radius * 0.004**2 / 8


def test_memory_does_not_grow_with_time(bench: Any) -> None:
    """Memory would grow with time; a latency of 0.2 s at 50 Hz needs ten solutions."""
    gps = GPS(rate_hz=50.0)
    bench.readings(gps, bench.bind(gps, rate=500.0), 500)
    assert gps.rows["position_records"].shape == (1, 12, 2, 3)


def test_solution_is_geographic(bench: Any) -> None:
    """Latitude and longitude would be exchanged, or altitude would count from the ground."""
    bench.environment = Environment(origin=Geodetic(38.736832, -9.137977, 90.0))
    gps = GPS(**QUIET, latency=0.0)
    state = bench.bind(gps, count=2)
    state.position[1] = (111.2, 0.0, 25.0)
    reading = bench.measure(gps, state, 0.0)
    # A tenth of a kilometre east at 38.7 degrees north: 111.2 m / (6371 km cos(38.7 deg)) = 0.00128 deg.
    assert_allclose(reading.latitude, 38.736832, atol=1e-7)
    assert_allclose(reading.longitude, [-9.137977, -9.137977 + 0.001282], atol=3e-6)
    assert_allclose(reading.altitude, [90.0, 115.0], atol=1e-9)


@pytest.mark.parametrize("ellipsoid", ["sphere", "wgs84"])
@pytest.mark.parametrize(("latitude", "east"), [(38.736832, 50_000.0), (70.0, 50_000.0), (89.9, 5_000.0)])
def test_velocity_compass_and_position_agree_far_away(
    latitude: float, east: float, ellipsoid: Any, bench: Any
) -> None:
    """An estimator would see a wind that does not blow, and turn its heading, far from the world's origin."""
    origin = OriginSpec(latitude=latitude, longitude=20.0, ellipsoid=ellipsoid)
    bench.environment = environment = Environment.from_spec(WorldSpec(name="w", usd="w.usda", origin=origin))
    gps = GPS(**QUIET, latency=0.0)
    state = bench.bind(gps)
    state.velocity[...] = 12.0, 16.0, 1.0
    fixes, course = [], []
    for k in range(101):
        state.position[...] = np.array([east, -300.0, 50.0]) + 0.1 * k * state.velocity
        fixes.append(bench.measure(gps, state, k / 10.0))
        # The nose points along the velocity: what a compass there shows, corrected by the declination.
        angle = math.atan2(16.0, 12.0)
        field = environment.magnetic_field_at(state.position)[0]
        x, y, _ = Rotation.from_euler("z", angle).inv().apply(field)
        place = fixes[-1].latitude[0], fixes[-1].longitude[0], fixes[-1].altitude[0] / 1000
        declination = GeoMag(coefficients_data=WMM_2025).calculate(*place, 2026.0).d
        course.append(math.degrees(math.atan2(y, x)) + declination)
    velocity = np.array([fix.velocity[0] for fix in fixes])
    compass = np.radians(np.array(course))
    heading = np.arctan2(velocity[:, 0], velocity[:, 1])
    assert_allclose(np.angle(np.exp(1j * (heading - compass))), 0.0, atol=1e-4)
    # Dead reckoning by velocity against the positions, 200 m further on.
    latitudes = np.radians([fix.latitude[0] for fix in fixes])
    longitudes = np.radians([fix.longitude[0] for fix in fixes])
    n_radius, e_radius = 6_371_000.0, 6_371_000.0
    if ellipsoid == "wgs84":
        root = math.sqrt(1 - 0.00669437999014 * math.sin(latitudes[0]) ** 2)
        n_radius, e_radius = 6_378_137.0 * (1 - 0.00669437999014) / root**3, 6_378_137.0 / root
    north = np.diff(latitudes) * n_radius
    flown = np.diff(longitudes) * e_radius * np.cos(0.5 * (latitudes[1:] + latitudes[:-1]))
    middle = 0.05 * (velocity[1:] + velocity[:-1])
    assert_allclose(flown.sum(), middle[:, 0].sum(), atol=0.01)
    assert_allclose(north.sum(), middle[:, 1].sum(), atol=0.01)


def test_errors_are_east_north_and_up_of_the_receiver(bench: Any) -> None:
    """Accuracies given per axis would be those of the map, which is turned far from its origin."""
    gps = GPS(latency=0.0, common_share=0.0, **(QUIET | {"position_error_sigma": (5.0, 0.0, 0.0)}))
    # Here true north is along -x of the map.
    bench.environment = Environment(origin=Geodetic(90.0, 0.0))
    state = bench.bind(gps, count=200)
    state.position[...] = 1000.0, 0.0, 0.0
    reading = bench.measure(gps, state, 0.0)
    # A parallel bends by 0.1 m over 15 m.
    assert np.ptp(reading.latitude) < 5e-6
    wide = np.radians(reading.longitude - 90.0) * 1000.0
    assert np.std(wide) == pytest.approx(5.0, rel=0.2)


def test_accuracy_settles_as_a_first_order_filter(bench: Any) -> None:
    """Accuracy would not settle from 100 m with 0.9 s at every rate (AirSim 2017, sec. 3.4.4)."""
    for rate in (1.0, 50.0):
        gps = GPS(rate_hz=rate, eph=0.1, epv=0.2)
        readings = bench.readings(gps, bench.bind(gps, count=2), round(6 * rate))
        t = np.array([r.stamp for r in readings])[:, None]
        decay = np.exp(-np.tile(t, 2) / 0.9)
        assert_allclose(np.array([r.eph for r in readings]), 0.1 + 99.9 * decay, rtol=1e-12)
        assert_allclose(np.array([r.epv for r in readings]), 0.2 + 99.8 * decay, rtol=1e-12)


def fix_times(readings: list[Any]) -> dict[int, float]:
    """Return the first time of each fix type; fail if a better fix is lost again."""
    types = [int(r.fix_type[0]) for r in readings]
    assert types == sorted(types)
    return {kind: readings[types.index(kind)].stamp for kind in sorted(set(types))}


def test_fix_comes_in_two_steps(bench: Any) -> None:
    """AirSim's thresholds: 4 m at 0.9 ln(99.9 / 3.9) = 2.92 s, 3 m at 0.9 ln(99.9 / 2.9) = 3.19 s."""
    gps = GPS(rate_hz=100.0, eph=0.1, epv=0.1)
    readings = bench.readings(gps, bench.bind(gps), 500)
    assert fix_times(readings) == {0: 0.0, 2: 2.92, 3: 3.19}
    for reading in readings:
        assert reading.satellite_count[0] == (10 if reading.fix_type[0] else 0)


def test_full_fix_waits_for_the_vertical_accuracy(bench: Any) -> None:
    """A fix would be full before the altitude is accurate: by default epv = 3 m at 3.95 s, eph at 3.47 s."""
    gps = GPS(rate_hz=100.0)
    times = fix_times(bench.readings(gps, bench.bind(gps), 500))
    expected = 0.9 * math.log((100 - 1.78) / (3 - 1.78))
    assert expected <= times[3] < expected + 0.01
    assert times[2] < times[3] - 0.5


def test_no_fix_before_the_startup_delay(bench: Any) -> None:
    """A receiver that settles at once would have a fix before its start-up ends."""
    gps = GPS(rate_hz=100.0, settling_time=0.01, startup_delay=1.5)
    assert fix_times(bench.readings(gps, bench.bind(gps), 300)) == {0: 0.0, 3: 1.5}


def test_poor_reception_never_fixes(bench: Any) -> None:
    """The accuracy thresholds of a fix would be ignored."""
    gps = GPS(rate_hz=10.0, eph=5.0, epv=9.0)
    assert fix_times(bench.readings(gps, bench.bind(gps), 300)) == {0: 0.0}


def test_a_vehicle_added_late_starts_its_own_receiver(bench: Any) -> None:
    """Start-up would count from the simulation's start, or history from before the vehicle be used."""
    gps = GPS(**QUIET)
    state = bench.bind(gps)
    state.position[:] = (7.0, 8.0, 9.0)
    reading = bench.measure(gps, state, 100.0)
    assert reading.valid_at == 100.0
    assert reading.fix_type[0] == 0
    assert reading.eph[0] == 100.0
    assert np.array_equal(position([reading])[0], state.position)


def test_reading_is_not_touched_by_later_steps(bench: Any) -> None:
    """A delayed solution would show the current position."""
    gps = GPS(**QUIET)
    state = bench.bind(gps)
    first = bench.measure(gps, state, 0.0)
    state.position += 1000.0
    state.velocity += 10.0
    second = bench.measure(gps, state, 0.1)
    assert np.array_equal(position([first, second]), np.zeros((2, 1, 3)))
    assert np.array_equal(second.velocity, np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 0.0),
        ("latency", -0.1),
        ("settling_time", 0.0),
        ("satellite_count", -1),
        ("position_correlation_time", 0.0),
        ("position_error_sigma", (1.0, -1.0, 1.0)),
        ("velocity_noise_density", (0.0, 0.0, -1.0)),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.gps\.{field} = .*must"):
        build(Sensor, SENSORS, {"model": "gps", field: value}, field="sensors.gps")
