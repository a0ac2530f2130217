"""Wind at the rotors of all vehicles where it varies in space, and the turbulence of each vehicle."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.random_numbers import draw_key
from pegasus.base.step_math import Quat, Vec3, Word
from pegasus.base.streams import stream
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.core.step_vehicle import RotorVehicle
from pegasus.environment import Environment, Wind
from pegasus.environment.local_air import rotor_points, turbulent_air
from pegasus.environment.turbulence import Filters


class RotorWinds:
    """Wind at the rotors beyond that at their vehicles, and turbulence.

    It costs a launch in each step while the wind is turbulent and two while it varies, else a comparison.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: State, inputs and outputs of their step by name, M rows each.
        environment: Environment of the vehicles.
        jets_used: Whether the jets of other vehicles are in the column `wake`.
        last: The object that this one stands in place of, when vehicles come and go; None for the first.
    """

    def __init__(
        self,
        vehicles: Sequence[RotorVehicle],
        columns: Mapping[str, Array],
        environment: Environment,
        *,
        jets_used: bool,
        last: "RotorWinds | None" = None,
    ) -> None:
        self._vehicles, self._columns, self._environment = vehicles, columns, environment
        self._jets = jets_used
        self._count = sum(vehicle.count for vehicle in vehicles)
        self._time, self._step = np.zeros(1), np.zeros(1)
        self._wind: Wind | None = None
        self._parameters: Any = None
        self._parts: tuple[Callable[[], None], ...] = ()
        wind = environment.wind
        self.used = wind.at_rotors is not None or wind.turbulence is not None
        """Whether the present wind differs between the rotors, or is turbulent."""
        # Of the turbulence whose state the columns hold.
        self._turbulence: Any = None if last is None else last._turbulence
        self._key: int | None = None if last is None else last._key

    def update(self, t: float, dt: float) -> None:
        """Add the turbulence to the wind at the vehicles, and set the wind at the rotors beyond it.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].
        """
        wind = self._environment.wind
        if wind is not self._wind or wind.parameters is not self._parameters:
            self._prepare(wind)
        self._time[0], self._step[0] = t, dt
        for part in self._parts:
            part()

    def keep_gusts(self) -> None:
        """Take the state in the columns as that of the present turbulence, after both were restored."""
        turbulence = self._turbulence = self._environment.wind.turbulence
        key = None if turbulence is None else turbulence.key
        if key != self._key:
            self._key, self._wind = key, None

    def _prepare(self, wind: Wind) -> None:
        """Prepare the launches for a wind."""
        self._wind, self._parameters = wind, wind.parameters
        local, turbulence = wind.at_rotors, wind.turbulence
        self.used = local is not None or turbulence is not None
        key = None if turbulence is None else turbulence.key
        if turbulence is not self._turbulence or key != self._key:
            self._columns["gust_step"][...] = 0
        self._turbulence, self._key = turbulence, key
        if turbulence is None:
            for name in ("gust_velocity", "gust_rate"):
                self._columns[name][...] = 0.0
        if not self._jets:
            self._columns["wake"][...] = 0.0
        self._parts = ()
        if self._count and turbulence is not None:
            self._parts += (self._turbulent(wind),)
        if self._count and local is not None:
            self._parts += (self._varying(local),)

    def _turbulent(self, wind: Wind) -> Callable[[], None]:
        """Return the function that advances the turbulence, and adds it to the wind at the vehicles."""
        from pegasus.base.tracing.launches import program_of  # Warp is loaded with the first step.

        turbulence = wind.turbulence
        if turbulence.key is None:
            raise RuntimeError("the turbulence has no random stream; call bind(rng) first")
        keys = [draw_key(stream(turbulence.key, "turbulence", vehicle.name)) for vehicle in self._vehicles]
        counts = [vehicle.count for vehicle in self._vehicles]
        spans = [v.layout.span + v.spec.propeller.diameter for v in self._vehicles]
        p = uniform("p", turbulence.gust_parameters(wind))
        columns = {"filters": Filters, "key": Word, "copy": int, "gust_step": int, "span": float}
        columns |= {"position": Vec3, "velocity": Vec3, "wind": Vec3}
        inputs = (column(name, kind) for name, kind in columns.items())
        program = program_of(
            turbulent_air, type(turbulence).gust_law, p, *inputs, uniform("dt", 0.0), count=self._count
        )
        arrays = {
            **self._columns,
            **{f"filters.{f.name}": self._columns[f.name] for f in fields(Filters)},
            **uniform_values(p),
            "key": np.repeat(np.array(keys, dtype=np.uint64), counts),
            "copy": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
            "span": np.repeat(spans, counts),
            "dt": self._step,
        }
        launch: Callable[[], None] = program.launch(arrays, self._count)
        return launch

    def _varying(self, local: Wind) -> Callable[[], None]:
        """Return the function that sets the wind at the rotors beyond that at their vehicles."""
        from pegasus.base.tracing.launches import program_of  # Warp is loaded with the first step.

        wake, rotors = self._columns["wake"], self._columns["wake"].shape[1]
        place = np.zeros(wake.shape)
        first = 0
        for vehicle in self._vehicles:
            place[first : first + vehicle.count, : vehicle.rotor_count] = vehicle.layout.position
            first += vehicle.count
        # The place of each vehicle, then those of its rotors, each a row of the wind.
        points, air = np.zeros((2, self._count, rotors + 1, 3))
        body = column("position", Vec3), column("orientation", Quat), column("place", Vec3, rotors)
        arrays = {**self._columns, "place": place, "points": points}
        find = program_of(rotor_points, *body, outputs=("points",), count=self._count).launch(
            arrays, self._count
        )
        p = uniform("p", local.parameters)
        inputs = p, column("point", Vec3), uniform("t", 0.0)
        law: Any = local.step_function
        wind = program_of(law, *inputs, outputs=("air",))
        arrays = {**uniform_values(p), "point": points, "air": air, "t": self._time}
        sample = wind.launch(arrays, self._count * (rotors + 1))

        here, there = air[:, :1], air[:, 1:]
        change = np.zeros(wake.shape) if self._jets else wake

        def set_wake() -> None:
            find()
            sample()
            np.subtract(there, here, out=change)
            if self._jets:
                np.add(wake, change, out=wake)

        return set_wake
