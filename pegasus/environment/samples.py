"""Wind, air density and gravity at the positions of many vehicles, in one launch."""

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Any, Protocol, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.row_map import StepModel, compiler
from pegasus.base.step_math import Column, Real, Vec3
from pegasus.environment.atmosphere import Atmosphere, AtmosphereParameters, standard_air, standard_layers
from pegasus.environment.geodesy import Geodetic
from pegasus.environment.gravity import Gravity, GravityParameters, gravity_at
from pegasus.environment.wind import Wind, WindParameters, wind_at

_GRAVITY, _AIR, _WIND = 1, 2, 4
_STANDARD = standard_layers()


@dataclass(eq=False)
class Samples:
    """Environment at the positions of M vehicles."""

    wind_velocity: Array
    """Velocity of the air in the world [m/s], shape (M, 3)."""
    air_density: Array
    """Density of the air [kg/m^3], shape (M,)."""
    gravity: Array
    """Acceleration of free fall in the world [m/s^2], shape (M, 3)."""
    density_used: bool = True
    """Whether the density is used; it is not filled otherwise."""

    @classmethod
    def of(cls, count: int, *, density_used: bool = True) -> "Samples":
        """Return columns of zeros.

        Args:
            count: Number of vehicles M.
            density_used: Whether the density is used.
        """
        return cls(np.zeros((count, 3)), np.zeros(count), np.zeros((count, 3)), density_used)


@dataclass
class SampleRows:
    """Columns of `sample_row`."""

    gravity_parameters: Column[GravityParameters]
    air_parameters: Column[AtmosphereParameters]
    wind_parameters: Column[WindParameters]
    position: Column[Vec3]
    gravity: Column[Vec3]
    air_density: Column[Real]
    wind_velocity: Column[Vec3]


def sample_row(
    i: int,
    rows: SampleRows,
    t: Real,
    origin_altitude: Real,
    gravity_wanted: int,
    density_wanted: int,
    wind_wanted: int,
) -> None:
    """Fill row i with the quantities wanted (0 or 1), at a time [s] and an altitude of the origin [m]."""
    position = rows.position[i]
    altitude = position[2] + origin_altitude
    if gravity_wanted > 0:
        rows.gravity[i] = Vec3(0.0, 0.0, -gravity_at(rows.gravity_parameters[0], altitude))
    if density_wanted > 0:
        _, _, density = standard_air(rows.air_parameters[0], altitude)
        rows.air_density[i] = density
    if wind_wanted > 0:
        rows.wind_velocity[i] = wind_at(rows.wind_parameters[0], position, t)


class SampledModels(Protocol):
    """Models of an `Environment`, and their values at positions, shape (M, 3) each, or (M,)."""

    gravity: Gravity
    """Gravity."""
    atmosphere: Atmosphere
    """Air at rest."""
    wind: Wind
    """Wind."""

    @property
    def origin(self) -> Geodetic:
        """Geographic place of the world's origin."""

    def gravity_vector(self, position: Array) -> Array:
        """Return the acceleration of gravity [m/s^2]."""

    def air_density(self, position: Array) -> Array:
        """Return the air density [kg/m^3]."""

    def wind_velocity(self, position: Array, t: float) -> Array:
        """Return the wind at simulation time t [m/s]."""


