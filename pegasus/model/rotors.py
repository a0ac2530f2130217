"""Rotor layout of a multirotor, and checks that its rotors neither collide nor are too weak to hover."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.config.rotor_specs import RotorSpec
from pegasus.dynamics import Motor, ThrustCurve
from pegasus.environment import Environment
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY

_LEAST_GAP = 0.05
"""Distance of stacked rotors, as part of the diameter, below which blades that bend under load may meet."""
_STACKED = 0.5
"""Distance of two axes, as a multiple of the radius, below which their rotors share one stream."""
_ALONG = 0.9
"""Component of an axis along x from which the axis counts as parallel to it."""
_PARALLEL = np.cos(np.radians(5.0))
"""Cosine of the angle between axes up to which rotors count as side by side or stacked."""
_TOUCH = 1e-4
"""Overlap that figures rounded to a tenth of a millimetre may have [m]."""


@dataclass(frozen=True, eq=False)
class RotorLayout:
    """Positions, thrust axes and spin directions of R rotors in the body frame."""

    position: Array
    """Centres of the discs [m], shape (R, 3)."""
    axis: Array
    """Unit directions of positive thrust, shape (R, 3)."""
    spin: Array
    """+1 for counter-clockwise about the axis, -1 for clockwise, shape (R,)."""

    @classmethod
    def from_specs(cls, rotors: Sequence[RotorSpec]) -> "RotorLayout":
        """Return the layout of the rotors of a vehicle file.

        Args:
            rotors: The rotors in order.
        """
        axis = np.array([rotor.axis for rotor in rotors], dtype=np.float64)
        return cls(
            position=np.array([rotor.position for rotor in rotors], dtype=np.float64),
            axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
            spin=np.array([1.0 if rotor.direction == "ccw" else -1.0 for rotor in rotors]),
        )

    @property
    def count(self) -> int:
        """Number of rotors R."""
        return len(self.spin)

    @cached_property
    def span(self) -> float:
        """Largest distance of two rotors [m]."""
        between = self.position[:, None] - self.position
        return float(np.sqrt((between * between).sum(axis=-1).max()))

    def swept_radius(self, diameters: Sequence[float]) -> float:
        """Return the radius about the z axis that rotors and propellers stay within [m].

        Args:
            diameters: Diameter of each propeller [m].
        """
        places = self.position[:, :2].tolist()
        return max(math.hypot(*p) + d / 2 for p, d in zip(places, diameters, strict=True))

    def thrust_map(self, center_of_mass: Array) -> Array:
        """Return the wrench (force, torque about the centre of mass) per thrust, shape (R, 6).

        Args:
            center_of_mass: Centre of mass in the body frame [m], shape (3,).
        """
        return np.concatenate([self.axis, np.cross(self.position - center_of_mass, self.axis)], axis=1)

    def torque_map(self) -> Array:
        """Return the wrench per rotor torque, shape (R, 6); it is a reaction torque."""
        return np.concatenate([np.zeros_like(self.axis), -self.spin[:, None] * self.axis], axis=1)

    def frames(self) -> tuple[Array, Array, Array]:
        """Return the axes x, y and z of the rotors' frames in the body frame, each of shape (R, 3).

        z is the axis of positive thrust; x is as close as possible to the body's x axis, or to its y axis for
        rotors that pull along x.
        """
        along_x = np.abs(self.axis[:, :1]) > _ALONG
        aside = np.where(along_x, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
        x = aside - (aside * self.axis).sum(axis=1, keepdims=True) * self.axis
        x = x / np.sqrt((x * x).sum(axis=1, keepdims=True))
        return x, np.cross(self.axis, x), self.axis

    def stream_shares(self, radius: float) -> tuple[Array, Array]:
        """Return the squared distances of the rotors [m^2], (R, R), and their shares in their streams, (R,).

        Rotors whose axes are nearly the same, as in a coaxial pair, share one stream.

        Args:
            radius: Radius of the rotors [m].
        """
        between = self.position[:, None] - self.position
        squared: Array = (between * between).sum(axis=-1)
        aside = np.sqrt(np.maximum(squared - (between * self.axis).sum(axis=-1) ** 2, 0.0))
        return squared, 1.0 / (aside < _STACKED * radius).sum(axis=1)


def require_rotors_apart(layout: RotorLayout, diameters: Sequence[float]) -> None:
    """Raise a ConfigError if the discs of two rotors overlap.

    Discs whose axes are parallel to 5 degrees overlap where their axes are less than the sum of their radii
    apart, unless they are stacked at a distance of 5 % of the larger diameter. Others overlap where they meet
    on the line in which their planes intersect.

    Args:
        layout: The rotors.
        diameters: Diameter of each propeller [m].
    """
    for j in range(layout.count):
        for i in range(j):
            between = layout.position[j] - layout.position[i]
            pair = (diameters[i], diameters[j])
            if between @ between >= ((pair[0] + pair[1]) / 2 - _TOUCH) ** 2:
                continue
            if abs(layout.axis[i] @ layout.axis[j]) > _PARALLEL:
                overlap, stack = _overlap_side_by_side(between, layout.axis[i], pair)
                remedy = (
                    f"move them apart, make propeller.diameter smaller, or stack them {stack:.3g} m apart"
                )
            else:
                overlap = _overlap_of_tilted(layout, i, j, pair)
                remedy = "move them apart, make propeller.diameter smaller, or tilt them less"
            if overlap > _TOUCH:
                sizes = " and ".join(f"{d:g}" for d in sorted(set(pair)))
                raise ConfigError(
                    f"its disc and that of rotor {i} overlap by {overlap:.3g} m: propellers of "
                    f"{sizes} m, centres {np.sqrt(between @ between):.3g} m apart",
                    field=f"rotors.{j}.position",
                    value=_vector(layout.position[j]),
                    remedy=remedy,
                )


def require_rotors_above_ground(
    layout: RotorLayout, diameters: Sequence[float], lowest: float, *, drawn: bool
) -> None:
    """Raise a ConfigError if a rotor reaches as low as the airframe: it would strike the ground first.

    Args:
        layout: The rotors.
        diameters: Diameter of each propeller [m].
        lowest: Lowest z of the airframe in the body frame [m]; infinite if nothing of it collides.
        drawn: Whether the airframe is drawn from the vehicle's file.
    """
    if not np.isfinite(lowest):
        return
    flat = np.sqrt(np.maximum(1.0 - layout.axis[:, 2] ** 2, 0.0))
    bottom = layout.position[:, 2] - np.array(diameters) / 2 * flat
    worst = int(bottom.argmin())
    if bottom[worst] <= lowest + _TOUCH:
        gear = "lengthen body.leg_height" if drawn else "add landing gear that collides to the USD model"
        raise ConfigError(
            f"its disc reaches down to z = {bottom[worst]:.3g} m, the airframe to {lowest:.3g} m: "
            f"the rotor would strike the ground first",
            field=f"rotors.{worst}.position",
            value=_vector(layout.position[worst]),
            remedy=f"raise the rotor, or {gear}",
        )


def require_hover(
    layout: RotorLayout, motor: Motor, curve: ThrustCurve, mass: float, environment: Environment
) -> None:
    """Raise a ConfigError if the rotors cannot carry the weight at the world's origin in still air.

    A motor without a largest speed always can.

    Args:
        layout: The rotors.
        motor: Their motor.
        curve: Their thrust curve.
        mass: Mass of the vehicle [kg].
        environment: Environment of the flight.
    """
    ground = np.zeros((1, 3))
    weight = mass * float(environment.gravity_vector(ground)[0] @ (0.0, 0.0, -1.0))
    density = float(environment.air_density(ground)[0]) if curve.uses_air_density else SEA_LEVEL_DENSITY
    lift = largest_lift(layout, motor, curve, density)
    # A thrust that is not a number is reported in the first step, by the vehicle manager.
    if not lift <= weight:
        return
    air = f" in air of {density:.3g} kg/m^3" if curve.uses_air_density else ""
    if curve.uses_air_density:
        air += f" ({largest_lift(layout, motor, curve, SEA_LEVEL_DENSITY):.4g} N at sea level)"
    raise ConfigError(
        f"the vehicle cannot hover: the rotors lift {lift:.4g} N at most{air}, the vehicle weighs "
        f"{weight:.4g} N, {weight - lift:.3g} N more",
        field="motor.max_speed",
        value=motor.max_speed,
        remedy="raise it or the thrust, or lower the mass",
    )


def largest_lift(layout: RotorLayout, motor: Motor, curve: ThrustCurve, air_density: float) -> float:
    """Return the largest upward force of all rotors together in still air [N]; infinite without a limit.

    Args:
        layout: The rotors.
        motor: Their motor.
        curve: Their thrust curve.
        air_density: Air density [kg/m^3].
    """
    if not np.isfinite(motor.max_speed):
        return np.inf
    speeds = np.array([[motor.max_speed, motor.min_speed if np.isfinite(motor.min_speed) else 0.0]])
    thrust = curve.thrust(speeds, np.zeros((1, 2)), np.full((1, 1), air_density))[0]
    return float((thrust.T * layout.axis[:, 2]).max(axis=0).sum())


def _overlap_side_by_side(between: Array, axis: Array, diameters: tuple[float, float]) -> tuple[float, float]:
    """Return the overlap of two parallel discs, and the distance at which they could be stacked [m]."""
    along = abs(float(between @ axis))
    across = np.sqrt(max(float(between @ between) - along * along, 0.0))
    stack = _LEAST_GAP * max(diameters)
    return (0.0 if along >= stack - _TOUCH else (diameters[0] + diameters[1]) / 2 - float(across)), stack


def _overlap_of_tilted(layout: RotorLayout, i: int, j: int, diameters: tuple[float, float]) -> float:
    """Return the length that two discs have in common on the line where their planes intersect [m]."""
    normals, centers = layout.axis[[i, j]], layout.position[[i, j]]
    line = np.cross(*normals)
    line /= np.sqrt(line @ line)
    point = np.linalg.solve(
        np.stack([*normals, line]), [*np.einsum("ij,ij->i", normals, centers), line @ centers.mean(axis=0)]
    )
    middle = (centers - point) @ line
    squares = (np.array(diameters) / 2) ** 2 - ((centers - point - middle[:, None] * line) ** 2).sum(axis=1)
    if squares.min() < 0:
        return 0.0
    half = np.sqrt(squares)
    return max(0.0, float((middle + half).min() - (middle - half).max()))


def _vector(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)
