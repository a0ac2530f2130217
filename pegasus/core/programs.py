"""Compiled programs of the step: one per structure of a model, launched over the rows of its vehicles.

Warp is imported when a program is first made.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.tracing import column, shape, structure, uniform, uniform_values, varied
from pegasus.core.columns import part_of_columns
from pegasus.core.step_vehicle import StepVehicle
from pegasus.model.machine import Machine
from pegasus.step.integrator import advance
from pegasus.step.values import AXES, Air, Effects, Held, Inputs, Planes, State, VariedAir


def model_argument(name: str, models: Sequence[Any]) -> Any:
    """Return the models of copies as an argument of a trace.

    Args:
        name: Name of the argument.
        models: One for all copies, or one for each.
    """
    if len(models) == 1:
        return uniform(name, models[0])
    return varied(name, models)


def launch_of(
    function: Callable[..., Any], kind: type, columns: Mapping[str, Any], count: int, device: str = "cpu"
) -> Callable[[float], None]:
    """Return the launch of a function (columns, number) of rows, which is called with the number.

    Args:
        function: The function.
        kind: Dataclass of its columns.
        columns: Arrays by name.
        count: Number of rows.
        device: Device of the arrays.
    """
    # Not at the top: it imports Warp, which is not needed to build vehicles.
    from pegasus.base.tracing.launches import program_of

    given = Numbers(device, value=0.0)
    arguments = column("", kind), uniform("value", 0.0)
    program = program_of(function, *arguments, outputs=("",), count=count, device=device)
    launch = program.launch({**columns, **given.arrays}, count).run

    def run(value: float) -> None:
        given.set("value", value)
        launch()

    return run


class Numbers:
    """Numbers that are the same for all rows, as arrays of a launch.

    Args:
        device: Device of the arrays.
        values: Numbers by name.
    """

    def __init__(self, device: str, **values: float) -> None:
        self._on_cpu = device == "cpu"
        self.arrays = arrays_on(device, {name: np.array([value]) for name, value in values.items()})
        """Arrays by name."""

    def get(self, name: str) -> float:
        """Return a number."""
        array = self.arrays[name]
        return float(array[0] if self._on_cpu else array.numpy()[0])

    def set(self, name: str, value: float) -> None:
        """Set a number."""
        if self._on_cpu:
            self.arrays[name][0] = value
        else:
            self.arrays[name].fill_(value)


def arrays_on(device: str, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return arrays on a device.

    Args:
        device: `cpu`, or a GPU such as `cuda:0`.
        arrays: The arrays by name.
    """
    # Not at the top: it imports Warp, which is not needed to build vehicles.
    from pegasus.base.tracing.launches import on_device

    return {name: on_device(values, device) for name, values in arrays.items()}


