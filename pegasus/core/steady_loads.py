"""Loads of a machine in steady flight, over angles of the flight and commands by channel."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.step_math import Quat, Vec3, cross
from pegasus.environment import Environment
from pegasus.model.machine import Element, Machine
from pegasus.step.integrator import body_momentum, body_rate, turning
from pegasus.step.loads import NO_VECTOR, Loads, element_wrench, flow_of, in_body, loads_of
from pegasus.step.pose import posed
from pegasus.step.values import Air, no_effects

_LEVEL = Quat(0.0, 0.0, 0.0, 1.0)
_MOST_THRUST = 5.0
"""Thrust of a rotor without a limit of its speed, by the weight."""
_FASTEST = 1e5
"""Largest speed of such a rotor [rad/s]."""


@dataclass(frozen=True)
class Conditions:
    """Still air and gravity around a machine."""

    density: float
    """Air density [kg/m^3]."""
    gravity: float
    """Acceleration of free fall [m/s^2]."""

    @classmethod
    def of(cls, environment: Environment, position: Array) -> "Conditions":
        """Return the conditions at a place.

        Args:
            environment: The environment.
            position: Place in the world [m], shape (1, 3).
        """
        gravity = -float(environment.gravity_vector(position)[0, 2])
        return cls(float(environment.air_density(position)[0]), gravity)


@dataclass(frozen=True, eq=False)
class Flight:
    """Instant of a flight in still air."""

    velocity: Array
    """Velocity of the centre of mass, body frame [m/s], shape (3,)."""
    angular_velocity: Array
    """Body frame [rad/s], shape (3,)."""
    upward: Array
    """Upward unit vector, body frame, shape (3,)."""


class SteadyLoads:
    """Loads of a machine, and the limits of its channels.

    Args:
        machine: The machine.
        conditions: Air and gravity.
    """

    def __init__(self, machine: Machine, conditions: Conditions) -> None:
        self.machine, self.conditions = machine, conditions
        self.mass = float(machine.body.mass)
        """Mass [kg]."""
        self.weight = self.mass * conditions.gravity
        """Weight [N]."""
        self.low = np.array([float(channel.low) for channel in machine.channels])
        """Least commands by channel, shape (U,)."""
        self.high = np.array([float(channel.high) for channel in machine.channels])
        """Largest commands, those of rotors without a limit by their thrust, shape (U,)."""
        self.is_joint: BoolArray = np.zeros(len(self.low), dtype=bool)
        """True for the channels of joints, shape (U,)."""
        self.is_joint[[joint.channel for joint in machine.joints]] = True
        self._air = Air(NO_VECTOR, conditions.density)
        self._effects = no_effects(len(machine.elements), len(machine.channels))
        for element in machine.elements:
            if not math.isfinite(self.high[element.channel]):
                self.high[element.channel] = self._largest_speed(element)
        self.low = np.maximum(self.low, -self.high)
        idle = np.array([float(channel.idle) for channel in machine.channels])
        self.idle = np.clip(idle, self.low, self.high)
        """Commands at rest, shape (U,)."""

    def _largest_speed(self, element: Element) -> float:
        """Return a speed at which a rotor gives several times the weight in still air [rad/s]."""
        speed, still = 1.0, flow_of(self.machine, self._air, self._effects, _LEVEL, NO_VECTOR)
        while speed < _FASTEST:
            force, _torque = element_wrench(element, speed, still, NO_VECTOR, NO_VECTOR)
            if force[2] > _MOST_THRUST * self.weight:
                break
            speed *= 2.0
        return speed

    def posed(self, command: Array) -> Machine:
        """Return the machine as its joints turn it.

        Args:
            command: Commands by channel, shape (U,).
        """
        return posed(self.machine, self._angles(command))

    def rates(self, flight: Flight, command: Array) -> tuple[Array, Array]:
        """Return the rates of velocity [m/s^2] and angular velocity [rad/s^2] in the body frame.

        Args:
            flight: The flight.
            command: Commands by channel, which shafts and joints have reached, shape (U,).
        """
        machine, loads = self.posed(command), self.loads(flight, command)
        w, speeds = Vec3(*flight.angular_velocity.tolist()), self._speeds(command)
        momentum = body_momentum(machine.body, w) + turning(machine, speeds)
        torque = loads.rotor_torque + loads.drag_torque - cross(w, momentum)
        force = array_of(loads.rotor_force + loads.drag_force)
        gravity = self.conditions.gravity * flight.upward
        turned = cross(w, Vec3(*flight.velocity.tolist()))
        return force / self.mass - gravity - array_of(turned), array_of(body_rate(machine.body, torque))

    def surface_force(self, flight: Flight, command: Array) -> Array:
        """Return the force of drag and surfaces in the body frame [N], shape (3,); see `rates`."""
        return array_of(self.loads(flight, command).drag_force)

    def largest_lift(self) -> float:
        """Return the largest upward force of the rotors together in still air, with idle joints [N]."""
        machine, still = (
            self.posed(self.idle),
            flow_of(self.machine, self._air, self._effects, _LEVEL, NO_VECTOR),
        )
        lift = 0.0
        for element in machine.elements:
            speeds = self.low[element.channel], self.high[element.channel]
            pushes = (element_wrench(element, float(u), still, NO_VECTOR, NO_VECTOR)[0] for u in speeds)
            lift += max(float(in_body(element, push)[2]) for push in pushes)
        return lift

    def loads(self, flight: Flight, command: Array) -> Loads:
        """Return the loads; see `rates`."""
        machine = self.posed(command)
        v, w = Vec3(*flight.velocity.tolist()), Vec3(*flight.angular_velocity.tolist())
        flow = flow_of(machine, self._air, self._effects, _LEVEL, v)
        shares = self._effects.thrust_share, self._effects.torque_share
        speeds, angles = self._speeds(command), self._angles(command)
        return loads_of(machine, *shares, None, flow, NO_VECTOR, _LEVEL, w, speeds, angles)

    def _speeds(self, command: Array) -> tuple[float, ...]:
        return tuple(float(command[element.channel]) for element in self.machine.elements)

    def _angles(self, command: Array) -> tuple[float, ...]:
        return tuple(float(command[joint.channel]) for joint in self.machine.joints)


def array_of(v: Vec3) -> Array:
    """Return a vector as an array of shape (3,)."""
    return np.array([float(v[0]), float(v[1]), float(v[2])])
