"""Step of a row of a fleet: air at its place, commands, integration, contact and battery, as one function."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from pegasus.base.step_math import NOTHING, Real, Reals, Vec3, Word
from pegasus.dynamics.battery_step import Cells, Demand, Supply, drawn, updated
from pegasus.environment.local_air import Passing, air_at
from pegasus.environment.samples import SampledLaws
from pegasus.environment.turbulence import Filters
from pegasus.fleet.levels import Pilot, Piloted
from pegasus.fleet.sensing import SensorPlan, apart, size_of
from pegasus.fleet.world import solids_of
from pegasus.model.machine import Machine
from pegasus.step.contact import ContactLaw, Flight, landed
from pegasus.step.integrator import advance, is_bounded
from pegasus.step.surroundings import Heights
from pegasus.step.values import Air, Inputs, State, VariedAir

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
class Gusts:
    """Turbulence at a row."""

    law: Callable[..., Any]
    """Its law, such as `pegasus.environment.turbulence.dryden`."""
    span: float
    """Width of the vehicle [m]."""


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
    gusts: Gusts | None
    """Turbulence; None for none."""
    contact: ContactLaw | None
    """Contact with what stands around; None for none."""
    kinds: tuple[str, ...]
    """Kinds of the shapes that stand around."""
    sensors: tuple[SensorPlan, ...]
    """Sensors, which measure the state before a step, as in a simulation."""

    def __call__(
        self,
        machine: Machine,
        limits: Limits,
        cells: Cells | None,
        own: Any,
        p: Any,
        gust_parameters: Any,
        terrain: Heights | None,
        supply: Supply | None,
        piloted: Piloted | None,
        state: State,
        command: Reals,
        wind: Vec3 | None,
        link: Link | None,
        push: Vec3 | None,
        step_count: int,
        filters: Filters | None,
        gust_key: Word | None,
        row: int,
        felt_gravity: Vec3 | None,
        *around: Any,
    ) -> dict[str, Any]:
        """Return the columns of a row after a step; those with names of arguments are handed on.

        Args:
            machine: Model of the vehicle.
            limits: Limits of its motors, without a battery.
            cells: Parameters of its battery; None without one.
            own: Gains of its controller.
            p: Numbers of its controller, see `Pilot.speeds`.
            gust_parameters: Parameters of turbulence.
            terrain: Ground that is not level; None for none.
            supply: State of the battery.
            piloted: State of the controller; None without one.
            state: Its state.
            command: Its commands.
            wind: Velocity of the air beyond that of the environment, world [m/s]; None for none.
            link: Commands on their way; None if they arrive at once.
            push: Force on its centre of mass, world [N]; None for none.
            step_count: Number of its steps before this one.
            filters: States of the filters of turbulence; None without it.
            gust_key: Key of its random numbers.
            row: Number of the row, which its random numbers depend on.
            felt_gravity: Gravity of the last step, which sensors know [m/s^2]; None without any.
            around: What stands around, see `solids_of`, and what the sensors have.
        """
        dt, t = 1.0 / self.rate, Real(step_count) / self.rate
        passing = None
        if self.gusts is not None and gust_key is not None:
            passing = Passing(gust_key, row, step_count, self.gusts.span, state.velocity)
        found = air_at(
            *(self.laws, self.places, state.position, t, self.altitude, NO_VECTOR, None, None),
            *(None if self.gusts is None else self.gusts.law, gust_parameters, filters, passing, dt),
        )
        gravity, density = found["gravity"], found.get("air_density", 0.0)
        lowest, highest, voltage = limits.lowest_speed, limits.highest_speed, 0.0
        if supply is not None:
            lowest, highest, voltage = supply.lowest_speed, supply.highest_speed, supply.voltage
        results: dict[str, Any] = {}
        if felt_gravity is not None:
            felt = gravity if step_count == 0 else felt_gravity
            senses = around[len(around) - size_of(self.sensors) :]
            for plan, values in zip(self.sensors, apart(self.sensors, senses), strict=True):
                results |= plan.measure(values, state, felt, t, dt, step_count)
            results["felt_gravity"] = gravity
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
        blowing = found["wind"] if wind is None else found["wind"] + wind
        air = Air(blowing, density)
        if self.gusts is not None:
            air = VariedAir(blowing, density, found["gust_rate"], tuple(NO_VECTOR for _ in machine.elements))
            results[""] = found[""]
        end = advance(machine, state, inputs, air, None, None, None, dt)
        flight = Flight(end.free_position, end.free_orientation, end.free_velocity, end.free_angular_velocity)
        if self.contact is not None:
            solids, friction = solids_of(self.kinds, terrain, around[: 2 + 3 * len(self.kinds)])
            start = Flight(state.position, state.orientation, state.velocity, state.angular_velocity)
            touched = landed(self.contact, solids, friction, machine.body, gravity, start, flight, dt)
            flight = touched.flight
            results |= {"contact_force": touched.contact_force, "clearance": touched.clearance}
        place, spin = flight.position, 0.0
        for speed in end.rotor_speed:
            spin = spin + speed
        # An infinite number times 0 is not a number, which is not equal to itself.
        far = (place[0] + place[1] + place[2] + spin) * 0.0
        fault = 0.0
        if far != far or not is_bounded(flight.velocity, flight.angular_velocity):
            fault = 1.0
        results |= {
            "position": place,
            "orientation": flight.orientation,
            "velocity": flight.velocity,
            "angular_velocity": flight.angular_velocity,
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
            found_supply, _ = updated(cells, Supply(**parts), demand, dt)
            results |= {f.name: getattr(found_supply, f.name) for f in fields(Supply)}
        return results
