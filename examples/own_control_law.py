"""Custom control law as a step function, compiled with the rest: `python examples/own_control_law.py`."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.step_math import Vec3, cross, rotate, rotate_inverse
from pegasus.control import Body, Controller, Setpoint, torque_of, trajectories
from pegasus.recording import TrackingAudit, VehicleTracking


def pd_law(own: "PDController", body: Body, setpoint: Setpoint) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque [N m] in the body frame."""
    push = setpoint.acceleration - body.gravity + own.stiffness * (setpoint.position - body.position)
    push = rotate_inverse(body.orientation, push + 5.0 * (setpoint.velocity - body.velocity))
    nose = rotate(body.orientation, Vec3(1.0, 0.0, 0.0))
    tilt = cross(Vec3(0.0, 0.0, 1.0), push * (1.0 / push[2])) - Vec3(0.0, 0.0, 0.5 * nose[1])
    turning = own.attitude_gain * tilt - 18.0 * body.angular_velocity
    return Vec3(0.0, 0.0, body.mass * push[2]), torque_of(body, turning)


@dataclass(eq=False)
class PDController(Controller):
    """Controller that accelerates towards the reference, and tilts the thrust into that direction."""

    law: ClassVar = staticmethod(pd_law)
    stiffness: float = 6.0
    attitude_gain: float = 120.0


def main(side: float = 4.0) -> VehicleTracking:
    """Fly a square and land; return the tracking errors."""
    controller, audit = PDController(trajectories.square(side=side, height=2.0)), TrackingAudit()
    with Simulation(world="flat", observers=[audit]) as sim:
        sim.add(Multirotor("iris", backends=[controller]))
        sim.run(duration=controller.mission.duration)
    return audit.errors()["iris"]


if __name__ == "__main__":
    start_host()
    print(main())
