"""Faults of propellers that shake the airframe."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.frames import cross, matrix_from_quaternion, rotate
from pegasus.base.random_numbers import philox, uniform
from pegasus.base.step_math import Word, cos, sin
from pegasus.contracts.fault import Injection
from pegasus.contracts.vehicle import Vehicle, as_machine
from pegasus.faults.rotor_faults import RotorFault


def add_imbalance_force(injection: Injection, rotor: int, unbalance: float, dt: float) -> None:
    """Add the mean centrifugal force of an unbalanced propeller over a step, F = m e w^2, turning with it.

    The mean of the turning force over the step is exact for a constant speed, so that the changes of velocity
    are right at any length of step.

    Args:
        injection: The fault.
        rotor: Number of the rotor.
        unbalance: Mass times distance of its centre from the axis [kg m].
        dt: Length of the step [s].
    """
    vehicle = injection.vehicle
    columns, layout = vehicle.columns, as_machine(vehicle).layout
    phase, parameters = injection.state["phase"], vehicle.parameters
    for row in np.flatnonzero(injection.intensity > 0.0).tolist():
        speed = float(columns["rotor_speed"][row, rotor])
        turn = speed * dt
        first = float(phase[row])
        last = first + turn
        along, across = cos(first), sin(first)
        if abs(turn) > 1e-6:
            along, across = (sin(last) - sin(first)) / turn, (cos(first) - cos(last)) / turn
        phase[row] = math.fmod(last, 2.0 * math.pi)
        size = unbalance * speed * speed * float(injection.intensity[row])
        # Positive phase turns as the rotor does.
        across *= float(layout.spin[rotor])
        hub, axis_x, axis_y = _placed(vehicle, rotor, row)
        force: Array = (axis_x * along + axis_y * across) * size
        arm = hub - parameters[row % len(parameters)].center_of_mass
        columns["fault_force"][row] += rotate(columns["rotation"][row], force)
        columns["fault_torque"][row] += cross(arm, force)


def _placed(vehicle: Vehicle, rotor: int, row: int) -> tuple[Array, Array, Array]:
    """Return the hub of a rotor [m] and two axes of its disc, body frame, as its joint has turned it."""
    layout, airframe = as_machine(vehicle).layout, vehicle.parameters[0].airframe
    axis_x, axis_y, _ = (axes[rotor] for axes in layout.frames())
    hub, joint = layout.position[rotor], airframe.joint_of[rotor] if airframe.joint_of else None
    if joint is None:
        return hub, axis_x, axis_y
    hinge, place = airframe.hinges[joint], list(airframe.hinges).index(joint)
    half = 0.5 * float(vehicle.columns["joint_angle"][row, place])
    turn = matrix_from_quaternion(np.array([*np.multiply(hinge.axis, sin(half)), cos(half)])[None])[0]
    foot = np.array(hinge.position)
    return foot + rotate(turn, hub - foot), rotate(turn, axis_x), rotate(turn, axis_y)


def draw_phases(injection: Injection, copies: BoolArray) -> None:
    """Draw the angles at which unbalanced propellers begin.

    Args:
        injection: The fault.
        copies: Copies for which it begins, shape (N,).
    """
    phase = injection.kept("phase", lambda: np.zeros(injection.vehicle.count))
    for row in np.flatnonzero(copies).tolist():
        word, *_ = philox(Word(int(injection.keys[row])), Word(0), Word(row), Word(0), Word(0))
        phase[row] = 2.0 * math.pi * uniform(word)


@dataclass(frozen=True)
class PropellerImbalance(RotorFault):
    """Unbalanced propeller, whose centrifugal force turns with it and shakes airframe and IMU."""

    unbalance: float = 2e-6
    """Mass times distance of its centre from the axis [kg m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.unbalance > 0, "unbalance", self.unbalance, "must be above 0 kg m")

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Draw the angles of the propellers."""
        draw_phases(injection, copies)

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Add the force of the step."""
        add_imbalance_force(injection, self.rotor, self.unbalance, dt)


@dataclass(frozen=True)
class BladeLoss(RotorFault):
    """Propeller that loses one of its blades: their share of thrust and torque, and the balance."""

    blade_mass: float = 0.002
    """Mass of the lost blade [kg]."""
    blade_center: float | None = None
    """Distance of its centre of mass from the axis [m]; 0.45 of the propeller's radius when left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.blade_mass > 0, "blade_mass", self.blade_mass, "must be above 0 kg")
        center = self.blade_center
        require(center is None or center > 0, "blade_center", center, "must be above 0 m")

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Draw the angles of the propellers."""
        draw_phases(injection, copies)

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale thrust and torque, and add the force of the step."""
        columns, propeller = injection.vehicle.columns, as_machine(injection.vehicle).spec.propeller
        left = 1.0 - injection.intensity / propeller.blade_count
        columns["thrust_share"][:, self.rotor] *= left
        columns["torque_share"][:, self.rotor] *= left
        center = 0.225 * propeller.diameter if self.blade_center is None else self.blade_center
        add_imbalance_force(injection, self.rotor, self.blade_mass * center, dt)
