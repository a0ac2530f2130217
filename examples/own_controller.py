"""Custom controller: proportional and derivative terms on position and attitude, in a dozen lines.

`Controller` provides the mission (spin-up, take-off, transfers, landing), the allocation to the rotors and
the recording of references. The custom part is `wrench`: from state and reference to force and torque.

Run it with `python examples/own_controller.py`.
"""

from dataclasses import dataclass

import numpy as np

from pegasus import Multirotor, Simulation, VehicleState, start_host
from pegasus.base.arrays import Array
from pegasus.base.frames import rotate_inverse
from pegasus.control import Controller, Reference, trajectories
from pegasus.recording import TrackingAudit, VehicleTracking


@dataclass(eq=False)
class PDController(Controller):
    """Controller that accelerates towards the reference, and tilts the thrust into that direction."""

    position_gain: float = 6.0
    """Acceleration by position error [1/s^2]."""
    velocity_gain: float = 5.0
    """Acceleration by velocity error [1/s]."""
    attitude_gain: float = 120.0
    """Angular acceleration by attitude error [1/s^2]."""
    rate_gain: float = 18.0
    """Angular acceleration against the angular velocity [1/s]."""

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return force [N] and torque [N m] in the body frame, each of shape (N, 3)."""
        push = reference.acceleration - self.gravity
        push = push + self.position_gain * (reference.position - state.position)
        push = push + self.velocity_gain * (reference.velocity - state.velocity)

        # In the body frame, the angles between the desired force and the z axis are the roll and pitch
        # errors.
        push = rotate_inverse(state.rotation, push)
        roll, pitch = -push[:, 1] / push[:, 2], push[:, 0] / push[:, 2]
        heading = np.arctan2(state.rotation[:, 1, 0], state.rotation[:, 0, 0])
        yaw = np.remainder(reference.yaw - heading + np.pi, 2 * np.pi) - np.pi
        error = np.stack([roll, pitch, yaw], axis=-1)

        force = self.mass * push * [0.0, 0.0, 1.0]
        angular = self.attitude_gain * error - self.rate_gain * state.angular_velocity
        return force, angular @ self.inertia


def main(side: float = 4.0) -> VehicleTracking:
    """Fly a square and land; return the tracking errors."""
    flight = trajectories.sequence(
        trajectories.takeoff(height=2.0),
        trajectories.square(side=side, height=2.0, speed=2.0),
        trajectories.land(),
    )
    controller, audit = PDController(flight), TrackingAudit()
    with Simulation(world="flat", observers=[audit]) as sim:
        sim.add(Multirotor("iris", backends=[controller]))
        sim.run(duration=controller.mission.duration + 1.0)
    tracking = audit.errors()["iris"]
    for segment, error in tracking.segments.items():
        print(f"{segment:>9}: error {error.rms:.3f} m RMS, {error.maximum:.3f} m at most")
    return tracking


if __name__ == "__main__":
    start_host()
    main()
