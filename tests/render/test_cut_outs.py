"""Tests of cut-outs by texture: classes of cells, and images with and without them."""

from pathlib import Path

import numpy as np
import pytest
from embree_scenes import at, look, quad, scene
from PIL import Image

from pegasus.render.embree import material_table
from pegasus.render.embree.material_table import cut_out_cells
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Texture

MODES = ("repeat", "clamp", "mirror", "black")


def alpha(seed: int, side: int = 32) -> np.ndarray:
    """Return blobs of 0 and 255 with some values between, shape (side, side)."""
    random = np.random.default_rng(seed)
    coarse = random.choice(np.array([0, 255], np.uint8), (side // 8, side // 8))
    image = np.kron(coarse, np.ones((8, 8), np.uint8))
    spots = random.random(image.shape) < 0.05
    image[spots] = random.integers(0, 256, int(spots.sum()))
    return image


@pytest.mark.parametrize("mode", MODES)
def test_cells_agree_with_bilinear_opacity(mode: str) -> None:
    """A cell called clear or opaque would cut out, or close, points of the texture's own interpolation."""
    opacity = (alpha(3) / 255.0).astype(np.float32)
    side = len(opacity)
    cells = cut_out_cells(opacity, 0.5, (mode, mode))
    following = np.arange(1, side + 1)
    following[-1] = 0 if mode == "repeat" else side - 1
    right, lower = opacity[:, following], opacity[following]
    corner = right[following]
    if mode == "black":
        right[:, -1] = lower[-1] = corner[:, -1] = corner[-1] = 0.0
    for across in np.linspace(0.0, 1.0, 5):
        for down in np.linspace(0.0, 1.0, 5):
            top = opacity * (1 - across) + right * across
            value = top * (1 - down) + (lower * (1 - across) + corner * across) * down
            assert not (value >= 0.5)[cells == 0].any()
            assert (value >= 0.5)[cells == 1].all()
    assert 0.2 < (cells != 2).mean() < 1.0


@pytest.mark.parametrize("mode", MODES)
def test_cells_change_no_pixel(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong cells at borders, in mip levels or between these would move the outline of leaves."""
    pixels = np.full((64, 64, 4), 255, np.uint8)
    pixels[..., 3] = alpha(5, 64)
    path = tmp_path / "leaf.png"
    Image.fromarray(pixels).save(path)
    opacity = Texture(path, channel="a", srgb=False, wrap=(mode, mode), uv_scale=(2.3, 2.3))
    leaf = {"diffuse_color": (0.2, 0.5, 0.2), "opacity": opacity, "opacity_threshold": 0.5}
    sheets = [(f"sheet{k}", quad(4.0), leaf, at((k, 0.3 * k, 0.5 * k))) for k in range(4)]
    ground = ("ground", quad(60.0), {"diffuse_color": (0.5, 0.5, 0.5)}, at((0, 0, -1)))
    views = [look((3.0, 2.0, 6.0), (0.5, 0.2, 0.0)), look((25.0, 18.0, 12.0), (0.5, 0.2, 0.0))]

    def images() -> list[np.ndarray]:
        renderer = EmbreeRenderer(threads=2, bounces=0)
        renderer.load(scene(*sheets, ground))
        drawn = [renderer.render(view, ["entity"]).entity for view in views]
        renderer.close()
        return [image for image in drawn if image is not None]

    fast = images()
    mixed = np.vectorize(lambda _: np.uint8(2), otypes=[np.uint8])
    monkeypatch.setattr(material_table, "cut_out_cells", lambda opacity, *_: mixed(opacity))
    for image, expected in zip(fast, images(), strict=True):
        np.testing.assert_array_equal(image, expected)
        assert len(np.unique(expected)) > 2
