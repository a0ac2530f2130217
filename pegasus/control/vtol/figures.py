"""Figures of a VTOL that its controller needs: those of its wings, and the wrenches of its rotors."""

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.errors import ConfigError
from pegasus.base.pseudo_inverse import pseudo_inverse
from pegasus.base.step_math import Vec3
from pegasus.contracts.vehicle import MachineVehicle
from pegasus.control.fixed_wing.figures import PlaneFigures, StillAir, figures_of
from pegasus.control.tuning import Tuning, tuning_of
from pegasus.core.steady_loads import array_of

WRENCH = 5
"""Numbers of a wrench: torques about x, y and z, forces along z and x."""
_ANGLES = 73
"""Number of angles of attack of the forces of the air, all around."""
_YAW_SHARE = 0.4
"""Share of the yaw torque in hover that is commanded at most."""
_LEAST_REACHED = 0.99


@dataclass(frozen=True)
class VtolFigures:
    """Figures of a VTOL.

    Thrusters are the rotors in hover, then those with a nacelle once more, tilted forward by a right angle: a
    tilted rotor is the sum of both (Kamel et al. 2018, "The Voliro Omniorientational Hexacopter").
    """

    plane: PlaneFigures
    """Figures of flight on the wings."""
    frame: tuple[float, float, float, float]
    """Rotation of the axes of flight on the wings from the body's, quaternion xyzw."""
    upright: float
    """Pitch of these axes in hover, nose up [rad]."""
    tail: float
    """1 for a vehicle that stands on its tail, else 0."""
    inertia: tuple[Vec3, Vec3, Vec3]
    """Rows of the inertia about the centre of mass, body frame [kg m^2]."""
    mixing: tuple[float, ...]
    """Thrust of thrusters by wrench, five numbers each."""
    tilt: tuple[int, ...] = field(metadata={"literal": True})
    """Place of each rotor's nacelle among the joints, -1 without one."""
    tilt_sense: tuple[float, ...]
    """Sign of the angle of each joint that tilts forward; 0 for joints of surfaces."""
    thrust: tuple[float, ...]
    """Thrust of each rotor at its largest speed in still air [N]."""
    fading: tuple[float, ...]
    """Share of it that is lost in flight on the wings at `plane.thrust_airspeed`."""
    rotor_speed: tuple[float, ...]
    """Largest speed of each rotor [rad/s]."""
    idle: tuple[float, ...]
    """Angles of the joints in hover [rad]."""
    yaw_limit: float
    """Largest torque about z that is commanded [N m]."""
    max_lift: float
    """Largest upward force without torque [N]."""
    alpha: tuple[float, ...]
    """Angles of attack all around [rad]."""
    ahead: tuple[float, ...]
    """Force of the surfaces there along the axes of flight, by dynamic pressure, x [m^2]."""
    above: tuple[float, ...]
    """The same, z [m^2]."""


