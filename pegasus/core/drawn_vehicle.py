"""Renderer objects of vehicles: bodies, turning rotors, control surfaces, nacelles and wheels."""

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
from pegasus.scene.moving_parts import Motions, MovingPart, moving_parts, parts_of
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
    """Renderer objects of the N copies of a vehicle: each body, each of R rotors, and each moving part.

    Objects are in the order body, rotors, moving parts of the first copy, then those of the next; those
    without geometry are left out, so that K remain for each copy.
    """

    def __init__(self, vehicle: DrawableVehicle) -> None:
        rotors, moving = vehicle.spec.rotor_list(), moving_parts(vehicle.spec)
        scene = vehicle.asset.scene
        body, turning, carried = _split(scene, rotors, moving)
        frames = np.array([_rotor_frame(rotor) for rotor in rotors])
        shown = [index for index, part in enumerate(turning) if part.instances]
        scenes = [body, *(_in_frame(turning[index], frames[index]) for index in shown), *carried.values()]
        names = ["/".join(moving[k].name for k in chain) for chain in carried]
        parts = ["body", *(f"rotor{index}" for index in shown), *names]
        labelled = (item.labels for item in scene.instances if "class" in item.labels)
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
        """The objects, shape (N * K,)."""
        self._motions, self._carried = Motions(moving), list(carried)
        joints = list(vehicle.spec.joints)
        self._on_joint = [
            (place, joints.index(rotors[index].joint or ""))
            for place, index in enumerate(shown)
            if rotors[index].joint is not None
        ]
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

    def poses(
        self,
        position: Array,
        orientation: Array,
        rotor_speed: Array,
        joint_angle: Array,
        wheel_angle: Array,
        time: float,
    ) -> Array:
        """Return the poses of the objects, object to world, shape (N * K, 4, 4).

        Moving parts are drawn in the body frame at angles 0; a rotor on a joint turns with it. A propeller's
        angle is its present speed times the time: a function of state and time alone, so that rendering does
        not change the simulation.

        Args:
            position: Origins of the body frames [m], shape (N, 3).
            orientation: Unit quaternions xyzw, body to world, shape (N, 4).
            rotor_speed: Rotor speeds [rad/s], shape (N, R).
            joint_angle: Angles of the joints [rad], shape (N, J).
            wheel_angle: Angles of the wheels [rad], shape (N, W).
            time: Simulation time [s].
        """
        body = np.zeros((len(position), 1, 4, 4))
        body[:, 0, :3, :3] = matrix_from_quaternion(orientation)
        body[:, 0, :3, 3] = position
        body[:, 0, 3, 3] = 1.0
        parts = [body]
        moved = np.zeros((len(position), 0, 4, 4))
        if self._carried or self._on_joint:
            moved = self._motions.at(np.concatenate([joint_angle, wheel_angle], axis=1))
        if self._shown:
            parts.append(self._rotor_poses(body, rotor_speed, moved, time))
        for chain in self._carried:
            pose = body
            for part in chain:
                pose = pose @ moved[:, part, None]
            parts.append(pose)
        return np.concatenate(parts, axis=1).reshape(-1, 4, 4)

    def _rotor_poses(self, body: Array, rotor_speed: Array, moved: Array, time: float) -> Array:
        """Return the poses of the rotors that are drawn, rotor to world."""
        angle = np.remainder(rotor_speed[:, self._shown] * time, 2 * np.pi) * self._spin
        turn = np.zeros((*angle.shape, 4, 4))
        turn[..., 0, 0] = turn[..., 1, 1] = np.cos(angle)
        turn[..., 1, 0] = np.sin(angle)
        turn[..., 0, 1] = -turn[..., 1, 0]
        turn[..., 2, 2] = turn[..., 3, 3] = 1.0
        if not self._on_joint:
            fixed: Array = body @ self._frames @ turn
            return fixed
        frames = np.repeat(self._frames[None], len(angle), axis=0)
        for place, joint in self._on_joint:
            # The first moving parts are those of the joints.
            frames[:, place] = moved[:, joint] @ frames[:, place]
        turning: Array = body @ frames @ turn
        return turning


def _split(
    scene: Scene, rotors: Sequence[RotorSpec], moving: Sequence[MovingPart]
) -> tuple[Scene, list[Scene], dict[tuple[int, ...], Scene]]:
    """Return the geometry fixed to the body, that of each rotor, and that of moving parts.

    The last by the indices of the parts that it moves with, the outermost first.
    """
    parts: dict[int | tuple[int, ...], list[int]] = {(): [], **{index: [] for index in range(len(rotors))}}
    for index, item in enumerate(scene.instances):
        rotor = rotor_of(item.path, rotors)
        place = parts_of(item.path, moving) if rotor is None or rotor >= len(rotors) else rotor
        parts.setdefault(place, []).append(index)
    scenes = {
        place: replace(scene, instances=[scene.instances[i] for i in part]) for place, part in parts.items()
    }
    chains = sorted(place for place in parts if isinstance(place, tuple) and place)
    return (
        scenes[()],
        [scenes[index] for index in range(len(rotors))],
        {chain: scenes[chain] for chain in chains},
    )


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


def _rotor_frame(rotor: RotorSpec) -> Array:
    """Return the rotor frame, whose z axis is the axis of rotation, rotor to body, shape (4, 4)."""
    frame = np.eye(4)
    frame[:3, :3] = axes_along(np.array(rotor.axis))
    frame[:3, 3] = rotor.position
    return frame
