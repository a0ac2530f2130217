"""Tests of optical flow: closed forms, a pinhole camera, quality limits, noise statistics."""

import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from flat_ground import OverGround
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import rotate_inverse
from pegasus.recording.schemas import item_fields
from pegasus.sensors import SENSORS, OpticalFlow, Sensor
from pegasus.sensors.optical_flow import flow_quality, range_quality, translational_flow
from tests.flyers import PLAIN_IRIS

QUIET = {"flow_noise_density": 0.0, "rate_noise_density": 0.0, "distance_noise_sigma": 0.0}
DT = 0.05


def after(vehicle: OverGround, dt: float = DT, *, turn: Any = (0.0, 0.0, 0.0)) -> Any:
    """Return the second of two readings of a vehicle with constant velocity that turns by an angle."""
    vehicle.measure(1.0)
    vehicle.move(dt, turn=turn)
    return vehicle.measure(1.0 + dt)


def test_forward_flight_flows_about_y_and_sideways_flight_about_x() -> None:
    """Axes or signs would be wrong, or the angle not be distance over height."""
    vehicle = OverGround(OpticalFlow(**QUIET), count=3, height=[2.0, 4.0, 5.0])
    vehicle.state.velocity[:, :2] = [(3.0, 0.0), (0.0, 2.0), (-1.0, -1.0)]
    reading = after(vehicle)
    assert reading.stamp == 1.0 + DT
    assert reading.integration_time == pytest.approx(DT, rel=1e-12)
    expected = [(0.0, -1.5 * DT), (0.5 * DT, 0.0), (-0.2 * DT, 0.2 * DT)]
    assert_allclose(reading.integrated_flow, expected, rtol=1e-12, atol=1e-15)
    assert_allclose(reading.integrated_rate, 0.0, atol=1e-15)
    assert_allclose(reading.distance, [2.0, 4.0, 5.0], rtol=1e-14)
    assert np.array_equal(reading.quality, [255] * 3)


@pytest.mark.parametrize("turn", [(0.1, 0.0, 0.0), (0.0, -0.08, 0.0), (0.0, 0.0, 0.5), (0.05, 0.04, -0.6)])
def test_rotation_alone_flows_as_the_gyroscope_says(turn: tuple[float, float, float]) -> None:
    """Pure rotation would appear as a velocity after the autopilot subtracts the gyroscope."""
    reading = after(OverGround(OpticalFlow(**QUIET), height=3.0), turn=turn)
    assert_allclose(reading.integrated_rate[0], turn, atol=1e-14)
    assert_allclose(reading.integrated_flow[0], turn[:2], atol=1e-14)
    assert reading.quality[0] > 0


def test_signs_are_those_of_mavlink_after_the_turn_to_frd() -> None:
    """MAVLink: turning right-handed about an axis and moving along +x flow positive, along +y negative."""
    reading = after(OverGround(OpticalFlow(**QUIET), height=3.0), turn=(0.1, -0.1, 0.0))
    assert_allclose(reading.integrated_flow[0] * (1, -1), [0.1, 0.1], rtol=1e-12)
    vehicle = OverGround(OpticalFlow(**QUIET), height=1.0)
    vehicle.state.velocity[:] = (2.0, -1.0, 0.0)  # forward and to the right
    x, y = after(vehicle).integrated_flow[0] * (1, -1)
    assert x < 0 < y


