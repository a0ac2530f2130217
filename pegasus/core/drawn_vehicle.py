"""Renderer objects of vehicles: bodies and turning rotors."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import axes_along, matrix_from_quaternion
from pegasus.config.rotor_specs import RotorSpec, rotor_of
from pegasus.contracts.renderer import RenderObject
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.scene.enclosures import Enclosures
from pegasus.scene.scene import Entity, Scene


class Shape(Protocol):
    """Shape of a vehicle."""

    @property
    def scene(self) -> Scene:
        """Geometry of the body and the rotors in the body frame."""


class DrawableVehicle(Rotorcraft, Protocol):
    """Vehicle that has a shape."""

    @property
    def asset(self) -> Shape:
        """Its shape."""


class DrawnVehicle:
    """Renderer objects of the N copies of a vehicle: one for each body, and one for each of R rotors.

    Objects are in the order body, rotor 0, rotor 1, ... of the first copy, then those of the next.
    """

    def __init__(self, vehicle: DrawableVehicle) -> None:
        rotors = vehicle.spec.rotor_list()
        body, turning = _split(vehicle.asset.scene, rotors)
        frames = np.array([_rotor_frame(rotor) for rotor in rotors])
        shown = [index for index, scene in enumerate(turning) if scene.instances]
        scenes = [body, *(_in_frame(turning[index], frames[index]) for index in shown)]
        parts = ["body", *(f"rotor{index}" for index in shown)]
        labelled = (item.labels for item in vehicle.asset.scene.instances if "class" in item.labels)
        labels = next(labelled, {"class": "multirotor"})
        single = vehicle.count == 1
        self.name, self.body = vehicle.name, body
        self.prefixes = [f"/World/{vehicle.name}" + ("" if single else f"/{i}") for i in range(vehicle.count)]
        """Entity path of each copy, shape (N,)."""
        self.objects = [
            RenderObject(path=f"{prefix}/{part}", scene=scene, entity=entity)
            for prefix in self.prefixes
            for entity in [Entity(path=prefix, labels=labels, transform=np.eye(4))]
            for part, scene in zip(parts, scenes, strict=True)
        ]
        """The objects, shape (N * (1 + R),)."""
        self._frames, self._shown = frames[shown], shown
        self._spin = vehicle.layout.spin[shown]

    @cached_property
    def extents(self) -> dict[str, Array]:
        """Bounding box of each rotor in its own frame by path: lower and upper corner [m], shape (2, 3)."""
        own = {id(item.scene): _extent(item.scene) for item in self.objects if item.scene is not self.body}
        return {item.path: own[id(item.scene)] for item in self.objects if id(item.scene) in own}

    @cached_property
    def enclosures(self) -> Enclosures:
        """Enclosures of the body, in the body frame."""
        return Enclosures(self.body)

    def poses(self, position: Array, orientation: Array, rotor_speed: Array, time: float) -> Array:
        """Return the poses of the objects, object to world, shape (N * (1 + R), 4, 4).

        A propeller's angle is its present speed times the time: a function of state and time alone, so that
        rendering does not change the simulation.

        Args:
            position: Origins of the body frames [m], shape (N, 3).
            orientation: Unit quaternions xyzw, body to world, shape (N, 4).
            rotor_speed: Rotor speeds [rad/s], shape (N, R).
            time: Simulation time [s].
        """
        body = np.zeros((len(position), 1, 4, 4))
        body[:, 0, :3, :3] = matrix_from_quaternion(orientation)
        body[:, 0, :3, 3] = position
        body[:, 0, 3, 3] = 1.0
        if not self._shown:
            return body[:, 0]
        angle = np.remainder(rotor_speed[:, self._shown] * time, 2 * np.pi) * self._spin
        turn = np.zeros((*angle.shape, 4, 4))
        turn[..., 0, 0] = turn[..., 1, 1] = np.cos(angle)
        turn[..., 1, 0] = np.sin(angle)
        turn[..., 0, 1] = -turn[..., 1, 0]
        turn[..., 2, 2] = turn[..., 3, 3] = 1.0
        rotors = body @ self._frames @ turn
        return np.concatenate([body, rotors], axis=1).reshape(-1, 4, 4)


def _split(scene: Scene, rotors: "Sequence[RotorSpec]") -> tuple[Scene, list[Scene]]:
    """Return the geometry fixed to the body, and that of each rotor."""
    turns_with = [rotor_of(item.path, rotors) for item in scene.instances]
    parts: list[list[int]] = [[] for _ in range(len(rotors) + 1)]
    for index, rotor in enumerate(turns_with):
        parts[0 if rotor is None or rotor >= len(rotors) else rotor + 1].append(index)
    scenes = [replace(scene, instances=[scene.instances[i] for i in part]) for part in parts]
    return scenes[0], scenes[1:]


def _extent(scene: Scene) -> Array:
    """Return the bounding box of a scene, shape (2, 3)."""
    placed = [
        scene.geometries[item.geometry].vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        for item in scene.instances
    ]
    points = np.concatenate(placed)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _in_frame(scene: Scene, frame: Array) -> Scene:
    """Return a scene expressed in another frame."""
    inverse = np.linalg.inv(frame)
    instances = [replace(item, transform=inverse @ item.transform) for item in scene.instances]
    return replace(scene, instances=instances)


def _rotor_frame(rotor: "RotorSpec") -> Array:
    """Return the rotor frame, whose z axis is the axis of rotation, rotor to body, shape (4, 4)."""
    frame = np.eye(4)
    frame[:3, :3] = axes_along(np.array(rotor.axis))
    frame[:3, 3] = rotor.position
    return frame
