"""Backends of one vehicle, of which at most one drives."""

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_instance
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.command_line import resting
from pegasus.core.command_watch import CommandWatch


class BackendGroup(Sequence[Backend]):
    """Backends of one vehicle, of which at most one drives.

    Raises:
        ConfigError: If something is not a backend, more than one drives, or one with a `command` does not say
            whether it drives.
    """

    def __init__(self, backends: Iterable[Backend]) -> None:
        listed = isinstance(backends, Sequence)
        require(listed, "backends", backends, "must be a list", "write backends=[...]")
        for k, backend in enumerate(backends):
            require_instance(Backend, f"backends.{k}", backend)
            _require_decision(backend, f"backends.{k}")
        self._backends = list(backends)
        drivers = [backend for backend in self._backends if backend.drives]
        if len(drivers) > 1:
            kinds = ", ".join(type(backend).__name__ for backend in drivers)
            raise ConfigError(
                "at most one backend may drive a vehicle",
                field="backends",
                value=kinds,
                remedy="remove the others",
            )
        self.driver = drivers[0] if drivers else None
        """The driving backend; None if there is none."""
        self.reads_sensors = any(backend.reads_sensors for backend in self._backends)
        """True if at least one backend uses the readings."""
        self._idle = np.zeros((0, 0))
        self._watch = CommandWatch()
        self._watch.is_open = self.driver is None or not self.driver.maps_outputs

    @overload
    def __getitem__(self, index: int) -> Backend: ...
    @overload
    def __getitem__(self, index: slice) -> list[Backend]: ...
    def __getitem__(self, index: int | slice) -> Backend | list[Backend]:
        return self._backends[index]

    def __len__(self) -> int:
        return len(self._backends)

    def bind(self, vehicle: Vehicle) -> None:
        """Bind every backend; if one fails, stop those bound before, which may hold ports."""
        self._idle = resting(vehicle)
        bound: list[Backend] = []
        try:
            for backend in self:
                bound.append(backend)
                backend.bind(vehicle)
        except BaseException:
            for backend in bound:
                backend.stop()
            raise

    def command(self, vehicle: Vehicle, t: float) -> Array:
        """Return the commands of the driving backend by channel, shape (N, U); those at rest without one.

        Args:
            vehicle: The vehicle.
            t: Simulation time [s].

        Raises:
            ConfigError: If the command has the wrong shape.
        """
        if self.driver is None:
            return self._idle
        answer = self.driver.command(t)
        if self._watch.is_open:
            self._watch.see(answer, self.driver, vehicle, t)
        if answer is None:
            return self._idle
        command = np.asarray(answer, dtype=np.float64)
        if command.shape != self._idle.shape:
            raise ConfigError(
                f"must have shape {self._idle.shape}: for each copy {', '.join(map(str, vehicle.channels))}",
                field=f"shape of {_source(self.driver, vehicle, t)}",
                value=command.shape,
            )
        return command

    def require_restarts(self) -> None:
        """Raise a ConfigError unless the driving backend can start single copies anew."""
        driver = self.driver
        if driver is not None and type(driver).reset_copies is Backend.reset_copies:
            raise ConfigError(
                "cannot start single copies anew",
                field=type(driver).__name__,
                remedy="reset the simulation, or give the class a method reset_copies",
            )

    def stop(self) -> None:
        """Stop every backend, each one even if another fails, then raise the first failure."""
        failures: list[Exception] = []
        for backend in self:
            try:
                backend.stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


def _require_decision(backend: Backend, field: str) -> None:
    """Raise a ConfigError if a backend has a `command`, but neither it nor its class sets `drives`."""
    kind = type(backend)
    decided = "drives" in vars(backend) or any(
        "drives" in vars(base) for base in kind.__mro__ if base is not Backend
    )
    if kind.command is not Backend.command and not decided:
        raise ConfigError(
            "has a command, which nobody would call, since drives is not set",
            field=field,
            value=kind.__name__,
            remedy="write drives = True in its class, or drives = False for a backend that only listens",
        )


def _source(driver: Backend | None, vehicle: Vehicle, t: float) -> str:
    return f"command of {type(driver).__name__} for vehicle {vehicle.name!r} at t = {t:g} s"


def not_finite(driver: Backend | None, vehicle: Vehicle, command: Array, t: float) -> ConfigError:
    """Return the error of a command that is not finite.

    Args:
        driver: The driving backend.
        vehicle: The vehicle.
        command: Its commands by channel, shape (N, U).
        t: Simulation time [s].
    """
    copy, k = (int(k[0]) for k in np.nonzero(~np.isfinite(command)))
    channel = vehicle.channels[k]
    return ConfigError(
        f"must be finite: {channel}",
        field=f"{_source(driver, vehicle, t)}, copy {copy}, channel {channel.name}",
        value=float(command[copy, k]),
        remedy="check the controller's inputs and gains",
    )
