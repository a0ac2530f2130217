"""A vehicle as a renderer has it: a body, and rotors that turn."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.frames import matrix_from_quaternion
from pegasus.render.enclosures import Enclosures
from pegasus.render.renderer import RenderObject
from pegasus.scene.scene import Entity, Scene

if TYPE_CHECKING:
    from pegasus.rotor_specs import RotorSpec
    from pegasus.vehicle import Vehicle


class DrawnVehicle:
    """The N copies of a vehicle as objects of a renderer: one for each body, and one for each of R rotors.

    Objects are in the order body, rotor 0, rotor 1, ... of the first copy, then those of the next.

    Args:
        vehicle: The vehicle.
    """

    def __init__(self, vehicle: "Vehicle") -> None:
        rotors = vehicle.spec.rotor_list()
        body, turning = _split(vehicle.scene, rotors)
        frames = np.array([_rotor_frame(rotor) for rotor in rotors])
        shown = [index for index, scene in enumerate(turning) if scene.instances]
        scenes = [body, *(_seen_from(turning[index], frames[index]) for index in shown)]
        parts = ["body", *(f"rotor{index}" for index in shown)]
        labelled = (item.labels for item in vehicle.scene.instances if "class" in item.labels)
        labels = next(labelled, {"class": "multirotor"})
        single = vehicle.count == 1
        self.name, self.body = vehicle.name, body
        self.prefixes = [f"/World/{vehicle.name}" + ("" if single else f"/{i}") for i in range(vehicle.count)]
        """Path of the entity that each copy is, shape (N,)."""
        self.objects = [
            RenderObject(path=f"{prefix}/{part}", scene=scene, entity=entity)
            for prefix in self.prefixes
            for entity in [Entity(path=prefix, labels=labels, transform=np.eye(4))]
            for part, scene in zip(parts, scenes, strict=True)
        ]
        """The objects, shape (N * (1 + R),)."""
        self._frames, self._shown = frames[shown], shown
        self._spin = np.array([1.0 if rotors[i].direction == "ccw" else -1.0 for i in shown])

    @cached_property
    def extents(self) -> dict[str, Array]:
        """Lower and upper corner of the box around each rotor in its own frame [m], shape (2, 3), by path."""
        own = {id(item.scene): _extent(item.scene) for item in self.objects if item.scene is not self.body}
        return {item.path: own[id(item.scene)] for item in self.objects if id(item.scene) in own}

    @cached_property
    def enclosures(self) -> Enclosures:
        """Tells what of the body is around a point of its frame."""
        return Enclosures(self.body)

    def poses(self, position: Array, orientation: Array, rotor_speed: Array, time: float) -> Array:
        """Return the poses of the objects, object to world, shape (N * (1 + R), 4, 4).

        A propeller stands at the angle that it would have reached at its present speed since time 0: a
        function of state and time alone, so that looking at a simulation changes nothing in it.

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
    """Return what is fixed to the body and what turns with each rotor."""
    from pegasus.scene.vehicle_asset import rotor_of

    turns_with = [rotor_of(item.path, rotors) for item in scene.instances]
    parts: list[list[int]] = [[] for _ in range(len(rotors) + 1)]
    for index, rotor in enumerate(turns_with):
        parts[0 if rotor is None or rotor >= len(rotors) else rotor + 1].append(index)
    scenes = [replace(scene, instances=[scene.instances[i] for i in part]) for part in parts]
    return scenes[0], scenes[1:]


def _extent(scene: Scene) -> Array:
    """Return the box around what is drawn, shape (2, 3)."""
    placed = [
        scene.geometries[item.geometry].vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        for item in scene.instances
    ]
    points = np.concatenate(placed)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _seen_from(scene: Scene, frame: Array) -> Scene:
    """Return a scene in a frame of its own."""
    inverse = np.linalg.inv(frame)
    instances = [replace(item, transform=inverse @ item.transform) for item in scene.instances]
    return replace(scene, instances=instances)


def _rotor_frame(rotor: "RotorSpec") -> Array:
    """Return the frame that a rotor turns in about z, rotor to body, shape (4, 4)."""
    z = np.array(rotor.axis) / np.linalg.norm(rotor.axis)
    aside = np.array([0.0, 1.0, 0.0]) if abs(z[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(aside, z)
    x /= np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    frame[:3, 3] = rotor.position
    return frame
