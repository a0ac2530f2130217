"""Traced controllers and allocation have the bits of Python."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus import Multirotor
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform
from pegasus.control.allocation import Allocation
from pegasus.control.control_step import Body, Setpoint
from pegasus.control.geometric import geometric_law
from pegasus.control.mixing import allocated
from tests.base.tracing.comparison import differences

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Gains:
    """Numbers of a geometric controller."""

    position_gain: Triple = (6.0, 6.0, 8.0)
    velocity_gain: Triple = (4.0, 4.0, 5.0)
    attitude_gain: Triple = (80.0, 80.0, 10.0)
    rate_gain: Triple = (14.0, 14.0, 5.0)
    integral_gain: Triple = (0.5, 0.5, 0.7)
    integral_lead: Triple = (0.3, 0.3, 0.2)
    integral_limit: float = 2.0
    tilt_limit: float = 0.6
    torque_lead: float = 0.2
    tilt_acceleration: float = 40.0
    yaw_acceleration: float = 3.0
    drag_compensation: float = 0.5


def control() -> dict[str, Any]:
    """Return the allocation and the geometric law, with gains as literals and as inputs."""
    vehicle = Multirotor("iris", sensors={})
    mixing = Allocation(vehicle.layout, np.zeros(3), 0.016, np.diag([0.03, 0.03, 0.06])).mixing
    wrench = [column("force", Vec3), column("torque", Vec3), column("lower"), column("upper")]
    state = [column("integral", Vec3), column("turned", Vec3), 0.004]
    laws: dict[str, Any] = {"allocation": (allocated, [mixing, *wrench])}
    for name, own in (("literal", Gains()), ("input", uniform("gains", Gains()))):
        arguments = [own, column(f"{name}_body", Body), column(f"{name}_goal", Setpoint)]
        laws[name] = geometric_law, [*arguments, *state] if name == "input" else [*arguments, *LEVEL]
    return laws


def test_control_has_the_bits_of_python() -> None:
    """A controller would fly otherwise when it is compiled, or with many vehicles."""
    assert differences(control()) == []


LEVEL = [Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0.0]
