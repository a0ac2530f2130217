"""Contract of backends (controllers, autopilots, bridges), and the backends of one vehicle."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import build, require, require_instance
from pegasus.base.errors import ConfigError
from pegasus.base.registry import Registry
from pegasus.core.command_watch import CommandWatch
from pegasus.core.sensor import Reading
from pegasus.core.state import Estimate, Plan, Reference, VehicleState

if TYPE_CHECKING:
    from pegasus.core.backend_bank import BackendBank
    from pegasus.core.multirotor import Multirotor


@dataclass(frozen=True)
class Failure:
    """Failure of an autopilot during a run: its program ended, or it stopped answering."""

    vehicle: str
    """Name of the vehicle that it controlled."""
    autopilot: str
    """Name of the autopilot, such as "PX4 0"."""
    time: float
    """Simulation time at which it was noticed [s]."""
    problem: str
    """Description of the failure, such as "was killed by SIGKILL"."""
    exit_status: int | None = None
    """Exit status of its program, -n for signal n; None if it has not ended or was not started here."""

    def __str__(self) -> str:
        return f"{self.autopilot} of vehicle {self.vehicle!r} {self.problem} at t = {self.time:.3f} s"


@dataclass(frozen=True)
class EstimatorHealth:
    """Health of an autopilot's estimator by its own messages.

    An innovation test ratio is the size of an innovation by the limit at which the measurement is rejected:
    usually below 0.5, above 1 a rejected one.
    """

    vehicle: str
    """Name of the vehicle that it estimates."""
    autopilot: str
    """Name of the autopilot, such as "PX4 0"."""
    time: float = math.nan
    """Simulation time of the last message [s]; NaN without one."""
    flags: Sequence[str] = ()
    """Valid outputs and errors in the last message, as in MAVLink's ESTIMATOR_STATUS_FLAGS."""
    ratios: Mapping[str, float] = field(default_factory=dict)
    """Innovation test ratios in the last message, by quantity."""
    largest_ratios: Mapping[str, float] = field(default_factory=dict)
    """Largest ratio of each quantity in the messages while armed."""


def note_failure(failures: list[Failure], failure: Failure) -> None:
    """Add a failure to a list that holds at most one of each autopilot.

    The first one is kept, with its time; an exit status that comes later completes it.
    """
    for i, earlier in enumerate(failures):
        if (earlier.vehicle, earlier.autopilot) == (failure.vehicle, failure.autopilot):
            if earlier.exit_status is None and failure.exit_status is not None:
                failures[i] = replace(failure, time=earlier.time)
            return
    failures.append(failure)


