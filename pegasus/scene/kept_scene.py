"""Scene of a USD file, kept in memory for the next simulation of the same world."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pxr import Usd

from pegasus.scene.scene import Scene
from pegasus.scene.stage import open_stage, stage_files
from pegasus.scene.translation import translate
from pegasus.scene.world_scene import label_prims


class _Kept(NamedTuple):
    scene: Scene
    stamps: dict[str, tuple[int, int]]
    """Stamps of the files that it was read from; see `_stamps`."""


_kept: dict[tuple[Path, frozenset[tuple[str, str]]], _Kept] = {}
"""The last scene by the path of its file and its further labels; one at most."""


def scene_of_file(path: Path, labels: Mapping[str, str] = MappingProxyType({})) -> Scene:
    """Return the scene of a USD file: the last one again if it is of the same unchanged files.

    Args:
        path: A .usd, .usda, .usdc, .usdz, .gltf or .glb file.
        labels: Further classes by path of the prim.

    Raises:
        ConfigError: See `translate` and `label_prims`.
    """
    path = path.resolve()
    key = path, frozenset(labels.items())
    last = _kept.get(key)
    if last is not None and _stamps(last.stamps) == last.stamps:
        return last.scene
    # The memory of the last world is free before another one is read.
    _kept.clear()
    stage = open_stage(path)
    stamps = _stamps(stage_files(stage))
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        label_prims(stage, labels, file=path)
    scene = translate(stage)
    # A reference that was not found, of which a warning tells, may be found the next time.
    if stamps and not scene.warnings:
        _kept[key] = _Kept(scene, stamps)
    return scene


def _stamps(files: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return time of change [ns] and size [bytes] of files by path; nothing if there is none for one."""
    try:
        facts = {file: Path(file).stat() for file in files}
    except OSError:
        return {}
    return {file: (fact.st_mtime_ns, fact.st_size) for file, fact in facts.items()}
