"""Snapshots of a simulation for display, and the viewpoints that a page opens at."""

import math
import weakref
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.frames import euler_from_quaternion
from pegasus.config.scenario import SpawnPoint
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Estimate, Plan
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Playback, Simulation
from pegasus.core.visuals import Snapshot as Drawn
from pegasus.environment.geodesy import Geodetic
from pegasus.environment.wind import ConstantWind, Gusts
from pegasus.model.machine import Channel
from pegasus.scene.scene import Scene, view_from_behind
from pegasus.sensors import BatteryReading

SNAPSHOT_RATE = 30.0
"""Snapshots per second of wall time [Hz]."""

_ABOVE = 0.5
"""Height above the vehicles from which free viewpoints are searched [m]."""
_NEAREST, _FARTHEST = 2.5, 25.0
_ROOM = 0.6
"""Clearance from obstacles [m]."""
_AZIMUTHS = (145, -145, 180, 110, -110, 70, -70, 35, -35, 0)
"""Searched directions, counter-clockwise from the nose, starting behind the vehicle [deg]."""
_ELEVATIONS = (20, 45)


@dataclass(frozen=True, eq=False)
class VehicleSnapshot:
    """State of N identical vehicles at one instant; world ENU, body FLU, quaternions xyzw, SI units."""

    name: str
    model: str
    count: int
    pilot: str
    """Class name of the driving backend; empty if there is none."""
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
    channels: Sequence[Channel]
    """Commands that each copy takes."""
    actuation: Array
    """Speeds of rotors, angles of joints, and of other channels their obeyed commands, shape (N, U)."""
    in_contact: BoolArray
    """Whether each copy had a contact during the last step, shape (N,)."""
    reference_position: Array | None
    """Reference position of the controller [m], shape (N, 3); None if unknown."""
    reference_velocity: Array | None
    """Reference velocity [m/s], shape (N, 3)."""
    reference_yaw: Array | None
    """Reference heading, counter-clockwise from east [rad], shape (N,)."""
    segment: str
    """Name of the current flight segment; empty if unknown."""
    plan: Plan | None
    """Planned path; None if unknown."""
    estimate: Estimate | None
    """State estimate of the autopilots; None if they report none."""
    battery: BatteryReading | None
    """Voltage, current and charge; None without a battery."""
    readings: Mapping[str, Reading]
    """Last readings by sensor name."""
    faults: tuple[tuple[str, BoolArray], ...] = ()
    """Name of each fault that is not over, and the copies that it acts on, shape (N,)."""


