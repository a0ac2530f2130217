"""World generators: their contract and registry, and generated worlds as files in a cache."""

import dataclasses
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml
from pxr import Usd

from pegasus.base.components import Vec3, build, require
from pegasus.base.errors import ConfigError
from pegasus.base.registry import Registry
from pegasus.base.system import free_memory, user_cache
from pegasus.config.files import load_world
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.scenario import SpawnPoint, WorldSpec

_log = logging.getLogger(__name__)

_LARGE = 50_000
"""Number of triangles above which generating a world is logged, because it takes long."""
_UNUSED_DAYS = 30
# Memory per item of the translated scene, its physics and a renderer's tree [bytes], with a margin.
_BYTES_PER_TRIANGLE = 1000
_BYTES_PER_OBJECT = 40_000


class Quantities(NamedTuple):
    """Approximate size of a world, from which its memory is estimated before it is generated."""

    triangle_count: int
    """Triangles of distinct meshes; those of instances count once."""
    object_count: int
    """Prims and instances."""


@dataclass(frozen=True, eq=False)
class GeneratedWorld:
    """Scene of a generated world, and the places that vehicles may use in it."""

    stage: Usd.Stage
    spawn_points: Sequence[SpawnPoint] = ()
    paths: dict[str, list[Vec3]] = field(default_factory=dict)
    """Obstacle-free paths by name, each a list of points [m]."""
    movers: Sequence[MoverSpec] = ()
    """Objects that move by themselves; their files are in the folder of the world."""


@dataclass(frozen=True)
class WorldGenerator(ABC):
    """Contract of a world generator: a dataclass whose fields are the parameters in YAML.

    The same parameters must produce the same files, byte for byte.
    """

    name: ClassVar[str]

    seed: int = 0
    """Seed of all random choices."""

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**63, "seed", self.seed, "must be from 0 up to 2**63 - 1")

    @property
    def description(self) -> str:
        """First line of the generator's docstring."""
        return (type(self).__doc__ or "").strip().splitlines()[0]

    @abstractmethod
    def quantities(self) -> Quantities:
        """Return the approximate size of the world before it is generated."""

    @abstractmethod
    def generate(self, folder: Path) -> GeneratedWorld:
        """Return the world.

        Args:
            folder: Existing folder for textures and other files that the stage refers to.
        """

    def sources(self) -> set[Path]:
        """Return the source files that determine the world; a cached world is renewed when one changes."""
        return {Path(sys.modules[type(self).__module__].__file__ or "")}


GENERATORS: Registry[WorldGenerator] = Registry(
    "world generator",
    group="pegasus.worlds",
    shipped={
        "flat": "pegasus.worlds.flat:Flat",
        "courtyard": "pegasus.worlds.courtyard:Courtyard",
        "town": "pegasus.worlds.town:Town",
        "box_room": "pegasus.worlds.box_room:BoxRoom",
        "box_with_cylinders": "pegasus.worlds.box_with_cylinders:BoxWithCylinders",
        "warehouse": "pegasus.worlds.warehouse:Warehouse",
        "hangar": "pegasus.worlds.hangar:Hangar",
        "forest": "pegasus.worlds.forest:Forest",
        "hills": "pegasus.worlds.hills:Hills",
        "airfield": "pegasus.worlds.airfield:Airfield",
        "race_gates": "pegasus.worlds.race_gates:RaceGates",
    },
)
"""World generators by their name in YAML."""


def make_world(generator: WorldGenerator, folder: str | Path, *, name: str | None = None) -> Path:
    """Write a world as `NAME.yaml`, `NAME.usdc` and its textures.

    Args:
        generator: Generator of the world.
        folder: Destination; created if it does not exist.
        name: Name of the world; by default the generator's.

    Returns:
        The YAML file.

    Raises:
        ConfigError: If the world does not fit into memory, or cannot be written.
    """
    _require_memory(generator)
    target, name = Path(folder), name or generator.name
    try:
        target.mkdir(parents=True, exist_ok=True)
        world = generator.generate(target)
        if not world.stage.GetRootLayer().Export(str(target / f"{name}.usdc")):
            raise ConfigError("cannot be written", file=target / f"{name}.usdc")
        content = {
            "name": name,
            "description": generator.description,
            "usd": f"{name}.usdc",
            "spawn_points": [
                point.model_dump(mode="json", exclude_none=True) for point in world.spawn_points
            ],
            "paths": {key: [list(point) for point in points] for key, points in world.paths.items()},
        }
        if world.movers:
            content["movers"] = [mover.model_dump(mode="json", exclude_unset=True) for mover in world.movers]
        text = yaml.safe_dump(
            content, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110
        )
        header = f"# Made by the generator {generator.name}: {_in_words(generator)}.\n"
        (target / f"{name}.yaml").write_text(header + text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=error.filename or target) from None
    except MemoryError:
        raise _too_large(generator, "more memory than there is") from None
    return target / f"{name}.yaml"


