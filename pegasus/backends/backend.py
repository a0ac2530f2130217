"""What stands between a vehicle and whoever flies it or listens to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pegasus.arrays import Array
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.backends.estimate import Estimate
    from pegasus.control.plan import Plan
    from pegasus.control.reference import Reference
    from pegasus.multirotor import Multirotor
    from pegasus.sensors.sensor import Reading


@dataclass(frozen=True)
class Failure:
    """End or silence of an autopilot during a run."""

    vehicle: str
    """Name of the vehicle that it flew."""
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


def note_failure(failures: list[Failure], failure: Failure) -> None:
    """Add a failure to a list with at most one of each autopilot.

    The first one stays, with the time at which it was noticed; an exit status completes one without it.

    Args:
        failures: The list.
        failure: What was noticed.
    """
    for i, earlier in enumerate(failures):
        if (earlier.vehicle, earlier.autopilot) == (failure.vehicle, failure.autopilot):
            if earlier.exit_status is None and failure.exit_status is not None:
                failures[i] = replace(failure, time=earlier.time)
            return
    failures.append(failure)


class Backend:
    """Receive a vehicle's state and readings at every step and, when it drives, answer with rotor speeds.

    At every step the simulation calls `publish` on all backends of all vehicles and only then `command`
    on the driving ones, so that many autopilots compute at the same time.
    """

    drives: bool = False
    """Whether this backend commands the rotors. Exactly one backend of a vehicle may."""

    run_folder: Path | None = None
    """Folder where the run leaves its files; set before `start`, None where nothing is kept."""

    real_time_factor: float | None = None
    """Times real time at which the run is held, None for as fast as it goes; set before `start`."""

    reference: "Reference | None" = None
    """What the backend is following at this step, where it knows; recorded beside the state."""

    estimate: "Estimate | None" = None
    """What the autopilots believe at this step, where they tell; recorded beside the state."""

    failures: Sequence[Failure] = ()
    """Autopilots that have failed since `start`, kept after `stop`; the summary of a run names them."""

    def bind(self, vehicle: "Multirotor") -> None:
        """Get to know the vehicle; called once, when the vehicle joins a simulation.

        Args:
            vehicle: The vehicle, with its mass, inertia, rotors, motor and thrust curve.

        Raises:
            ConfigError: If this backend cannot serve this vehicle.
        """

    def start(self) -> None:
        """Begin from a fresh state; called when the simulation leaves its stopped state."""

    def publish(self, t: float, state: VehicleState, readings: "Mapping[str, Reading]") -> None:
        """Take the state at simulation time t and the readings that are new at this step.

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

    def plan(self, t: float) -> "Plan | None":
        """Return what is left to fly, where the backend knows; None where it does not.

        Args:
            t: Simulation time [s].
        """
        return None

    def stop(self) -> None:
        """End what `start` began; calling it twice is allowed."""
