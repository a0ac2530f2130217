"""Recipe of a dataset, and the manifest `manifest.json` that records it."""

import hashlib
import importlib.metadata
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from pegasus.base.components import build, class_of
from pegasus.base.errors import ConfigError
from pegasus.base.registry import Registry
from pegasus.base.system import SCENE_SUFFIXES
from pegasus.config.files import files_of, load_vehicle, load_world, scenario_model, scenario_world
from pegasus.config.scenario import ScenarioSpec, VehicleSpec, WorldSpec
from pegasus.dataset.basic import BasicWriter
from pegasus.dataset.coco import CocoWriter
from pegasus.dataset.kitti import KittiWriter
from pegasus.dataset.randomizers import RANDOMIZERS, Randomizer
from pegasus.dataset.sequences import EurocWriter, TumWriter
from pegasus.dataset.shards import WebDatasetWriter
from pegasus.dataset.writer import DatasetWriter, FrameFolder
from pegasus.dataset.yolo import YoloWriter
from pegasus.scene.stage import scene_files
from pegasus.version import __version__

WRITERS: Registry[DatasetWriter] = Registry(
    "writer",
    group="pegasus.writers",
    shipped={
        "basic": BasicWriter,
        "coco": CocoWriter,
        "kitti": KittiWriter,
        "yolo": YoloWriter,
        "euroc": EurocWriter,
        "tum": TumWriter,
        "webdataset": WebDatasetWriter,
    },
)
"""Writers by their name in YAML."""


# Frames of a scene that is no sequence.
_SHOTS = 10


@dataclass(frozen=True)
class Recipe:
    """Recipe of a dataset; equal recipes give the same files, byte for byte."""

    scenario: ScenarioSpec
    file: Path
    """File of the scenario, which the paths in it are relative to."""
    seed: int
    frame_count: int
    writer: str
    """Name from `WRITERS`."""
    renderer: str
    """Name from `pegasus.render.RENDERERS`."""

    def __post_init__(self) -> None:
        writer_class(self.writer)
        if self.frame_count < 1:
            raise ConfigError("must be 1 or more", field="frames", value=self.frame_count)
        if not 0 <= self.seed < 2**63:
            raise ConfigError("must be from 0 up to 2**63 - 1", field="seed", value=self.seed)

    @cached_property
    def randomizers(self) -> dict[str, Randomizer]:
        """Randomizers by name.

        Raises:
            ConfigError: If one is not known, or a parameter is not allowed.
        """
        spec = self.scenario.dataset
        built = {
            name: build(Randomizer, RANDOMIZERS, item, field=f"dataset.randomizers.{name}")
            for name, item in spec.randomizers.items()
        }
        for name, randomizer in built.items():
            if spec.frame_rate is not None and type(randomizer).moment is not Randomizer.moment:
                raise ConfigError(
                    "places vehicles anew in each frame, which tears a sequence apart",
                    field=f"dataset.randomizers.{name}.model",
                    value=spec.randomizers[name]["model"],
                    remedy="let them fly, such as by flights, or remove frame_rate",
                )
        return built

    def scene_of(self, index: int) -> int:
        """Return the number of the scene of a frame."""
        return index // self.frames_per_scene

    @cached_property
    def frames_per_scene(self) -> int:
        """Number of frames of each scene.

        Raises:
            ConfigError: If the scenario has no duration, or no image falls into a sequence.
        """
        spec, duration = self.scenario.dataset, self.scenario.duration
        if duration is None:
            raise ConfigError("is needed for a dataset", field="duration", remedy="set it in seconds")
        if spec.frames_per_scene is not None or spec.frame_rate is None:
            return spec.frames_per_scene or _SHOTS
        count = math.ceil((duration - spec.start) * spec.frame_rate - 1e-9)
        if count < 1:
            raise ConfigError(
                f"must be below the duration of {duration:g} s",
                field="dataset.start",
                value=spec.start,
                remedy="lower it, or fly longer",
            )
        return count

    def make_writer(self, folder: Path, cameras: tuple[str, ...], *, resume: bool) -> DatasetWriter:
        """Return the writer of the dataset.

        Raises:
            ConfigError: If the cameras do not suit the format, or the folder is not empty or cannot be
                written.
        """
        kind, chosen = writer_class(self.writer), self.scenario.dataset.annotators
        if issubclass(kind, BasicWriter) and chosen is not None:
            return kind(folder, cameras=cameras, annotators=tuple(chosen), resume=resume)
        return kind(folder, cameras=cameras, resume=resume)