class VehicleGroup:
    """Rows of vehicles with the same model, and their step.

    Args:
        vehicles: The vehicles.
        machines: Their models: one, or one for each row.
        columns: Columns of their rows.
        count: Number of rows.
        alarm: Number that is set to 1 after a fault of a row, shape (1,).
        device: Device of the columns.
    """

    def __init__(
        self,
        vehicles: Sequence[StepVehicle],
        machines: Sequence[Machine],
        columns: Mapping[str, Any],
        count: int,
        alarm: Any,
        device: str = "cpu",
    ) -> None:
        self.vehicles, self.columns, self.count, self.machines = vehicles, columns, count, machines
        vehicle = vehicles[0]
        self.machine = model_argument("machine", machines)
        self.body = model_argument("body", [machine.body for machine in machines])
        self.device = device
        self._proximity, self._held = machines[0].proximity is not None, vehicle.has_own_wrench
        self._numbers = Numbers(device, dt=0.0)
        parameters = arrays_on(device, uniform_values(self.machine))
        self._arrays = {**columns, **parameters, **self._numbers.arrays, "alarm": alarm}
        self._dt = 0.0
        self._launches: dict[tuple[bool, bool], Callable[[], None]] = {}

    def arguments(self, *, local_air: bool, faults: bool = False) -> list[Any]:
        """Return the arguments of the step's trace.

        Args:
            local_air: Whether the air differs between the rotors, or turns.
            faults: Whether faults act.
        """
        machine = self.machines[0]
        rotors = len(machine.elements)
        numbers = {"channel": len(machine.channels), "joint": len(machine.joints)}
        widths = {name: numbers[axis] for name, axis in AXES.items()}
        return [
            self.machine,
            column("", State, rotors, **widths),
            column("", Inputs, rotors, **widths),
            column("", VariedAir, rotors) if local_air else column("", Air),
            column("", Effects, rotors, **widths) if faults else None,
            column("", Planes, rotors) if self._proximity else None,
            column("", Held) if self._held else None,
            uniform("dt", 0.0),
        ]

    def prepare(self, *, local_air: bool, faults: bool = False) -> Callable[[], None]:
        """Compile the step, or take it from the cache; see `advance`."""
        launch = self._launches.get((local_air, faults))
        if launch is None:
            from pegasus.base.tracing.launches import program_of

            arguments = self.arguments(local_air=local_air, faults=faults)
            program = program_of(advance, *arguments, outputs=("",), count=self.count, device=self.device)
            launch = self._launches[local_air, faults] = program.launch(self._arrays, self.count).run
        return launch

    def advance(self, dt: float, *, local_air: bool, failing: Collection[StepVehicle] = ()) -> None:
        """Run the step.

        Args:
            dt: Length of the step [s].
            local_air: Whether the air differs between the rotors, or turns.
            failing: Vehicles on which faults act.
        """
        if dt != self._dt:
            self._dt = dt
            self._numbers.set("dt", dt)
        faults = self.holds(failing) if failing else False
        launch = self._launches.get((local_air, faults)) or self.prepare(local_air=local_air, faults=faults)
        launch()

    def holds(self, vehicles: Collection[StepVehicle]) -> bool:
        """Return whether one of some vehicles has rows here."""
        return any(vehicle in vehicles for vehicle in self.vehicles)


def grouped(
    vehicles: Sequence[StepVehicle], columns: Mapping[str, Array], alarm: Array
) -> Sequence[VehicleGroup]:
    """Return groups of neighbouring rows with one code and, of different vehicles, equal models.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: Columns of the plant, M rows each.
        alarm: Number that is set to 1 after a fault of a row, shape (1,).
    """
    runs: list[tuple[list[StepVehicle], Sequence[Machine], int, int]] = []
    first = 0
    for vehicle in vehicles:
        machines, end = vehicle.machines, first + vehicle.count
        last = runs[-1] if runs else None
        if len(machines) > 1:
            for start, stop in runs_of_one_code(machines):
                runs.append(([vehicle], machines[start:stop], first + start, first + stop))
        elif last is not None and _are_alike(last[0][0], last[1], vehicle, machines):
            runs[-1] = ([*last[0], vehicle], *last[1:3], end)
        else:
            runs.append(([vehicle], machines, first, end))
        first = end
    return [
        VehicleGroup(
            alike,
            machines,
            part_of_columns(columns, slice(start, end), alike[0].columns),
            end - start,
            alarm,
        )
        for alike, machines, start, end in runs
    ]


def runs_of_one_code(models: Sequence[Any]) -> list[tuple[int, int]]:
    """Return first and last places, the latter excluded, of neighbouring models that differ in numbers only.

    Copies may differ in whole numbers and lengths of tables too, for which code is made.

    Args:
        models: The models.
    """
    known: dict[int, int] = {}
    alike = [len(list(run)) for _, run in groupby(shape(model, known) for model in models)]
    return list(pairwise(accumulate(alike, initial=0)))


def _are_alike(
    vehicle: StepVehicle, models: Sequence[Machine], other: StepVehicle, others: Sequence[Machine]
) -> bool:
    """Return whether two vehicles have one model of the same structure and numbers, and the same inputs."""
    if vehicle.has_own_wrench != other.has_own_wrench or len(models) != 1 or len(others) != 1:
        return False
    one, other_one = uniform("machine", models[0]), uniform("machine", others[0])
    if structure(one) != structure(other_one):
        return False
    mine, its = uniform_values(one), uniform_values(other_one)
    return all(np.array_equal(mine[name], its[name]) for name in mine)
