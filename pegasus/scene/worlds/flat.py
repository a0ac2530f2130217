"""The worlds that come with the simulator."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pxr import Usd, UsdPhysics

from pegasus.errors import ConfigError
from pegasus.scene.authoring import (
    Surface,
    ground_plane,
    group,
    material,
    mesh,
    new_stage,
    physics_material,
    subset,
    sun_and_sky,
    tiles,
)
from pegasus.scene.courtyard import courtyard
from pegasus.scene.scene import PhysicsMaterial

ROOT = "World"

_CELL = 4.0
_CELLS = 40
_HORIZON = 1000.0


def make_world(name: str, path: str | Path) -> None:
    """Write one of the shipped worlds; the same bytes every time.

    Args:
        name: `flat` or `courtyard`.
        path: File to write, .usda.

    Raises:
        ConfigError: If there is no such world, or the file cannot be written.
    """
    if name not in _MAKERS:
        raise ConfigError(f"must be one of {', '.join(_MAKERS)}", field="world", value=name)
    stage = new_stage(ROOT)
    UsdPhysics.Scene.Define(stage, f"/{ROOT}/Physics")
    sun_and_sky(stage, f"/{ROOT}")
    _MAKERS[name](stage)
    try:
        Path(path).write_text(stage.GetRootLayer().ExportToString(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None


def _flat(stage: Usd.Stage) -> None:
    """Write level ground: a checker of 160 m, and plain ground out to the horizon."""
    root = f"/{ROOT}"
    grass = material(stage, f"{root}/Looks/Grass", (0.13, 0.22, 0.07))
    light = material(stage, f"{root}/Looks/Light", (0.50, 0.49, 0.46))
    dark = material(stage, f"{root}/Looks/Dark", (0.30, 0.31, 0.32))
    soil = physics_material(stage, f"{root}/Looks/Soil", PhysicsMaterial(0.8, 0.7, 0.1))
    group(stage, f"{root}/Ground", "ground")
    ground_plane(stage, f"{root}/Ground/Collision", soil)
    half = _CELL * _CELLS / 2
    lines = np.concatenate([[-_HORIZON], np.linspace(-half, half, _CELLS + 1), [_HORIZON]])
    points, faces = tiles(lines, lines)
    count = _CELLS + 2
    row, column = np.divmod(np.arange(count**2), count)
    inside = (row > 0) & (row < count - 1) & (column > 0) & (column < count - 1)
    odd = (row + column) % 2 == 1
    floor = mesh(stage, f"{root}/Ground/Floor", points, faces, Surface(grass))
    subset(floor, "light_tile", np.nonzero(inside & odd)[0].tolist(), light)
    subset(floor, "dark_tile", np.nonzero(inside & ~odd)[0].tolist(), dark)


_MAKERS: dict[str, Callable[[Usd.Stage], None]] = {"flat": _flat, "courtyard": courtyard}