def test_flow_is_how_a_pinhole_camera_sees_the_ground_move() -> None:
    """The flow would differ from the motion field of a ground point that is projected twice."""
    rng = np.random.default_rng(4)
    n, dt, place = 200, 1e-5, (0.1, -0.2, -0.05)
    vehicle = OverGround(OpticalFlow(**QUIET, position=place), count=n, height=4.0)
    state = vehicle.state
    vehicle.turn(*rng.uniform(-0.5, 0.5, (2, n)), rng.uniform(-3, 3, n))
    state.velocity[:], state.angular_velocity[:] = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) * 0.5

    def camera() -> Any:
        return state.position + state.rotation @ place

    start, axis = camera(), -state.rotation[:, :, 2]
    ground = start + axis * (-start[:, 2] / axis[:, 2])[:, None]
    vehicle.measure(0.0)
    # The origin moves on by v dt and the camera with it as the body turns.
    vehicle.move(dt, turn=state.angular_velocity * dt)
    flow = vehicle.measure(dt).integrated_flow
    x, y, z = rotate_inverse(state.rotation, ground - camera()).T
    # In the image, a turn about +x moves things towards -y and one about +y towards +x.
    expected = np.stack([-y / -z, x / -z], axis=1)
    assert np.abs(expected).max() > 0.5 * dt
    assert_allclose(flow, expected, atol=1e-4 * dt)


def test_swaying_is_integrated_to_second_order() -> None:
    """Only one end of the interval would count: an error of 12 % here in place of 0.3 %."""
    w, vehicle = 4.0, OverGround(OpticalFlow(**QUIET), height=2.0)
    total = 0.0
    for k in range(11):
        vehicle.state.velocity[:, 0] = math.cos(w * k * DT)
        total += vehicle.measure(k * DT).integrated_flow[0, 1]
    exact = -math.sin(w * 10 * DT) / w / 2.0
    # The trapezoidal rule has the factor 1 - (w dt)^2 / 12.
    assert total == pytest.approx(exact * (1 - (w * DT) ** 2 / 12), rel=1e-4)


def test_interval_is_the_time_since_the_reading_before() -> None:
    """A late reading would lose flow, because a nominal interval is assumed."""
    vehicle = OverGround(OpticalFlow(**QUIET), height=2.0)
    vehicle.state.velocity[:] = (1.0, 0.0, 0.0)
    vehicle.measure(0.0)
    for t, elapsed in ((0.05, 0.05), (0.104, 0.054), (0.3, 0.196)):
        reading = vehicle.measure(t)
        assert reading.integration_time == pytest.approx(elapsed, rel=1e-12)
        assert reading.integrated_flow[0, 1] == pytest.approx(-0.5 * elapsed, rel=1e-12)


def test_first_reading_has_no_length() -> None:
    """The first reading would include motion from before the vehicle was added."""
    vehicle = OverGround(OpticalFlow(), count=2, height=2.0)
    vehicle.state.velocity[:] = 1.0
    reading = vehicle.measure(17.0)
    assert reading.integration_time == 0.0
    assert not np.any(reading.integrated_flow)
    assert not np.any(reading.integrated_rate)
    assert not np.any(reading.quality)
    assert np.all(np.abs(reading.distance - 2.0) < 0.2)


def test_a_camera_off_the_centre_sees_the_body_turn() -> None:
    """The lever arm would be ignored: yawing moves a camera ahead of the centre to the left, by w r."""
    vehicle = OverGround(OpticalFlow(**QUIET, position=(0.5, 0.0, 0.0)), height=2.0)
    vehicle.state.angular_velocity[:] = (0.0, 0.0, 1.2)
    reading = after(vehicle, turn=(0.0, 0.0, 1.2 * DT))
    assert_allclose(reading.integrated_flow, [[1.2 * 0.5 / 2.0 * DT, 0.0]], atol=1e-14)


QUALITIES = [
    (0.05, 0, -1.0),  # below the limit: unknown
    (0.1, 0, 0.1),
    (0.15, 128, 0.15),
    (0.2, 255, 0.2),
    (5.0, 255, 5.0),
    (7.5, 128, 7.5),
    (10.0, 0, 10.0),
    (10.1, 0, -1.0),
]


