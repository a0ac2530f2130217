"""What a dataset was made from, kept beside it as `manifest.json`."""

import hashlib
import importlib.metadata
from pathlib import Path
from typing import Any

import orjson

from pegasus.dataset.episode import Plan
from pegasus.dataset.frame_folder import FrameFolder
from pegasus.dataset.recipe import Recipe
from pegasus.errors import ConfigError
from pegasus.run import found
from pegasus.scenario import load_vehicle, load_world
from pegasus.version import __version__

MANIFEST = "manifest.json"

# Packages that decide what a frame looks like, by renderer.
_PACKAGES = ("numpy", "mujoco", "usd-core", "pillow")
_RENDERERS = {"embree": ("embreex", "warp-lang"), "mitsuba": ("mitsuba", "drjit", "pyoidn")}
_EXTRAS = {"embree": "render", "mitsuba": "photo"}


def manifest_of(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """Return what decides the files of a dataset.

    Args:
        recipe: What it is made from.
        plan: Its cameras and classes.

    Raises:
        ConfigError: If the renderer is not installed.
    """
    scenario = recipe.scenario.model_dump(mode="json")
    content = orjson.dumps(scenario, option=orjson.OPT_SORT_KEYS)
    return {
        "format": 1,
        "seed": recipe.seed,
        "frame_count": recipe.frame_count,
        "writer": recipe.writer,
        "renderer": recipe.renderer,
        "cameras": list(plan.cameras),
        "classes": list(plan.classes),
        "versions": _versions(recipe.renderer),
        "scenario": scenario,
        "scenario_sha256": hashlib.sha256(content).hexdigest(),
        "files_sha256": _file_hashes(recipe),
    }


def begin(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a new dataset, or check that the one which is there is the same.

    A dataset may grow: no frame depends on how many there are.

    Args:
        folder: Folder of the dataset.
        manifest: What it is to be made from.

    Raises:
        ConfigError: If the dataset that is there was made from something else, or the folder holds something
            else or cannot be written.
    """
    content = orjson.dumps(manifest, option=orjson.OPT_INDENT_2)
    file = folder / MANIFEST
    if file.exists():
        count = manifest["frame_count"]
        try:
            earlier = orjson.loads(file.read_bytes())
            before_count = int(earlier["frame_count"])
        except (OSError, ValueError, TypeError, KeyError):
            raise ConfigError("cannot be read", file=file, remedy="give a new folder") from None
        if (difference := _difference(earlier | {"frame_count": count}, manifest)) is not None:
            field, before, now = difference
            raise ConfigError(
                f"the dataset in {folder} was begun with {_short(before)}",
                field=field,
                value=now if now is not None else "none",
                remedy="give the same, or a new folder",
            )
        if before_count > count:
            raise ConfigError(
                f"the dataset in {folder} was begun with {before_count}",
                field="frames",
                value=count,
                remedy="give as many or more, or a new folder",
            )
        if before_count < count:
            FrameFolder(folder, resume=True).write(MANIFEST, content)
        return
    foreign = sorted(p.name for p in folder.glob("[!.]*"))
    if foreign:
        raise ConfigError(
            f"holds {foreign[0]} but no {MANIFEST}, so it is no dataset to go on with",
            field="out",
            value=str(folder),
            remedy="give a new folder",
        )
    FrameFolder(folder, resume=True).write(MANIFEST, content)


def _versions(renderer: str) -> dict[str, str]:
    versions = {"pegasus": __version__}
    for package in (*_PACKAGES, *_RENDERERS[renderer]):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ConfigError(
                f"needs the package {package}, which is not installed",
                field="renderer",
                value=renderer,
                remedy=f"pip install pegasus-multirotor[{_EXTRAS[renderer]}]",
            ) from None
    return versions


def _file_hashes(recipe: Recipe) -> dict[str, str]:
    """Return the hashes of the files of world and vehicles, and of the models that they name."""
    scenario, file = recipe.scenario, recipe.file
    named = [("worlds", scenario.world), *(("vehicles", entry.model) for entry in scenario.vehicles)]
    hashes = {}
    for kind, name in named:
        path = found(kind, name, beside=file, field=kind)
        for part in (path, _model_file(kind, path)):
            if part is not None:
                hashes[f"{kind}/{part.name}"] = hashlib.sha256(part.read_bytes()).hexdigest()
    return hashes


def _model_file(kind: str, path: Path) -> Path | None:
    """Return the USD file that the file of a world or a vehicle names, or None."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    model = load_world(path)[0].usd if kind == "worlds" else load_vehicle(path)[0].usd
    return None if model is None else Path(model)


def _difference(earlier: Any, now: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """Return where two contents differ first, and what stands there; None if they do not."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in earlier if key not in now)]:
            inner = _difference(earlier.get(key), now.get(key), f"{place}.{key}" if place else key)
            if inner is not None:
                return inner
        return None
    return None if earlier == now else (place, earlier, now)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
