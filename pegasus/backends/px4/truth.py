"""True states of vehicles as HIL_STATE_QUATERNION, for the logs of their autopilots."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.messages import message_type
from pegasus.backends.px4.hil import centi, centi_unsigned, int16
from pegasus.base.step_math import (
    Column,
    Quat,
    Real,
    Table,
    Vec3,
    atan2,
    norm,
    quaternion_product,
    rotate_inverse,
    rotation_quaternion,
    sqrt,
)
from pegasus.contracts.state import VehicleState
from pegasus.environment import Environment
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY
from pegasus.environment.geodesy import Geodetic, convergence, geodetic_at, level_turn
from pegasus.environment.samples import Sampler, Samples

_MILLI_GRAVITY = 9.80665e-3
"""A thousandth of standard gravity [m/s^2]."""


@dataclass
class TruthRows:
    """Columns of `truth_row`."""

    origin: Column[Geodetic]
    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    acceleration: Column[Vec3]
    wind_velocity: Column[Vec3]
    air_density: Column[Real]
    place: Table[Real]
    """Latitude and longitude [1e-7 deg], and altitude [mm]."""
    attitude: Column[Quat]
    """Orientation, FLU to local east, north and up."""
    course: Column[Vec3]
    """Velocity, local east, north and up [m/s]."""
    force: Table[Real]
    """Acceleration in the body frame (FLU), in thousandths of standard gravity."""
    airspeed: Table[Real]
    """Speed through the air, and the indicated one [m/s]."""


def truth_row(i: int, rows: TruthRows) -> None:
    """Fill row i of place, attitude, course, force and airspeed."""
    latitude, longitude, altitude = geodetic_at(rows.origin[0], rows.position[i])
    rows.place[i, 0] = latitude * 1e7
    rows.place[i, 1] = longitude * 1e7
    rows.place[i, 2] = altitude * 1e3
    cosine, sine = convergence(rows.origin[0], rows.position[i])
    turn = rotation_quaternion(Vec3(0.0, 0.0, -atan2(sine, cosine)))
    rows.attitude[i] = quaternion_product(turn, rows.orientation[i])
    rows.course[i] = level_turn(rows.velocity[i], cosine, sine)
    force = rotate_inverse(rows.orientation[i], rows.acceleration[i])
    for k in range(3):
        rows.force[i, k] = force[k] / _MILLI_GRAVITY
    speed = norm(rows.velocity[i] - rows.wind_velocity[i])
    rows.airspeed[i, 0] = speed
    rows.airspeed[i, 1] = speed * sqrt(rows.air_density[i] / SEA_LEVEL_DENSITY)


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
        results = {"attitude": 4, "course": 3, "place": 3, "force": 3, "airspeed": 2}
        self._results = [np.zeros((count, width)) for width in results.values()]
        columns = {field.name: getattr(state, field.name) for field in fields(VehicleState)}
        air = {"wind_velocity": self._air.wind_velocity, "air_density": self._air.air_density}
        arrays = {**columns, **air, **dict(zip(results, self._results, strict=True))}
        names = TruthRows.__annotations__.keys() - {"origin"}
        given = {"origin": [environment.origin], **{name: arrays[name] for name in names}}
        # Not at the top: it imports Warp, which is not needed to describe a backend.
        from pegasus.base.compiler import Rows, shared_kernel

        self._launch = shared_kernel(truth_row).launch(Rows(TruthRows, given), count)

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
