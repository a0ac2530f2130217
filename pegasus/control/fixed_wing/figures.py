"""Figures of a plane that its controller needs, found from the loads of its model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.pseudo_inverse import pseudo_inverse
from pegasus.base.step_math import Quat, Vec3, cos, rotate, rotate_inverse, sin
from pegasus.contracts.vehicle import MachineVehicle
from pegasus.core.steady_flight import SteadySearch
from pegasus.core.steady_loads import Conditions, Flight, array_of
from pegasus.model.multirotor import inverse
from pegasus.step.loads import Loads

_TRIM = 1.4
"""Airspeed of the figures, by the least one."""
_SPEED = 20.0
"""Airspeed at which forces by dynamic pressure are found [m/s]."""
_STEP = 0.02
"""Half the step of central differences [rad], [rad/s]."""
_WEAKEST = 0.3
"""Least effect of a joint that is used about an axis, by that of the strongest."""
_UNCONTROLLED = 1e-3
"""Effect about an axis, by that about the best one, below which it is not controlled."""
_LIFT_COST = 10.0
"""Cost of a change of lift by the weight, by that of a deflection of 1 rad."""
_HIGHEST, _COARSE = 0.8, 0.02
"""Largest angle of attack at which the wings stall, and its steps [rad]."""
_POINTS = 16
"""Number of points of the polar."""
_PITCHES = 40
"""Number of pitches of blades from rest to their limit that are compared."""
_UPWARD = np.array([0.0, 0.0, 1.0])
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the throttle at which the thrust is found."""
_INCIDENCE = 0.8
"""Largest angle of the wings to the body's x axis of a vehicle that flies along the latter [rad]."""


@dataclass(frozen=True)
class PlaneFigures:
    """Figures of a plane; forces and angular accelerations of the air are by dynamic pressure."""

    mass: float
    """Mass [kg]."""
    least_airspeed: float
    """Least airspeed of level flight, by stall or by the limits of the surfaces [m/s]."""
    most_airspeed: float
    """Largest airspeed of level flight, by the thrust [m/s]."""
    alpha: tuple[float, ...]
    """Angles of attack of the trimmed polar up to the largest lift [rad]."""
    lift: tuple[float, ...]
    """Lift there [m^2]."""
    drag: tuple[float, ...]
    """Drag there [m^2]."""
    stall_alpha: float
    """Angle of attack above which the lift falls, whatever the surfaces bear [rad]."""
    share: tuple[float, ...]
    """Shares of the throttle: of the squared speed of the rotors, or of the pitch of their blades."""
    thrust: tuple[float, ...]
    """Thrust there at `thrust_airspeed` [N]."""
    thrust_airspeed: float
    """Airspeed of `thrust` [m/s]."""
    turning: tuple[float, float, float]
    """Angular acceleration at rest surfaces and `alpha_0` [rad/s^2/Pa]."""
    turning_by_alpha: tuple[float, float, float]
    """Its slope over the angle of attack [rad/s^2/Pa/rad]."""
    turning_by_slip: tuple[float, float, float]
    """Its slope over the velocity to the left by the airspeed [rad/s^2/Pa]."""
    damping_x: tuple[float, float, float]
    """Rows of its slope over the angular velocity by the airspeed [rad/s^2/Pa m]."""
    damping_y: tuple[float, float, float]
    damping_z: tuple[float, float, float]
    alpha_0: float
    """Angle of attack of `turning` [rad]."""
    mixing: tuple[float, ...]
    """Deflections by angular acceleration and dynamic pressure, three for each joint [rad Pa s^2/rad]."""
    idle: tuple[float, ...]
    """Angles of the joints at rest [rad]."""
    authority: tuple[float, float, float]
    """Largest angular acceleration about each axis [rad/s^2/Pa]."""
    rotor_speed: tuple[float, ...]
    """Speed of each rotor at full throttle [rad/s]; 0 for those that do not push forward."""
    governed: tuple[int, ...] = field(metadata={"literal": True})
    """1 for each rotor that keeps this speed, and whose thrust is that of the pitch of its blades."""
    blades: tuple[float, ...]
    """Angle of each joint at full throttle less that at rest; 0 for those that turn no blades [rad]."""
    brakes: int
    """Number of channels of brakes, between those of rotors and joints."""
    servo_lag: float
    """Largest time constant of the servos that are used [s]."""


