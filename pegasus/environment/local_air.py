"""Air at each vehicle and each of its rotors: turbulence and winds that vary over the vehicle."""

from dataclasses import dataclass

from pegasus.base.step_math import Column, Quat, Real, Table, Vec3, rotate
from pegasus.environment.turbulence import GustRows, TurbulenceParameters
from pegasus.environment.wind import WindParameters


@dataclass
class LocalAirRows(GustRows):
    """Columns of `local_air`: a row for each vehicle, parameters for each kind, or one for all."""

    local_parameters: Column[WindParameters]
    """Parameters of the wind that varies, one for all."""
    gust_parameters: Column[TurbulenceParameters]
    """Parameters of the turbulence, one for all."""
    moment: Column[Real]
    """Time [s], one for all."""
    rotor_counts: Column[int]
    """Number of rotors, by kind."""
    widths: Column[Real]
    """Largest width of the vehicle over its rotors [m], by kind."""
    rotor_place: Table[Vec3]
    """Centre of each rotor in the body frame [m], by kind."""

    kind: Column[int]
    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    wind: Column[Vec3]
    """Velocity of the air at the vehicle, to which the turbulence is added, world [m/s]."""
    wake: Table[Vec3]
    """Velocity of the air at each rotor beyond that at the vehicle, world [m/s]."""


def local_wind(p: WindParameters, position: Vec3, t: Real) -> Vec3:
    """Return the velocity of a wind that varies [m/s]; of none unless another law stands in its place."""
    return Vec3(0.0, 0.0, 0.0)


def local_gust(
    i: int, rows: GustRows, p: TurbulenceParameters, span: Real, height: Real, through_air: Vec3, dt: Real
) -> None:
    """Advance the turbulence; there is none unless another law stands in its place."""
    rows.gust_velocity[i] = Vec3(0.0, 0.0, 0.0)


def local_air(i: int, rows: LocalAirRows, dt: Real, jets: int, varies: int) -> None:
    """Advance the turbulence at a vehicle, and set the velocity of the air at its rotors beyond that there.

    Args:
        i: Row of the vehicle.
        rows: The rows; `wind` holds the mean wind.
        dt: Length of the step [s].
        jets: 1 if the jets of other vehicles are in `wake` already, 0 to overwrite it.
        varies: 1 if the wind varies over the vehicle, 0 to leave `wake` as it is.
    """
    kind = rows.kind[i]
    position = rows.position[i]
    height = position[2] - rows.gust_parameters[0].ground
    through_air = rows.velocity[i] - rows.wind[i]
    local_gust(i, rows, rows.gust_parameters[0], rows.widths[kind], height, through_air, dt)
    rows.wind[i] = rows.wind[i] + rows.gust_velocity[i]
    if varies == 1:
        t = rows.moment[0]
        q = rows.orientation[i]
        here = local_wind(rows.local_parameters[0], position, t)
        for j in range(rows.rotor_counts[kind]):
            arm = rotate(q, rows.rotor_place[kind, j])
            change = local_wind(rows.local_parameters[0], position + arm, t) - here
            if jets == 1:
                change = rows.wake[i, j] + change
            rows.wake[i, j] = change
