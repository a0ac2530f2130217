"""Gravity and air at all vehicles and their rotors: the one author of these inputs of the step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.random_numbers import draw_key
from pegasus.base.step_math import Quat, Vec3
from pegasus.base.streams import stream
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.core.rotor_air import Wakes
from pegasus.core.step_vehicle import RotorVehicle
from pegasus.environment import Environment, Wind
from pegasus.environment.local_air import Passing, air_at, rotor_points
from pegasus.environment.samples import Sampler, Samples, models_in_numpy
from pegasus.environment.turbulence import Filters


class AirInputs:
    """Columns `gravity`, `air_density`, `wind`, `wake` and those of the turbulence, written once per step.

    Uniform wind takes one launch. Wind that varies in space, and jets, take launches of their own before it.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: State, inputs and outputs of their step by name, M rows each.
        environment: Environment of the vehicles.
        density_used: Whether the density of the air is used.
        last: The object that this one stands in place of, when vehicles come and go; None for the first.
    """

    def __init__(
        self,
        vehicles: Sequence[RotorVehicle],
        columns: Mapping[str, Array],
        environment: Environment,
        *,
        density_used: bool,
        last: "AirInputs | None" = None,
    ) -> None:
        self._vehicles, self._columns, self._environment = vehicles, columns, environment
        self._wakes = Wakes(vehicles, columns)
        self._count, self._rotors = columns["wake"].shape[:2]
        density, gravity = columns["air_density"], columns["gravity"]
        self._samples = Samples(np.zeros((self._count, 3)), density, gravity, density_used)
        # At the place of each vehicle, then at those of its rotors.
        self._field = np.zeros((self._count, self._rotors + 1, 3))
        self._time, self._step = np.zeros(1), np.zeros(1)
        self._sampler: Sampler | None = None
        self._before: tuple[Callable[[], None], ...] = ()
        wind = environment.wind
        self.differs = self._wakes.used or wind.at_rotors is not None or wind.turbulence is not None
        """Whether the air turns, or differs between the rotors of a vehicle."""
        # Of the turbulence whose state the columns hold.
        self._turbulence: Any = None if last is None else last._turbulence
        self._key: int | None = None if last is None else last._key

    def update(self, t: float, dt: float) -> None:
        """Write the inputs of the step from t to t + dt.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].
        """
        sampler = self._sampler
        if sampler is None or not sampler.fits(self._environment, self._columns["position"], self._samples):
            sampler = self._sampler = self._prepared(self._environment.wind)
        self._time[0], self._step[0] = t, dt
        for launch in self._before:
            launch()
        sampler(t)

    def keep_gusts(self) -> None:
        """Take the state in the columns as that of the present turbulence, after both were restored."""
        turbulence = self._turbulence = self._environment.wind.turbulence
        key = None if turbulence is None else turbulence.key
        if key != self._key:
            self._key, self._sampler = key, None

    def _prepared(self, wind: Wind) -> Sampler:
        """Return the launch that writes the columns, and prepare those before it."""
        columns, local, turbulence = self._columns, wind.at_rotors, wind.turbulence
        self.differs = self._wakes.used or local is not None or turbulence is not None
        key = None if turbulence is None else turbulence.key
        if turbulence is not self._turbulence or key != self._key:
            columns["gust_step"][...] = 0
        self._turbulence, self._key = turbulence, key
        for name in ("gust_velocity", "gust_rate", "wake"):
            columns[name][...] = 0.0
        self._before = (self._wakes.update,) if self._wakes.used else ()
        if local is not None and self._count:
            self._before += self._field_launches(local)
        more: list[Any] = [
            None if wind.calm else column("mean", Vec3),
            None if local is None else column("field", Vec3, self._rotors + 1),
            column("jets", Vec3, self._rotors) if self._wakes.used else None,
        ]
        arrays = {
            **columns,
            "mean": self._samples.wind_velocity,
            "field": self._field,
            "jets": self._wakes.wake,
            "dt": self._step,
        }
        if turbulence is None:
            more += [None] * 5
        else:
            p = uniform("p", turbulence.gust_parameters(wind))
            more += [type(turbulence).gust_law, p, column("", Filters), column("", Passing)]
            more.append(uniform("dt", 0.0))
            arrays |= {**uniform_values(p), **self._passing(turbulence)}
        position = columns["position"]
        return Sampler(self._environment, position, self._samples, law=air_at, more=more, arrays=arrays)

    def _passing(self, turbulence: Any) -> dict[str, Array]:
        """Return the constant columns of `Passing`."""
        if turbulence.key is None:
            raise RuntimeError("the turbulence has no random stream; call bind(rng) first")
        keys = [draw_key(stream(turbulence.key, "turbulence", vehicle.name)) for vehicle in self._vehicles]
        counts = [vehicle.count for vehicle in self._vehicles]
        spans = [v.layout.span + v.spec.propeller.diameter for v in self._vehicles]
        return {
            "key": np.repeat(np.array(keys, dtype=np.uint64), counts),
            "copy": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
            "span": np.repeat(spans, counts),
        }

    def _field_launches(self, local: Wind) -> tuple[Callable[[], None], ...]:
        """Return the launches that sample a wind at the vehicles and their rotors."""
        from pegasus.base.tracing.launches import program_of  # Warp is loaded with the first step.

        place, first = np.zeros((self._count, self._rotors, 3)), 0
        for vehicle in self._vehicles:
            place[first : first + vehicle.count, : vehicle.rotor_count] = vehicle.layout.position
            first += vehicle.count
        points = np.zeros_like(self._field)
        body = column("position", Vec3), column("orientation", Quat), column("place", Vec3, self._rotors)
        find = program_of(rotor_points, *body, outputs=("points",), count=self._count)
        find_points = find.launch({**self._columns, "place": place, "points": points}, self._count)
        if "wind" in models_in_numpy(self._environment):
            rows = points.reshape(-1, 3), self._field.reshape(-1, 3)
            return find_points, lambda: np.copyto(rows[1], local.velocity(rows[0], self._time.item()))
        law: Any = local.step_function
        p = uniform("p", local.parameters)
        sample = program_of(law, p, column("point", Vec3), uniform("t", 0.0), outputs=("air",))
        arrays = {"point": points, "air": self._field, "t": self._time, **uniform_values(p)}
        return find_points, sample.launch(arrays, self._count * (self._rotors + 1))
