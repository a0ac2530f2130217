"""Simulations and vehicles as one line of text."""

from typing import TYPE_CHECKING

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
