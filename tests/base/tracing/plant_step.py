"""Step of the plant as a function of state and commands, by the rows of today's step functions."""

from typing import Any, get_args, get_origin, get_type_hints
from unittest import mock

import numpy as np

from pegasus import Multirotor
from pegasus.base.step_math import Quat, Real, Reals, Table, Vec3
from pegasus.base.tracing import Trace, column, trace
from pegasus.core.plant_models import parameters_of
from pegasus.dynamics import plant, rotor_wrenches
from pegasus.dynamics.plant_rows import PlantRows

STATE = ("position", "orientation", "velocity", "angular_velocity")
KINDS = {"position": Vec3, "orientation": Quat, "velocity": Vec3, "angular_velocity": Vec3}


class Cells:
    """Values of a column or a table, of one row.

    Args:
        values: The value, or those of the table.
        table: Whether a row has several values.
    """

    def __init__(self, values: Any, *, table: bool) -> None:
        self._values, self._table = values, table

    def __getitem__(self, place: Any) -> Any:
        if not self._table:
            return self._values
        return self._values[place[1]] if isinstance(place, tuple) else tuple(self._values)

    def __setitem__(self, place: Any, value: Any) -> None:
        if self._table:
            self._values[place[1]] = value
        else:
            self._values = value


class OneRow:
    """Rows of the plant with one row.

    Args:
        vehicle: The vehicle.
        state: Values by column.
    """

    def __init__(self, vehicle: Multirotor, state: dict[str, Any]) -> None:
        rotors = vehicle.rotor_count
        given: dict[str, Any] = {"kind": 0, "drive": [1.0] * rotors, "thrust_share": [1.0] * rotors}
        given |= {"torque_share": [1.0] * rotors, "lowest_speed": 0.0, "air_density": 1.225}
        given |= {"highest_speed": vehicle.motor.max_speed, "gravity": Vec3(0.0, 0.0, -9.80665)}
        for name, value in parameters_of([vehicle]).items():
            if name.startswith("rotor_"):
                rows = value[0].tolist()
                given[name] = [Vec3(*r) for r in rows] if np.ndim(value) == 3 else rows
            elif name not in ("driven", "alarm"):
                given[name] = value[0]
        given |= state
        for name, hint in get_type_hints(PlantRows).items():
            table, kind = get_origin(hint) is Table, get_args(hint)[0]
            zero: Any = {Vec3: Vec3(0.0, 0.0, 0.0), int: 0}.get(kind, 0.0)
            setattr(self, name, Cells(given.get(name, [zero] * rotors if table else zero), table=table))


def own_thrust(vehicle: Multirotor) -> Any:
    """Return a context in which the plant's step has the thrust law of a vehicle.

    Today's step looks a custom law up by a name of its module.
    """
    law, parameters = type(vehicle.thrust_curve).law, vehicle.thrust_curve.parameters()

    def rotor_thrust(
        _rows: Any, _kind: int, _model: int, speed: Real, air_velocity: Vec3, air_density: Real
    ) -> tuple[Vec3, Vec3]:
        return law(parameters, speed, air_velocity, air_density)  # type: ignore[misc]

    return mock.patch.object(rotor_wrenches, "rotor_thrust", rotor_thrust)


def step_of(vehicle: Multirotor, dt: float) -> Any:
    """Return the step of a vehicle as a function of its state, rotor speeds and commands."""

    def step(
        position: Vec3, orientation: Quat, velocity: Vec3, turning: Vec3, speeds: Reals, command: Reals
    ) -> tuple[Vec3, Quat, Vec3, Vec3, Reals]:
        state = {"position": position, "orientation": orientation, "velocity": velocity}
        state |= {"angular_velocity": turning, "rotor_speed": list(speeds), "command": list(command)}
        rows: Any = OneRow(vehicle, state)
        plant.advance(0, rows, Real(dt))
        after = tuple(rows.rotor_speed[0, j] for j in range(vehicle.rotor_count))
        return (
            rows.free_position[0],
            rows.free_orientation[0],
            rows.free_velocity[0],
            rows.free_angular_velocity[0],
            after,
        )

    return step


def step_arguments(vehicle: Multirotor) -> list[Any]:
    """Return the columns of `step_of`."""
    rotors = vehicle.rotor_count
    speeds = [column("rotor_speed", float, rotors), column("command", float, rotors)]
    return [*(column(name, KINDS[name]) for name in STATE), *speeds]


def step_trace(vehicle: Multirotor, dt: float) -> Trace:
    """Return the trace of the step of a vehicle, whose outputs are the next inputs."""
    with own_thrust(vehicle):
        return trace(step_of(vehicle, dt), *step_arguments(vehicle), outputs=(*STATE, "rotor_speed"))


def flying(vehicle: Multirotor, count: int, seed: int = 1) -> dict[str, Any]:
    """Return columns of vehicles in flight near hover."""
    rng, rotors = np.random.default_rng(seed), vehicle.rotor_count
    weight = np.full((1, 1), vehicle.mass * 9.80665 / rotors)
    hover = vehicle.thrust_curve.rotor_speed(weight, np.full((1, 1), 1.225))[0, 0]
    attitude = rng.normal(np.array([0.0, 0.0, 0.0, 1.0]), 0.1, (count, 4))
    return {
        "position": rng.normal(np.array([0.0, 0.0, 50.0]), 1.0, (count, 3)),
        "orientation": attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
        "velocity": rng.normal(0.0, 1.0, (count, 3)),
        "angular_velocity": rng.normal(0.0, 0.5, (count, 3)),
        "rotor_speed": hover * rng.uniform(0.8, 1.2, (count, rotors)),
        "command": hover * rng.uniform(0.95, 1.05, (count, rotors)),
    }
