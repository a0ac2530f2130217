"""What a panel shows of a simulation at one instant: copies that later steps leave alone."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasus.arrays import Array, BoolArray
from pegasus.backends.estimate import Estimate
from pegasus.control.plan import Plan
from pegasus.environment.geodesy import Geodetic
from pegasus.environment.wind import ConstantWind, Gusts
from pegasus.multirotor import Multirotor
from pegasus.render.visuals import Snapshot as Drawn
from pegasus.scene.scene import Scene
from pegasus.sensors import BatteryReading
from pegasus.sensors.sensor import Reading
from pegasus.simulation import Playback, Simulation
from pegasus.vehicle import Vehicle


@dataclass(frozen=True, eq=False)
class VehicleSnapshot:
    """N identical vehicles at one instant; world ENU, body FLU, quaternions xyzw, SI units."""

    name: str
    model: str
    count: int
    pilot: str
    """Class of the backend that drives it; empty where none does."""
    scene: Scene
    """Shape of one copy in its body frame."""
    position: Array
    """Body frames in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw, shape (N, 4)."""
    velocity: Array
    """Velocities in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocities in the body frame [rad/s], shape (N, 3)."""
    rotor_speed: Array
    """Rotor speeds [rad/s], shape (N, R)."""
    highest_rotor_speed: float
    """Highest rotor speed of the motor [rad/s]; may be infinite."""
    rotor_spin: Array
    """+1 for a rotor that turns counter-clockwise about its axis, else -1, shape (R,)."""
    in_contact: BoolArray
    """Which copies touched something during the last step, shape (N,)."""
    reference_position: Array | None
    """What the pilot follows [m], shape (N, 3); None where that is not known."""
    reference_velocity: Array | None
    """Its velocity [m/s], shape (N, 3)."""
    reference_yaw: Array | None
    """Its heading, counter-clockwise from east [rad], shape (N,)."""
    segment: str
    """Part of the flight that it is in; empty where that is not known."""
    plan: Plan | None
    """What it is about to fly; None where that is not known."""
    estimate: Estimate | None
    """What its autopilots believe; None where they do not tell."""
    battery: BatteryReading | None
    """Voltage, current and charge; None where it has no battery."""
    readings: Mapping[str, Reading]
    """Last readings by sensor name."""


@dataclass(frozen=True)
class Viewpoint:
    """Where the viewport is and what it looks at, in the world [m]."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A simulation at one instant."""

    number: int
    """Counts up with every snapshot of a session."""
    generation: int
    """Counts up when another world takes the place of this one, or it is cleared."""
    world: str | None = None
    """Name of the world; None while none is loaded."""
    scene: Scene | None = None
    """The world's scene."""
    origin: Geodetic | None = None
    """Place of the world's origin."""
    time: float = 0.0
    """Simulated time [s]."""
    step_count: int = 0
    playback: Playback = Playback.STOPPED
    speed: float | None = 1.0
    """Wanted speed in times real time; None for as fast as it goes."""
    real_time_factor: float = 0.0
    """Speed that is reached, in times real time; 0 while not playing."""
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Velocity of the air at the world's origin [m/s]."""
    mean_wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wind without its gusts [m/s]."""
    gusts: float = 0.0
    """Standard deviation of the gusts [m/s]."""
    recording: Path | None = None
    """Folder that is recorded into; None while nothing is."""
    vehicles: tuple[VehicleSnapshot, ...] = ()
    contacts: Array | None = None
    """Points of contact in the world [m], shape (K, 3)."""
    drawn: Drawn | None = None
    """Everything that moves, as it is drawn: shapes and poses of bodies and propellers."""
    vantage: Viewpoint | None = None
    """View that the last change of world or vehicles asks for, the same object until the next one."""

    def vehicle(self, name: str | None) -> VehicleSnapshot | None:
        """Return the vehicle of a name; None where there is none.

        Args:
            name: The name.
        """
        return next((vehicle for vehicle in self.vehicles if vehicle.name == name), None)


def vehicle_snapshot(vehicle: Vehicle, time: float, in_contact: BoolArray) -> VehicleSnapshot:
    """Return a vehicle as it is now.

    Args:
        vehicle: The vehicle, in a simulation that nobody steps meanwhile.
        time: Simulated time [s].
        in_contact: Which copies touched something during the last step, shape (N,).
    """
    # Before the first step nobody has led it anywhere.
    state, reference = vehicle.state, vehicle.reference if time > 0.0 else None
    drivers = [backend for backend in vehicle.backends if backend.drives]
    rotors = state.rotor_speed.shape[1]
    multirotor = vehicle if isinstance(vehicle, Multirotor) else None
    battery = multirotor.battery if multirotor else None
    return VehicleSnapshot(
        name=vehicle.name,
        model=vehicle.spec.name,
        count=vehicle.count,
        pilot=type(drivers[0]).__name__ if drivers else "",
        scene=vehicle.scene,
        position=state.position.copy(),
        orientation=state.orientation.copy(),
        velocity=state.velocity.copy(),
        angular_velocity=state.angular_velocity.copy(),
        rotor_speed=state.rotor_speed.copy(),
        highest_rotor_speed=multirotor.motor.max_speed if multirotor else np.inf,
        rotor_spin=multirotor.layout.spin if multirotor else np.ones(rotors),
        in_contact=in_contact,
        reference_position=None if reference is None else reference.position.copy(),
        reference_velocity=None if reference is None else reference.velocity.copy(),
        reference_yaw=None if reference is None else reference.yaw.copy(),
        segment="" if reference is None else reference.segment,
        plan=vehicle.plan(time),
        estimate=deepcopy(vehicle.estimate),
        battery=None
        if battery is None
        else BatteryReading(time, battery.voltage, battery.current, battery.charge),
        readings=dict(vehicle.readings),
    )


def snapshot(
    simulation: Simulation,
    *,
    number: int,
    generation: int,
    speed: float | None,
    real_time_factor: float,
    recording: Path | None,
    vantage: Viewpoint | None,
) -> Snapshot:
    """Return a simulation as it is now.

    Args:
        simulation: The simulation, which nobody steps meanwhile.
        number: Number of the snapshot.
        generation: Number of the world.
        speed: Wanted speed; None for as fast as it goes.
        real_time_factor: Speed that is reached.
        recording: Folder that is recorded into.
        vantage: View that the last change of world or vehicles asks for.
    """
    environment = simulation.environment
    # Asked once for all: each question costs what all contacts together do.
    contacts = simulation.engine.contacts()
    touching = simulation.vehicles.touching(contacts)
    model = environment.wind
    wind = environment.wind_velocity(np.zeros((1, 3)), simulation.time)[0].tolist()
    return Snapshot(
        number=number,
        generation=generation,
        world=simulation.world_name,
        scene=simulation.scene,
        origin=environment.origin,
        time=simulation.time,
        step_count=simulation.step_count,
        playback=simulation.playback,
        speed=speed,
        real_time_factor=real_time_factor,
        wind=(wind[0], wind[1], wind[2]),
        mean_wind=model.mean_velocity if isinstance(model, ConstantWind | Gusts) else (0.0, 0.0, 0.0),
        gusts=model.intensity if isinstance(model, Gusts) else 0.0,
        recording=recording,
        vehicles=tuple(
            vehicle_snapshot(vehicle, simulation.time, touching[vehicle.name])
            for vehicle in simulation.vehicles
        ),
        contacts=contacts.position.copy(),
        drawn=simulation.visuals.snapshot(simulation.time),
        vantage=vantage,
    )
