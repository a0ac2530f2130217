"""Tests of the cache of finishes: painted once, with equal bytes, and optional."""

from pathlib import Path

import numpy as np
import pytest

from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.finishes import FINISHES, Finish, Maps, finish_images


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "textures").iterdir()}


def test_a_finish_is_painted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every world would paint its textures anew, which takes most of its generation time."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    painted = []

    def paint(rng: np.random.Generator, pixels: int) -> Maps:
        painted.append(pixels)
        values = rng.uniform(size=(pixels, pixels))
        return Maps(np.stack([values] * 3, axis=2), values, 0.01 * values, opacity=np.round(values))

    finish = Finish(paint, side=1.0, contact=PhysicsMaterial(), pixels=8)
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        images = finish_images(finish, "mesh", tmp_path / name)
        assert images.has_opacity
        assert all(
            (tmp_path / name / file).is_file() for file in (images.color, images.roughness, images.normal)
        )
        made.append(files(tmp_path / name))
    assert painted == [8]
    assert made[0] == made[1]


def test_without_a_cache_the_same_images_are_painted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world would fail or differ where the cache cannot be written."""
    for name in "ab":
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    kept = finish_images(FINISHES["rubber"], "rubber", tmp_path / "a")
    (tmp_path / "file").touch()
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert finish_images(FINISHES["rubber"], "rubber", tmp_path / "b") == kept
    assert files(tmp_path / "a") == files(tmp_path / "b")
