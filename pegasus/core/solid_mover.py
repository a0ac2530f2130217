"""Mover of one rigid shape, as world and scenario files describe it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import build, require_instance
from pegasus.base.errors import ConfigError, package_error
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.scenario import parse
from pegasus.contracts.mover import MOTIONS, Motion, Mover
from pegasus.contracts.renderer import RenderObject
from pegasus.environment import Environment
from pegasus.scene.scene import Collider, Entity, Scene


class SolidMover(Mover):
    """Rigid shape with a motion.

    Args:
        spec: The description, or its fields by name as in a file: `{"name": "platform", "box": [2, 2, 0.2],
            "motion": {"model": "oscillation", "amplitude": [1, 0, 0], "period": 8}}`.
        motion: Motion in place of the one that is described.

    Raises:
        ConfigError: If a field is unknown, missing or not allowed, or a file cannot be read.
    """

    def __init__(self, spec: MoverSpec | Mapping[str, Any], *, motion: Motion | None = None) -> None:
        if not isinstance(spec, MoverSpec):
            spec = parse({"motion": {}, **spec} if motion is not None else spec, MoverSpec)
        self.spec, self.name = spec, spec.name
        if motion is None:
            motion = build(Motion, MOTIONS, spec.motion, field="motion")
        require_instance(Motion, "motion", motion)
        self.motion_law = motion
        """Function of time that it follows."""
        scene = _scene(spec)
        entity = Entity(f"/World/{spec.name}", {"class": spec.label}, np.eye(4))
        self.objects: Sequence[RenderObject] = [RenderObject(f"/World/{spec.name}/solid", scene, entity)]
        self.shapes: Sequence[Sequence[Collider]] = [scene.colliders if spec.collides else []]

    def bind(self, environment: Environment) -> None:
        """Use an environment; see `Mover.bind`."""
        self.motion_law.bind(environment)

    def poses(self, t: float) -> tuple[Array, Array]:
        """Return its pose, shape (1, 3) and (1, 4); see `Mover.poses`."""
        position, orientation = self.motion_law.pose(t)
        return position[None], orientation[None]

    def file(self) -> Path:
        """Return the USD file that shows it."""
        from pegasus.scene.mover_asset import mover_file  # It imports OpenUSD, which Isaac Sim starts itself.

        return mover_file(self.spec)


def _scene(spec: MoverSpec) -> Scene:
    try:
        from pegasus.scene.mover_asset import (
            mover_scene,  # It imports OpenUSD, which Isaac Sim starts itself.
        )
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    try:
        return mover_scene(spec)
    except ConfigError as error:
        raise error.within(field="usd") if error.file is None else error from None