class StillAir:
    """Loads of a vehicle in still air by angle of attack, slip, rates, angles and speeds.

    Its axes are those of flight on the wings: the body's, or, where it stands on its tail, those turned
    forward. Nacelles are tilted forward.

    Args:
        vehicle: The vehicle, in a simulation.
    """

    def __init__(self, vehicle: MachineVehicle) -> None:
        ground = np.zeros((1, 3))
        self.name, self.machine, self.inertia = vehicle.name, vehicle.machines[0], vehicle.inertia
        machine, conditions = self.machine, Conditions.of(vehicle.environment, ground)
        self.gravity = conditions.gravity
        self.search = SteadySearch(machine, conditions)
        turned = self.search.alpha if abs(self.search.alpha) > _INCIDENCE else 0.0
        self.turned = turned
        """Rotation of the axes of flight about the body's y axis [rad]."""
        self.frame = Quat(0.0, math.sin(0.5 * turned), 0.0, math.cos(0.5 * turned))
        """The same as a quaternion."""
        self._inverse = inverse(self.inertia)
        self.joints = [machine.channels[joint.channel] for joint in machine.joints]
        self.rest = [float(self.search.forward[joint.channel]) for joint in machine.joints]
        self.governed = [int(element.blade_joint is not None) for element in machine.elements]
        """1 for each rotor whose thrust is that of the pitch of its blades."""
        self.blades = [0.0] * len(self.rest)
        """Angle of each joint at full throttle less that at rest [rad]; see `set_blades`."""
        self.pressure = 0.5 * conditions.density * _SPEED * _SPEED

    def loads(
        self,
        alpha: float,
        *,
        slip: float = 0.0,
        rate: Sequence[float] = (0.0, 0.0, 0.0),
        angles: Sequence[float] | None = None,
        speeds: Sequence[float] | None = None,
        airspeed: float = _SPEED,
    ) -> Loads:
        """Return the loads; slip is the velocity to the left by the airspeed [m/s], rates are in [rad/s]."""
        command = self.search.forward.copy()
        if angles is not None:
            command[[joint.channel for joint in self.machine.joints]] = angles
        if speeds is not None:
            command[[element.channel for element in self.machine.elements]] = speeds
        velocity = Vec3(airspeed * cos(alpha), airspeed * slip, -airspeed * sin(alpha))
        moves, turns = (array_of(rotate(self.frame, v)) for v in (velocity, Vec3(*rate)))
        return self.search.loads.loads(Flight(moves, turns, _UPWARD), command)

    def turning(self, alpha: float, **values: object) -> Array:
        """Return the angular acceleration by the surfaces, by dynamic pressure, shape (3,)."""
        torque = array_of(self.loads(alpha, **values).drag_torque)  # type: ignore[arg-type]
        turned = (self._inverse * torque).sum(axis=1) / self.pressure
        return array_of(rotate_inverse(self.frame, Vec3(*turned.tolist())))

    def lift_and_drag(self, alpha: float, angles: Sequence[float]) -> tuple[float, float]:
        """Return lift and drag by dynamic pressure [m^2]."""
        force = self.surface_force(alpha, angles)
        s, c = float(sin(alpha)), float(cos(alpha))
        return float(force[0] * s + force[2] * c), float(force[2] * s - force[0] * c)

    def surface_force(self, alpha: float, angles: Sequence[float] | None = None) -> Array:
        """Return the force of the surfaces by dynamic pressure [m^2], shape (3,)."""
        force = self.loads(alpha, angles=angles).drag_force
        return array_of(rotate_inverse(self.frame, force)) / self.pressure

    def thrust(self, full: Sequence[float], share: float, airspeed: float) -> float:
        """Return the forward thrust at a share of the throttle [N].

        Args:
            full: Speeds of the rotors at full throttle [rad/s].
            share: Share.
            airspeed: Airspeed [m/s].
        """
        speeds = [
            speed if pitched else math.sqrt(share) * speed
            for speed, pitched in zip(full, self.governed, strict=True)
        ]
        angles = [rest + share * coarse for rest, coarse in zip(self.rest, self.blades, strict=True)]
        made = self.loads(0.0, angles=angles, speeds=speeds, airspeed=airspeed)
        return float(rotate_inverse(self.frame, made.rotor_force)[0])

    def set_blades(self, full: Sequence[float], airspeed: float) -> None:
        """Find the pitch of most thrust at full throttle and an airspeed [m/s].

        Args:
            full: Speeds of the rotors at full throttle [rad/s].
            airspeed: Airspeed [m/s].
        """
        pitched = {element.blade_joint for element in self.machine.elements}
        room = [
            joint.high - rest if k in pitched else 0.0
            for k, (joint, rest) in enumerate(zip(self.joints, self.rest, strict=True))
        ]
        shares = (np.arange(1, _PITCHES + 1) / _PITCHES).tolist() if any(room) else [1.0]
        thrusts = []
        for share in shares:
            self.blades = [share * whole for whole in room]
            thrusts.append(self.thrust(full, 1.0, airspeed))
        best = shares[int(np.argmax(thrusts))]
        self.blades = [best * whole for whole in room]


