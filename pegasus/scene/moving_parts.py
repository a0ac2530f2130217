"""Parts of vehicles that turn about lines of the body frame: by joints, about hinges, and on axles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_rotation_vector
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.lofted_wings import lofted_parts


@dataclass(frozen=True)
class Turn:
    """Rotation about a line of the body frame."""

    point: tuple[float, float, float]
    """A point of the line [m]."""
    axis: tuple[float, float, float]
    """Its direction of unit length; positive angles turn by the right-hand rule."""
    angle: int
    """Index of its angle: of a joint, or that of a wheel behind those of all joints."""
    ratio: float = 1.0
    """Angle of the rotation by that angle."""


@dataclass(frozen=True)
class MovingPart:
    """Prims of a vehicle that move together: those of a name, wherever they are, and all below them."""

    name: str
    turns: tuple[Turn, ...]
    """Its rotations, the outermost first."""


def moving_parts(spec: VehicleSpec) -> list[MovingPart]:
    """Return the moving parts of a vehicle besides its rotors: J of joints, then control surfaces and wheels.

    Joints move `joint_<name>`, wheels `wheel_<name>`, about the lines that the vehicle's file gives. The
    control surfaces of drawn wings turn about the lines on which they are drawn.

    Args:
        spec: The vehicle.
    """
    joints = list(spec.joints)
    parts = [
        MovingPart(f"joint_{name}", (Turn(joint.position, joint.axis, k),))
        for k, (name, joint) in enumerate(spec.joints.items())
    ]
    if spec.usd is None:
        parts += [
            MovingPart(flap.name, (Turn(*flap.hinge, joints.index(flap.joint)),))
            for flap in lofted_parts(spec)
            if flap.hinge is not None and flap.joint is not None
        ]
    for k, (name, wheel) in enumerate(spec.wheels.items()):
        turns = [Turn(wheel.position, wheel.axle, len(joints) + k)]
        # A name that is not of a joint is told when the model of the vehicle is made.
        if wheel.joint in joints:
            steering = joints.index(wheel.joint)
            turns.insert(0, Turn(wheel.position, (0.0, 0.0, 1.0), steering, wheel.steering_ratio))
        parts.append(MovingPart(f"wheel_{name}", tuple(turns)))
    return parts


def parts_of(path: str, parts: Sequence[MovingPart]) -> tuple[int, ...]:
    """Return the indices of the moving parts that a prim belongs to, the outermost first.

    Args:
        path: Path of the prim.
        parts: The moving parts.
    """
    names = [part.name for part in parts]
    return tuple(names.index(name) for name in path.split("/") if name in names)


class Motions:
    """Motions of the moving parts of N copies of a vehicle.

    Args:
        parts: The P parts.
    """

    def __init__(self, parts: Sequence[MovingPart]) -> None:
        turns = [turn for part in parts for turn in part.turns]
        self._point = np.array([turn.point for turn in turns]).reshape(-1, 3)
        self._axis = np.array([turn.axis for turn in turns]).reshape(-1, 3)
        self._angle = np.array([turn.angle for turn in turns], dtype=int)
        self._ratio = np.array([turn.ratio for turn in turns])
        ends = np.cumsum([len(part.turns) for part in parts], dtype=int)
        self._last = ends - 1
        self._steered = [k for k, part in enumerate(parts) if len(part.turns) == 2]

    def at(self, angles: Array) -> Array:
        """Return the motions from the places in the vehicle's model, in the body frame, shape (N, P, 4, 4).

        Args:
            angles: Angles of the J joints, then those of the W wheels [rad], shape (N, J + W).
        """
        angle = angles[:, self._angle] * self._ratio
        turned = np.zeros((*angle.shape, 4, 4))
        rotation = matrix_from_quaternion(quaternion_from_rotation_vector(angle[..., None] * self._axis))
        turned[..., :3, :3] = rotation
        turned[..., :3, 3] = self._point - (rotation * self._point[:, None]).sum(axis=-1)
        turned[..., 3, 3] = 1.0
        moved: Array = turned[:, self._last]
        for part in self._steered:
            moved[:, part] = turned[:, self._last[part] - 1] @ moved[:, part]
        return moved
