"""Optical flow: angular motion of the ground in the image of a downward camera."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array, IntArray, namespace
from pegasus.base.components import require, require_vector
from pegasus.base.frames import conjugate, cross, multiply, rotate_inverse, rotation_vector_from_quaternion
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import NoiseBlock, Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.environment import Environment

BEST_QUALITY = 255
"""Quality of the flow under ideal conditions."""
UNKNOWN_DISTANCE = -1.0
"""Value of `OpticalFlowReading.distance` without ground in range [m]."""

_DOWN = np.array([[0.0, 0.0, -1.0]])


def translational_flow(velocity: Array, *, distance: Array) -> Array:
    """Return (v_y, -v_x) / d, the flow about x and y by translation over the ground [rad/s], shape (N, 2).

    With the angular velocity w the whole flow is (w_x + v_y / d, w_y - v_x / d). Source: Honegger et al.
    2013, "An open source and open hardware embedded metric optical flow CMOS camera for indoor and outdoor
    applications": the motion field in the middle of the image, in body FLU for a camera along -z.

    Args:
        velocity: Velocity v of the camera in the body frame [m/s], shape (N, 3).
        distance: Distance d to the ground along the camera's axis; may be infinite [m], shape (N,).
    """
    xp = namespace(velocity)
    flow: Array = xp.stack([velocity[:, 1] / distance, -velocity[:, 0] / distance], axis=-1)
    return flow


def range_quality(distance: Array, *, min_range: float, max_range: float) -> Array:
    """Return the image quality of the ground by its distance, 0 to 1, shape (N,).

    It is 1 from twice `min_range` to half of `max_range`, and falls linearly to 0 at both limits.

    Args:
        distance: Distance to the ground; may be infinite [m], shape (N,).
        min_range: Distance at which the ground is out of focus [m].
        max_range: Distance at which features are no longer resolved [m].
    """
    xp = namespace(distance)
    near, far = distance / min_range - 1, 2 - distance * (2 / max_range)
    quality: Array = xp.maximum(xp.minimum(xp.minimum(near, far), 1.0), 0.0)
    return quality


def flow_quality(flow_rate: Array, *, max_flow_rate: float) -> Array:
    """Return the quality of tracking by the flow rate, 0 to 1, shape (N,).

    It is 1 up to half of `max_flow_rate` and falls linearly to 0 there.

    Args:
        flow_rate: Mean flow about x and y [rad/s], shape (N, 2).
        max_flow_rate: Flow at which successive images no longer overlap [rad/s].
    """
    xp = namespace(flow_rate)
    speed = xp.sqrt(xp.sum(flow_rate * flow_rate, axis=-1))
    quality: Array = xp.maximum(xp.minimum(2 - speed * (2 / max_flow_rate), 1.0), 0.0)
    return quality


@dataclass(frozen=True, eq=False)
class OpticalFlowReading(Reading):
    """Flow and rotation since the previous reading, in body FLU; zero in the first reading.

    A positive rotation of the body about an axis causes a positive flow about it. Forward motion causes a
    negative flow about y, motion to the left a positive one about x. In FRD, as in MAVLink, the flow about x
    is the same and those about y and z have the opposite sign.
    """

    integration_time: float
    """Time since the previous reading [s]."""
    integrated_flow: Array
    """Flow about x and y, rotation included; 0 where the quality is 0 [rad], shape (N, 2)."""
    integrated_rate: Array
    """Rotation of the body about x, y and z, integrated by the gyroscope [rad], shape (N, 3)."""
    distance: Array
    """Distance to the ground along the camera axis, -1 if out of range [m], shape (N,)."""
    quality: IntArray
    """Quality of the flow, 0 (invalid) to 255 (best), shape (N,)."""


class _View(NamedTuple):
    """Measurement of the camera at the previous reading."""

    time: float
    orientation: Array
    flow_rate: Array
    quality: Array


@dataclass(kw_only=True, eq=False)
class OpticalFlow(Sensor):
    """Camera along the body's -z axis with gyroscope and rangefinder, as PX4FLOW (Honegger et al. 2013).

    The rotational flow is the exact change of attitude since the previous reading, equal to that of the
    gyroscope; a teleport to another heading therefore appears as a rotation. The translational flow is the
    mean of those at both readings. The quality is the lowest of both readings' `range_quality` and of
    `flow_quality`. The default limits are those of PX4 for a PAW3902 chip. The default noise of the flow is
    that of PX4FLOW: angles quantised to half a pixel (24 um at a focal length of 16 mm), 250 times a second.
    """

    rate_hz: float = 20.0
    """Readings per second [Hz]."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the camera in the body frame [m]."""
    min_range: float = 0.08
    """Distance to the ground at and below which the quality is 0 [m]."""
    max_range: float = 25.0
    """Distance to the ground at and beyond which the quality is 0 [m]."""
    max_flow_rate: float = 7.4
    """Flow at and above which the quality is 0 [rad/s]."""
    flow_noise_density: float = 0.75e-3 / math.sqrt(12) * math.sqrt(250.0)
    """Density of the white noise on the flow, which is the sigma of an angle after 1 s [rad/s/sqrt(Hz)]."""
    rate_noise_density: float = 3.3937e-4
    """Density of the white noise of the gyroscope [rad/s/sqrt(Hz)]."""
    distance_noise_sigma: float = 0.02
    """Standard deviation of the noise on the distance [m]."""

    def __post_init__(self) -> None:
        for name, unit in (("rate_hz", "Hz"), ("min_range", "m"), ("max_flow_rate", "rad/s")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        require_vector("position", self.position, unit="m")
        enough = 4 * self.min_range <= self.max_range < math.inf
        allowed = f"must be finite and at least four times min_range of {self.min_range:g} m"
        require(enough, "max_range", self.max_range, allowed)
        for name in ("flow_noise_density", "rate_noise_density", "distance_noise_sigma"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle; discard the previous measurement.

        Args:
            vehicle: The vehicle, whose rays are cast.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._lever = np.array(self.position) if any(self.position) else None
        self._last: _View | None = None
        self._normals = NoiseBlock(self.rngs, (6,))

    def reset_copies(self, rows: IntArray) -> None:
        """Measure no flow of copies from their motion before.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        if self._last is not None:
            distance = self.vehicle.raycast(_DOWN, self.max_range, origin=self.position).distance
            now = self._view(self.vehicle.state, self._last.time, distance)
            for name in ("orientation", "flow_rate", "quality"):
                getattr(self._last, name)[rows] = getattr(now, name)[rows]

    def measure(self, state: VehicleState, t: float) -> OpticalFlowReading:
        """Return flow and rotation since the previous reading; the vehicle must be in a simulation.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        true_distance = self.vehicle.raycast(_DOWN, self.max_range, origin=self.position).distance
        normals = self._normals.take()
        view = self._view(state, t, true_distance)
        last, self._last = self._last or view, view
        elapsed = t - last.time
        turn = rotation_vector_from_quaternion(multiply(conjugate(last.orientation), view.orientation))
        flow = turn[:, :2] + (last.flow_rate + view.flow_rate) * (elapsed / 2)
        quality = np.zeros(self.count)
        if elapsed > 0:
            followed = flow_quality(flow / elapsed, max_flow_rate=self.max_flow_rate)
            quality = np.minimum(np.minimum(last.quality, view.quality), followed)
        levels = np.rint(quality * BEST_QUALITY).astype(np.int64)
        root = math.sqrt(elapsed)
        flow += (self.flow_noise_density * root) * normals[:, :2]
        turn += (self.rate_noise_density * root) * normals[:, 2:5]
        distance = true_distance + self.distance_noise_sigma * normals[:, 5]
        in_reach = (distance >= self.min_range) & (distance <= self.max_range)
        return OpticalFlowReading(
            t,
            elapsed,
            np.where(levels[:, None] > 0, flow, 0.0),
            turn,
            np.where(in_reach, distance, UNKNOWN_DISTANCE),
            levels,
        )

    def _view(self, state: VehicleState, t: float, distance: Array) -> _View:
        velocity = rotate_inverse(state.rotation, state.velocity)
        if self._lever is not None:
            velocity = velocity + cross(state.angular_velocity, self._lever)
        quality = range_quality(distance, min_range=self.min_range, max_range=self.max_range)
        # The lower limit keeps the flow finite at zero distance, where the quality is 0.
        flow_rate = translational_flow(velocity, distance=np.maximum(distance, self.min_range))
        return _View(t, state.orientation.copy(), flow_rate, quality)
