"""Step of a row of a fleet: air at its place, commands, integration and battery, as one function."""

from dataclasses import dataclass, fields
from typing import Any

from pegasus.base.step_math import NOTHING, Real, Reals, Vec3
from pegasus.dynamics.battery_step import Cells, Demand, Supply, drawn, updated
from pegasus.environment.samples import SampledLaws, sample_at
from pegasus.fleet.levels import Pilot, Piloted
from pegasus.model.machine import Machine
from pegasus.step.integrator import advance, is_bounded
from pegasus.step.values import Air, Inputs, State

NO_VECTOR = Vec3(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class Limits:
    """Limits of the commanded speeds of motors without a battery [rad/s]."""

    lowest_speed: Real
    highest_speed: Real


@dataclass(frozen=True)
class Link:
    """Commands on their way to a row."""

    lag: int
    """Number of steps that they take."""
    sent: Reals
    """Those of the last steps, the newest first."""


def arrived(link: Link, command: Reals) -> tuple[Reals, Reals]:
    """Return the commands that reach a row, and those that are on their way after it.

    Args:
        link: Commands on their way.
        command: Those that are sent now.
    """
    width, every = len(command), (*command, *link.sent)
    reach = tuple(every[link.lag * width + k] for k in range(width))
    return reach, every[: len(link.sent)]


@dataclass(frozen=True)
class FleetStep:
    """Step function of a row: what is the same for all rows and known when it is traced."""

    laws: SampledLaws
    """Laws of gravity, air and wind."""
    places: Any
    """Parameters of these laws."""
    altitude: float
    """Altitude of the world's origin [m]."""
    rate: float
    """Steps per second [Hz]."""
    pilot: Pilot | None
    """Makes rotor speeds of commands; None for commands by channel."""
    by_clock: bool
    """Whether the controller gets the time since its last call as the difference of two times, as in a
    simulation; in single precision that would be too coarse."""

    def __call__(
        self,
        machine: Machine,
        limits: Limits,
        cells: Cells | None,
        own: Any,
        p: Any,
        supply: Supply | None,
        piloted: Piloted | None,
        state: State,
        command: Reals,
        wind: Vec3 | None,
        link: Link | None,
        push: Vec3 | None,
        step_count: int,
    ) -> dict[str, Any]:
        """Return the columns of a row after a step; those with names of arguments are handed on.

        Args:
            machine: Model of the vehicle.
            limits: Limits of its motors, without a battery.
            cells: Parameters of its battery; None without one.
            own: Gains of its controller.
            p: Numbers of its controller, see `Pilot.speeds`.
            supply: State of the battery.
            piloted: State of the controller; None without one.
            state: Its state.
            command: Its commands.
            wind: Velocity of the air beyond that of the environment, world [m/s]; None for none.
            link: Commands on their way; None if they arrive at once.
            push: Force on its centre of mass, world [N]; None for none.
            step_count: Number of its steps before this one.
        """
        dt, t = 1.0 / self.rate, Real(step_count) / self.rate
        found = sample_at(self.laws, self.places, state.position, t, self.altitude)
        gravity, density = found["gravity"], found.get("air_density", 0.0)
        lowest, highest, voltage = limits.lowest_speed, limits.highest_speed, 0.0
        if supply is not None:
            lowest, highest, voltage = supply.lowest_speed, supply.highest_speed, supply.voltage
        results: dict[str, Any] = {}
        if link is not None:
            command, results["link.sent"] = arrived(link, command)
        speeds = command
        if self.pilot is not None and piloted is not None:
            elapsed = t - Real(step_count - 1) / self.rate if self.by_clock else dt
            elapsed = 0.0 if step_count == 0 else elapsed
            speeds, results["pilot"] = self.pilot.speeds(
                own, p, state, command, piloted, gravity, density, elapsed
            )
        inputs = Inputs(
            speeds, lowest, highest, voltage, gravity, NO_VECTOR if push is None else push, NO_VECTOR
        )
        blowing = found.get("wind_velocity", NO_VECTOR)
        air = Air(blowing if wind is None else blowing + wind, density)
        end = advance(machine, state, inputs, air, None, None, None, dt)
        place, spin = end.free_position, 0.0
        for speed in end.rotor_speed:
            spin = spin + speed
        # An infinite number times 0 is not a number, which is not equal to itself.
        far = (place[0] + place[1] + place[2] + spin) * 0.0
        fault = 0.0
        if far != far or not is_bounded(end.free_velocity, end.free_angular_velocity):
            fault = 1.0
        results |= {
            "position": place,
            "orientation": end.free_orientation,
            "velocity": end.free_velocity,
            "angular_velocity": end.free_angular_velocity,
            "rotor_speed": end.rotor_speed,
            "motor_state": end.motor_state,
            "joint_angle": end.joint_angle,
            "fault": fault,
            "step_count": step_count + 1,
        }
        if supply is not None and cells is not None:
            demand = Demand(end.shaft_power, end.electrical_power, 1.0, 1.0, 1.0, 1.0)
            power = drawn(cells, supply, demand, dt)
            parts = {f.name: getattr(supply, f.name) for f in fields(Supply)}
            parts["work"], parts["work_steps"] = power.work, power.work_steps
            results[""], _ = updated(cells, Supply(**parts), demand, dt)
        return results
