"""Control allocation: wrench to rotor thrusts within the rotors' limits."""

from collections.abc import Iterable, Mapping

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.errors import ConfigError
from pegasus.base.pseudo_inverse import pseudo_inverse
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control.full_pose import ALONG_Z, Push
from pegasus.control.mixing import Mixing, allocated
from pegasus.model.airframe import Hinge
from pegasus.model.rotors import RotorLayout

_AXES = (
    "force along x",
    "force along y",
    "force along z",
    "torque about x",
    "torque about y",
    "torque about z",
)

_LEAST_UPRIGHT = 0.3
"""Least z component of a rotor axis; other rotors are unused, because thrust has one sign."""

_LATERAL_COST = 10.0
"""Largest thrust per lateral force, relative to thrust per lift, of a fully actuated vehicle."""

_ACROSS = 0.99
"""Least squared sine of the angle between a hinge and the axis of its rotor."""
_SPARE, _SPARE_FORCE = 0.1, 0.25
"""Shares of the rotors' thrusts in hover, and of the largest force, that an attitude leaves for control."""
_WIDEST = 80
"""Widest cone of forces of rotors that do not push in all directions [degrees]."""


class Allocation:
    """Allocation of a wrench to any set of rotors.

    Rotor i at r_i produces the force f_i along a_i and the reaction torque -s_i k f_i a_i, so the wrench
    about the centre of mass is linear in the thrusts, w = A f. If the least-squares thrusts are within the
    rotors' limits, the wrench is exact. If not, its components are reduced in this order:

    1. lateral force (produced only by rotors that can push in all three directions),
    2. angular acceleration about z, scaled down,
    3. thrust along z, changed as little as roll and pitch acceleration require,
    4. angular acceleration about x and y, scaled down, with the thrust that allows most of it.

    In flight at a commanded attitude the vertical stands in place of the z axis. The thrust of a rotor on a
    joint has a second component, by its tilt; see `pegasus.control.mixing`.

    An angular acceleration is reduced with all torque that it needs: with products of inertia, one about z
    needs torque about x and y too, and reducing its z component only would tilt the vehicle.

    Args:
        layout: Positions, axes and senses of rotation of R rotors.
        center_of_mass: Centre of mass in the body frame [m], shape (3,).
        moment_ratio: Torque by thrust of a rotor k [m].
        inertia: Inertia about the centre of mass [kg m^2], shape (3, 3); by default diagonal.
        reversible: Whether the rotors push in both directions.
        hinges: Hinges that turn rotors about lines across their axes, by rotor, in the order of the joints.

    Raises:
        ConfigError: If thrust and the three torques cannot be produced independently, or hover without
            torque is impossible.
    """

    def __init__(
        self,
        layout: RotorLayout,
        center_of_mass: Array,
        moment_ratio: float,
        inertia: Array | None = None,
        *,
        reversible: bool = False,
        hinges: Mapping[int, Hinge] | None = None,
    ) -> None:
        self.reversible, self._tilted, self.rotor_count = reversible, tuple(hinges or ()), len(layout.spin)
        self._turns = [min(-hinge.servo.low, hinge.servo.high) for hinge in (hinges or {}).values()]
        axis = layout.axis.T
        reaction = -layout.spin * moment_ratio * axis
        lever = np.cross(layout.position - center_of_mass, layout.axis).T
        matrix = np.concatenate([axis, lever + reaction])
        for r, hinge in (hinges or {}).items():
            aside = np.cross(hinge.axis, layout.axis[r])
            if not (aside * aside).sum() > _ACROSS:
                raise ConfigError(
                    "is not at a right angle to the axis of the rotor that it turns",
                    field=f"joint of rotor {r}",
                    value=hinge.axis,
                )
            apart = layout.position[r] - hinge.position
            # The hub circles about the hinge line, on which this point is nearest.
            foot = hinge.position + float((apart * hinge.axis).sum()) * np.asarray(hinge.axis)
            turning = np.cross(foot - center_of_mass, aside) - layout.spin[r] * moment_ratio * aside
            matrix = np.column_stack([matrix, [*aside, *turning]])
        self.matrix: Array = matrix
        """Wrench (force, torque about the centre of mass) per thrust A, shape (6, C): those of the R rotors,
        then those of rotors on joints across their axes."""
        self._carrying = (layout.axis[:, 2] > _LEAST_UPRIGHT) | reversible
        part = self.matrix * np.append(self._carrying, np.ones(len(self._tilted)))
        self._inverse, self.fully_actuated = _inverse(part), True
        """Whether the rotors can produce force in all directions without torque."""
        self.lack = ""
        """Why not."""
        cost = np.sqrt((self._inverse**2).sum(axis=1))
        if self._missing(range(6)) or max(cost[:2]) > _LATERAL_COST * cost[2]:
            missing = " and ".join(self._missing(range(6))) or "lateral force at a fair cost"
            self.fully_actuated, self.lack = False, f"the rotors cannot produce {missing} independently"
            self._inverse = np.concatenate([np.zeros((2, part.shape[1])), _inverse(part[2:])])
        self._require_control()
        # Column k is the torque of the angular acceleration about axis k that needs 1 N m about this axis.
        torques = np.eye(6)
        if inertia is not None:
            torques[3:, 3:] = inertia / np.diagonal(inertia)
        parts = pseudo_inverse(torques, cutoff=0.0)[3:, 3:]
        self.mixing = Mixing(
            inverse=_flat(self._inverse.T),
            by_turning=_flat(row_product(torques.T, self._inverse).T),
            turning_x=_triple(parts[0]),
            turning_y=_triple(parts[1]),
            turning_z=_triple(parts[2]),
            carrying=_flat(self._carrying.astype(np.float64)),
            tilted=self._tilted,
        )
        """Numbers of the step function `pegasus.control.mixing.allocated`."""

    @classmethod
    def of(cls, vehicle: Rotorcraft, moment_ratio: float) -> "Allocation":
        """Return the allocation of a vehicle by its model.

        Args:
            vehicle: The vehicle.
            moment_ratio: Torque by thrust of a rotor k [m].

        Raises:
            ConfigError: If its rotors cannot control it.
        """
        parts = vehicle.parameters[0].airframe
        hinges = {parts.joint_of.index(name): hinge for name, hinge in parts.hinges.items()}
        reversible = vehicle.channels[0].low < 0.0
        given = (vehicle.layout, vehicle.center_of_mass, moment_ratio, vehicle.inertia)
        try:
            return cls(*given, reversible=reversible, hinges=hinges)
        except ConfigError as error:
            raise error.within(file=vehicle.file) from None

    def allocate(self, wrench: Array, lower: Array, upper: Array) -> Array:
        """Return the thrusts [N], shape (N, C): of each rotor, then of those on joints across their axes.

        Args:
            wrench: Force [N] and torque about the centre of mass [N m], body frame, shape (N, 6).
            lower: Smallest thrust of a rotor [N], negative if reversible only, shape (N, 1); unused rotors
                stop.
            upper: Largest thrust of a rotor [N], shape (N, 1).
        """
        # Not at the top: vehicles are designed without Warp.
        from pegasus.base.tracing.launches import program_of

        mixing, count = uniform("mixing", self.mixing), len(wrench)
        given = [mixing, column("force", Vec3), column("torque", Vec3), column("lower"), column("upper")]
        thrust = np.zeros((count, self.matrix.shape[1]))
        numbers = {"force": wrench[:, :3], "torque": wrench[:, 3:], "lower": lower, "upper": upper}
        arrays = {name: np.array(values, dtype=np.float64, order="C") for name, values in numbers.items()}
        program = program_of(allocated, *given, outputs=("thrust",), count=1)
        program.launch({**uniform_values(mixing), **arrays, "thrust": thrust}, count)()
        return thrust

    def push(self, weight: float, lower: float, upper: float) -> Push:
        """Return the forces without torque of rotors within their limits, about those that carry the weight.

        At the side of the cone a tenth of the rotors' thrusts and a quarter of the force are left. The cone
        bounds the lateral force of Franchi et al. 2018; see `pegasus.control.full_pose`.

        Args:
            weight: Weight [N].
            lower: Smallest thrust of a rotor [N].
            upper: Largest thrust of a rotor [N].
        """
        if not self.fully_actuated:
            return ALONG_Z
        tilt, azimuth = np.radians(np.arange(181.0))[:, None], np.radians(np.arange(0.0, 360.0, 5.0))
        (s, c), (sa, ca) = sine_and_cosine(tilt), sine_and_cosine(azimuth)
        x, y, z = np.broadcast_arrays(s * ca, s * sa, c)
        # Thrusts of a force of 1 N in each direction, and those of the rotors with their tilt.
        inverse = self._inverse[:, :, None, None]
        shares = np.moveaxis(x * inverse[0] + y * inverse[1] + z * inverse[2], 0, -1)
        along = shares[..., : len(self._carrying)]
        whole, bent = np.abs(along), np.full(x.shape, True)
        for k, r in enumerate(self._tilted, len(self._carrying)):
            whole[..., r] = np.sqrt(along[..., r] ** 2 + shares[..., k] ** 2)
            s_limit, c_limit = sine_and_cosine(np.array(self._turns[k - self.rotor_count]))
            bent &= np.abs(shares[..., k]) * c_limit <= along[..., r] * s_limit
        most = np.where((along < 0.0) & self.reversible, -lower, upper)
        reach = (most / np.maximum(whole, 1e-9)).min(axis=2)
        possible = bent & ((1.0 - _SPARE_FORCE) * reach >= weight)
        if not self.reversible:
            spare = _SPARE * weight * along[0, 0] + lower
            possible &= (weight * along >= spare * self._carrying).all(axis=2)
        inside = possible.all(axis=1)
        if inside.all():
            return Push(float(reach.min()), 0.0, -1.0, 0.0)
        widest = min(int(inside.argmin()) - 1, _WIDEST)
        if widest < 1:
            return ALONG_Z
        along_z, side = float(reach[0].min()), float(reach[widest].min())
        cosine, sine = float(c[widest, 0]), float(s[widest, 0])
        return Push(along_z, (along_z - side * cosine) / (side * sine), cosine, sine)

    def _missing(self, axes: Iterable[int]) -> list[str]:
        reached = row_product(self.matrix, self._inverse.T)
        return [_AXES[k] for k in axes if not abs(reached[k, k] - 1.0) < 1e-6]

    def _require_control(self) -> None:
        if missing := self._missing(range(2, 6)):
            raise ConfigError(
                f"these {self.matrix.shape[1]} rotors cannot produce {' and '.join(missing)} independently",
                field="rotors",
                remedy="spread them around the centre of mass and let their directions alternate",
            )
        hover = self._inverse[2, : len(self._carrying)][self._carrying]
        if not self.reversible and hover.min() < 1e-3 * hover.max():
            raise ConfigError(
                "hover without torque requires a rotor with negative thrust",
                field="rotors",
                remedy="move the centre of mass between the rotors",
            )


def _flat(matrix: Array) -> tuple[float, ...]:
    return tuple(matrix.reshape(-1).tolist())


def _triple(row: Array) -> tuple[float, float, float]:
    x, y, z = row.tolist()
    return x, y, z


def _inverse(matrix: Array) -> Array:
    """Return the transposed pseudo-inverse; unreachable axes get small instead of huge entries."""
    length = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    length = np.where(length > 1e-9, length, np.inf)
    inverse: Array = pseudo_inverse(matrix / length, cutoff=1e-6).T / length
    return inverse
