"""Contract of backends: controllers, autopilots, bridges."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import build
from pegasus.base.registry import Registry
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Estimate, Plan, Reference, VehicleState
from pegasus.contracts.vehicle import Vehicle


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


class BackendBank(ABC):
    """Driving backends of several vehicles that run together.

    It is made anew when vehicles come or go and when a snapshot is restored: what lasts is in the backends.

    Args:
        driven: The vehicles, each with its driving backend and the row of its first copy among the bodies.
        bodies: Columns of all copies of all vehicles by name, M rows each.
        rate: Physics rate [Hz].
    """

    @abstractmethod
    def __init__(
        self, driven: Sequence[tuple[Vehicle, Any, int]], bodies: Mapping[str, Array], rate: float
    ) -> None: ...

    @abstractmethod
    def publish(self, step: int, t: float) -> None:
        """Receive the states, which are in the columns.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """

    @abstractmethod
    def command(self, t: float, dt: float) -> None:
        """Write the commands to hold until the next step into the column `command`, by channel.

        Args:
            t: Simulation time [s], that of the last `publish`.
            dt: Time since the previous command [s].
        """


class Backend:
    """Receiver of a vehicle's state and readings at every step; a driving one answers with commands.

    At every step the simulation calls `publish` on all backends of all vehicles and only then `command`
    on the driving ones, so that many autopilots compute at the same time.
    """

    drives: bool = False
    """True if this backend commands the vehicle, which only one backend of a vehicle can."""

    maps_outputs: bool = False
    """True if outputs of a program are mapped to commands, so that a command is never a throttle."""

    reads_sensors: bool = False
    """True if `publish` uses the readings: the default of a class that defines `publish`. Readings are made
    only for backends that use them."""

    takes_feedback: bool = False
    """True if `publish` gets the state by the vehicle's estimator, where it has one, and not the true one."""

    estimates: bool = False
    """True if it reports state estimates from its start on, in `estimate`."""

    outside: bool = False
    """True if a part of its state is in another program, so that no snapshot can hold it."""

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
    def bank(self) -> type[BackendBank] | None:
        """Class that runs this driving backend together with others, in place of `publish` and `command`."""
        return None

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; called once, when the vehicle joins a simulation.

        Args:
            vehicle: The vehicle; `as_rotorcraft` gives mass, rotors, motor and thrust curve.

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
        """Return the commands to hold until the next step, shape (N, U); None for those at rest.

        They are in the order and units of `vehicle.channels`, to whose limits they are clipped.

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
        "plane": "pegasus.control.fixed_wing.controller:PlaneController",
        "vtol": "pegasus.control.vtol.controller:VtolController",
        "policy": "pegasus.learn.policy_controller:PolicyController",
        "policy_px4": "pegasus.learn.policy_px4:PolicyPX4",
        "px4": "pegasus.backends.px4.px4:PX4",
        "ardupilot": "pegasus.backends.ardupilot.ardupilot:ArduPilot",
        "ros2": "pegasus.backends.ros2.backend:ROS2",
    },
)
"""Backends by their name in YAML."""


def build_backends(specs: Iterable[Mapping[str, Any]]) -> list[Backend]:
    """Return the backends that mappings of a scenario file describe.

    Args:
        specs: A mapping for each backend, with `model` and its parameters.

    Raises:
        ConfigError: If a model is not known or a parameter is not allowed.
    """
    return [build(Backend, BACKENDS, spec, field=f"backends.{k}") for k, spec in enumerate(specs)]
