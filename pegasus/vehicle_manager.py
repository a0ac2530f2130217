"""The vehicles of a simulation: added, removed and looked up by name, moved as one batch."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, BoolArray
from pegasus.engines.engine import BodyIds, BodyState, Contacts, Engine, RayHits
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, rotate
from pegasus.vehicle import Vehicle

if TYPE_CHECKING:
    from pegasus.render.visuals import Visuals

_DEEPEST_START = 0.05  # [m]
_FASTEST = 1e5
"""Speed [m/s] or rate [rad/s] that nothing flies or turns with; motion beyond it has diverged."""


class VehicleManager(Collection[Vehicle]):
    """All vehicles of a simulation, in the order of their adding; their states are rows of one array.

    Iterating gives the vehicles, indexing finds one by its name.

    Args:
        engine: Physics engine with the world loaded.
        environment: Where the vehicles fly.
        rate: Physics rate [Hz].
        seed: Seed of the simulation.
    """

    visuals: "Visuals"
    """Pictures of world and vehicles; set by the simulation."""

    def __init__(self, engine: Engine, environment: Environment, *, rate: float, seed: int) -> None:
        self.rate, self.seed = rate, seed
        self._engine, self._environment = engine, environment
        self._vehicles: dict[str, Vehicle] = {}
        self._ids: dict[str, BodyIds] = {}
        self._rearrange()

    def __getitem__(self, name: str) -> Vehicle:
        """Return the vehicle of a name."""
        try:
            return self._vehicles[name]
        except KeyError:
            raise ConfigError(
                f"no such vehicle; there are {', '.join(self._vehicles) or 'none'}",
                field="vehicle",
                value=name,
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._vehicles

    def __iter__(self) -> Iterator[Vehicle]:
        return iter(self._vehicles.values())

    def __len__(self) -> int:
        return len(self._vehicles)

    @property
    def bodies(self) -> BodyState:
        """Poses and velocities of all bodies, vehicle by vehicle and copy by copy; the arrays are live."""
        return self._bodies

    def add(self, vehicle: Vehicle) -> None:
        """Add a vehicle, also while others fly; none of them is disturbed.

        Args:
            vehicle: The vehicle.

        Raises:
            ConfigError: If its name is taken, or a sensor or backend does not fit.
        """
        if vehicle.name in self._vehicles:
            if vehicle.named_by_user:
                raise ConfigError("is taken", field="name", value=vehicle.name, remedy="choose another")
            number = next(k for k in range(1, len(self) + 2) if f"{vehicle.name}{k}" not in self._vehicles)
            vehicle.name = f"{vehicle.name}{number}"
        self._require_own_parts(vehicle)
        vehicle.join(self, self._environment)
        try:
            self._ids[vehicle.name] = self._engine.add_bodies(vehicle.bodies())
        except BaseException:
            vehicle.leave()
            vehicle.stop_backends()
            raise
        self._vehicles[vehicle.name] = vehicle
        self._rearrange()
        try:
            self._require_free_start(vehicle)
        except ConfigError:
            self.remove(vehicle.name)
            raise

    def remove(self, name: str) -> None:
        """Remove a vehicle and stop its backends; no other one is disturbed.

        Args:
            name: Name of the vehicle.
        """
        vehicle = self[name]
        try:
            vehicle.stop_backends()
        finally:
            vehicle.leave()
            self._engine.remove_bodies(self._ids.pop(name))
            del self._vehicles[name]
            self._rearrange()

    def clear(self) -> None:
        """Remove all vehicles."""
        for name in list(self._vehicles):
            self.remove(name)

    def observe(self) -> None:
        """Read the state after a step, and what changed over it.

        Raises:
            ConfigError: If the motion of a vehicle has diverged.
        """
        np.copyto(self._last_velocity, self._bodies.velocity)
        np.copyto(self._last_angular_velocity, self._bodies.angular_velocity)
        self._engine.read(self._bodies)
        moved, turned = self._bodies.velocity.ravel(), self._bodies.angular_velocity.ravel()
        if not moved @ moved + turned @ turned < _FASTEST**2:
            self._require_sane_motion()
        np.subtract(self._bodies.velocity, self._last_velocity, out=self._acceleration)
        np.subtract(
            self._bodies.angular_velocity, self._last_angular_velocity, out=self._angular_acceleration
        )
        self._acceleration *= self.rate
        self._angular_acceleration *= self.rate
        self._rotation[...] = matrix_from_quaternion(self._bodies.orientation)

    def apply(self) -> None:
        """Hand the wrenches of all vehicles, and their weight, to the engine.

        Raises:
            ConfigError: If a wrench is not finite.
        """
        force = self._force + self._mass * self._environment.gravity_vector(self._bodies.position)
        if not (np.isfinite(force).all() and np.isfinite(self._torque).all()):
            raise self._not_finite(force)
        self._engine.apply(force, self._torque)

    def in_contact(self, vehicle: Vehicle) -> BoolArray:
        """Return whether each copy of a vehicle touched something during the last step, shape (N,).

        Args:
            vehicle: The vehicle.
        """
        contacts = self._engine.contacts()
        touching: BoolArray = np.isin(self._ids[vehicle.name], (contacts.body, contacts.other))
        return touching

    def touching(self, contacts: Contacts) -> dict[str, BoolArray]:
        """Return by name which copies of each vehicle are in contacts, shape (N,) each.

        Args:
            contacts: What the engine gave.
        """
        involved = np.isin(
            np.concatenate([*self._ids.values(), np.zeros(0, np.int64)]), (contacts.body, contacts.other)
        )
        ends = np.cumsum([len(ids) for ids in self._ids.values()])
        return dict(zip(self._ids, np.split(involved, ends)[:-1], strict=True)) if self._ids else {}

    def place(self, vehicle: Vehicle, target: BodyState) -> None:
        """Put the bodies of a vehicle elsewhere without an acceleration.

        Args:
            vehicle: The vehicle.
            target: Its new poses and velocities, N rows.
        """
        self._engine.write(self._ids[vehicle.name], target)
        state = vehicle.state
        state.position[...], state.orientation[...] = target.position, target.orientation
        state.velocity[...], state.angular_velocity[...] = target.velocity, target.angular_velocity
        state.rotation[...] = matrix_from_quaternion(target.orientation)
        state.acceleration[...] = 0.0
        state.angular_acceleration[...] = 0.0

    def raycast(self, vehicle: Vehicle, directions: Array, max_range: float, origin: Array) -> RayHits:
        """Cast rays from each copy of a vehicle; see `Vehicle.raycast`."""
        state, rays = vehicle.state, len(directions)
        origins = state.position + rotate(state.rotation, origin[None])
        world = rotate(state.rotation[:, None], np.asarray(directions, dtype=np.float64))
        return self.cast(vehicle, np.repeat(origins, rays, axis=0), world.reshape(-1, 3), max_range)

    def cast(self, vehicle: Vehicle, origins: Array, directions: Array, max_range: float) -> RayHits:
        """Cast rays of the world that pass through the copy of a vehicle that they belong to.

        Args:
            vehicle: The vehicle.
            origins: Where the rays start [m], as many for each copy, shape (K, 3).
            directions: Their directions in the world, shape (K, 3).
            max_range: Longest distance [m].
        """
        skip = np.repeat(self._ids[vehicle.name], len(origins) // vehicle.count)
        return self._engine.raycast(origins, directions, max_range, skip=skip)

    def reset(self) -> None:
        """Put every vehicle back to where it started, at rest, its sensors as new."""
        for vehicle in self:
            target = BodyState.zeros(vehicle.count)
            target.position[...], target.orientation[...] = vehicle.start_position, vehicle.start_orientation
            self.place(vehicle, target)
            vehicle.reset_actuators()
            vehicle.disturb()
            vehicle.applied_force[...] = 0.0
            vehicle.applied_torque[...] = 0.0
            vehicle.bind_sensors(self.rate, self.seed)

    def release(self) -> None:
        """Let all vehicles go, so that they may join another simulation; the bodies stay."""
        for vehicle in self:
            vehicle.leave()
        self._vehicles, self._ids = {}, {}

    def _require_own_parts(self, vehicle: Vehicle) -> None:
        """Refuse a vehicle that shares a backend or sensor, each of which keeps the state of one vehicle."""
        others = {
            id(part): other.name for other in self for part in (*other.backends, *other.sensors.values())
        }
        for part in (*vehicle.backends, *vehicle.sensors.values()):
            if id(part) in others:
                raise ConfigError(
                    f"already belongs to vehicle {others[id(part)]!r}",
                    field=f"{type(part).__name__} of vehicle {vehicle.name!r}",
                    remedy="make one for each vehicle",
                )
            others[id(part)] = vehicle.name

    def _require_free_start(self, vehicle: Vehicle) -> None:
        contacts = self._engine.contacts()
        ids = self._ids[vehicle.name]
        depth = np.where(np.isin(contacts.body, ids) | np.isin(contacts.other, ids), -contacts.distance, 0.0)
        worst = int(np.argmax(depth)) if len(depth) else 0
        if len(depth) and depth[worst] > _DEEPEST_START:
            raise ConfigError(
                f"starts {depth[worst]:.2f} m deep in something at "
                f"({', '.join(f'{c:.2f}' for c in contacts.position[worst])}) m",
                field="position",
                value=vehicle.start_position.tolist(),
                remedy="move it to a free place",
            )

    def _require_sane_motion(self) -> None:
        """Refuse to go on with a vehicle whose motion is no number any more, or beyond all bounds."""
        speed, rate = (
            np.sqrt((part * part).sum(axis=1))
            for part in (self._bodies.velocity, self._bodies.angular_velocity)
        )
        bad = np.flatnonzero(~((speed < _FASTEST) & (rate < _FASTEST)))
        if len(bad):
            row = int(bad[0])
            names = [(v.name, copy) for v in self for copy in range(v.count)]
            raise ConfigError(
                f"has diverged: {speed[row]:.3g} m/s, {rate[row]:.3g} rad/s",
                field="motion of vehicle {!r}, copy {}".format(*names[row]),
                remedy="raise the rate of the physics, or look for a force or torque too large for it",
            )

    def _not_finite(self, force: Array) -> ConfigError:
        bad = ~(np.isfinite(force).all(axis=1) & np.isfinite(self._torque).all(axis=1))
        names = np.repeat([v.name for v in self], [v.count for v in self])
        return ConfigError(
            "force and torque must be finite",
            field=f"wrench on vehicle {str(names[bad][0])!r}",
            remedy="check its thrust curve, motor and drag",
        )

    def _rearrange(self) -> None:
        """Give every vehicle its rows in the arrays over all bodies."""
        total = sum(vehicle.count for vehicle in self)
        kept = {
            name: (vehicle.state.acceleration, vehicle.state.angular_acceleration)
            for name, vehicle in self._vehicles.items()
        }
        self._bodies = BodyState.zeros(total)
        self._last_velocity, self._last_angular_velocity = np.zeros((total, 3)), np.zeros((total, 3))
        self._acceleration, self._angular_acceleration = np.zeros((total, 3)), np.zeros((total, 3))
        self._rotation = np.zeros((total, 3, 3))
        self._force, self._torque = np.zeros((total, 3)), np.zeros((total, 3))
        self._mass = np.repeat([v.mass for v in self], [v.count for v in self])[:, None]
        self._engine.read(self._bodies)
        self._rotation[...] = matrix_from_quaternion(self._bodies.orientation)
        first = 0
        for name, vehicle in self._vehicles.items():
            rows = slice(first, first + vehicle.count)
            first += vehicle.count
            self._acceleration[rows], self._angular_acceleration[rows] = kept[name]
            state = vehicle.state
            state.position, state.orientation = self._bodies.position[rows], self._bodies.orientation[rows]
            state.velocity, state.angular_velocity = (
                self._bodies.velocity[rows],
                self._bodies.angular_velocity[rows],
            )
            state.rotation = self._rotation[rows]
            state.acceleration, state.angular_acceleration = (
                self._acceleration[rows],
                self._angular_acceleration[rows],
            )
            self._force[rows], self._torque[rows] = vehicle.applied_force, vehicle.applied_torque
            vehicle.applied_force, vehicle.applied_torque = self._force[rows], self._torque[rows]
