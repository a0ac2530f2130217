"""Simulations and vehicles as one line of text, and as HTML for notebooks."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from pegasus.core.backend_group import BackendGroup
from pegasus.core.svg_view import FlyingVehicle, outline, space_svg, text_and_svg, vehicle_lines
from pegasus.scene.scene import Scene


class DescribedVehicle(FlyingVehicle, Protocol):
    """Vehicle with backends."""

    @property
    def backends(self) -> BackendGroup:
        """Its backends."""


class DescribedSimulation(Protocol):
    """Simulation as a line of text tells of it."""

    @property
    def world_name(self) -> str:
        """Name of the world."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def rate(self) -> float:
        """Physics rate [Hz]."""

    @property
    def time(self) -> float:
        """Simulation time [s]."""

    @property
    def scene(self) -> Scene:
        """The world."""

    @property
    def vehicles(self) -> Iterable[FlyingVehicle]:
        """The vehicles."""


def counted_names(vehicles: Mapping[str, int]) -> str:
    """Return the first three vehicles with their numbers of copies, and the number of the others.

    Args:
        vehicles: Number of copies by name.
    """
    names = [name if count == 1 else f"{name} x {count}" for name, count in vehicles.items()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "no vehicles") + more


def vehicle_line(vehicle: DescribedVehicle) -> str:
    """Return name, copies, mass, rotors, position of the first copy, driver and sensors of a vehicle."""
    copies = f" x {vehicle.count}" if vehicle.count > 1 else ""
    model = f" ({vehicle.spec.name})" if vehicle.spec.name != vehicle.name else ""
    driver = vehicle.backends.driver
    position = ", ".join(f"{x:.2f}" for x in vehicle.state.position[0].tolist())
    kind = "Multirotor" if vehicle.rotor_count == len(vehicle.channels) else "Aircraft"
    return (
        f"<{kind} {vehicle.name}{copies}{model}: {vehicle.mass:g} kg, {vehicle.rotor_count} rotors, "
        f"at ({position}) m, driven by {type(driver).__name__ if driver is not None else 'nothing'}, "
        f"sensors {', '.join(vehicle.sensors) or 'none'}>"
    )


def simulation_line(simulation: DescribedSimulation, state: str) -> str:
    """Return world, vehicles, time, rate, seed and playback state of a simulation."""
    vehicles = counted_names({vehicle.name: vehicle.count for vehicle in simulation.vehicles})
    return (
        f"<Simulation of {simulation.world_name}: {vehicles}, t = {simulation.time:g} s, "
        f"{simulation.rate:g} Hz, seed {simulation.seed}, {state}>"
    )


def vehicle_html(vehicle: DescribedVehicle) -> str:
    """Return the line of a vehicle with a view of all copies, and the paths ahead of them."""
    lines = vehicle_lines([vehicle], vehicle.sensors.now)
    return text_and_svg(repr(vehicle), space_svg(lines))


def simulation_html(simulation: DescribedSimulation) -> str:
    """Return the line of a simulation with a view of its vehicles, the paths ahead of them and the world."""
    lines = vehicle_lines(simulation.vehicles, simulation.time)
    return text_and_svg(repr(simulation), space_svg(lines, outline(simulation.scene)))