def figures_of(vehicle: MachineVehicle) -> PlaneFigures:
    """Return the figures of a plane.

    Args:
        vehicle: The plane, in a simulation.

    Raises:
        ConfigError: If no rotor pushes forward, its surfaces do not control roll and pitch or cannot carry
            it, or it has too little thrust for level flight.
    """
    air = StillAir(vehicle)
    machine = air.machine
    density, weight = air.search.loads.conditions.density, vehicle.mass * air.gravity
    full = _full_speeds(air)
    joints = air.joints
    effect, lift_effect = _effects(air)
    mixing = _mixing(effect, lift_effect * air.pressure / weight, vehicle.name)
    room = np.array([min(j.high - j.idle, j.idle - j.low) for j in joints])
    authority = [
        float((room[used] / share[used]).min()) if (used := share > 0.1 * share.max()).any() else 0.0
        for share in np.abs(mixing.T)
    ]
    used = [k for k in range(len(joints)) if np.abs(mixing[k]).any()]
    deflects = np.zeros(len(machine.channels), dtype=bool)
    deflects[[machine.joints[k].channel for k in used]] = True
    polar = air.search.polar(deflects, _POINTS)
    if not polar:
        raise ConfigError(
            "has no lift at any angle of attack at which its surfaces balance its moments",
            field="vehicle",
            value=vehicle.name,
        )
    alpha, lift, drag = (
        tuple(column) for column in zip(*[(p.alpha - air.turned, p.lift, p.drag) for p in polar], strict=True)
    )
    least = air.search.speed_of(lift[-1])
    air.set_blades(full, _TRIM * least)
    most = _most_airspeed(air, full, (lift, drag), weight, least, vehicle.name)
    trim = _TRIM * least
    thrust = tuple(air.thrust(full, share, trim) for share in _SHARES)
    alpha_0 = float(np.interp(weight / (0.5 * density * trim * trim), lift, alpha))
    damping = np.stack(
        [
            (
                air.turning(alpha_0, rate=(_STEP * axis).tolist())
                - air.turning(alpha_0, rate=(-_STEP * axis).tolist())
            )
            / (2.0 * _STEP)
            * _SPEED
            for axis in np.eye(3)
        ],
        axis=1,
    )
    by_alpha = (air.turning(alpha_0 + _STEP) - air.turning(alpha_0 - _STEP)) / (2.0 * _STEP)
    by_slip = (air.turning(alpha_0, slip=_STEP) - air.turning(alpha_0, slip=-_STEP)) / (2.0 * _STEP)
    lags = [float(machine.joints[k].servo.parameters.time_constant) for k in used]
    damping_x, damping_y, damping_z = (_triple(row) for row in damping)
    return PlaneFigures(
        mass=float(vehicle.mass),
        least_airspeed=least,
        most_airspeed=most,
        alpha=alpha,
        lift=lift,
        drag=drag,
        stall_alpha=_stall(air),
        share=_SHARES,
        thrust=thrust,
        thrust_airspeed=trim,
        turning=_triple(air.turning(alpha_0)),
        turning_by_alpha=_triple(by_alpha),
        turning_by_slip=_triple(by_slip),
        damping_x=damping_x,
        damping_y=damping_y,
        damping_z=damping_z,
        alpha_0=alpha_0,
        mixing=tuple(mixing.ravel().tolist()),
        idle=tuple(air.rest),
        authority=_triple(np.array(authority)),
        rotor_speed=full,
        governed=tuple(air.governed),
        blades=tuple(air.blades),
        brakes=len(machine.channels) - len(machine.elements) - len(joints),
        servo_lag=max(lags),
    )


