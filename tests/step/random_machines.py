"""Random machines in groups of one structure, and flights of all machines of a group by compiled code."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, rotate
from pegasus.base.step_math import Real, Vec3
from pegasus.base.tracing import column, uniform, uniform_values, varied
from pegasus.base.tracing.launches import program_of
from pegasus.core.columns import own_columns
from pegasus.dynamics import (
    BoxDrag,
    DrivenMotor,
    ElectricMotor,
    FirstOrderMotor,
    IdealMotor,
    LinearDrag,
    PolynomialThrust,
    PropellerThrust,
    QuadraticDrag,
    QuadraticThrust,
    RotorThrust,
)
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.multirotor import machine_of, rotor_channels
from pegasus.model.rotors import RotorLayout
from pegasus.step.integrator import advance
from pegasus.step.values import Effects, Inputs, State, VariedAir

COUNTS = [17] * 8 + [16] * 4
"""Number of machines with 1 to 12 rotors."""
SIZES = {
    "position": 3.0, "velocity": 4.0, "angular_velocity": 2.0, "orientation": 1.0, "wind": 2.0, "push": 0.5,
    "twist": 0.05, "gust_rate": 0.2, "wake": 0.5,
}  # fmt: skip
"""Standard deviations of random columns."""
MOVED = ("position", "orientation", "velocity", "angular_velocity")


def servo(p: "Servo", speed: Real, _state: Vec3, command: Real, _voltage: Real) -> tuple[Real, Vec3, Real]:
    """Pull the speed to the command; the state is the integral of the error."""
    error = command - speed
    return p.gain * error, Vec3(error, 0.0, 0.0), p.gain * error * speed


@dataclass(frozen=True, kw_only=True)
class Servo(DrivenMotor):
    law: ClassVar[Any] = staticmethod(servo)
    gain: float
    """Torque by error [N m s/rad]; 0 for a shaft that coasts."""


def ideal(_rng):
    return IdealMotor(max_speed=900.0)


def lag(rng):
    rise, fall = rng.uniform(0.02, 0.1, 2)
    return FirstOrderMotor(time_constant_up=rise, time_constant_down=fall, max_speed=900.0)


def electric(rng):
    return ElectricMotor(
        kv=rng.uniform(500, 1000), resistance=rng.uniform(0.05, 0.2), nominal_voltage=16.0,
        no_load_current=rng.uniform(0.0, 0.5), max_speed=900.0, inertia=rng.uniform(1e-6, 1e-5),
    )  # fmt: skip


def coasting(rng):
    return Servo(gain=rng.uniform(10.0, 40.0), max_speed=900.0)


def square(rng):
    return QuadraticThrust(thrust_constant=rng.uniform(2e-6, 2e-5), moment_ratio=rng.uniform(0.01, 0.06))


def polynomial(rng):
    c, d = rng.uniform(2e-6, 2e-5), rng.uniform(0, 3e-4)
    return PolynomialThrust(coefficients=(0.0, 0.0, c), inflow_linear=-d, moment_ratio=0.02)


def propeller(rng):
    return PropellerThrust(
        diameter=rng.uniform(0.15, 0.3), advance_ratio=(-0.5, 0.0, 0.3, 0.7),
        thrust_coefficient=(0.2, *(rng.uniform(0.8, 1.2, 2) * (0.11, 0.07)), 0.0),
        power_coefficient=(0.05, 0.045, rng.uniform(0.03, 0.045), 0.02),
    )  # fmt: skip


def rotor(rng):
    return RotorThrust(
        diameter=rng.uniform(0.15, 0.3), advance_ratio=(0.0, 0.3, 0.7), thrust_coefficient=(0.11, 0.07, 0.0),
        power_coefficient=(0.045, 0.04, 0.02), flapping=rng.uniform(0.1, 0.3), induced_drag=0.1,
        hub_stiffness=rng.uniform(0, 2),
    )  # fmt: skip


def linear(rng):
    return LinearDrag(coefficients=tuple(rng.uniform(0.1, 0.5, 3)))


def areas(rng):
    return QuadraticDrag(areas=tuple(rng.uniform(0.01, 0.1, 3)),
                         angular_coefficients=tuple(rng.uniform(1e-4, 1e-3, 3)))  # fmt: skip


def box(rng):
    return BoxDrag(size=tuple(rng.uniform(0.1, 0.4, 3)), center=tuple(rng.normal(0, 0.05, 3)))


def none(_rng):
    return None


KINDS = [
    (ideal, rotor, none), (lag, polynomial, linear), (electric, rotor, areas), (coasting, propeller, box),
    (ideal, square, linear), (lag, propeller, areas), (electric, polynomial, box), (coasting, square, none),
    (lag, polynomial, areas), (ideal, propeller, box), (coasting, polynomial, linear),
    (electric, square, none),
]  # fmt: skip
"""Kinds of motor, thrust curve and drag of machines with 1 to 12 rotors."""
SMOOTH = {square, polynomial, linear, areas, none, ideal, lag, coasting}
"""Laws without kinks in the flights of these tests."""


@dataclass(frozen=True)
class Motion:
    """Motion of machines, N rows each."""

    center: Array
    """Centre of mass, and its velocity."""
    velocity: Array
    rotation: Array
    body_momentum: Array
    """Angular momentum in the world without and with the turning of the shafts relative to the body."""
    momentum: Array
    energy: Array
    """Kinetic energy without and with that turning."""
    whole_energy: Array


class Group:
    """Random machines with a number of rotors, whose step is one code: places, axes and senses are numbers.

    Args:
        rotors: Number of rotors.
    """

    def __init__(self, rotors):
        self.rng = np.random.default_rng(rotors)
        self.rotors, self.count = rotors, COUNTS[rotors - 1]
        self.kinds = KINDS[rotors - 1]
        self.parameters = [self._parameters() for _ in range(self.count)]
        self.layouts = [self._layout(flat=k % 4 == 3) for k in range(self.count)]
        self.inertia = np.array([p.inertia for p in self.parameters])
        for k, (layout, p) in enumerate(zip(self.layouts, self.parameters, strict=True)):
            self.inertia[k] += p.rotor_inertia * np.einsum("ri,rj->ij", layout.axis, layout.axis)
            self.parameters[k] = replace(p, inertia=self.inertia[k])
        self.mass = np.array([p.mass for p in self.parameters])
        self.offset = np.array([p.center_of_mass for p in self.parameters])
        self.shafts = np.array(
            [
                p.rotor_inertia * y.spin[:, None] * y.axis
                for p, y in zip(self.parameters, self.layouts, strict=True)
            ]
        )
        """Angular momentum of each shaft by its speed, body frame [kg m^2], shape (N, R, 3)."""
        self.machines = self._machines(self.parameters)

    def _parameters(self):
        rng = self.rng
        motor, curve, drag = (kind(rng) for kind in self.kinds)
        mass, arms = rng.uniform(0.3, 10.0), rng.normal(0.0, 0.2, (6, 3))
        square = np.einsum("ki,ki->k", arms, arms)[:, None, None] * np.eye(3)
        inertia = (square - arms[:, :, None] * arms[:, None, :]).sum(axis=0) * mass / 6
        own = mass * 10.0 ** rng.uniform(-6, -4.5)
        if isinstance(motor, Servo):
            motor = replace(motor, gain=motor.gain * own)
        return VehicleParameters(
            mass=mass, inertia=inertia, center_of_mass=rng.normal(0, 0.1, 3), rotor_inertia=own, motor=motor,
            thrust_curve=curve, drag=drag, battery=None, ground_effect=None, downwash=None,
        )  # fmt: skip

    def _layout(self, *, flat):
        """Return rotors anywhere with any axes; flat ones have many zeros, as those of common vehicles."""
        place, axis = self.rng.normal(0, 0.3, (self.rotors, 3)), self.rng.normal(size=(self.rotors, 3))
        if flat:
            place[:, 2], axis[:] = 0.0, (0.0, 0.0, 1.0)
        axis /= np.sqrt((axis * axis).sum(axis=1, keepdims=True))
        return RotorLayout(place, axis, self.rng.choice([-1.0, 1.0], self.rotors))

    def _machines(self, parameters):
        return [
            machine_of(layout, p, 0.25, rotor_channels(p.motor, self.rotors))
            for layout, p in zip(self.layouts, parameters, strict=True)
        ]

    def in_vacuum(self):
        """Return the machines without drag and torque of their motors, by numbers of the same structure."""
        parameters = []
        for p in self.parameters:
            motor, drag = p.motor, p.drag
            if isinstance(motor, Servo):
                motor = replace(motor, gain=0.0)
            if isinstance(drag, LinearDrag):
                drag = replace(drag, coefficients=(0.0, 0.0, 0.0))
            if isinstance(drag, QuadraticDrag):
                drag = replace(drag, areas=(0.0,) * 3, angular_coefficients=(0.0,) * 3)
            if isinstance(drag, BoxDrag):
                drag = replace(drag, drag_coefficients=(0.0,) * 3)
            parameters.append(replace(p, motor=motor, drag=drag))
        return self._machines(parameters)

    def motion(self, columns):
        """Return what follows from the state in columns; see `Motion`."""
        rotation, w = matrix_from_quaternion(columns["orientation"]), columns["angular_velocity"]
        velocity = columns["velocity"] + rotate(rotation, np.cross(w, self.offset))
        body, speed = rotate(self.inertia, w), columns["rotor_speed"]
        own = np.einsum("nr,nri->ni", speed, self.shafts)
        energy = 0.5 * (self.mass * (velocity * velocity).sum(axis=1) + (w * body).sum(axis=1))
        inertia = np.array([p.rotor_inertia for p in self.parameters])
        return Motion(
            center=columns["position"] + rotate(rotation, self.offset),
            velocity=velocity,
            rotation=rotation,
            body_momentum=rotate(rotation, body),
            momentum=rotate(rotation, body + own),
            energy=energy,
            whole_energy=energy + (own * w).sum(axis=1) + 0.5 * inertia * (speed * speed).sum(axis=1),
        )

    def settled(self):
        """Return columns in which commands are within the limits, and reached where a motor has no lag."""
        made = self.columns()
        made["command"][...] *= 0.8
        if ideal in self.kinds:
            made["rotor_speed"][...] = made["command"] * made["drive"]
        return made

    def columns(self):
        """Return columns of random states and inputs."""
        rng, n, made = (
            np.random.default_rng(100 + self.rotors),
            self.count,
            own_columns(self.count, self.rotors, self.rotors),
        )
        for name, size in SIZES.items():
            made[name][...] = rng.normal(0.0, size, made[name].shape)
        made["orientation"] /= np.sqrt((made["orientation"] ** 2).sum(axis=1, keepdims=True))
        made["gravity"][:, 2], made["air_density"][...] = -9.81, 1.2
        made["rotor_speed"][...] = rng.uniform(100, 800, (n, self.rotors))
        made["command"][...] = rng.uniform(100, 950, (n, self.rotors))
        for name in ("drive", "thrust_share", "torque_share"):
            made[name][...] = rng.uniform(0.7, 1.0, (n, self.rotors))
        made["highest_speed"][...] = 900.0
        return made

    def arguments(self, machine):
        """Return the arguments of the step's trace."""
        parts = (column("", kind, self.rotors, joint_angle=0) for kind in (State, Inputs, VariedAir, Effects))
        return machine, *parts, None, None, uniform("dt", 0.0)

    def step(self, columns, dt, machines=None, *, count=None):
        """Return the launch of the step over columns, and of the taking of its result.

        Args:
            columns: The columns.
            dt: Length of a step [s].
            machines: Models in place of the group's; one for all rows belongs to the code, with its zeros.
            count: Number of rows for which code is made; all by default.
        """
        machines = self.machines if machines is None else machines
        machine = uniform("machine", machines[0]) if len(machines) == 1 else varied("machine", machines)
        rows = len(columns["position"])
        program = program_of(advance, *self.arguments(machine), outputs=("",), count=count or rows)
        arrays = {**columns, **uniform_values(machine), "dt": np.array([dt]), "alarm": np.zeros(1)}
        launch = program.launch(arrays, rows, apart=False)

        def run(steps=1):
            for _ in range(steps):
                launch()
                for name in MOVED:
                    columns[name][...] = columns[f"free_{name}"]
            return columns

        return run


def copied(columns, rows=slice(None)):
    """Return copies of columns, of some rows."""
    return {name: values[rows].copy() for name, values in columns.items()}
