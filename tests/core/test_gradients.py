"""Gradients through a hundred steps of a flight, against central differences."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor
from pegasus.base.compiler import Kernel, Rows
from pegasus.base.gradients import Gradients
from pegasus.core.columns import own_columns
from pegasus.core.plant_models import parameters_of, plant_kernel, plant_rows_of
from pegasus.dynamics import GroundEffect, LinearDrag, QuadraticThrust, plant
from pegasus.dynamics.plant_rows import PlantRows

STEPS, DT = 100, 0.004
HEIGHT = -0.2
"""Height of the ground [m]."""
TARGET = np.array([1.0, -2.0, 3.0])
NEXT = {
    "position": "free_position",
    "orientation": "free_orientation",
    "velocity": "free_velocity",
    "angular_velocity": "free_angular_velocity",
    "rotor_speed": "speed_last",
    "motor_state": "motor_state_last",
}
"""Column at the start of a step, and that at the end of the step before, which is the same array."""

kernel = Kernel(plant.integrate, gradients=True)


def prepare(columns, k, ground_height):
    """Set the inputs of step k: a turning climb in wind, with the rotors at other speeds; and the start."""
    columns["gravity"][:, 2] = -9.81
    columns["air_density"][...] = 1.2
    columns["wind"][...] = (4.0, -3.0, 1.0)
    columns["highest_speed"][...] = 1100.0
    columns["ground_offset"][...] = ground_height
    rotors = np.arange(columns["command"].shape[1])
    columns["command"][...] = 640.0 + 60.0 * np.sin(0.1 * k + rotors)
    if k == 0:
        columns["velocity"][...] = (3.0, 1.0, 0.5)
        columns["angular_velocity"][...] = (0.3, 0.2, 0.1)
        columns["rotor_speed"][...] = 600.0


def differentiable(vehicle, parameters, gradients):
    """Fly with columns for each step; return these and the launches."""
    steps = [own_columns(1, vehicle.rotor_count) for _ in range(STEPS)]
    launches = []
    for k, columns in enumerate(steps):
        if k:
            columns.update({start: steps[k - 1][end] for start, end in NEXT.items()})
        prepare(columns, k, HEIGHT)
        launches.append(kernel.launch(Rows(PlantRows, {**columns, **parameters}, gradients), 1, DT))
    for launch in launches:
        launch()
    return steps, launches


def shipped(vehicle, parameters, change=None):
    """Fly with the step that simulations use; return its columns.

    Args:
        vehicle: The vehicle.
        parameters: Its parameters.
        change: What is added to columns of the first step, by name.
    """
    columns = own_columns(1, vehicle.rotor_count)
    launch = plant_kernel(()).launch(plant_rows_of((), {**columns, **parameters}), 1, DT)
    for k in range(STEPS):
        prepare(columns, k, HEIGHT)
        for name, values in (change or {}).items() if k == 0 else ():
            columns[name] += values
        launch()
        for start, end in NEXT.items():
            if end.startswith("free_"):
                columns[start][...] = columns[end]
    return columns


def loss(columns):
    """Return the squared distance of the last position to a point [m^2]."""
    return float(((columns["free_position"][0] - TARGET) ** 2).sum())


@pytest.fixture(scope="module", params=["iris", "typhoon_h", "iris over ground"])
def flight(request):
    """Vehicle, its parameters, the columns of each step of a flight, and the gradients of its loss."""
    model, over_ground = request.param.split()[0], request.param.endswith("ground")
    options: dict = {"ground_effect": GroundEffect()} if over_ground else {}
    drag = LinearDrag(coefficients=(0.5, 0.3, 0.2))
    options["thrust_curve"] = QuadraticThrust(thrust_constant=8.54858e-6, moment_ratio=0.06)
    vehicle, gradients = Multirotor(model, sensors={}, drag=drag, **options), Gradients()
    parameters = parameters_of([vehicle])
    steps, launches = differentiable(vehicle, parameters, gradients)
    end = steps[-1]["free_position"]
    gradients.of(end)[...] = 2.0 * (end - TARGET)
    for launch in reversed(launches):
        launch.backward()
    return vehicle, parameters, steps, gradients


def changed(parameters, name, field, k, change):
    """Return parameters with a changed number; k is its place in a triple."""
    (old,) = parameters[name]
    value = getattr(old, field)
    if k is not None:
        value = tuple(number + change * (j == k) for j, number in enumerate(value))
    else:
        value += change
    return {**parameters, name: [replace(old, **{field: value})]}


@pytest.mark.parametrize(
    ("name", "field", "k"),
    [
        ("airframe", "mass", None),
        ("airframe", "inverse_x", 0),
        ("quadratic", "thrust_constant", None),
        ("quadratic", "torque_constant", None),
        ("linear_drag", "coefficients", 0),
        ("linear_drag", "coefficients", 1),
        ("linear_drag", "coefficients", 2),
        ("first_order", "time_constant_up", None),
    ],
)
def test_gradients_by_parameters_are_central_differences(flight, name, field, k):
    """If this fails, a parameter cannot be found from a flight by its gradient."""
    vehicle, parameters, _, gradients = flight
    value, derivative = getattr(parameters[name][0], field), gradients.of(parameters[name])[field][0]
    if k is not None:
        value, derivative = value[k], derivative[k]
    size = 1e-5 * value
    low, high = (
        loss(shipped(vehicle, changed(parameters, name, field, k, change))) for change in (-size, size)
    )
    difference = (high - low) / (2 * size)
    assert abs(difference * value) > 1e-3
    assert derivative == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    "name", ["position", "velocity", "angular_velocity", "rotor_speed", "command", "wind"]
)
def test_gradients_by_state_and_inputs_are_central_differences(flight, name):
    """If this fails, a command cannot be improved by its gradient."""
    vehicle, parameters, steps, gradients = flight
    derivative = gradients.of(steps[0][name])
    direction = np.random.default_rng(1).normal(size=derivative.shape)
    size = 1e-5 * max(1.0, float(np.abs(steps[0][name]).max()))
    low, high = (loss(shipped(vehicle, parameters, {name: change * direction})) for change in (-size, size))
    assert (derivative * direction).sum() == pytest.approx((high - low) / (2 * size), rel=1e-6)
    assert np.abs(derivative).min() > 0


def test_a_flight_with_gradients_has_the_bits_of_the_shipped_step(flight):
    """If this fails, what is differentiated is not what flies."""
    vehicle, parameters, steps, _ = flight
    other = shipped(vehicle, parameters)
    for name in (*NEXT.values(), "rotor_force", "rotor_torque", "drag_force", "load", "shaft_power"):
        np.testing.assert_array_equal(steps[-1][name], other[name], err_msg=name)
    assert loss(other) > 1.0


def test_the_mean_force_has_gradients(flight):
    """If this fails, only the motion can be fitted, not a measured acceleration."""
    vehicle, parameters, _, _ = flight
    gradients, columns = Gradients(), own_columns(1, vehicle.rotor_count)
    prepare(columns, 0, -100.0)
    launch = kernel.launch(Rows(PlantRows, {**columns, **parameters}, gradients), 1, DT)
    launch()
    gradients.of(columns["load"])[0, 2] = 1.0
    launch.backward()
    assert gradients.of(parameters["airframe"])["mass"][0] == pytest.approx(-9.81, abs=0.1)
    change = columns["load"][0, 2] - columns["drag_force"][0, 2] + 9.81 * vehicle.mass
    by_thrust = gradients.of(parameters["quadratic"])["thrust_constant"][0]
    assert by_thrust * vehicle.thrust_curve.thrust_constant == pytest.approx(change, rel=1e-3)
