"""Simulations and vehicles as one line of text, and as HTML for notebooks."""

from typing import TYPE_CHECKING

from pegasus.core.svg_view import outline, space_svg, text_and_svg, vehicle_lines

if TYPE_CHECKING:
    from pegasus.core.multirotor import Multirotor
    from pegasus.core.simulation import Simulation


def vehicle_line(vehicle: "Multirotor") -> str:
    """Return name, copies, mass, rotors, position of the first copy, driver and sensors of a vehicle."""
    copies = f" x {vehicle.count}" if vehicle.count > 1 else ""
    model = f" ({vehicle.spec.name})" if vehicle.spec.name != vehicle.name else ""
    driver = vehicle.backends.driver
    position = ", ".join(f"{x:.2f}" for x in vehicle.state.position[0].tolist())
    return (
        f"<Multirotor {vehicle.name}{copies}{model}: {vehicle.mass:g} kg, {vehicle.rotor_count} rotors, "
        f"at ({position}) m, driven by {type(driver).__name__ if driver is not None else 'nothing'}, "
        f"sensors {', '.join(vehicle.sensors) or 'none'}>"
    )


def simulation_line(simulation: "Simulation", state: str) -> str:
    """Return world, vehicles, time, rate, seed and playback state of a simulation."""
    names = [v.name if v.count == 1 else f"{v.name} x {v.count}" for v in simulation.vehicles]
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"<Simulation of {simulation.world_name}: {listed or 'no vehicles'}, t = {simulation.time:g} s, "
        f"{simulation.rate:g} Hz, seed {simulation.seed}, {state}>"
    )


def vehicle_html(vehicle: "Multirotor") -> str:
    """Return the line of a vehicle with a view of all copies, and the paths ahead of them."""
    time = vehicle.sensors.time
    lines = vehicle_lines([vehicle], 0.0 if time is None else float(time[0]))
    return text_and_svg(repr(vehicle), space_svg(lines))


def simulation_html(simulation: "Simulation") -> str:
    """Return the line of a simulation with a view of its vehicles, the paths ahead of them and the world."""
    lines = vehicle_lines(simulation.vehicles, simulation.time)
    return text_and_svg(repr(simulation), space_svg(lines, outline(simulation.scene)))
