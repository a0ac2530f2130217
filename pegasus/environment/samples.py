"""Wind, air density and gravity at the positions of many vehicles, in one launch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.row_map import StepModel, compiler
from pegasus.base.step_math import Real, Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.environment.atmosphere import Atmosphere
from pegasus.environment.geodesy import Geodetic
from pegasus.environment.gravity import Gravity
from pegasus.environment.wind import Wind


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


@dataclass(frozen=True)
class SampledLaws:
    """Step functions of an environment; None for what is not sampled by one."""

    gravity: Callable[..., Any] | None = None
    air: Callable[..., Any] | None = None
    wind: Callable[..., Any] | None = None


def sample_at(
    laws: SampledLaws, parameters: Any, position: Vec3, t: Real, origin_altitude: Real
) -> dict[str, Any]:
    """Return gravity [m/s^2], density of the air [kg/m^3] and wind [m/s] at a position, by name.

    Args:
        laws: The step functions.
        parameters: Those of gravity, air and wind.
        position: Position in the world [m].
        t: Time [s].
        origin_altitude: Altitude of the world's origin [m].
    """
    of_gravity, of_air, of_wind = parameters
    altitude = position[2] + origin_altitude
    found: dict[str, Any] = {}
    if laws.gravity is not None:
        found["gravity"] = Vec3(0.0, 0.0, -laws.gravity(of_gravity, altitude))
    if laws.air is not None:
        _, _, found["air_density"] = laws.air(of_air, altitude)
    if laws.wind is not None:
        found["wind_velocity"] = laws.wind(of_wind, position, t)
    return found


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
        law: Function that is launched: `sample_at`, or one that calls it and takes more.
        more: Its arguments beyond those of `sample_at`.
        arrays: Arrays of these, and of the results, by name.
    """

    def __init__(
        self,
        environment: SampledModels,
        position: Array,
        out: Samples,
        device: str | None = None,
        *,
        law: Callable[..., Any] = sample_at,
        more: Sequence[Any] = (),
        arrays: Mapping[str, Any] | None = None,
    ) -> None:
        self._position, self._out, self._origin = position, out, environment.origin
        self._gravity, self._atmosphere = environment.gravity, environment.atmosphere
        self._wind, self._wind_parameters = environment.wind, environment.wind.parameters
        self._calm = environment.wind.calm
        self._time: Any = np.zeros(1) if device is None else compiler().on_device(np.zeros(1), device)
        _filling(out.wind_velocity)(0.0)
        self._set_time = _filling(self._time)
        used = {"gravity": True, "air": out.density_used, "wind": not self._calm}
        wanted, compiled = [name for name in used if used[name]], _compiled(environment)
        self._others = _array_methods(environment, position, out, [n for n in wanted if n not in compiled])
        self._law, self._more, self._arrays = law, more, arrays or {}
        self._launch = self._prepared(
            environment, position, out, [n for n in wanted if n in compiled], device
        )

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
        for fill in self._others:
            fill(t)
        if self._launch is not None:
            if not self._calm:
                self._set_time(t)
            self._launch()

    def _prepared(
        self,
        environment: SampledModels,
        position: Array,
        out: Samples,
        names: Sequence[str],
        device: str | None,
    ) -> Callable[[], None] | None:
        if not (names or self._more) or not len(position):
            return None
        models: dict[str, StepModel] = {
            "gravity": environment.gravity,
            "air": environment.atmosphere,
            "wind": environment.wind,
        }
        laws = SampledLaws(**{name: models[name].step_function for name in names})
        parameters = tuple(models[name].parameters if name in names else None for name in models)
        given = uniform("parameters", parameters)
        inputs = column("position", Vec3), uniform("t", 0.0), uniform("origin_altitude", 0.0)
        program = compiler().program_of(
            self._law, laws, given, *inputs, *self._more, count=len(position), device=device or "cpu"
        )
        numbers = uniform_values(given) | {"origin_altitude": np.array([environment.origin.altitude])}
        arrays: dict[str, Any] = {
            **self._arrays,
            "position": position,
            "gravity": out.gravity,
            "air_density": out.air_density,
            "wind_velocity": out.wind_velocity,
        }
        if device is not None:
            arrays |= {name: compiler().on_device(values, device) for name, values in numbers.items()}
        launch = program.launch({**numbers, **arrays, "t": self._time}, len(position), apart=False)
        run: Callable[[], None] = launch.run
        return run


def _filling(array: Any) -> Callable[[float], None]:
    """Return the method that sets all numbers of an array of NumPy or Warp."""
    fill: Callable[[float], None] = array.fill if isinstance(array, np.ndarray) else array.fill_
    return fill


def models_in_numpy(environment: SampledModels) -> list[str]:
    """Return the names of the models without a step function: `gravity`, `atmosphere`, `wind`.

    Args:
        environment: The environment.
    """
    titles = {"gravity": "gravity", "air": "atmosphere", "wind": "wind"}
    compiled = _compiled(environment)
    return [title for name, title in titles.items() if name not in compiled]


def _compiled(environment: SampledModels) -> list[str]:
    """Return the names of the models that are compiled."""
    if compiler() is None:
        return []
    by_law = {
        "gravity": _by_law(environment.gravity, Gravity, "magnitude"),
        "air": _by_law(environment.atmosphere, Atmosphere, "air", "density"),
        "wind": _by_law(environment.wind, Wind, "velocity"),
    }
    return [name for name, is_law in by_law.items() if is_law]


def _by_law(model: object, base: type, *methods: str) -> bool:
    """Return whether a model is given by its step function: it overrides none of the array methods."""
    return isinstance(model, base) and all(getattr(type(model), m) is getattr(base, m) for m in methods)


def _array_methods(
    environment: SampledModels, position: Array, out: Samples, wanted: Sequence[str]
) -> list[Callable[[float], None]]:
    """Return functions of time that fill columns by the array methods of the models."""

    def gravity(_: float) -> None:
        out.gravity[...] = environment.gravity_vector(position)

    def air_density(_: float) -> None:
        out.air_density[...] = environment.air_density(position)

    def wind_velocity(t: float) -> None:
        out.wind_velocity[...] = environment.wind_velocity(position, t)

    each = {"gravity": gravity, "air": air_density, "wind": wind_velocity}
    return [each[name] for name in wanted]
