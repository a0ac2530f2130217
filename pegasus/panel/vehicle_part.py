"""The panel's part for vehicles: which one, where, how many, add, remove."""

from pathlib import Path

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.multirotor import Multirotor
from pegasus.panel.backend_part import BackendPart
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import Choice, vehicle_choices
from pegasus.panel.sensor_part import SensorPart
from pegasus.panel.session import Session
from pegasus.panel.snapshot import VehicleSnapshot
from pegasus.scenario import load_vehicle
from pegasus.simulation import Simulation
from pegasus.spawn import ground_below

_COUNT_LIMIT = 1000


class VehiclePart(Part):
    """Choose a vehicle and its place, add it; remove vehicles.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        backend: Who will fly it.
        sensors: Which further sensors it will have.
    """

    def __init__(self, board: Board, session: Session, backend: BackendPart, sensors: SensorPart) -> None:
        super().__init__(board)
        self._session, self._backend, self._sensors = session, backend, sensors
        self.choices: list[Choice] = vehicle_choices()
        self.chosen = "iris"
        """Name or path of the vehicle to add."""
        self.name = ""
        """Its name; that of the model, with a number where it is taken, when empty."""
        self.position: tuple[float, float, float] | None = None
        """Where it will be put [m]; at the world's next free spawn point when None."""
        self.on_ground = True
        """Whether `position` is a point of the ground to stand on, or the place of the body frame."""
        self.heading = 0.0
        """Its heading, counter-clockwise from east [rad]."""
        self.count = 1
        self.spacing: float | None = None
        """Distance of the copies [m]; such that they do not touch when None."""

    @property
    def vehicles(self) -> tuple[VehicleSnapshot, ...]:
        """The vehicles in the world, as the last snapshot has them."""
        return self._session.snapshot.vehicles

    @property
    def choice(self) -> Choice | None:
        """The vehicle to add, as the list has it; None for a file by path."""
        return next((choice for choice in self.choices if choice.name == self.chosen), None)

    @action(Topic.VEHICLES)
    def refresh(self) -> None:
        """Look again for vehicles and their pictures."""
        self.choices = vehicle_choices()

    @action(Topic.VEHICLES)
    def choose(self, model: str | Path) -> None:
        """Choose the vehicle to add.

        Args:
            model: Its name, or the path of a YAML file.
        """
        load_vehicle(model)
        self.chosen = str(model)

    @action(Topic.VEHICLES)
    def set_name(self, name: str) -> None:
        """Name the vehicle to add.

        Args:
            name: Its name; empty for that of the model.
        """
        if "/" in name:
            raise ConfigError("must not hold a slash", field="name", value=name, remedy="choose another")
        self.name = name.strip()

    @action(Topic.VEHICLES)
    def set_count(self, count: int | str, spacing: float | str | None = None) -> None:
        """Set how many copies are added, and how far apart.

        Args:
            count: Number of copies, 1 to 1000.
            spacing: Distance of neighbours [m]; such that they do not touch when None.
        """
        amount = number("count", count)
        if amount != int(amount) or not 1 <= amount <= _COUNT_LIMIT:
            raise ConfigError(f"must be a whole number from 1 to {_COUNT_LIMIT}", field="count", value=count)
        gap = None if spacing is None else number("spacing", spacing)
        if gap is not None and gap <= 0:
            raise ConfigError("must be above 0 m", field="spacing", value=spacing)
        self.count, self.spacing = int(amount), gap

    @action(Topic.VEHICLES)
    def set_position(self, x: float | str, y: float | str, z: float | str) -> None:
        """Set where the body frame starts.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self.position = number("x", x), number("y", y), number("z", z)
        self.on_ground = False

    @action(Topic.VEHICLES)
    def set_heading(self, heading: float | str) -> None:
        """Set the heading at the start.

        Args:
            heading: Heading, counter-clockwise from east [rad].
        """
        self.heading = number("heading", heading)

    @action(Topic.VEHICLES)
    def use_spawn_point(self) -> None:
        """Start at the world's next free spawn point."""
        self.position, self.on_ground = None, True

    @action(Topic.VEHICLES)
    def place(self, origin: tuple[float, float, float], direction: tuple[float, float, float]) -> None:
        """Set where it starts to what was clicked at: it will stand there.

        Args:
            origin: Where the ray through the click starts [m].
            direction: Its direction.
        """
        self.position, self.on_ground = clicked_point(self._session, origin, direction), True

    @action(Topic.VEHICLES)
    def place_on(self, x: float, y: float, z: float) -> None:
        """Set the point of the ground that it will stand on.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self.position, self.on_ground = (number("x", x), number("y", y), number("z", z)), True

    @action(Topic.VEHICLES, "adding the vehicle")
    def add(self) -> None:
        """Add the chosen vehicle."""
        self._session.call(lambda _: None)  # Without a world there is nothing to add to.
        backends = self._backend.make()
        vehicle = Multirotor(
            self.chosen,
            count=self.count,
            name=self.name or None,
            position=self.position,
            # At a spawn point it looks as the world has it, unless told otherwise.
            heading=None if self.position is None and not self.heading else self.heading,
            spacing=self.spacing,
            backends=backends,
            extra_sensors=self._sensors.make(),
        )
        if self.position is not None and self.on_ground:
            place = np.array(self.position)
            self._session.call(lambda simulation: _stand(vehicle, place, simulation))
        self._session.add(vehicle)
        self.name, self.position, self.on_ground = "", None, True
        self._backend.forget_namespace()
        self.board.report(f"{vehicle.name} is added")

    @action(Topic.VEHICLES, "removing the vehicle")
    def remove(self, name: str) -> None:
        """Remove a vehicle from the world.

        Args:
            name: Its name.
        """
        self._session.remove(name)
        self.board.report(f"{name} is removed")


def clicked_point(
    session: Session, origin: tuple[float, float, float], direction: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the point of the world that a ray through a click meets first [m].

    Args:
        session: Runs the simulation.
        origin: Where the ray starts [m].
        direction: Its direction, of any length.

    Raises:
        ConfigError: If it meets nothing.
    """
    start, along = np.array(origin, dtype=np.float64), np.array(direction, dtype=np.float64)
    length = float(np.linalg.norm(along))
    if not (np.isfinite(start).all() and 0 < length < np.inf):
        raise ConfigError("must be finite and have a direction", field="click", value=(origin, direction))
    along /= length
    hits = session.raycast((start[0], start[1], start[2]), (along[0], along[1], along[2]))
    if not hits.hit[0]:
        raise ConfigError("there is nothing", field="click", remedy="click at the ground")
    x, y, z = (start + along * hits.distance[0]).tolist()
    return x, y, z


def _stand(vehicle: Multirotor, place: Array, simulation: Simulation) -> None:
    """Let each copy stand on the ground, at the highest place below its rotors.

    Args:
        vehicle: The vehicle.
        place: Point of the ground in the middle of all copies [m], shape (3,).
        simulation: Where it will stand.
    """
    start = vehicle.start_position
    found = ground_below(simulation.engine, place, start[:, :2], vehicle.radius).max(axis=1)
    # None is found in Isaac Sim before it plays.
    start[:, 2] = np.where(np.isfinite(found), found, place[2]) + vehicle.standing_height
