"""Optical flow: a camera that looks down and tells by which angle the ground has moved past."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pegasus.arrays import Array, IntArray, namespace
from pegasus.components import require
from pegasus.frames import conjugate, cross, multiply, rotate_inverse, rotation_vector_from_quaternion
from pegasus.sensors.sensor import NoiseBlock, Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor

BEST_QUALITY = 255
"""Quality of a flow that is followed without trouble."""
UNKNOWN_DISTANCE = -1.0
"""What `OpticalFlowReading.distance` reads where there is no ground within reach [m]."""

_DOWN = np.array([[0.0, 0.0, -1.0]])


def translational_flow(velocity: Array, *, distance: Array) -> Array:
    """Return (v_y, -v_x) / d, the flow about x and y that moving over the ground makes [rad/s], shape (N, 2).

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
    """Return how well the ground is seen, 0 to 1, shape (N,).

    It is 1 from twice `min_range` to half of `max_range`, and falls linearly to 0 at both limits.

    Args:
        distance: Distance to the ground; may be infinite [m], shape (N,).
        min_range: Distance at which it is out of focus [m].
        max_range: Distance at which nothing can be told apart any more [m].
    """
    xp = namespace(distance)
    near, far = distance / min_range - 1, 2 - distance * (2 / max_range)
    quality: Array = xp.maximum(xp.minimum(xp.minimum(near, far), 1.0), 0.0)
    return quality


def flow_quality(flow_rate: Array, *, max_flow_rate: float) -> Array:
    """Return how well a flow can be followed, 0 to 1, shape (N,).

    It is 1 up to half of `max_flow_rate` and falls linearly to 0 there.

    Args:
        flow_rate: Mean flow about x and y [rad/s], shape (N, 2).
        max_flow_rate: Flow at which successive images have nothing in common [rad/s].
    """
    xp = namespace(flow_rate)
    speed = xp.sqrt(xp.sum(flow_rate * flow_rate, axis=-1))
    quality: Array = xp.maximum(xp.minimum(2 - speed * (2 / max_flow_rate), 1.0), 0.0)
    return quality


@dataclass(frozen=True, eq=False)
class OpticalFlowReading(Reading):
    """Flow and rotation since the reading before, in body FLU; of no length in the first reading.

    A turn of the body that is positive about an axis makes a positive flow about it. Moving forward makes a
    negative flow about y, moving to the left a positive one about x. In FRD, as MAVLink has it, the flow
    about x is the same and those about y and z have the other sign.
    """

    integration_time: float
    """Time since the reading before [s]."""
    integrated_flow: Array
    """Flow about x and y, rotation included; 0 where the quality is 0 [rad], shape (N, 2)."""
    integrated_rate: Array
    """Angle that the body has turned by about x, y and z, as the gyroscope has it [rad], shape (N, 3)."""
    distance: Array
    """Distance to the ground along the camera's axis, -1 where there is none in reach [m], shape (N,)."""
    quality: IntArray
    """Quality of the flow, 0 (not to be used) to 255, shape (N,)."""


class _View(NamedTuple):
    """What the camera saw at the reading before."""

    time: float
    orientation: Array
    flow_rate: Array
    quality: Array


@dataclass(kw_only=True, eq=False)
class OpticalFlow(Sensor):
    """Camera along the body's -z axis with gyroscope and rangefinder, as PX4FLOW (Honegger et al. 2013).

    The flow by rotation is the change of attitude since the reading before, so that it is exact and the same
    as the gyroscope's; a teleport to another heading therefore reads as a turn. The flow by translation is
    the mean of those at both readings. The quality is the worst of both readings' `range_quality` and of
    `flow_quality`. Default limits are those that PX4 uses with a PAW3902 chip. Default noise of the flow is
    that of PX4FLOW: 250 times a second a step of half a pixel, 24 um behind 16 mm, rounds the angle.
    """

    rate_hz: float = 20.0
    """Readings per second [Hz]."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Place of the camera in the body frame [m]."""
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

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; forget what was seen.

        Args:
            vehicle: The vehicle, whose rays are cast.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._vehicle = vehicle
        self._lever = np.array(self.position) if any(self.position) else None
        self._last: _View | None = None
        self._normals = NoiseBlock(self.rngs, (6,))

    def measure(self, state: VehicleState, t: float) -> OpticalFlowReading:
        """Return what was integrated since the reading before; the vehicle must be in a simulation.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        true_distance = self._vehicle.raycast(_DOWN, self.max_range, origin=self.position).distance
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
        # The limit keeps the flow finite where the ground touches the lens; its quality is 0 there.
        flow_rate = translational_flow(velocity, distance=np.maximum(distance, self.min_range))
        return _View(t, state.orientation.copy(), flow_rate, quality)
