"""Laws between the arrays of Isaac Lab and the step of a vehicle, and their launches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import Mat33, Quat, Reals, Vec3, matrix_of, rotate_inverse
from pegasus.base.tracing import column
from pegasus.control.mission_step import Motion


@dataclass
class Whole(Motion):
    """What a reset sets."""

    last_velocity: Vec3
    last_angular_velocity: Vec3
    rotation: Mat33
    acceleration: Vec3
    angular_acceleration: Vec3
    rotor_speed: Reals
    motor_state: tuple[Vec3, ...]
    command: Reals


def take_motion(pose: Reals, motion: Reals) -> Motion:
    """Return pose and velocities by those of Isaac Lab.

    Args:
        pose: Position [m] and quaternion xyzw.
        motion: Velocity [m/s] and angular velocity [rad/s], both in the world.
    """
    q = Quat(pose[3], pose[4], pose[5], pose[6])
    turning = rotate_inverse(q, Vec3(motion[3], motion[4], motion[5]))
    return Motion(Vec3(pose[0], pose[1], pose[2]), q, Vec3(motion[0], motion[1], motion[2]), turning)


def reset_motion(is_reset: int, pose: Reals, motion: Reals, before: Whole) -> Whole:
    """Return a copy at its pose by Isaac Lab, with rotors at rest and no acceleration, if it is reset.

    Args:
        is_reset: 1 for a reset.
        pose: See `take_motion`.
        motion: Likewise.
        before: The copy before.
    """
    if is_reset != 1:
        return before
    now, none = take_motion(pose, motion), Vec3(0.0, 0.0, 0.0)
    rest = tuple(0.0 for _ in before.rotor_speed)
    return Whole(
        position=now.position,
        orientation=now.orientation,
        velocity=now.velocity,
        angular_velocity=now.angular_velocity,
        last_velocity=now.velocity,
        last_angular_velocity=now.angular_velocity,
        rotation=matrix_of(now.orientation),
        acceleration=none,
        angular_acceleration=none,
        rotor_speed=rest,
        motor_state=tuple(none for _ in rest),
        command=rest,
    )


def find_body_force(orientation: Quat, load: Vec3, weight: Vec3) -> Vec3:
    """Return the force for the next physics step, body frame [N].

    Args:
        orientation: Orientation.
        load: Force of the step with the weight, world [N].
        weight: Weight that Isaac Lab applies itself, world [N].
    """
    return rotate_inverse(orientation, load - weight)


def lab_launches(
    arrays: Mapping[str, Any], count: int, rotor_count: int, device: str
) -> dict[str, Callable[[], None]]:
    """Return the launches of `take_motion`, `reset_motion` and `find_body_force` by name.

    Args:
        arrays: Arrays of the device by name.
        count: Number of copies.
        rotor_count: Number of rotors.
        device: Device of Warp.
    """
    # Not at the top: it imports Warp, which only the step on a device needs.
    from pegasus.base.tracing.launches import program_of

    by_lab = column("pose", float, 7), column("motion", float, 6)
    whole = column("", Whole, rotor_count)
    force = column("orientation", Quat), column("load", Vec3), column("weight", Vec3)
    laws: dict[Any, tuple[tuple[Any, ...], str]] = {
        take_motion: (by_lab, ""),
        reset_motion: ((column("is_reset", int), *by_lab, whole), ""),
        find_body_force: (force, "body_force"),
    }
    return {
        law.__name__: program_of(law, *inputs, outputs=(output,), count=count, device=device)
        .launch(arrays, count)
        .run
        for law, (inputs, output) in laws.items()
    }
