"""Moves of copies of a vehicle: new poses, new episodes, and external wrenches."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import BoolArray
from pegasus.base.components import finite_numbers
from pegasus.base.frames import cross, rotate
from pegasus.contracts.engine import BodyState
from pegasus.contracts.estimator import Estimator
from pegasus.core.actuation import Actuation
from pegasus.core.backend_group import BackendGroup
from pegasus.core.injection import VehicleFaults
from pegasus.core.manager import ChangeableVehicle, Manager
from pegasus.core.placement import Copies, StartPlacement, chosen_copies, placed_state
from pegasus.core.sensor_suite import SensorSuite
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.multirotor import inverse


class MovableVehicle(ChangeableVehicle, Protocol):
    """Vehicle with the parts that begin anew when copies of it do."""

    @property
    def start(self) -> StartPlacement:
        """Places at which the copies start."""

    @property
    def backends(self) -> BackendGroup:
        """The backends."""

    @property
    def sensors(self) -> SensorSuite:
        """The sensors."""

    @property
    def estimator(self) -> Estimator | None:
        """Estimator of its state."""

    @property
    def faults(self) -> VehicleFaults:
        """Its faults."""

    @property
    def actuation(self) -> Actuation:
        """Part of the step that is not compiled."""

    @property
    def manager(self) -> Manager:
        """Manager of the vehicles of its simulation."""


def place(
    vehicle: MovableVehicle,
    position: npt.ArrayLike | str | None,
    *,
    heading: npt.ArrayLike | None = None,
    orientation: npt.ArrayLike | None = None,
    velocity: npt.ArrayLike = 0.0,
    angular_velocity: npt.ArrayLike = 0.0,
    copies: Copies = None,
) -> None:
    """Set the poses and velocities of copies; their sensors measure no acceleration from it.

    Rotors go on turning, and backends are not told: an autopilot sees its vehicle jump.

    Args:
        vehicle: The vehicle.
        position: New positions [m], shape (3,) or (K, 3), or the name of a spawn point, for one copy; those
            at the start if None.
        heading: New headings of level vehicles [rad], one or shape (K,); that of the start or of the spawn
            point, or 0, if None.
        orientation: New attitudes in place of the headings, quaternions xyzw, shape (4,) or (K, 4).
        velocity: New velocities in the world [m/s], broadcast to (K, 3).
        angular_velocity: New angular velocities in the body frame [rad/s], broadcast to (K, 3).
        copies: The K copies: an index, several, a slice, or a mask of shape (N,); all if None.

    Raises:
        ConfigError: If a number is not finite, a shape does not fit, or there is no such copy.
        RuntimeError: If the vehicle is not in a simulation.
    """
    rows = chosen_copies(copies, vehicle.count)
    target = placed_state(
        vehicle.start,
        rows,
        vehicle.manager.spawn_points,
        position=position,
        heading=heading,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=angular_velocity,
    )
    vehicle.manager.place(vehicle, target, rows)
    vehicle.sensors.place(rows)


def reset(
    vehicle: MovableVehicle,
    copies: Copies = None,
    *,
    position: npt.ArrayLike | str | None = None,
    heading: npt.ArrayLike | None = None,
    orientation: npt.ArrayLike | None = None,
    velocity: npt.ArrayLike = 0.0,
    angular_velocity: npt.ArrayLike = 0.0,
) -> None:
    """Begin a new episode of copies: at their start or a given pose, rotors at rest, batteries charged.

    Their faults, missions and sensors start afresh, with other noise and biases than before; external
    wrenches end. The other copies, and the clock, go on as if nothing had happened.

    Args:
        vehicle: The vehicle.
        copies: The K copies: an index, several, a slice, or a mask of shape (N,); all if None.
        position: Positions [m], shape (3,) or (K, 3), or the name of a spawn point, for one copy; those
            at the start if None.
        heading: Headings of level vehicles [rad], one or shape (K,); see `place`.
        orientation: Attitudes in place of the headings, quaternions xyzw, shape (4,) or (K, 4).
        velocity: Velocities in the world [m/s], broadcast to (K, 3).
        angular_velocity: Angular velocities in the body frame [rad/s], broadcast to (K, 3).

    Raises:
        ConfigError: If a number is not finite, a shape does not fit, there is no such copy, or the
            driving backend cannot restart single copies.
        RuntimeError: If the vehicle is not in a simulation.
    """
    rows = chosen_copies(copies, vehicle.count)
    vehicle.backends.require_restarts()
    vehicle.faults.reset_copies(rows)
    place(
        vehicle,
        position,
        heading=heading,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=angular_velocity,
        copies=rows,
    )
    vehicle.actuation.reset(vehicle, rows)
    vehicle.columns["push"][rows] = vehicle.columns["twist"][rows] = 0.0
    vehicle.sensors.reset_copies(rows)
    if vehicle.estimator is not None:
        vehicle.estimator.reset_copies(rows)
    for backend in vehicle.backends:
        backend.reset_copies(rows)


def refit(
    vehicle: MovableVehicle,
    copies: BoolArray,
    parameters: Sequence[VehicleParameters] | None,
    *,
    keeps_momentum: bool,
) -> None:
    """Change the mass properties of copies in flight.

    Args:
        vehicle: The vehicle.
        copies: The copies, shape (N,).
        parameters: Parameters of all copies from now on; those of before all changes if None.
        keeps_momentum: Keep centre of mass, momentum and angular momentum in the world, as by an inner force;
            otherwise pose and velocities of the body frame, as when a part falls off.
    """
    present = list(islice(cycle(vehicle.parameters), vehicle.count))
    vehicle.manager.refit(vehicle, parameters)
    new = list(islice(cycle(vehicle.parameters), vehicle.count))
    if not keeps_momentum:
        return
    rows, state = np.flatnonzero(copies), vehicle.state
    target = BodyState.zeros(len(rows))
    for k, row in enumerate(rows.tolist()):
        before, after, rotation = present[row], new[row], state.rotation[row]
        rate = state.angular_velocity[row]
        turned = (inverse(after.inertia) * (before.inertia * rate).sum(axis=1)).sum(axis=1)
        place = state.position[row] + rotate(rotation, before.center_of_mass - after.center_of_mass)
        swing = cross(rate, before.center_of_mass) - cross(turned, after.center_of_mass)
        target.position[k], target.orientation[k] = place, state.orientation[row]
        target.velocity[k] = state.velocity[row] + rotate(rotation, swing)
        target.angular_velocity[k] = turned
    vehicle.manager.place(vehicle, target, rows)
    vehicle.sensors.place(rows)


def disturb(vehicle: MovableVehicle, *, force: npt.ArrayLike = 0.0, torque: npt.ArrayLike = 0.0) -> None:
    """Apply a constant external wrench from the next step on, until changed or reset.

    Args:
        vehicle: The vehicle.
        force: Force at the centre of mass in the world [N], broadcast to (N, 3).
        torque: Torque about the centre of mass in the body frame [N m], broadcast to (N, 3).

    Raises:
        ConfigError: If a number is not finite, or a shape does not fit.
    """
    shape = (vehicle.count, 3)
    push, twist = finite_numbers("force", force, shape), finite_numbers("torque", torque, shape)
    vehicle.columns["push"][...], vehicle.columns["twist"][...] = push, twist