def _full_speeds(air: StillAir) -> tuple[float, ...]:
    """Return the speeds of the rotors at full throttle [rad/s], 0 for those that do not push forward."""
    machine, drives = air.machine, air.search.drives
    if not any(drives[element.channel] for element in machine.elements):
        raise ConfigError("has no rotor that pushes forward", field="vehicle", value=air.name)
    speeds = []
    for element in machine.elements:
        channel, pushes = machine.channels[element.channel], drives[element.channel]
        if pushes and not math.isfinite(channel.high):
            raise ConfigError(
                "must be finite for a plane: the throttle is a share of it",
                field=f"largest speed of {channel.name} of vehicle {air.name!r}",
                value=channel.high,
                remedy="set max_speed of its motor",
            )
        speeds.append(channel.high if pushes else 0.0)
    return tuple(speeds)


def _effects(air: StillAir) -> tuple[Array, Array]:
    """Return angular acceleration, shape (3, J), and lift of each joint by angle and dynamic pressure."""
    effects, lifts = [], []
    for k in range(len(air.rest)):
        sides = [list(air.rest) for _ in range(2)]
        sides[0][k], sides[1][k] = air.rest[k] + _STEP, air.rest[k] - _STEP
        more, less = (air.turning(0.0, angles=side) for side in sides)
        effects.append((more - less) / (2.0 * _STEP))
        up, down = (air.lift_and_drag(0.0, side)[0] for side in sides)
        lifts.append((up - down) / (2.0 * _STEP))
    return np.array(effects).reshape(-1, 3).T, np.array(lifts)


def _mixing(effect: Array, lift: Array, name: str) -> Array:
    """Return the deflections by angular acceleration of least cost, shape (J, 3).

    The cost is the sum of their squares and that of the change of lift. Joints that do little about every
    axis, as flaps, stay at rest.

    Args:
        effect: Angular acceleration by deflection, shape (3, J).
        lift: Lift by deflection, shape (J,).
        name: Name of the vehicle.
    """
    size = np.abs(effect)
    best = size.max(axis=1, initial=0.0)
    controlled = best > _UNCONTROLLED * best.max(initial=0.0)
    if not (controlled[0] and controlled[1]):
        axis = "roll" if not controlled[0] else "pitch"
        raise ConfigError(f"has no surface that controls its {axis}", field="vehicle", value=name)
    used = (size[controlled] >= _WEAKEST * best[controlled, None]).any(axis=0)
    cost = _LIFT_COST * lift * used
    # The inverse of 1 + c c^T.
    cheap = np.eye(len(cost)) - np.outer(cost, cost) / (1.0 + float((cost * cost).sum()))
    part = effect * used * controlled[:, None]
    weighted = (part[:, :, None] * cheap[None]).sum(axis=1)
    square = (weighted[:, None, :] * part[None]).sum(axis=2)
    back = pseudo_inverse(square, cutoff=_UNCONTROLLED**2)
    mixing: Array = (weighted.T[:, :, None] * back[None]).sum(axis=1)
    return mixing


def _stall(air: StillAir) -> float:
    """Return the angle of attack of the largest lift with surfaces at rest [rad]."""
    alphas = np.arange(0.0, _HIGHEST, _COARSE).tolist()
    lifts = [air.lift_and_drag(alpha, air.rest)[0] for alpha in alphas]
    falls = [k for k in range(len(lifts) - 1) if lifts[k + 1] < lifts[k]]
    return float(alphas[falls[0] if falls else -1])


def _most_airspeed(
    air: StillAir,
    full: Sequence[float],
    polar: tuple[tuple[float, ...], tuple[float, ...]],
    weight: float,
    least: float,
    name: str,
) -> float:
    """Return the largest airspeed up to four times the least one at which the thrust balances the drag."""
    found = 0.0
    for airspeed in (least * np.arange(1.2, 4.0, 0.05)).tolist():
        pressure = 0.5 * air.search.loads.conditions.density * airspeed * airspeed
        drag = pressure * float(np.interp(weight / pressure, *polar))
        if drag < air.thrust(full, 1.0, airspeed):
            found = airspeed
    if found == 0.0:
        raise ConfigError(
            f"has too little thrust for level flight at any airspeed above {1.2 * least:.3g} m/s",
            field="vehicle",
            value=name,
        )
    return found


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
