"""Levels of commands of a fleet: what each row is told, and the controller that makes rotor speeds of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.step_math import NOTHING, Quat, Real, Reals, Vec3, maximum, normalized
from pegasus.control import GuidedController
from pegasus.control.control_step import ControlFunction
from pegasus.control.control_step import Limits as RotorLimits
from pegasus.control.guided_step import ATTITUDE, BODY_RATES, TARGET
from pegasus.control.mission_step import FLY, Motion, Setpoint
from pegasus.core.aircraft import Aircraft
from pegasus.model.machine import Channel
from pegasus.step.values import State

_ZERO = Vec3(NOTHING, NOTHING, NOTHING)
_LEVEL = Quat(0.0, 0.0, 0.0, 1.0)
_AXES = ("x", "y", "z")
_VECTORS = {"position": "m", "velocity": "m/s", "acceleration": "m/s^2", "jerk": "m/s^3"}
LEVELS = ("channels", "thrusts", "rates", "attitude", "velocity", "position", "reference")
"""Levels of commands, see `inputs_of`."""


def inputs_of(level: str, vehicle: Aircraft) -> tuple[Channel, ...]:
    """Return the commands of a level, in their order.

    Args:
        level: `channels`: those of the vehicle; `thrusts`: thrust of each rotor; `rates`: total thrust and
            body rates; `attitude`: total thrust and orientation, a quaternion xyzw; `velocity`: in the world,
            and heading; `position`: likewise; `reference`: position, velocity, acceleration and jerk in the
            world, heading and its rate.
        vehicle: The vehicle.
    """
    if level == "channels":
        return tuple(vehicle.channels)

    def free(*names: str, unit: str, low: float = -math.inf) -> list[Channel]:
        # The last component of a quaternion that turns nothing is 1.
        return [Channel(name, unit, low, math.inf, float(name == "orientation_w")) for name in names]

    thrust, heading = free("thrust", unit="N", low=0.0), free("heading", unit="rad")
    vectors = {name: free(*(f"{name}_{a}" for a in _AXES), unit=unit) for name, unit in _VECTORS.items()}
    made = {
        "thrusts": free(*(f"thrust_{k}" for k in range(vehicle.rotor_count)), unit="N", low=0.0),
        "rates": [*thrust, *free(*(f"rate_{a}" for a in _AXES), unit="rad/s")],
        "attitude": [*thrust, *free(*(f"orientation_{a}" for a in (*_AXES, "w")), unit="")],
        "velocity": [*vectors["velocity"], *heading],
        "position": [*vectors["position"], *heading],
        "reference": [
            *(c for vector in vectors.values() for c in vector),
            *heading,
            *free("heading_rate", unit="rad/s"),
        ],
    }
    return tuple(made[level])


@dataclass(frozen=True)
class Piloted:
    """State of the controller of a row."""

    integral: Vec3
    """States of the law; see `guided_geometric_law`."""
    turned: Vec3
    look_up: int
    """Number of steps until gravity and air density are looked up anew."""
    known_gravity: Real
    """Acceleration of free fall as it was looked up, upward [m/s^2]."""
    known_density: Real
    """Air density as it was looked up [kg/m^3]."""


@dataclass(frozen=True)
class Pilot:
    """Makes rotor speeds of commands: what is known when its function is traced."""

    level: str
    function: ControlFunction
    """Law, allocation and inverse of the thrust curve."""
    thrust_law: Callable[..., Any]
    idle_speed: float
    """Rotor speed at idle [rad/s]."""
    max_speed: float
    """Largest rotor speed [rad/s]."""
    upward: float
    """Sum of the upward components of the rotors' axes."""
    interval: int
    """Number of steps after which gravity and air density are looked up anew: those of a second."""

    def speeds(
        self,
        own: Any,
        p: Any,
        state: State,
        command: Reals,
        before: Piloted,
        gravity: Vec3,
        density: Real,
        elapsed: Real,
    ) -> tuple[Reals, Piloted]:
        """Return rotor speeds [rad/s], and the state of the controller.

        Args:
            own: Gains of the controller.
            p: Mass properties, allocation and thrust curve; see `ControlFunction`.
            state: State of the row.
            command: Its commands.
            before: State of the controller.
            gravity: Acceleration of free fall in the world [m/s^2].
            density: Air density [kg/m^3].
            elapsed: Time since the previous call [s]; 0 at the first.
        """
        inverse = self.function.inverse
        if self.level == "thrusts":
            return tuple(inverse(p.curve, thrust, density) for thrust in command), before
        look_up, fall, known = before.look_up, before.known_gravity, before.known_density
        if look_up == 0:
            look_up, fall, known = self.interval, gravity[2], density
        lowest, _ = self.thrust_law(p.curve, self.idle_speed, _ZERO, known)
        most = math.inf
        if self.max_speed < math.inf:
            highest, _ = self.thrust_law(p.curve, self.max_speed, _ZERO, known)
            most = highest[2]
        limits = RotorLimits(
            gravity=Vec3(NOTHING, NOTHING, fall),
            max_thrust=most * self.upward,
            lower=maximum(lowest[2], 0.0),
            upper=most,
            air_density=known,
            idle_speed=self.idle_speed,
        )
        motion = Motion(state.position, state.orientation, state.velocity, state.angular_velocity)
        setpoint, *order = self._followed(motion, command)
        more = before.integral, before.turned, *order
        found = self.function(own, p, motion, setpoint, limits, FLY, elapsed, *more)
        integral, turned = found[6:]
        return found[3], Piloted(integral, turned, look_up - 1, fall, known)

    def _followed(self, motion: Motion, command: Reals) -> tuple[Setpoint, Real, Quat, Vec3, Real]:
        """Return the reference, the directive, attitude, body rates and thrust that it is commanded."""
        vectors = [Vec3(*command[k : k + 3]) for k in range(0, len(command) // 3 * 3, 3)]
        still = Setpoint(motion.position, _ZERO, _ZERO, _ZERO, 0.0, 0.0)
        if self.level == "rates":
            return still, BODY_RATES, _LEVEL, Vec3(*command[1:]), command[0]
        if self.level == "attitude":
            return still, ATTITUDE, normalized(Quat(*command[1:])), _ZERO, command[0]
        if self.level == "velocity":
            asked = Setpoint(motion.position, vectors[0], _ZERO, _ZERO, command[3], 0.0)
        elif self.level == "position":
            asked = Setpoint(vectors[0], _ZERO, _ZERO, _ZERO, command[3], 0.0)
        else:
            place, velocity, acceleration, jerk = vectors
            asked = Setpoint(place, velocity, acceleration, jerk, command[12], command[13])
        return asked, TARGET, _LEVEL, _ZERO, 0.0


def pilot_of(level: str, vehicle: Aircraft, rate: float) -> tuple[Pilot, Any, Any]:
    """Return what makes rotor speeds of a level's commands, its gains and its numbers.

    Args:
        level: The level.
        vehicle: The vehicle, with its environment.
        rate: Steps per second [Hz].

    Raises:
        ConfigError: If it cannot be controlled.
    """
    controller = GuidedController()
    controller.bind(vehicle)
    step = controller.step
    assert step is not None
    idle = float(step.arrays["limits.idle_speed"][0])
    upward = float(np.maximum(controller.allocation.matrix[2], 0.0).sum())
    curve: Any = type(vehicle.thrust_curve)
    fastest, interval = float(vehicle.motor.max_speed), math.ceil(rate)
    pilot = Pilot(level, step.function, curve.law, idle, fastest, upward, interval)
    own, p = (argument.values[0] for argument in step.arguments[:2])
    return pilot, own, p
