"""Step functions between the arrays of Isaac Lab and the step of a vehicle."""

from dataclasses import dataclass

from pegasus.base.step_math import Column, Mat33, Quat, Real, Table, Vec3, matrix_of, rotate_inverse


@dataclass
class LabRows:
    """Columns of the kernels between the arrays of Isaac Lab and the step."""

    pose: Table[Real]
    """Pose of each body by Isaac Lab: position [m], quaternion xyzw."""
    motion: Table[Real]
    """Velocity [m/s] and angular velocity [rad/s], both in the world."""
    is_reset: Column[int]
    """1 for the copies of a reset."""
    weight: Column[Vec3]
    """Weight that Isaac Lab applies itself, world [N]."""
    body_force: Column[Vec3]
    """Force for the next physics step without the weight, body frame [N]."""

    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    last_velocity: Column[Vec3]
    last_angular_velocity: Column[Vec3]
    rotation: Column[Mat33]
    acceleration: Column[Vec3]
    angular_acceleration: Column[Vec3]
    rotor_speed: Table[Real]
    motor_state: Table[Vec3]
    command: Table[Real]
    load: Column[Vec3]
    wind: Column[Vec3]
    gravity: Column[Vec3]
    air_density: Column[Real]


def take_motion(i: int, rows: LabRows) -> None:
    """Set pose and velocities of a copy by those of Isaac Lab.

    Args:
        i: Row of the copy.
        rows: The rows.
    """
    q = Quat(rows.pose[i, 3], rows.pose[i, 4], rows.pose[i, 5], rows.pose[i, 6])
    rows.position[i] = Vec3(rows.pose[i, 0], rows.pose[i, 1], rows.pose[i, 2])
    rows.orientation[i] = q
    rows.velocity[i] = Vec3(rows.motion[i, 0], rows.motion[i, 1], rows.motion[i, 2])
    turning = Vec3(rows.motion[i, 3], rows.motion[i, 4], rows.motion[i, 5])
    rows.angular_velocity[i] = rotate_inverse(q, turning)


def reset_motion(i: int, rows: LabRows, rotor_count: int) -> None:
    """Take over the pose of a copy that is reset, with rotors at rest and no acceleration.

    Args:
        i: Row of the copy.
        rows: The rows.
        rotor_count: Number of rotors.
    """
    if rows.is_reset[i] == 1:
        take_motion(i, rows)
        rows.last_velocity[i] = rows.velocity[i]
        rows.last_angular_velocity[i] = rows.angular_velocity[i]
        rows.rotation[i] = matrix_of(rows.orientation[i])
        rows.acceleration[i] = Vec3(0.0, 0.0, 0.0)
        rows.angular_acceleration[i] = Vec3(0.0, 0.0, 0.0)
        for j in range(rotor_count):
            rows.rotor_speed[i, j] = 0.0
            rows.command[i, j] = 0.0
            rows.motor_state[i, j] = Vec3(0.0, 0.0, 0.0)


def find_body_force(i: int, rows: LabRows) -> None:
    """Set the force of the next physics step in the body frame, without the weight.

    Args:
        i: Row of the copy.
        rows: The rows.
    """
    rows.body_force[i] = rotate_inverse(rows.orientation[i], rows.load[i] - rows.weight[i])
