"""Panel part for vehicles: selection, placement, adding and removing."""

from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.config.files import load_vehicle
from pegasus.core.aircraft import Aircraft
from pegasus.core.placement import ground_below
from pegasus.core.simulation import Simulation
from pegasus.panel.backend_part import BackendPart
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import Choice, vehicle_choices
from pegasus.panel.sensor_part import SensorPart
from pegasus.session.session import Session

_COUNT_LIMIT = 1000


class VehiclePart(Part):
    """Selection and placement of the next vehicle; removal of vehicles."""

    def __init__(self, board: Board, session: Session, backend: BackendPart, sensors: SensorPart) -> None:
        super().__init__(board)
        self._session, self._backend, self._sensors = session, backend, sensors
        self.choices: list[Choice] = vehicle_choices()
        self.chosen = "iris"
        """Name or path of the vehicle to add."""
        self.name = ""
        """Name of the vehicle; that of the model when empty, with a number if it is taken."""
        self.position: tuple[float, float, float] | None = None
        """Start position [m]; the world's next free spawn point when None."""
        self.on_ground = True
        """Whether `position` is a point on the ground to stand on; otherwise it is that of the body frame."""
        self.heading = 0.0
        """Heading, counter-clockwise from east [rad]."""
        self.count = 1
        self.spacing: float | None = None
        """Distance between copies [m]; the smallest without collision when None."""

    @property
    def choice(self) -> Choice | None:
        """List entry of the vehicle to add; None for a file given by path."""
        return next((choice for choice in self.choices if choice.name == self.chosen), None)

    @action(Topic.VEHICLES)
    def refresh(self) -> None:
        """Reload the list of vehicles and their thumbnails."""
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
            name: The name; that of the model when empty.
        """
        if "/" in name:
            raise ConfigError("must not contain a slash", field="name", value=name, remedy="choose another")
        self.name = name.strip()

    @action(Topic.VEHICLES)
    def set_count(self, count: int | str, spacing: float | str | None = None) -> None:
        """Set number and spacing of copies.

        Args:
            count: Number of copies, 1 to 1000.
            spacing: Distance between neighbours [m]; the smallest without collision when None.
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
        """Set the start position of the body frame.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self.position = number("x", x), number("y", y), number("z", z)
        self.on_ground = False

    @action(Topic.VEHICLES)
    def set_heading(self, heading: float | str) -> None:
        """Set the start heading.

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
        """Set the start position to the point clicked in the view, on which the vehicle will stand.

        Args:
            origin: Origin of the ray through the click [m].
            direction: Direction of the ray.
        """
        self.position, self.on_ground = clicked_point(self._session, origin, direction), True

    @action(Topic.VEHICLES)
    def place_on(self, x: float, y: float, z: float) -> None:
        """Set the point on the ground on which the vehicle will stand.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self.position, self.on_ground = (number("x", x), number("y", y), number("z", z)), True

    @action(Topic.VEHICLES, "adding the vehicle")
    def add(self) -> None:
        """Add the chosen vehicle."""
        self._session.call(lambda _: None)  # Fails early if no world is loaded.
        backends = self._backend.make()
        vehicle = Aircraft(
            self.chosen,
            count=self.count,
            name=self.name or None,
            position=self.position,
            # A spawn point has a heading of its own, which holds unless another one is given.
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
        self._backend.clear_namespace()
        self.board.report(f"{vehicle.name} is added")

    @action(Topic.VEHICLES, "removing the vehicle")
    def remove(self, name: str) -> None:
        """Remove a vehicle from the world."""
        self._session.remove(name)
        self.board.report(f"{name} is removed")


def clicked_point(
    session: Session, origin: tuple[float, float, float], direction: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the first point of the world on a ray through a click [m].

    Args:
        session: Session that runs the simulation.
        origin: Origin of the ray [m].
        direction: Direction of the ray, of any length.

    Raises:
        ConfigError: If the ray hits nothing.
    """
    start, along = np.array(origin, dtype=np.float64), np.array(direction, dtype=np.float64)
    length = float(np.linalg.norm(along))
    if not (np.isfinite(start).all() and 0 < length < np.inf):
        raise ConfigError("must be finite and have a direction", field="click", value=(origin, direction))
    along /= length
    hits = session.raycast((start[0], start[1], start[2]), (along[0], along[1], along[2]))
    if not hits.hit[0]:
        raise ConfigError("hits nothing", field="click", remedy="click on the ground")
    x, y, z = (start + along * hits.distance[0]).tolist()
    return x, y, z


def _stand(vehicle: Aircraft, place: Array, simulation: Simulation) -> None:
    """Place each copy on the highest ground below its rotors.

    Args:
        vehicle: The vehicle.
        place: Point on the ground at the centre of all copies [m], shape (3,).
        simulation: Its simulation.
    """
    start = vehicle.start.position
    found = ground_below(simulation.engine, place, start[:, :2], vehicle.start.radius).max(axis=1)
    # Isaac Sim finds no ground before the timeline plays.
    start[:, 2] = np.where(np.isfinite(found), found, place[2]) + vehicle.start.height