@pytest.mark.parametrize(("height", "quality", "distance"), QUALITIES)
def test_quality_falls_towards_the_limits_of_the_range(height: float, quality: int, distance: float) -> None:
    """An autopilot would use flow that is out of focus or out of range."""
    vehicle = OverGround(OpticalFlow(**QUIET, min_range=0.1, max_range=10.0), height=height)
    vehicle.state.velocity[:] = (0.01, 0.0, 0.0)
    reading = after(vehicle)
    assert reading.distance[0] == pytest.approx(distance, rel=1e-12)
    assert reading.quality[0] == pytest.approx(quality, abs=1)
    assert bool(np.any(reading.integrated_flow)) == (reading.quality[0] > 0)


@pytest.mark.parametrize(("speed", "quality"), [(2.0, 255), (3.0, 128), (3.9, 13), (4.1, 0), (400.0, 0)])
def test_quality_falls_with_the_flow(speed: float, quality: int) -> None:
    """Flow beyond the camera's limit would have a high quality."""
    vehicle = OverGround(OpticalFlow(**QUIET, max_flow_rate=4.0), height=1.0)
    vehicle.state.velocity[:] = (0.6 * speed, -0.8 * speed, 0.0)
    reading = after(vehicle)
    assert reading.quality[0] == pytest.approx(quality, abs=1)
    assert bool(np.any(reading.integrated_flow)) == (quality > 0)


def test_both_ends_of_the_interval_must_be_seen() -> None:
    """Flow would be valid although only one end of the interval has a ground distance."""
    vehicle = OverGround(OpticalFlow(**QUIET), height=100.0)
    vehicle.state.velocity[:] = (1.0, 0.0, 0.0)
    vehicle.measure(0.0)
    qualities = []
    for k, height in enumerate((3.0, 3.0, 100.0, 3.0)):
        vehicle.state.position[:, 2] = height
        qualities.append(int(vehicle.measure((k + 1) * DT).quality[0]))
    assert qualities == [0, 255, 0, 0]


def test_looking_at_the_sky_is_no_error() -> None:
    """A loop would end the flight with a division by zero."""
    vehicle = OverGround(OpticalFlow(**QUIET), height=2.0)
    vehicle.turn(math.pi, 0.0, 0.0)
    vehicle.state.velocity[:] = 3.0
    reading = after(vehicle)
    assert (reading.distance[0], reading.quality[0]) == (-1.0, 0)
    assert np.array_equal(reading.integrated_flow, [[0.0, 0.0]])


def test_touching_the_ground_is_no_error() -> None:
    """A camera that touches the ground would divide by zero."""
    vehicle = OverGround(OpticalFlow(**QUIET), height=0.0)
    vehicle.state.velocity[:] = 1.0
    assert after(vehicle, 0.0).quality[0] == 0
    assert np.all(np.isfinite(vehicle.measure(2.0).integrated_flow))


def test_a_teleport_makes_no_flow() -> None:
    """A teleport would be measured as flow, as if positions were differenced."""
    vehicle = OverGround(OpticalFlow(**QUIET), height=2.0)
    vehicle.measure(0.0)
    vehicle.state.position[:, :2] = (500.0, -300.0)
    reading = vehicle.measure(DT)
    assert reading.quality[0] == 255
    assert np.array_equal(reading.integrated_flow, [[0.0, 0.0]])


@pytest.mark.parametrize("rate", [10.0, 50.0])
def test_white_noise_has_its_density(rate: float, assert_white: Callable[..., None]) -> None:
    """The angle's sigma after 1 s would depend on the rate, or flow and gyroscope be exchanged."""
    sensor = OpticalFlow(rate_hz=rate, flow_noise_density=3e-3, rate_noise_density=4e-4)
    vehicle = OverGround(sensor, count=150, height=2.0)
    readings = [vehicle.measure(k / rate) for k in range(round(20 * rate) + 1)][1:]
    assert_white(np.array([r.integrated_flow for r in readings]) * rate, rate_hz=rate, density=3e-3)
    assert_white(np.array([r.integrated_rate for r in readings]) * rate, rate_hz=rate, density=4e-4)