def writer_class(name: str) -> type[DatasetWriter]:
    """Return the class of a writer.

    Args:
        name: Name from `WRITERS`, or module:Class.

    Raises:
        ConfigError: If there is none, or it is not derived from `DatasetWriter`.
    """
    return class_of(DatasetWriter, WRITERS, name, field="writer")


MANIFEST = "manifest.json"

# Packages that affect the content of frames, by renderer.
_PACKAGES = ("numpy", "mujoco", "usd-core", "pillow")
_RENDERERS = {"embree": ("embreex", "warp-lang"), "mitsuba": ("mitsuba", "drjit", "pyoidn")}
_EXTRAS = {"embree": "render", "mitsuba": "photo"}


@dataclass(frozen=True)
class Plan:
    """Properties common to all frames of a dataset."""

    cameras: tuple[str, ...]
    """Names of the images of each frame."""
    classes: tuple[str, ...]
    """Names of the classes in the order of their ids."""


def manifest_of(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """Return everything that determines the files of a dataset.

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


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a new dataset, or compare it with that of an existing one.

    A dataset may grow, or end sooner than begun: no frame depends on their number.

    Raises:
        ConfigError: If the manifest of the existing dataset differs, the dataset has more frames already, or
            the folder holds other files or cannot be written.
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
        there = FrameFolder(folder, resume=True)
        if before_count > count and (least := max(there.written(), default=-1) + 1) > count:
            raise ConfigError(
                f"the dataset in {folder} has {least} already",
                field="frames",
                value=count,
                remedy=f"give {least} or more, or a new folder",
            )
        if before_count != count:
            there.write(MANIFEST, content)
        return
    foreign = sorted(p.name for p in folder.glob("[!.]*"))
    if foreign:
        raise ConfigError(
            f"holds {foreign[0]} but no {MANIFEST}, so it is not a dataset that can be resumed",
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
    """Return the hashes of the files of world and vehicles, of their scenes and of the images in these."""
    scenario, file = recipe.scenario, recipe.file
    named: list[tuple[str, Path | VehicleSpec | WorldSpec]] = [
        ("worlds", scenario_world(scenario, file)),
        *(("vehicles", scenario_model(entry, file)) for entry in scenario.vehicles),
    ]
    hashes: dict[str, str] = {}
    for kind, described in named:
        for part in _files(kind, described):
            digest, name, number = hashlib.sha256(part.read_bytes()).hexdigest(), f"{kind}/{part.name}", 1
            # Files in different folders may have the same name.
            while hashes.get(name, digest) != digest:
                number += 1
                name = f"{kind}/{part.name}#{number}"
            hashes[name] = digest
    return hashes


def _files(kind: str, described: Path | VehicleSpec | WorldSpec) -> list[Path]:
    """Return the files of a world or a vehicle: its own, those that it extends, and those of its scene."""
    if isinstance(described, Path) and described.suffix.lower() in SCENE_SUFFIXES:
        return scene_files(described)
    files: list[Path] = []
    if isinstance(described, Path):
        files = files_of(kind, described)
        described = load_world(described)[0] if kind == "worlds" else load_vehicle(described)[0]
    return [*files, *scene_files(described.usd)] if isinstance(described.usd, Path) else files


def _difference(earlier: Any, now: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """Return the field of the first difference and both values; None if there is none."""
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