def made_world(spec: WorldSpec) -> WorldSpec:
    """Return a world with the USD file that its generator writes, from the cache where possible.

    The user's cache keeps a generated world until its parameters or its generator change. Spawn points and
    paths are the generator's unless the world file sets its own.

    Args:
        spec: A world with a `generator`.

    Raises:
        ConfigError: If the generator is unknown, a parameter is invalid, or the world cannot be written.
    """
    assert spec.generator is not None
    generator = build(WorldGenerator, GENERATORS, spec.generator, field="generator")
    store = user_cache() / "worlds"
    folder = store / f"{generator.name}-{_key(generator)}"
    file = folder / f"{generator.name}.yaml"
    if not file.is_file():
        if generator.quantities().triangle_count > _LARGE:
            _log.info("making the world %s, once; it is kept in %s", spec.name, folder)
        try:
            _make_in(store, folder, generator)
        except OSError as error:
            raise ConfigError(
                f"cannot be written: {error.strerror}",
                file=error.filename or store,
                remedy="make the folder writable, or name another folder in PEGASUS_CACHE_DIR",
            ) from None
    os.utime(folder)
    made, _ = load_world(file)
    return spec.model_copy(
        update={
            "usd": made.usd,
            "spawn_points": made.spawn_points if spec.spawn_points is None else spec.spawn_points,
            "paths": {**made.paths, **spec.paths},
            "movers": [*made.movers, *spec.movers],
        }
    )


def _make_in(store: Path, folder: Path, generator: WorldGenerator) -> None:
    """Write a world into a temporary folder and rename it, so that no reader sees a partial world."""
    store.mkdir(parents=True, exist_ok=True)
    _drop_unused(store)
    with tempfile.TemporaryDirectory(dir=store, prefix=".new-", ignore_cleanup_errors=True) as place:
        part = Path(place) / folder.name
        make_world(generator, part)
        try:
            part.rename(folder)
        except OSError:
            # Another process has written the same files first.
            if not (folder / f"{generator.name}.yaml").is_file():
                raise


def _drop_unused(store: Path) -> None:
    """Remove cached worlds that have not been opened for `_UNUSED_DAYS`."""
    oldest = time.time() - _UNUSED_DAYS * 86400.0
    for folder in store.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _key(generator: WorldGenerator) -> str:
    """Return the cache key: a hash of the parameters, the generator's code and OpenUSD's version."""
    digest = hashlib.sha256(json.dumps(_parameters(generator), sort_keys=True, default=str).encode())
    digest.update(repr(Usd.GetVersion()).encode())
    for file in sorted(generator.sources()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _parameters(generator: WorldGenerator) -> dict[str, Any]:
    return {item.name: getattr(generator, item.name) for item in dataclasses.fields(generator)}


def _in_words(generator: WorldGenerator) -> str:
    return ", ".join(f"{key} {value}" for key, value in _parameters(generator).items())


def _require_memory(generator: WorldGenerator) -> None:
    """Raise a ConfigError if a world does not fit into the free memory."""
    triangles, objects = generator.quantities()
    needed = triangles * _BYTES_PER_TRIANGLE + objects * _BYTES_PER_OBJECT
    free = free_memory()
    if needed > free:
        raise _too_large(
            generator,
            f"some {triangles:.2g} triangles and {objects:.2g} objects, which take about "
            f"{needed / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free",
        )


def _too_large(generator: WorldGenerator, amount: str) -> ConfigError:
    return ConfigError(
        f"the world {generator.name} ({_in_words(generator)}) holds {amount}",
        remedy="choose a smaller size or fewer objects",
    )