@dataclass(frozen=True)
class Viewpoint:
    """Position, target and up vector of a camera in the world [m]."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State of a simulation at one instant."""

    number: int
    """Sequence number of the snapshot within its session."""
    generation: int
    """Sequence number of the world, increased when the world is replaced or cleared."""
    world: str | None = None
    """Name of the world; None if none is loaded."""
    scene: Scene | None = None
    """The world's scene."""
    origin: Geodetic | None = None
    """Geodetic position of the world's origin."""
    time: float = 0.0
    """Simulated time [s]."""
    step_count: int = 0
    playback: Playback = Playback.STOPPED
    speed: float | None = 1.0
    """Target speed as a multiple of real time; None for unlimited."""
    real_time_factor: float = 0.0
    """Achieved speed as a multiple of real time; 0 while not playing."""
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Velocity of the air at the world's origin [m/s]."""
    mean_wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wind without its gusts [m/s]."""
    gusts: float = 0.0
    """Standard deviation of the gusts [m/s]."""
    recording: Path | None = None
    """Folder of the recording; None while not recording."""
    vehicles: tuple[VehicleSnapshot, ...] = ()
    contacts: Array | None = None
    """Contact points in the world [m], shape (K, 3)."""
    drawn: Drawn | None = None
    """Shapes and poses of all moving bodies and propellers."""
    suggested_viewpoint: Viewpoint | None = None
    """Viewpoint suggested by the last change of world or vehicles; the same object until the next change."""

    def vehicle(self, name: str | None) -> VehicleSnapshot | None:
        """Return a vehicle by name; None if it does not exist.

        Args:
            name: The name.
        """
        return next((vehicle for vehicle in self.vehicles if vehicle.name == name), None)


def vehicle_snapshot(vehicle: Aircraft, time: float, in_contact: BoolArray) -> VehicleSnapshot:
    """Return a snapshot of a vehicle.

    Args:
        vehicle: The vehicle; its simulation must not step meanwhile.
        time: Simulated time [s].
        in_contact: Whether each copy had a contact during the last step, shape (N,).
    """
    # There is no reference before the first step.
    state, reference = vehicle.state, vehicle.reference if time > 0.0 else None
    drivers = [backend for backend in vehicle.backends if backend.drives]
    channels = vehicle.channels
    actuation = vehicle.columns["limited_command"].copy()
    for k, (channel, speed) in enumerate(zip(channels, state.rotor_speed.T, strict=False)):
        if channel.name == f"rotor_{k}":
            actuation[:, k] = speed
    if joints := (angles := vehicle.columns["joint_angle"]).shape[1]:
        actuation[:, -joints:] = angles
    multirotor = vehicle if isinstance(vehicle, Aircraft) else None
    battery = multirotor.battery if multirotor else None
    return VehicleSnapshot(
        name=vehicle.name,
        model=vehicle.spec.name,
        count=vehicle.count,
        pilot=type(drivers[0]).__name__ if drivers else "",
        scene=vehicle.asset.scene,
        position=state.position.copy(),
        orientation=state.orientation.copy(),
        velocity=state.velocity.copy(),
        angular_velocity=state.angular_velocity.copy(),
        channels=channels,
        actuation=actuation,
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
        faults=tuple((i.label, i.active.copy()) for i in vehicle.faults.injections if not i.is_over),
    )


def snapshot(
    simulation: Simulation,
    *,
    number: int,
    generation: int,
    speed: float | None,
    real_time_factor: float,
    recording: Path | None,
    suggested_viewpoint: Viewpoint | None,
) -> Snapshot:
    """Return a snapshot of a simulation.

    Args:
        simulation: The simulation; it must not step meanwhile.
        number: Sequence number of the snapshot.
        generation: Sequence number of the world.
        speed: Target speed; None for unlimited.
        real_time_factor: Achieved speed.
        recording: Folder of the recording.
        suggested_viewpoint: Viewpoint suggested by the last change of world or vehicles.
    """
    environment = simulation.environment
    # One query for all vehicles: each query costs as much as all contacts together.
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
        suggested_viewpoint=suggested_viewpoint,
    )


class ViewpointSuggestions:
    """Viewpoint suggested by the last change of world or vehicles."""

    def __init__(self) -> None:
        # Weak references: removed simulations and vehicles must not be kept alive.
        self._simulation: weakref.ref[Simulation] | None = None
        self._known: weakref.WeakSet[Aircraft] = weakref.WeakSet()
        self._view: Viewpoint | None = None

    def update(self, simulation: Simulation) -> Viewpoint | None:
        """Return the viewpoint of the vehicles added last, else of the world.

        Args:
            simulation: The simulation; it must not step meanwhile.
        """
        if self._simulation is None or self._simulation() is not simulation:
            self._simulation, self._known = weakref.ref(simulation), weakref.WeakSet()
            self._view = world_viewpoint(simulation.scene, simulation.world.spawn_points or ())
        new = [vehicle for vehicle in simulation.vehicles if vehicle not in self._known]
        if new:
            self._known.update(new)
            self._view = vehicle_viewpoint(simulation, new)
        return self._view


def world_viewpoint(scene: Scene, spawn_points: Sequence[SpawnPoint]) -> Viewpoint:
    """Return the viewpoint of a world's thumbnail.

    Args:
        scene: The world's scene, whose first camera is used.
        spawn_points: Spawn points of the world; without a camera the viewpoint is behind the first one.
    """
    if not scene.cameras:
        eye, target = view_from_behind(spawn_points)
        return _viewpoint(eye, target)
    transform = scene.cameras[0].transform
    eye, ahead = transform[:3, 3], -transform[:3, 2] / math.sqrt(float(transform[:3, 2] @ transform[:3, 2]))
    # The view rotates about its target, which is therefore as far away as the spawn points.
    places = np.array([point.position for point in spawn_points] or [(0.0, 0.0, 0.0)])
    return _viewpoint(eye, eye + ahead * min(max(float((places.mean(axis=0) - eye) @ ahead), 3.0), 40.0))


def vehicle_viewpoint(simulation: Simulation, vehicles: Sequence[Aircraft]) -> Viewpoint:
    """Return an unobstructed viewpoint of vehicles, preferably from behind.

    Args:
        simulation: Their simulation.
        vehicles: The vehicles; if they are too far apart for one view, only the first copy of the first
            counts.
    """
    places = np.concatenate([vehicle.state.position for vehicle in vehicles])
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    radius = float(np.linalg.norm(places - middle, axis=1).max())
    distance = _NEAREST + 2.0 * radius
    if distance > _FARTHEST:
        middle, distance = places[0], _NEAREST
    heading = float(euler_from_quaternion(vehicles[0].state.orientation[0])[2])
    azimuth = heading + np.radians(np.tile(_AZIMUTHS, len(_ELEVATIONS)))
    elevation = np.radians(np.repeat(_ELEVATIONS, len(_AZIMUTHS)))
    directions = np.stack(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)], axis=1
    )
    origin = middle + np.array([0.0, 0.0, _ABOVE])
    count = len(directions)
    hits = simulation.engine.raycast(
        np.tile(origin, (count, 1)), directions, distance + _ROOM, skip=np.full(count, -1)
    )
    room = np.where(hits.hit, hits.distance, distance + _ROOM) - _ROOM
    best = (
        int(np.argmax(room >= 0.999 * distance)) if (room >= 0.999 * distance).any() else int(room.argmax())
    )
    return _viewpoint(origin + directions[best] * max(float(room[best]), 0.0), middle)


def _viewpoint(eye: Array, target: Array) -> Viewpoint:
    x, y, z = np.asarray(eye, dtype=np.float64).tolist()
    u, v, w = np.asarray(target, dtype=np.float64).tolist()
    return Viewpoint((x, y, z), (u, v, w))