class Backend:
    """Receiver of a vehicle's state and readings at every step; a driving one answers with rotor speeds.

    At every step the simulation calls `publish` on all backends of all vehicles and only then `command`
    on the driving ones, so that many autopilots compute at the same time.
    """

    drives: bool = False
    """Whether this backend commands the rotors; at most one backend of a vehicle may."""

    maps_outputs: bool = False
    """True if outputs of a program are mapped to rotor speeds, so that a command is never a throttle."""

    reads_sensors: bool = False
    """True if `publish` uses the readings: the default of a class that defines `publish`. Readings are made
    only for backends that use them."""

    takes_feedback: bool = False
    """True if `publish` gets the state by the vehicle's estimator, where it has one, and not the true one."""

    estimates: bool = False
    """True if it reports state estimates from its start on, in `estimate`."""

    run_folder: Path | None = None
    """Folder of the files of the run, None if none are kept; set before `start`."""

    real_time_factor: float | None = None
    """Requested speed of the run as a multiple of real time, None for as fast as possible; set before
    `start`."""

    reference: Reference | None = None
    """Reference followed at this step, None if not reported; recorded with the state."""

    estimate: Estimate | None = None
    """State estimate of the autopilots at this step, None if not reported; recorded with the state."""

    failures: Sequence[Failure] = ()
    """Failures of autopilots since `start`, kept after `stop` for the summary of the run."""

    @property
    def logs(self) -> Sequence[Path]:
        """Files in which running autopilots keep their own logs."""
        return ()

    @property
    def health(self) -> Sequence[EstimatorHealth]:
        """Health of the estimators of running autopilots that report it."""
        return ()

    @property
    def bank(self) -> "type[BackendBank] | None":
        """Class that runs this driving backend together with others, in place of `publish` and `command`."""
        return None

    def bind(self, vehicle: "Multirotor") -> None:
        """Prepare for a vehicle; called once, when the vehicle joins a simulation.

        Args:
            vehicle: The vehicle, with its mass, inertia, rotors, motor and thrust curve.

        Raises:
            ConfigError: If this backend cannot serve this vehicle.
        """

    def start(self) -> None:
        """Start from a fresh state; called when a stopped simulation starts to play."""

    def reset_copies(self, rows: IntArray) -> None:
        """Start copies anew in the middle of a run; a driving backend that can do so overrides it.

        Args:
            rows: Indices of the copies, whose states are those after the reset.
        """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "publish" in cls.__dict__ and "reads_sensors" not in cls.__dict__:
            cls.reads_sensors = True

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Receive the state at simulation time t and the readings that are new at this step.

        Args:
            t: Simulation time [s].
            state: True state; live arrays, to be copied if kept.
            readings: New readings by sensor name; a sensor that was not due is absent.
        """

    def command(self, t: float) -> Array | None:
        """Return the rotor speeds to hold until the next step [rad/s], shape (N, R); None for rotors at rest.

        Args:
            t: Simulation time [s], that of the last `publish`.
        """
        return None

    def plan(self, t: float) -> Plan | None:
        """Return the remaining flight; None if unknown.

        Args:
            t: Simulation time [s].
        """
        return None

    def stop(self) -> None:
        """Release everything that `start` acquired; calling it twice is allowed."""

    def restart(self) -> None:
        """End a run that begins anew at once by `start`; connections may be kept."""
        self.stop()


BACKENDS: Registry[Backend] = Registry(
    "backend",
    group="pegasus.backends",
    shipped={
        "geometric": "pegasus.control.geometric:GeometricController",
        "cascaded_pid": "pegasus.control.cascaded_pid:CascadedPIDController",
        "px4": "pegasus.backends.px4.px4:PX4",
        "ardupilot": "pegasus.backends.ardupilot.ardupilot:ArduPilot",
        "ros2": "pegasus.backends.ros2.backend:ROS2",
    },
)
"""Backends by their name in YAML."""


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

    def bind(self, vehicle: "Multirotor") -> None:
        """Bind every backend; if one fails, stop those bound before, which may hold ports."""
        bound: list[Backend] = []
        try:
            for backend in self:
                bound.append(backend)
                backend.bind(vehicle)
        except BaseException:
            for backend in bound:
                backend.stop()
            raise

    def command(self, vehicle: "Multirotor", t: float) -> Array:
        """Return the command of the driving backend [rad/s], shape (N, R); zeros without one.

        Args:
            vehicle: The vehicle.
            t: Simulation time [s].

        Raises:
            ConfigError: If the command has the wrong shape.
        """
        shape = vehicle.state.rotor_speed.shape
        if self.driver is None:
            return np.zeros(shape)
        answer = self.driver.command(t)
        if self._watch.is_open:
            self._watch.see(answer, vehicle, t)
        if answer is None:
            return np.zeros(shape)
        command = np.asarray(answer, dtype=np.float64)
        if command.shape != shape:
            raise ConfigError(
                f"must have shape {shape}: one rotor speed [rad/s] per vehicle and rotor",
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


def _source(driver: Backend | None, vehicle: "Multirotor", t: float) -> str:
    return f"command of {type(driver).__name__} for vehicle {vehicle.name!r} at t = {t:g} s"


def not_finite(driver: Backend | None, vehicle: "Multirotor", command: Array, t: float) -> ConfigError:
    """Return the error of a command that is not finite.

    Args:
        driver: The driving backend.
        vehicle: The vehicle.
        command: Its command [rad/s], shape (N, R).
        t: Simulation time [s].
    """
    copy, rotor = (int(k[0]) for k in np.nonzero(~np.isfinite(command)))
    return ConfigError(
        "rotor speeds must be finite",
        field=f"{_source(driver, vehicle, t)}, copy {copy}, rotor {rotor}",
        value=float(command[copy, rotor]),
        remedy="check the controller's inputs and gains",
    )


def build_backends(specs: Iterable[Mapping[str, Any]]) -> list[Backend]:
    """Return the backends that mappings of a scenario file describe.

    Args:
        specs: A mapping for each backend, with `model` and its parameters.

    Raises:
        ConfigError: If a model is not known or a parameter is not allowed.
    """
    return [build(Backend, BACKENDS, spec, field=f"backends.{k}") for k, spec in enumerate(specs)]