class Sampler:
    """Prepared sampling of an environment at positions.

    Args:
        environment: The environment.
        position: Positions in the world [m], shape (M, 3), C-contiguous.
        out: Columns to fill.
        device: Device on which `position` and the columns are arrays of Warp; None for those of NumPy. There,
            every model must have a step function.
    """

    def __init__(
        self, environment: SampledModels, position: Array, out: Samples, device: str | None = None
    ) -> None:
        self._position, self._out, self._origin = position, out, environment.origin
        self._gravity, self._atmosphere = environment.gravity, environment.atmosphere
        self._wind, self._wind_parameters = environment.wind, environment.wind.parameters
        self._calm = environment.wind.calm
        if device is None:
            out.wind_velocity[...] = 0.0
        else:
            out.wind_velocity.fill_(0.0)  # type: ignore[attr-defined]
        compiled = _compiled(environment)
        wanted = _GRAVITY | (_AIR if out.density_used else 0) | (0 if self._calm else _WIND)
        self._others = _array_methods(environment, position, out, wanted & ~compiled)
        self._launch = self._prepared(environment, position, out, wanted & compiled, device or "cpu")

    def fits(self, environment: SampledModels, position: Array, out: Samples) -> bool:
        """Return whether these are the arrays and models that the sampling was prepared for."""
        return (
            position is self._position
            and out is self._out
            and environment.origin is self._origin
            and environment.gravity is self._gravity
            and environment.atmosphere is self._atmosphere
            and environment.wind is self._wind
            and environment.wind.parameters is self._wind_parameters
        )

    def __call__(self, t: float) -> None:
        """Fill the columns.

        Args:
            t: Simulation time [s].
        """
        if self._launch is not None:
            if self._calm:
                self._launch()
            else:
                self._launch(t)
        for fill in self._others:
            fill(t)

    def _prepared(
        self, environment: SampledModels, position: Array, out: Samples, wanted: int, device: str
    ) -> Any:
        if not wanted or not len(position):
            return None
        parameters: list[Any] = [GravityParameters(0.0, 0.0), _STANDARD, WindParameters((0.0, 0.0, 0.0))]
        steps: list[Any] = [gravity_at, standard_air, wind_at]
        models: tuple[StepModel, ...] = (environment.gravity, environment.atmosphere, environment.wind)
        for k, (bit, model) in enumerate(zip((_GRAVITY, _AIR, _WIND), models, strict=True)):
            if wanted & bit:
                parameters[k], steps[k] = model.parameters, model.step_function
        kernel, kind = _kernel(*steps)
        columns = {
            "gravity_parameters": parameters[:1],
            "air_parameters": parameters[1:2],
            "wind_parameters": parameters[2:],
            "position": position,
            "gravity": out.gravity,
            "air_density": out.air_density,
            "wind_velocity": out.wind_velocity,
        }
        bits = (int(wanted & bit > 0) for bit in (_GRAVITY, _AIR, _WIND))
        rows = compiler().Rows(kind, columns, device=device)
        return kernel.launch(rows, len(position), 0.0, environment.origin.altitude, *bits)


def models_in_numpy(environment: SampledModels) -> list[str]:
    """Return the names of the models without a step function: `gravity`, `atmosphere`, `wind`.

    Args:
        environment: The environment.
    """
    compiled = _compiled(environment)
    bits = {"gravity": _GRAVITY, "atmosphere": _AIR, "wind": _WIND}
    return [name for name, bit in bits.items() if not compiled & bit]


def _compiled(environment: SampledModels) -> int:
    """Return the bits of the models that are compiled."""
    if compiler() is None:
        return 0
    gravity = _GRAVITY if _by_law(environment.gravity, Gravity, "magnitude") else 0
    air = _AIR if _by_law(environment.atmosphere, Atmosphere, "air", "density") else 0
    return gravity | air | (_WIND if _by_law(environment.wind, Wind, "velocity") else 0)


def _by_law(model: object, base: type, *methods: str) -> bool:
    """Return whether a model is given by its step function: it overrides none of the array methods."""
    return isinstance(model, base) and all(getattr(type(model), m) is getattr(base, m) for m in methods)


def _array_methods(
    environment: SampledModels, position: Array, out: Samples, wanted: int
) -> list[Callable[[float], None]]:
    """Return functions of time that fill columns by the array methods of the models."""

    def gravity(_: float) -> None:
        out.gravity[...] = environment.gravity_vector(position)

    def air_density(_: float) -> None:
        out.air_density[...] = environment.air_density(position)

    def wind_velocity(t: float) -> None:
        out.wind_velocity[...] = environment.wind_velocity(position, t)

    each = {_GRAVITY: gravity, _AIR: air_density, _WIND: wind_velocity}
    return [fill for bit, fill in each.items() if wanted & bit]


@functools.cache
def _kernel(gravity: Any, air: Any, wind: Any) -> tuple[Any, type]:
    """Return the kernel with these step functions, and the dataclass of its columns."""
    roles = (("gravity", gravity, gravity_at), ("air", air, standard_air), ("wind", wind, wind_at))
    others = [(role, law, shipped) for role, law, shipped in roles if law is not shipped]
    if not others:
        return compiler().Kernel(sample_row), SampleRows
    columns = []
    for role, law, _ in others:
        first = next(iter(inspect.signature(law).parameters))
        columns.append((f"{role}_parameters", types.GenericAlias(Column, (get_type_hints(law)[first],))))
    kind = make_dataclass("CustomSampleRows", columns, bases=(SampleRows,))
    replaced = {shipped.__name__: law for _, law, shipped in others}
    return compiler().Kernel(sample_row, replaced, {SampleRows: kind}), kind
