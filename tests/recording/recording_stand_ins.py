"""Stand-ins for a simulation and its vehicles, with the attributes that observers read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import matrix_from_quaternion, multiply, normalize, quaternion_from_rotation_vector
from pegasus.contracts.backend import Failure
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Reference, VehicleState
from pegasus.core.contact import Contact
from pegasus.core.schedule import Schedule
from pegasus.dynamics import IdealMotor
from pegasus.model.multirotor import rotor_channels
from pegasus.scene.scene import Scene


@dataclass(frozen=True, eq=False)
class GyroReading(Reading):
    """Angular velocity of a gyroscope."""

    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""


@dataclass(frozen=True, eq=False)
class FixReading(Reading):
    """Fix of a receiver, with every type of field that can be recorded."""

    position: Array
    """Position [m], shape (N, 3)."""
    satellite_count: IntArray
    """Satellites in use, shape (N,)."""
    valid: Array
    """Whether there is a fix, shape (N,)."""
    speed: Array
    """Speed over ground in single precision [m/s], shape (N,)."""
    mode: str = "3D"
    quality: int = 1
    healthy: bool = True


class Vehicle:
    """A vehicle of N copies, at rest until its state is set."""

    def __init__(self, name: str = "iris", count: int = 1, rotor_count: int = 4) -> None:
        self.name, self.count = name, count
        self.state = VehicleState.at_rest(count, rotor_count)
        self.channels = rotor_channels(IdealMotor(), rotor_count)
        self.reference: Reference | None = None
        self.columns = {
            "gravity": np.tile([0.0, 0.0, -9.80665], (count, 1)),
            "limited_command": np.zeros((count, rotor_count)),
        }
        self.estimate = None
        self.contacts: list[Contact] = []
        self.faults = SimpleNamespace(events=[], acting=[])
        self.new_readings: Mapping[str, Reading] = {}
        self.sensors = Sensors(self)
        self.layout = SimpleNamespace(position=np.ones((rotor_count, 3)))
        self.spec = SimpleNamespace(propeller=SimpleNamespace(diameter=0.25))


class Sensors(dict[str, object]):
    """Sensors that give the new readings of a vehicle."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle

    def __missing__(self, name: str) -> object:
        return object()

    @property
    def new_names(self) -> list[str]:
        return list(self._vehicle.new_readings)

    def last_given(self, name: str) -> Reading:
        return self._vehicle.new_readings[name]


@dataclass
class Simulation:
    """A clock and some vehicles."""

    vehicles: list[Vehicle]
    movers: tuple[()] = field(default=(), kw_only=True)
    rate: float = 250.0
    world_name: str = "flat"
    seed: int = 7
    step_count: int = field(default=0)
    failures: list[Failure] = field(default_factory=list)
    scene: Scene = field(default_factory=lambda: Scene("stand-in"))

    @property
    def time(self) -> float:
        return self.step_count / self.rate


def random_flight(
    observer,
    *,
    steps: int,
    seed: int = 3,
    rate: float = 250.0,
    count: int = 1,
    names: tuple[str, ...] = ("iris",),
) -> dict[str, list[tuple[float, object]]]:
    """Call an observer with random states, commands, references and readings; return them by topic."""
    simulation = Simulation([Vehicle(name, count) for name in names], rate=rate)
    rngs = {name: np.random.default_rng([seed, *name.encode()]) for name in names}
    gyro = Schedule(min(250.0, rate), rate, name="gyro")
    fix = Schedule(5.0, rate, name="fix")
    shown: dict[str, list[tuple[float, object]]] = {}
    observer.start(simulation)
    for step in range(steps):
        simulation.step_count = step
        gyro_due, fix_due = gyro.due(step), fix.due(step)
        for vehicle in simulation.vehicles:
            rng, t = rngs[vehicle.name], simulation.time
            randomize(vehicle, rng, t)
            readings: dict[str, Reading] = {}
            if gyro_due:
                readings["gyro"] = GyroReading(t, wild(rng, (count, 3)))
            if fix_due:
                satellites = rng.integers(0, 30, count)
                valid, speed = satellites > 5, rng.random(count, dtype=np.float32)
                readings["fix"] = FixReading(t, wild(rng, (count, 3)), satellites, valid, speed)
            vehicle.new_readings = readings
            for name, reading in readings.items():
                shown.setdefault(f"{vehicle.name}/sensors/{name}", []).append((t, reading))
            shown.setdefault(f"{vehicle.name}/state", []).append((t, vehicle.state.copy()))
            shown.setdefault(f"{vehicle.name}/reference", []).append((t, vehicle.reference))
            shown.setdefault(f"{vehicle.name}/command", []).append(
                (t, vehicle.columns["limited_command"].copy())
            )
        observer.record(simulation)
    observer.stop()
    return shown


def randomize(vehicle: Vehicle, rng: np.random.Generator, t: float) -> None:
    """Set a random state, command and reference; the state's arrays are written in place."""
    for array in vars(vehicle.state).values():
        array[...] = wild(rng, array.shape)
    command = vehicle.columns["limited_command"]
    command[...] = wild(rng, command.shape)
    vehicle.reference = Reference.hold(wild(rng, (vehicle.count, 3)), wild(rng, (vehicle.count,)))
    vehicle.reference.segment = "climb" if t < 1 else "circle"


def wild(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return finite numbers of all magnitudes and signs, with subnormal ones and negative zero."""
    bits = rng.integers(0, 2**64, shape, dtype=np.uint64, endpoint=False)
    numbers = bits.view(np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, 5e-324)
    return np.where(rng.random(shape) < 0.1, -0.0, numbers)


def fly(
    observers: list,
    vehicle: Vehicle,
    move: Callable[[Vehicle, float], None],
    *,
    steps: int,
    rate: float = 250.0,
) -> Simulation:
    """Call observers along a motion: `move` sets state and wrench at a time; return the final simulation."""
    simulation = Simulation([vehicle], rate=rate)
    for observer in observers:
        observer.start(simulation)
    for step in range(steps + 1):
        simulation.step_count = step
        move(vehicle, simulation.time)
        for observer in observers:
            observer.record(simulation)
    for observer in observers:
        observer.stop()
    return simulation


def turn(vehicle: Vehicle, rotation_vector: Array) -> None:
    """Rotate a vehicle's attitude by a rotation vector in the world frame [rad]."""
    step = quaternion_from_rotation_vector(rotation_vector)
    vehicle.state.orientation[:] = normalize(multiply(step, vehicle.state.orientation))
    vehicle.state.rotation[:] = matrix_from_quaternion(vehicle.state.orientation)
