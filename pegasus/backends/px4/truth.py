"""True states of vehicles as HIL_STATE_QUATERNION, for the logs of their autopilots."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.messages import message_type
from pegasus.backends.px4.hil import centi, centi_unsigned, int16
from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    atan2,
    norm,
    quaternion_product,
    rotate_inverse,
    rotation_quaternion,
    sqrt,
)
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.state import VehicleState
from pegasus.environment import Environment
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY
from pegasus.environment.geodesy import Geodetic, convergence, geodetic_at, level_turn
from pegasus.environment.samples import Sampler, Samples

_MILLI_GRAVITY = 9.80665e-3
"""A thousandth of standard gravity [m/s^2]."""


_RESULTS = {"place": 3, "attitude": 4, "course": 3, "force": 3, "airspeed": 2}
"""Results of `truth_at`, and how many numbers each has."""


def truth_at(
    origin: Geodetic,
    position: Vec3,
    orientation: Quat,
    velocity: Vec3,
    acceleration: Vec3,
    wind_velocity: Vec3,
    air_density: Real,
) -> tuple[tuple[Real, Real, Real], Quat, Vec3, tuple[Real, ...], tuple[Real, Real]]:
    """Return place, attitude, course, force and airspeed of a vehicle.

    Args:
        origin: Geographic place of the world's origin.
        position: Position in the world [m].
        orientation: Orientation, FLU to world.
        velocity: Velocity in the world [m/s].
        acceleration: Acceleration in the world [m/s^2].
        wind_velocity: Velocity of the air in the world [m/s].
        air_density: Density of the air [kg/m^3].

    Returns:
        Latitude and longitude [1e-7 deg] and altitude [mm]; orientation, FLU to local east, north and up;
        velocity, local east, north and up [m/s]; acceleration in the body frame (FLU), in thousandths of
        standard gravity; speed through the air, and the indicated one [m/s].
    """
    latitude, longitude, altitude = geodetic_at(origin, position)
    cosine, sine = convergence(origin, position)
    turn = rotation_quaternion(Vec3(0.0, 0.0, -atan2(sine, cosine)))
    force = rotate_inverse(orientation, acceleration)
    speed = norm(velocity - wind_velocity)
    return (
        (latitude * 1e7, longitude * 1e7, altitude * 1e3),
        quaternion_product(turn, orientation),
        level_turn(velocity, cosine, sine),
        (force[0] / _MILLI_GRAVITY, force[1] / _MILLI_GRAVITY, force[2] / _MILLI_GRAVITY),
        (speed, speed * sqrt(air_density / SEA_LEVEL_DENSITY)),
    )


class Truth:
    """True states of N vehicles as messages.

    Args:
        state: Their true states; live arrays.
        environment: Geographic origin, wind and air.
    """

    def __init__(self, state: VehicleState, environment: Environment) -> None:
        self.state = state
        """The true states."""
        self._environment, self._message = environment, message_type("HIL_STATE_QUATERNION")
        count = len(state.position)
        self._air = Samples.of(count)
        self._sampler = Sampler(environment, state.position, self._air)
        # Not at the top: it imports Warp, which is not needed to describe a backend.
        from pegasus.base.tracing.launches import program_of

        found = {name: np.zeros((count, width)) for name, width in _RESULTS.items()}
        names = ("attitude", "course", "place", "force", "airspeed")
        self._results = [found[name] for name in names]
        origin = uniform("origin", environment.origin)
        vectors = ("position", "orientation", "velocity", "acceleration", "wind_velocity")
        inputs = [column(name, Quat if name == "orientation" else Vec3) for name in vectors]
        program = program_of(
            truth_at, origin, *inputs, column("air_density"), outputs=tuple(_RESULTS), count=count
        )
        states = {field.name: getattr(state, field.name) for field in fields(VehicleState)}
        air = {"wind_velocity": self._air.wind_velocity, "air_density": self._air.air_density}
        self._launch = program.launch({**states, **air, **found, **uniform_values(origin)}, count)

    def messages(self, times_usec: Sequence[int], t: float) -> list[Any]:
        """Return the messages of the present states.

        Args:
            times_usec: Time of the state for each vehicle [us].
            t: Simulation time [s].
        """
        state = self.state
        if not self._sampler.fits(self._environment, state.position, self._air):
            self._sampler = Sampler(self._environment, state.position, self._air)
        self._sampler(t)
        self._launch()
        columns = (
            times_usec,
            state.angular_velocity.tolist(),
            *(values.tolist() for values in self._results),
        )
        return [
            self._message(
                time_usec=time_usec,
                attitude_quaternion=other_attitude(x, y, z, w),
                rollspeed=p,
                pitchspeed=-q,
                yawspeed=-r,
                lat=round(latitude),
                lon=round(longitude),
                alt=round(altitude),
                vx=centi(north),
                vy=centi(east),
                vz=centi(-up),
                ind_airspeed=centi_unsigned(indicated),
                true_airspeed=centi_unsigned(airspeed),
                xacc=int16(ax),
                yacc=int16(-ay),
                zacc=int16(-az),
            )
            for (
                time_usec,
                (p, q, r),
                (x, y, z, w),
                (east, north, up),
                (latitude, longitude, altitude),
                (ax, ay, az),
                (airspeed, indicated),
            ) in zip(*columns, strict=True)
        ]
