"""The scene of a world in Isaac Sim, read when it is needed: PhysX and RTX have the stage already."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pxr import Usd, UsdGeom

from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.saved_vehicles import saved_vehicles
from pegasus.scene.colliders import is_collider
from pegasus.scene.deferred import DeferredScene
from pegasus.scene.notices import Notices
from pegasus.scene.stage import note_unresolved, open_stage, stage_source

if TYPE_CHECKING:
    from pegasus.isaac.engine import IsaacEngine

_log = logging.getLogger(__name__)


def scene_of_file(file: Path) -> DeferredScene:
    """Return the scene of a USD file, of which no more is read than that there is something to see.

    Args:
        file: The file.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry.
    """
    stage, notices = open_stage(file), Notices()
    note_unresolved(stage, notices)
    for line in notices.lines():
        _log.warning(line)
    _warn_without_colliders(stage)
    # Layers that Kit has open too are only read here, and only while somebody needs the scene.
    return DeferredScene(str(file), lambda: file)


def scene_of_open_stage(engine: "IsaacEngine") -> DeferredScene:
    """Return the scene of the stage that is open, without vehicles; it is that of when it is first read.

    Args:
        engine: Engine whose vehicles are left out.

    Raises:
        ConfigError: If no stage is open, or it holds no geometry beside vehicles.
    """
    stage = kit.stage()
    if stage is None:
        raise ConfigError("no stage is open", field="stage", remedy="open one, or load a world")
    vehicles = tuple(entry.path for entry in saved_vehicles(stage))
    beside = (prim for prim in stage.Traverse() if not _is_below(str(prim.GetPath()), vehicles))
    if not any(prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.PointInstancer) for prim in beside):
        raise ConfigError(
            "the open stage holds no geometry",
            field="stage",
            value=Path(stage.GetRootLayer().identifier).stem,
            remedy="check that its references resolve and that its prims are active",
        )
    _warn_without_colliders(stage)

    def copied() -> Usd.Stage:
        # What is open may hold changes that no file has, and is Kit's to change while the copy is read.
        copy = Usd.Stage.Open(stage.Flatten())
        flying = {path.rpartition("/")[0] for path in engine.paths}
        for path in flying | {entry.path for entry in saved_vehicles(copy)}:
            copy.RemovePrim(path)
        return copy

    return DeferredScene(stage_source(stage), copied)


def _warn_without_colliders(stage: Usd.Stage) -> None:
    predicate = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
    if not any(is_collider(prim) for prim in Usd.PrimRange(stage.GetPseudoRoot(), predicate)):
        _log.warning("%s: no collider: vehicles fall through everything", stage_source(stage))


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in places)