def vtol_figures_of(vehicle: MachineVehicle) -> tuple[VtolFigures, Tuning]:
    """Return the figures of a VTOL, and the gains of its hover.

    Args:
        vehicle: The vehicle, in a simulation.

    Raises:
        ConfigError: If its rotors do not control it in hover, or it is no plane (`figures_of`).
    """
    air = StillAir(vehicle)
    plane = figures_of(vehicle)
    machine, loads = air.machine, air.search.loads
    if any(air.governed):
        raise ConfigError(
            "has rotors of variable pitch, which hover does not use", field="vehicle", value=air.name
        )
    rotors = range(len(machine.elements))
    speeds = np.array([loads.high[e.channel] for e in machine.elements])
    idle = [float(loads.idle[joint.channel]) for joint in machine.joints]
    ahead = [float(air.search.forward[joint.channel]) for joint in machine.joints]
    carriers = {e.joint for e in machine.elements if e.joint is not None}
    tilts = [a - i if k in carriers else 0.0 for k, (a, i) in enumerate(zip(ahead, idle, strict=True))]
    sense = [math.copysign(1.0, tilt) if tilt else 0.0 for tilt in tilts]

    def wrench(k: int, angles: list[float], airspeed: float = 0.0) -> Array:
        """Return torque and force along z and x of a rotor at its largest speed."""
        one = [float(speeds[k]) if k == j else 0.0 for j in rotors]
        made = air.loads(0.0, angles=angles, speeds=one, airspeed=airspeed)
        force = array_of(made.rotor_force)
        return np.concatenate([array_of(made.rotor_torque), force[[2, 0]], [math.sqrt(float(force @ force))]])

    found = [wrench(k, idle) for k in rotors]
    turned = [i + s * 0.5 * math.pi for i, s in zip(idle, sense, strict=True)]
    found += [wrench(k, turned) for k in rotors if machine.elements[k].joint is not None]
    columns = np.array([one[:WRENCH] / max(one[WRENCH], 1e-9) for one in found]).T
    inverse = _inverse(columns)
    _require_hover(columns, inverse, vehicle.name)
    full = np.array([one[WRENCH] for one in found[: len(rotors)]])
    flying = np.array([wrench(k, ahead, plane.thrust_airspeed)[WRENCH] for k in rotors])
    lifts = inverse[: len(rotors), 3]
    weight = plane.mass * air.gravity
    max_lift = float((full / np.maximum(lifts, 1e-9)).min())
    if not max_lift > 1.1 * weight:
        problem = f"its rotors lift {max_lift:.4g} N in hover, it weighs {weight:.4g} N"
        raise ConfigError(
            problem, field="vehicle", value=vehicle.name, remedy="raise max_speed of its motors"
        )
    room = np.minimum(weight * lifts, full - weight * lifts)
    shares = np.abs(inverse[: len(rotors), :3]).T
    torque = [float((room[used] / share[used]).min()) for share in shares if (used := share > 1e-6).any()]
    available = tuple(t / float(air.inertia[k, k]) for k, t in enumerate(torque))
    around = np.linspace(-math.pi, math.pi, _ANGLES)
    forces = np.array([air.surface_force(alpha) for alpha in around.tolist()])
    x, y, z = (Vec3(*row) for row in air.inertia.tolist())
    figures = VtolFigures(
        plane=plane,
        frame=(0.0, float(air.frame[1]), 0.0, float(air.frame[3])),
        upright=-air.turned,
        tail=float(air.turned != 0.0),
        inertia=(x, y, z),
        mixing=tuple(inverse.ravel().tolist()),
        tilt=tuple(-1 if e.joint is None else e.joint for e in machine.elements),
        tilt_sense=tuple(sense),
        thrust=tuple(full.tolist()),
        fading=tuple((1.0 - flying / full).tolist()),
        rotor_speed=tuple(speeds.tolist()),
        idle=tuple(idle),
        yaw_limit=_YAW_SHARE * torque[2],
        max_lift=max_lift,
        alpha=tuple(around.tolist()),
        ahead=tuple(forces[:, 0].tolist()),
        above=tuple(forces[:, 2].tolist()),
    )
    hover = float(speeds[0] * math.sqrt(weight * lifts[0] / full[0]))
    motor = cast("Any", vehicle).motor
    drag = abs(float(found[0][2])) * weight * float(lifts[0]) / float(full[0])
    lag = motor.time_constant(hover, drag, vehicle.parameters[0].rotor_inertia)
    return figures, tuning_of(lag, cast("Any", available))


def _inverse(columns: Array) -> Array:
    """Return the thrusts by wrench of least squares, shape (T, 5); 0 for a force that no thruster has."""
    size = np.sqrt((columns * columns).sum(axis=1, keepdims=True))
    size = np.where(size > 1e-6, size, np.inf)
    made: Array = pseudo_inverse(columns / size, cutoff=1e-6) / size.T
    return made


def _require_hover(columns: Array, inverse: Array, name: str) -> None:
    """Raise a ConfigError unless thrusters give the three torques and the lift."""
    reached = np.diagonal(row_product(columns, inverse))
    axes = ("roll", "pitch", "yaw", "lift")
    missing = [axis for axis, share in zip(axes, reached.tolist(), strict=False) if share < _LEAST_REACHED]
    if missing:
        raise ConfigError(
            f"its rotors do not control {' and '.join(missing)} in hover", field="vehicle", value=name
        )
