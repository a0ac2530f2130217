"""Scene of a USD file, kept in memory for the next simulation of the same world."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pegasus.scene.scene import Scene
from pegasus.scene.stage import open_stage, stage_files
from pegasus.scene.translation import translate


class _Kept(NamedTuple):
    scene: Scene
    stamps: dict[str, tuple[int, int]]
    """Stamps of the files that it was read from; see `_stamps`."""


_kept: dict[Path, _Kept] = {}
"""The last scene by the path of its file; one at most."""


def scene_of_file(path: Path) -> Scene:
    """Return the scene of a USD file: the last one again if it is of the same unchanged files.

    Args:
        path: A .usd, .usda, .usdc or .usdz file.

    Raises:
        ConfigError: See `translate`.
    """
    path = path.resolve()
    last = _kept.get(path)
    if last is not None and _stamps(last.stamps) == last.stamps:
        return last.scene
    # The memory of the last world is free before another one is read.
    _kept.clear()
    stage = open_stage(path)
    stamps = _stamps(stage_files(stage))
    scene = translate(stage)
    # A reference that was not found, of which a warning tells, may be found the next time.
    if stamps and not scene.warnings:
        _kept[path] = _Kept(scene, stamps)
    return scene


def _stamps(files: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return time of change [ns] and size [bytes] of files by path; nothing if there is none for one."""
    try:
        facts = {file: Path(file).stat() for file in files}
    except OSError:
        return {}
    return {file: (fact.st_mtime_ns, fact.st_size) for file, fact in facts.items()}
