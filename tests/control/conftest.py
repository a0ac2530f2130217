"""Fixtures of controller tests: a stand-in vehicle and a simulated rigid body."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from pegasus.base.frames import cross, matrix_from_quaternion, normalize, rotate
from pegasus.base.step_math import Vec3, magnitude
from pegasus.contracts.engine import RayHits
from pegasus.contracts.state import VehicleState
from pegasus.dynamics import FirstOrderMotor, Motor, ThrustCurve
from pegasus.dynamics.thrust_curves import signed_root
from pegasus.environment import NoWind
from pegasus.model.airframe import Airframe
from pegasus.model.multirotor import rotor_channels

IRIS_ROTORS = ((0.138, -0.207, 0.023), (-0.125, 0.219, 0.023), (0.138, 0.203, 0.023), (-0.124, -0.222, 0.023))
GRAVITY = 9.80665


def square(p, speed, _air_velocity, _air_density):
    """Return force and torque of a rotor."""
    force = p.constant * speed * magnitude(speed)
    return Vec3(0.0, 0.0, force), Vec3(0.0, 0.0, p.ratio * force)


def root(p, thrust, _air_density):
    """Return the speed that gives a thrust."""
    return signed_root(thrust / p.constant)


@dataclass(frozen=True)
class QuadraticCurve(ThrustCurve):
    """T = c w^2, Q = k T."""

    law, inverse_law = staticmethod(square), staticmethod(root)
    constant: float = 8.54858e-6
    ratio: float = 0.06


class Air:
    """Uniform gravity and density, without wind."""

    wind = NoWind()

    def gravity_vector(self, position):
        return np.tile([0.0, 0.0, -GRAVITY], (len(position), 1))

    def air_density(self, position):
        return np.full(len(position), 1.225)


class Nowhere:
    """Manager of a world without ground."""

    def cast(self, vehicle, origins, directions, max_range, *, rows=slice(None)):
        count = len(origins)
        return RayHits(
            hit=np.zeros(count, dtype=bool),
            distance=np.full(count, math.inf),
            normal=np.zeros((count, 3)),
            body=np.full(count, -1),
        )


def layout(position, axis, spin):
    axis = np.asarray(axis, dtype=float)
    return SimpleNamespace(
        position=np.asarray(position, dtype=float),
        axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
        spin=np.asarray(spin, dtype=float),
    )


@dataclass
class StandIn:
    """Stand-in for the vehicle that a controller reads; an Iris by default."""

    name: str = "iris"
    count: int = 1
    mass: float = 1.5
    inertia: np.ndarray = field(default_factory=lambda: np.diag([0.029125, 0.029125, 0.055225]))
    estimator: None = None
    center_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    layout: SimpleNamespace = field(
        default_factory=lambda: layout(IRIS_ROTORS, [[0, 0, 1]] * 4, [1.0, 1.0, -1.0, -1.0])
    )
    thrust_curve: QuadraticCurve = QuadraticCurve()
    drag: None = None
    motor: Motor = field(
        default_factory=lambda: FirstOrderMotor(
            time_constant_up=0.0125, time_constant_down=0.025, max_speed=1100.0
        )
    )
    parameters: tuple[SimpleNamespace, ...] = (SimpleNamespace(rotor_inertia=0.0, airframe=Airframe()),)
    environment: Air = field(default_factory=Air)
    file: None = None
    manager: Nowhere = field(default_factory=Nowhere)

    @property
    def state(self):
        """At rest at the origin."""
        return VehicleState.at_rest(self.count, self.rotor_count)

    @property
    def rotor_count(self):
        """Number of rotors."""
        return len(self.layout.spin)

    @property
    def channels(self):
        """Speeds of the rotors."""
        return rotor_channels(self.motor, self.rotor_count)


class Plant:
    """N rigid bodies over flat ground, integrated by RK4; motors with a first-order lag.

    The ground is a stiff, damped floor under the body's origin that also levels what stands on it.
    """

    def __init__(self, vehicle, *, position=(0.0, 0.0, 0.0), yaw=0.0, ground=0.0, wind_force=(0.0, 0.0, 0.0)):
        self.vehicle, self.ground, self.wind_force = vehicle, ground, np.asarray(wind_force)
        n, layout = vehicle.count, vehicle.layout
        self.state = VehicleState.at_rest(n, len(layout.spin))
        self.state.position[:] = position
        self.state.orientation[:, 2] = np.sin(np.asarray(yaw) / 2)
        self.state.orientation[:, 3] = np.cos(np.asarray(yaw) / 2)
        self.state.rotation[:] = matrix_from_quaternion(self.state.orientation)
        ratio = vehicle.thrust_curve.ratio
        lever = np.cross(layout.position - vehicle.center_of_mass, layout.axis)
        self.effect = np.hstack([layout.axis, lever - (layout.spin * ratio)[:, None] * layout.axis])
        self.inverse_inertia = np.linalg.inv(vehicle.inertia)

    def step(self, command, dt):
        s = self.state
        start = s.rotor_speed.copy()
        lag = np.where(command > start, 0.0125, 0.025)
        end = command + (start - command) * np.exp(-dt / lag)
        thrust, _ = self.vehicle.thrust_curve.thrust(0.5 * (start + end), 0.0, 1.225)
        wrench = thrust @ self.effect
        y = np.concatenate([s.position, s.velocity, s.orientation, s.angular_velocity], axis=1)
        k1 = self._rate(y, wrench)
        k2 = self._rate(y + 0.5 * dt * k1, wrench)
        k3 = self._rate(y + 0.5 * dt * k2, wrench)
        k4 = self._rate(y + dt * k3, wrench)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        s.acceleration[:] = (y[:, 3:6] - s.velocity) / dt
        s.position[:], s.velocity[:] = y[:, :3], y[:, 3:6]
        s.orientation[:] = normalize(y[:, 6:10])
        s.angular_velocity[:] = y[:, 10:]
        s.rotation[:] = matrix_from_quaternion(s.orientation)
        s.rotor_speed[:] = end

    def _rate(self, y, wrench):
        velocity, w = y[:, 3:6], y[:, 10:]
        rotation = matrix_from_quaternion(y[:, 6:10])
        force = rotate(rotation, wrench[:, :3]) + self.wind_force
        torque = wrench[:, 3:] - cross(w, w @ self.vehicle.inertia)
        depth = self.ground - y[:, 2:3]
        touching = depth > 0
        if touching.any():
            up = touching * np.maximum(3000.0 * depth - 120.0 * velocity[:, 2:], 0.0)
            force = force + up * [0, 0, 1] - touching * 30.0 * velocity * [1, 1, 0]
            tilt = np.cross(rotation[:, 2], [0.0, 0.0, 1.0])
            torque = torque + touching * (2.0 * tilt - 0.3 * w)
        rate = np.empty_like(y)
        rate[:, :3] = velocity
        rate[:, 3:6] = force / self.vehicle.mass
        rate[:, 5] -= GRAVITY
        rate[:, 6:9] = 0.5 * (y[:, 9:10] * w + cross(y[:, 6:9], w))
        rate[:, 9] = -0.5 * (y[:, 6:9] * w).sum(axis=1)
        rate[:, 10:] = torque @ self.inverse_inertia
        return rate

    def fly(self, controller, duration, *, dt=0.004, t=0.0):
        """Fly and return the times, states and references of all steps, from before each step."""
        times, states, references = [], [], []
        for k in range(math.ceil(duration / dt - 1e-9)):
            now = t + k * dt
            controller.publish(now, self.state, {})
            command = controller.command(now)
            times.append(now)
            states.append(self.state.copy())
            references.append(controller.reference.copy())
            self.step(command, dt)
        return np.array(times), states, references


@pytest.fixture
def vehicles():
    """The stand-in vehicle, its parts and the plant, by name."""
    return SimpleNamespace(StandIn=StandIn, Plant=Plant, layout=layout, QuadraticCurve=QuadraticCurve)
