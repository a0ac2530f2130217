"""What paths of light meet: Embree and its filter against Mitsuba, which casts again behind each surface."""

from pathlib import Path
from typing import Any

import mitsuba
import numpy as np
import pytest
from embree_scenes import LAMBERT, at, cube, dome, look, quad, scene, sun
from PIL import Image

from pegasus.render import RenderObject
from pegasus.render import mitsuba_paths as paths
from pegasus.render import mitsuba_variant as variants
from pegasus.render.embree_visibility import EmbreeVisibility
from pegasus.render.mitsuba_renderer import MitsubaRenderer
from pegasus.render.mitsuba_visibility import MitsubaVisibility
from pegasus.scene.scene import Entity, Light, Scene, Texture

GRAY: dict[str, Any] = {"diffuse_color": (0.5, 0.5, 0.5)} | LAMBERT
VIEW = look((0.0, -4.0, 3.0), (0.0, 0.0, 0.6), (32, 24), fov=50.0)
SAMPLES = 1024


@pytest.fixture(autouse=True)
def vectorized() -> None:
    """The variant that both are for."""
    variants.load_mitsuba()
    if mitsuba.variant() == variants.SCALAR:
        pytest.skip("needs LLVM")


def leaf(folder: Path) -> dict[str, Any]:
    pixels = np.full((16, 16, 4), 255, np.uint8)
    pixels[::2, :8, 3] = pixels[8:, 8:, 3] = 0
    Image.fromarray(pixels).save(folder / "leaf.png")
    image = Texture(folder / "leaf.png", channel="a", srgb=False, wrap=("clamp", "clamp"))
    return {"opacity": image, "opacity_threshold": 0.5} | GRAY


def mixed(folder: Path) -> Scene:
    """Return leaves, a pane, a lamp and a body that shines, by day."""
    lamp = Light("/Lamp", "SphereLight", at((-0.9, 0.3, 0.9)), (20_000.0, 9_000.0, 2_000.0), {"radius": 0.12})
    pane = {"diffuse_color": (0.2, 0.6, 0.2), "opacity": 0.4, **LAMBERT}
    shining = {"diffuse_color": (0.0, 0.0, 0.0), "emissive_color": (0.0, 0.1, 0.2), **LAMBERT}
    return scene(
        ("ground", quad(8.0), GRAY, np.eye(4)),
        ("leaf", quad(1.5), leaf(folder), at((-0.6, 0.4, 1.5))),
        ("pane", quad(1.2), pane, at((0.9, 0.2, 0.8))),
        ("glow", cube(0.6), shining, at((0.3, -0.5, 1.0))),
        lights=[sun((0.2, -0.3, 1.0), 800.0), dome(60.0), lamp],
    )


def photo(folder: Path, *, embree: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a picture with an object that came, moved and is cut out, and another that has gone."""
    monkeypatch.setattr(paths, "_embree_is_there", lambda: embree)
    renderer = MitsubaRenderer(denoise=False)
    renderer.load(mixed(folder))
    renderer.render(VIEW, ["radiance"])
    net = scene(("net", quad(0.8), leaf(folder), np.eye(4)), ("body", cube(0.2), GRAY, at((0, 0, 0.2))))
    for name in ("net", "gone"):
        renderer.add([RenderObject(f"/World/{name}", net, Entity(f"/World/{name}", {}, np.eye(4)))])
    renderer.render(VIEW, ["radiance"])
    renderer.remove(["/World/gone"])
    renderer.move(["/World/net"], at((0.1, -0.6, 0.7))[None])
    radiance = renderer.render(VIEW, ["radiance"], samples=SAMPLES).radiance
    found = renderer._paths._integrator._visibility
    assert isinstance(found, EmbreeVisibility if embree else MitsubaVisibility)
    renderer.close()
    return radiance


def test_both_see_the_same_light(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves, panes, lamps or what moves would be lit otherwise where Embree itself casts the rays."""
    one, other = (photo(tmp_path, embree=embree, monkeypatch=monkeypatch) for embree in (True, False))
    assert one.mean() == pytest.approx(other.mean(), rel=0.01)
    # In blocks of pixels the noise of the paths is below the bound, a lost lamp or shadow far above it.
    blocks = [np.median(part.reshape(6, 4, 8, 4, 3), axis=(1, 3)) for part in (one, other)]
    difference = np.abs(blocks[0] - blocks[1]) / (0.2 * one.mean() + blocks[1])
    assert difference.max() < 0.04
    assert (difference < 0.01).mean() > 0.8


def test_the_same_seed_gives_the_same_picture(tmp_path: Path) -> None:
    """Threads or the pictures before would decide which rays pass through a pane."""
    pictures = []
    for before in (0, 2):
        renderer = MitsubaRenderer(seed=3, denoise=False)
        renderer.load(mixed(tmp_path))
        for _ in range(before):
            renderer.render(look((1.0, -3.0, 2.0), (0.0, 0.0, 0.5), (16, 12)), ["radiance"])
        pictures.append(renderer.render(VIEW, ["radiance"], samples=8).radiance)
        renderer.close()
    np.testing.assert_array_equal(*pictures)
