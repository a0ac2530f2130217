"""Views that pages open at and move to: of a world, and of vehicles that are added to it."""

import math
import weakref
from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array
from pegasus.frames import euler_from_quaternion
from pegasus.panel.snapshot import Viewpoint
from pegasus.scenario import SpawnPoint
from pegasus.scene.opening import view_from_behind
from pegasus.scene.scene import Scene
from pegasus.simulation import Simulation
from pegasus.vehicle import Vehicle

_ABOVE = 0.5
"""Height above the vehicles from which views are looked for [m]."""
_NEAREST, _FARTHEST = 2.5, 25.0
_ROOM = 0.6
"""Distance that is kept from walls and trunks [m]."""
_AZIMUTHS = (145, -145, 180, 110, -110, 70, -70, 35, -35, 0)
"""Directions in which views are looked for, counter-clockwise from the nose [deg]; from behind first."""
_ELEVATIONS = (20, 45)


class Vantages:
    """The view that the last change of world or vehicles asks for; kept until the next one."""

    def __init__(self) -> None:
        # What is cleared elsewhere must not be kept alive here.
        self._simulation: weakref.ref[Simulation] | None = None
        self._known: weakref.WeakSet[Vehicle] = weakref.WeakSet()
        self._view: Viewpoint | None = None

    def of(self, simulation: Simulation) -> Viewpoint | None:
        """Return the view: of the vehicles that were added last, else of the world.

        Args:
            simulation: The simulation, which nobody steps meanwhile.
        """
        if self._simulation is None or self._simulation() is not simulation:
            self._simulation, self._known = weakref.ref(simulation), weakref.WeakSet()
            self._view = world_view(simulation.scene, simulation.world.spawn_points or ())
        new = [vehicle for vehicle in simulation.vehicles if vehicle not in self._known]
        if new:
            self._known.update(new)
            self._view = vehicle_view(simulation, new)
        return self._view


def world_view(scene: Scene, spawn_points: Sequence[SpawnPoint]) -> Viewpoint:
    """Return the view that a world's thumbnail has.

    Args:
        scene: The world's scene; its first camera counts.
        spawn_points: The world's free places, from behind the first of which it is seen without a camera.
    """
    if not scene.cameras:
        eye, target = view_from_behind(spawn_points)
        return _viewpoint(eye, target)
    transform = scene.cameras[0].transform
    eye, ahead = transform[:3, 3], -transform[:3, 2] / math.sqrt(float(transform[:3, 2] @ transform[:3, 2]))
    # Users turn the view around its target: it lies as far away as where vehicles start.
    places = np.array([point.position for point in spawn_points] or [(0.0, 0.0, 0.0)])
    return _viewpoint(eye, eye + ahead * min(max(float((places.mean(axis=0) - eye) @ ahead), 3.0), 40.0))


def vehicle_view(simulation: Simulation, vehicles: Sequence[Vehicle]) -> Viewpoint:
    """Return a view of vehicles, from behind them where nothing stands in the way.

    Args:
        simulation: The simulation that they are in.
        vehicles: The vehicles; the first copy of the first counts where they are too far apart for one view.
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