def test_default_flow_noise_is_that_of_px4flow() -> None:
    """Half a pixel of 24 um behind 16 mm, rounded evenly 250 times a second, would be another figure."""
    step = 0.5 * 24e-6 / 16e-3
    assert OpticalFlow().flow_noise_density == pytest.approx(step / math.sqrt(12) * math.sqrt(250), rel=1e-12)


def test_noise_on_the_distance() -> None:
    """The distance would have no noise, or its noise would change the flow."""
    vehicle = OverGround(
        OpticalFlow(distance_noise_sigma=0.05, flow_noise_density=0.0), count=4000, height=3.0
    )
    vehicle.state.velocity[:] = (1.0, 0.0, 0.0)
    reading = after(vehicle)
    assert abs(np.std(reading.distance) / 0.05 - 1) < 5 / math.sqrt(2 * 4000)
    assert_allclose(reading.integrated_flow[:, 1], -DT / 3.0, rtol=1e-12)


def test_formulas_follow_the_array_api() -> None:
    """The formulas would only accept NumPy arrays."""
    rng = np.random.default_rng(5)
    velocity, distance = rng.normal(size=(6, 3)), np.array([0.01, 0.15, 1.0, 8.0, 11.0, math.inf])
    x = array_api_strict.asarray
    flow = translational_flow(velocity, distance=distance)
    limits = {"min_range": 0.1, "max_range": 10.0}
    assert_allclose(np.asarray(translational_flow(x(velocity), distance=x(distance))), flow)
    assert_allclose(np.asarray(range_quality(x(distance), **limits)), range_quality(distance, **limits))
    strict = flow_quality(x(flow), max_flow_rate=3.0)
    assert_allclose(np.asarray(strict), flow_quality(flow, max_flow_rate=3.0))


def test_a_real_flight_can_be_told_from_its_readings() -> None:
    """In a simulation, rays, attitude and time would not match: here a fall, thrown sideways."""
    sensors = {"flow": OpticalFlow(**QUIET)}
    path, distance = np.zeros((2, 2)), np.full(2, np.inf)
    with Simulation("flat", seed=1) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, count=2, spacing=10.0, position=(0, 0, 12), sensors=sensors))
        start = iris.state.position.copy()
        iris.place(start, velocity=[(2.0, 0.0, 0.0), (0.0, -1.0, 0.0)])
        for _ in range(200):
            here = iris.state.position.copy()
            sim.step()
            if "flow" in iris.new_readings:
                end, reading = here, iris.readings["flow"]
                # Level all the while; the flow is that of the mean of both inverse distances.
                x, y = reading.integrated_flow.T * 2 / (1 / distance + 1 / reading.distance)
                path += np.stack([-y, x], axis=1)
                distance = reading.distance
        item_fields(reading, ("quality", "integrated_flow", "integration_time"))
    assert np.array_equal(reading.quality, [255, 255])
    assert np.abs(path).max() > 1.0
    assert_allclose(path, (end - start)[:, :2], atol=1e-3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 0.0),
        ("position", (0.0, math.nan, 0.0)),
        ("min_range", 0.0),
        ("max_range", 0.3),
        ("max_flow_rate", 0.0),
        ("flow_noise_density", -1.0),
        ("rate_noise_density", -1.0),
        ("distance_noise_sigma", -1.0),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"^{field} = .*must"):
        OpticalFlow(**{field: value})


def test_yaml_gives_its_parameters() -> None:
    """A vehicle file could not name the model."""
    spec = {"model": "optical_flow", "position": [0, 0, -0.05], "max_range": 10}
    sensor = build(Sensor, SENSORS, spec, field="sensors.flow")
    assert isinstance(sensor, OpticalFlow)
    assert (sensor.position, sensor.max_range) == ((0.0, 0.0, -0.05), 10.0)
