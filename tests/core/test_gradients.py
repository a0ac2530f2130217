"""Gradients through a hundred steps of a flight, against central differences."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor
from pegasus.base.tracing import trace, uniform_values, vjp
from pegasus.base.tracing.launches import Program
from pegasus.core.columns import own_columns
from pegasus.core.programs import VehicleGroup
from pegasus.dynamics import GroundEffect, LinearDrag, QuadraticThrust
from pegasus.step.integrator import advance

STEPS, DT = 100, 0.004
HEIGHT = -0.2
"""Height of the ground [m]."""
TARGET = np.array([1.0, -2.0, 3.0])
NEXT = {
    "position": "free_position",
    "orientation": "free_orientation",
    "velocity": "free_velocity",
    "angular_velocity": "free_angular_velocity",
    "rotor_speed": "rotor_speed",
}
"""Column at the start of a step, and that at its end."""


def prepare(columns, k):
    """Set the inputs of step k: a turning climb in wind, with the rotors at other speeds; and the start."""
    columns["gravity"][:, 2] = -9.81
    columns["air_density"][...] = 1.2
    columns["wind"][...] = (4.0, -3.0, 1.0)
    columns["highest_speed"][...] = 1100.0
    columns["ground_offset"][...] = HEIGHT
    rotors = np.arange(columns["command"].shape[1])
    columns["command"][...] = 640.0 + 60.0 * np.sin(0.1 * k + rotors)
    if k == 0:
        columns["velocity"][...] = (3.0, 1.0, 0.5)
        columns["angular_velocity"][...] = (0.3, 0.2, 0.1)
        columns["rotor_speed"][...] = 600.0


class Flight:
    """Flight of one vehicle by the step that simulations use, and its derivatives."""

    def __init__(self, vehicle):
        self.columns, self.alarm = own_columns(1, vehicle.rotor_count, len(vehicle.channels)), np.zeros(1)
        self.group = VehicleGroup([vehicle], vehicle.machines, self.columns, 1, self.alarm)
        self.numbers = {**uniform_values(self.group.machine), "dt": np.array([DT])}
        arguments = self.group.arguments(local_air=False)
        self.step = trace(advance, *arguments, outputs=("",))
        self.arrays = {**self.columns, **self.numbers, "alarm": self.alarm}
        self.launch = Program(self.step, lanes=1).launch(self.arrays, 1)

    def fly(self, change=None):
        """Fly, and return copies of the columns before each step."""
        for values in self.columns.values():
            values[...] = 0
        self.columns["orientation"][:, 3] = 1.0
        self.columns["ground_normal"][..., 2], self.columns["ceiling_normal"][..., 2] = 1.0, -1.0
        self.columns["ceiling_offset"][...] = -1e9
        before = []
        for k in range(STEPS):
            prepare(self.columns, k)
            for name, values in (change or {}).items() if k == 0 else ():
                self.columns[name] += values
            before.append({name: values.copy() for name, values in self.columns.items()})
            self.launch()
            for start, end in NEXT.items():
                self.columns[start][...] = self.columns[end]
        return before

    def derivatives(self, before):
        """Return the derivatives of the loss by the inputs of the first step, and by parameters."""
        backward = vjp(self.step)
        arrays = {**{name: values.copy() for name, values in self.columns.items()}, **self.numbers}
        for c in (*backward.inputs, *(c for c, _ in backward.outputs)):
            if c.name.startswith("adjoint."):
                arrays[c.name] = np.zeros((1, c.size))
        launch = Program(backward, lanes=1).launch(arrays, 1)
        end = {name: np.zeros((1, self.columns[name].size)) for name in NEXT}
        end["position"][0] = 2.0 * (self.columns["position"][0] - TARGET)
        parameters = {}
        for values in reversed(before):
            for name, column in values.items():
                arrays[name][...] = column
            for start, last in NEXT.items():
                arrays[f"adjoint.{last}"][...] = end[start]
            launch()
            end = {name: arrays[f"adjoint.{name}"].copy() for name in NEXT}
            for name in self.numbers:
                if f"adjoint.{name}" in arrays:
                    parameters[name] = parameters.get(name, 0.0) + arrays[f"adjoint.{name}"].copy()
        inputs = {name: arrays[f"adjoint.{name}"].copy() for name in (*NEXT, "command", "wind")}
        return inputs, parameters


def loss(flight):
    """Return the squared distance of the last position to a point [m^2]."""
    return float(((flight.columns["position"][0] - TARGET) ** 2).sum())


@pytest.fixture(scope="module", params=["iris", "typhoon_h", "iris over ground"])
def flown(request):
    """Flight, and the derivatives of its loss."""
    model, over_ground = request.param.split()[0], request.param.endswith("ground")
    options: dict = {"ground_effect": GroundEffect()} if over_ground else {}
    drag = LinearDrag(coefficients=(0.5, 0.3, 0.2))
    options["thrust_curve"] = QuadraticThrust(thrust_constant=8.54858e-6, moment_ratio=0.06)
    flight = Flight(Multirotor(model, sensors={}, drag=drag, **options))
    return flight, *flight.derivatives(flight.fly())


@pytest.mark.parametrize(
    ("name", "k"),
    [
        ("machine.body.mass", 0),
        ("machine.body.inverse_x.0", 0),
        ("machine.elements.0.air.parameters.thrust_constant", 0),
        ("machine.elements.0.air.parameters.torque_constant", 0),
        ("machine.drag.parameters.coefficients", 0),
        ("machine.drag.parameters.coefficients", 2),
        ("machine.elements.0.drive.parameters.time_constant_up", 0),
    ],
)
def test_gradients_by_parameters_are_central_differences(flown, name, k):
    """If this fails, a parameter cannot be found from a flight by its gradient."""
    flight, _, parameters = flown
    numbers, derivative = flight.numbers[name], parameters[name][0, k]
    value, found = numbers[k], []
    size = 1e-5 * value
    for change in (-size, size):
        numbers[k] = value + change
        flight.fly()
        found.append(loss(flight))
    numbers[k] = value
    difference = (found[1] - found[0]) / (2 * size)
    assert abs(difference * value) > 1e-3
    assert derivative == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    "name", ["position", "velocity", "angular_velocity", "rotor_speed", "command", "wind"]
)
def test_gradients_by_state_and_inputs_are_central_differences(flown, name):
    """If this fails, a command cannot be improved by its gradient."""
    flight, inputs, _ = flown
    derivative = inputs[name]
    direction = np.random.default_rng(1).normal(size=derivative.shape)
    size = 1e-5 * max(1.0, float(np.abs(flight.columns[name]).max()))
    found = []
    for change in (-size, size):
        flight.fly({name: change * direction})
        found.append(loss(flight))
    assert (derivative * direction).sum() == pytest.approx((found[1] - found[0]) / (2 * size), rel=1e-6)
    assert np.abs(derivative).min() > 0
