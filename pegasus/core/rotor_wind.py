"""Wind at the rotors of all vehicles where it varies in space, and the turbulence of each vehicle."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.random_numbers import draw_key
from pegasus.base.step_math import Column
from pegasus.base.streams import stream
from pegasus.contracts.vehicle import Vehicle
from pegasus.environment import Environment, Wind
from pegasus.environment.local_air import LocalAirRows, local_air, local_gust, local_wind
from pegasus.environment.turbulence import GustRows, TurbulenceParameters
from pegasus.environment.wind import WindParameters

if TYPE_CHECKING:
    from pegasus.base.compiler import Kernel

_NO_TURBULENCE = TurbulenceParameters(0.0, (0.0, 1.0), (0.0, 0.0), 1.0, 1.0, 0.0)
_NO_WIND = WindParameters((0.0, 0.0, 0.0))


class RotorWinds:
    """Wind at the rotors beyond that at their vehicles, and turbulence.

    It costs a launch in each step while the wind varies or is turbulent, else a comparison.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: State, inputs and outputs of their step by name, M rows each.
        environment: Environment of the vehicles.
        jets_used: Whether the jets of other vehicles are in the column `wake`.
        last: The object that this one stands in place of, when vehicles come and go; None for the first.
    """

    def __init__(
        self,
        vehicles: Sequence[Vehicle],
        columns: Mapping[str, Array],
        environment: Environment,
        *,
        jets_used: bool,
        last: "RotorWinds | None" = None,
    ) -> None:
        self._vehicles, self._columns, self._environment = vehicles, columns, environment
        self._jets, self._varies = int(jets_used), 0
        self._count = sum(vehicle.count for vehicle in vehicles)
        self._moment = np.zeros(1)
        self._wind: Wind | None = None
        self._parameters: Any = None
        self._launch: Callable[..., None] | None = None
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
            self._prepare(wind, dt)
        if self._launch is not None:
            self._moment[0] = t
            self._launch(dt, self._jets, self._varies)

    def keep_gusts(self) -> None:
        """Take the state in the columns as that of the present turbulence, after both were restored."""
        turbulence = self._turbulence = self._environment.wind.turbulence
        key = None if turbulence is None else turbulence.key
        if key != self._key:
            self._key, self._wind = key, None

    def _prepare(self, wind: Wind, dt: float) -> None:
        """Prepare the launch for a wind."""
        self._wind, self._parameters = wind, wind.parameters
        local, turbulence = wind.at_rotors, wind.turbulence
        key = None if turbulence is None else turbulence.key
        if turbulence is not self._turbulence or key != self._key:
            self._columns["gust_step"][...] = 0
        self._turbulence, self._key = turbulence, key
        if turbulence is None:
            for name in ("gust_velocity", "gust_rate"):
                self._columns[name][...] = 0.0
        if (local is None and turbulence is None) or not self._count:
            self._launch = None
            self._columns["in_wake"][...] = self._jets
            return
        self._varies = int(local is not None)
        self._columns["in_wake"][...] = max(self._jets, self._varies)
        self._columns["wake"][...] = 0.0
        from pegasus.base.compiler import Rows  # Warp is loaded with the first step.

        kernel, kind = _kernel(
            None if local is None else local.step_function,
            None if turbulence is None else type(turbulence).gust_law,
        )
        gusts = _NO_TURBULENCE if turbulence is None else turbulence.gust_parameters(wind)
        columns = {
            **self._columns,
            **self._tables(0 if turbulence is None else key),
            "local_parameters": [_NO_WIND if local is None else local.parameters],
            "gust_parameters": [gusts],
            "moment": self._moment,
        }
        self._launch = kernel.launch(
            Rows(kind, columns), self._count, dt, self._jets, self._varies, apart=True
        )

    def _tables(self, key: int | None) -> dict[str, Array]:
        """Return what belongs to the kinds of vehicles, and the keys of the random numbers of all copies."""
        if key is None:
            raise RuntimeError("the turbulence has no random stream; call bind(rng) first")
        kinds = [vehicle for vehicle in self._vehicles for _ in vehicle.parameters]
        places = np.zeros((len(kinds), self._columns["wake"].shape[1], 3))
        for k, vehicle in enumerate(kinds):
            places[k, : vehicle.rotor_count] = vehicle.layout.position
        keys = [draw_key(stream(key, "turbulence", vehicle.name)) for vehicle in self._vehicles]
        counts = [vehicle.count for vehicle in self._vehicles]
        return {
            "rotor_counts": np.array([vehicle.rotor_count for vehicle in kinds], dtype=np.int32),
            "widths": np.array([v.layout.span + v.spec.propeller.diameter for v in kinds]),
            "rotor_place": places,
            "gust_key": np.repeat(np.array(keys, dtype=np.uint64), counts),
            "gust_copy": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
        }


@cache
def _kernel(local: Any, gust: Any) -> "tuple[Kernel, type]":
    """Return the kernel with the laws of the wind that varies and of the turbulence, and its columns."""
    from pegasus.base.compiler import Kernel

    replaced: dict[str, Any] = {}
    columns = []
    if local is not None:
        replaced[local_wind.__name__] = local
        first = get_type_hints(local)[next(iter(signature(local).parameters))]
        columns.append(("local_parameters", types.GenericAlias(Column, (first,))))
    if gust is not None:
        replaced[local_gust.__name__] = gust
    kind = make_dataclass("CustomLocalAirRows", columns, bases=(LocalAirRows,))
    return Kernel(local_air, replaced, {LocalAirRows: kind, GustRows: kind}), kind
