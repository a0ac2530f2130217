"""Write a generated world as files, and keep those that world files ask for."""

import dataclasses
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pxr import Usd

from pegasus.components import build
from pegasus.errors import ConfigError
from pegasus.folders import user_cache
from pegasus.machine import free_memory
from pegasus.scenario import WorldSpec, read_file
from pegasus.scene.worlds.generator import WorldGenerator
from pegasus.scene.worlds.registry import GENERATORS
from pegasus.scene.worlds.site import Site

_LARGE = 50_000
"""Triangles of a world that takes so long to make that it is told of."""
_log = logging.getLogger(__name__)

_SCENE = Path(__file__).resolve().parents[1]
SHAPES = ("authoring", "flat_faces", "lettering", "lofting", "solids")
"""Modules of `pegasus.scene` that decide, beside the generators themselves, what these write."""
_UNUSED_DAYS = 30

# What the translated scene, its physics and a renderer's tree take for each [bytes], with a margin.
_BYTES_PER_TRIANGLE = 1000
_BYTES_PER_OBJECT = 40_000


def make_world(generator: WorldGenerator, folder: str | Path, *, name: str | None = None) -> Path:
    """Write a world: `NAME.yaml`, `NAME.usdc` and its textures; the same bytes every time.

    Args:
        generator: What makes it.
        folder: Where it is written; made where it does not exist.
        name: Name of the world; that of the generator when left out.

    Returns:
        The YAML file.

    Raises:
        ConfigError: If it would not fit into memory, or cannot be written.
    """
    _require_memory(generator)
    target, name = Path(folder), name or generator.name
    try:
        target.mkdir(parents=True, exist_ok=True)
        site = Site(target, generator.seed)
        generator.build(site)
        if not site.stage.GetRootLayer().Export(str(target / f"{name}.usdc")):
            raise ConfigError("cannot be written", file=target / f"{name}.usdc")
        content = {
            "name": name,
            "description": generator.description,
            "usd": f"{name}.usdc",
            "spawn_points": [point.model_dump(mode="json") for point in site.spawn_points],
            "paths": {key: [list(point) for point in points] for key, points in site.paths.items()},
        }
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
    """Return a world whose scene comes from a generator with the file of its scene, made where it is not yet.

    What was made is kept in the user's cache until the parameters or the generators change. Spawn points and
    paths are those of the generator where the world has none of its own.

    Args:
        spec: A world with a `generator`.

    Raises:
        ConfigError: If the generator is not known, a parameter is wrong, or the world cannot be made.
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
    made = read_file(file, WorldSpec)
    assert made.usd is not None
    return spec.model_copy(
        update={
            "usd": folder / made.usd,
            "spawn_points": made.spawn_points if spec.spawn_points is None else spec.spawn_points,
            "paths": {**made.paths, **spec.paths},
        }
    )


def _make_in(store: Path, folder: Path, generator: WorldGenerator) -> None:
    """Make a world in a folder of its own, so that nobody ever sees half of one."""
    store.mkdir(parents=True, exist_ok=True)
    _drop_unused(store)
    with tempfile.TemporaryDirectory(dir=store, prefix=".new-", ignore_cleanup_errors=True) as place:
        part = Path(place) / folder.name
        make_world(generator, part)
        try:
            part.rename(folder)
        except OSError:
            # Another process was faster with the very same files.
            if not (folder / f"{generator.name}.yaml").is_file():
                raise


def _drop_unused(store: Path) -> None:
    """Remove worlds that nobody has opened for long."""
    oldest = time.time() - _UNUSED_DAYS * 86400.0
    for folder in store.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _key(generator: WorldGenerator) -> str:
    """Return what tells generated worlds apart: parameters, the code that made them, OpenUSD's version."""
    digest = hashlib.sha256(json.dumps(_parameters(generator), sort_keys=True, default=str).encode())
    digest.update(repr(Usd.GetVersion()).encode())
    source = Path(sys.modules[type(generator).__module__].__file__ or "")
    files = {*_SCENE.rglob("worlds/**/*.py"), *_SCENE.rglob("finishes/*.py"), source}
    for file in sorted(files | {_SCENE / f"{name}.py" for name in SHAPES}):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _parameters(generator: WorldGenerator) -> Mapping[str, Any]:
    return {field.name: getattr(generator, field.name) for field in dataclasses.fields(generator)}


def _in_words(generator: WorldGenerator) -> str:
    return ", ".join(f"{key} {value}" for key, value in _parameters(generator).items())


def _require_memory(generator: WorldGenerator) -> None:
    """Refuse a world that would not fit into what memory is free."""
    triangles, objects = generator.quantities()
    needed = triangles * _BYTES_PER_TRIANGLE + objects * _BYTES_PER_OBJECT
    free = free_memory()
    if needed > free:
        raise _too_large(
            generator,
            f"some {triangles:.2g} triangles and {objects:.2g} objects, which take about "
            f"{needed / 1e9:.1f} GB of memory where {free / 1e9:.1f} GB are free",
        )


def _too_large(generator: WorldGenerator, amount: str) -> ConfigError:
    return ConfigError(
        f"the world {generator.name} ({_in_words(generator)}) holds {amount}",
        remedy="choose a smaller size or fewer objects",
    )
