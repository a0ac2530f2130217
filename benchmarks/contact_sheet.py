"""Contact sheet of worlds: the fast image of each beside the path-traced one, by one exposure.

    python benchmarks/contact_sheet.py OUT.jpg [WORLDS]

A sheet of all ten worlds takes some four minutes on two cores.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from pegasus.cameras.imaging import Imaging
from pegasus.cli.thumbnails import load_world_view
from pegasus.contracts.renderer import Renderer
from pegasus.dataset.summary import contact_sheet
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.render.photo.renderer import MitsubaRenderer
from pegasus.worlds import GENERATORS

SIZE = (400, 225)
SAMPLES = (4, 64)
"""Samples of a pixel, fast and photo."""
COLUMNS = 2
"""Worlds in a row."""


def pair(name: str, renderers: Sequence[Renderer]) -> npt.NDArray[np.uint8]:
    """Return a world's images by all renderers side by side, exposed as the last one says."""
    scene, view = load_world_view(name, SIZE)
    lights = []
    for renderer, samples in zip(renderers, SAMPLES, strict=True):
        renderer.load(scene)
        radiance = renderer.render(view, ["radiance"], samples=samples).radiance
        assert radiance is not None
        lights.append(radiance)
    exposure = Imaging().exposure_for(lights[-1])
    developed = [Imaging().develop(light, exposure=exposure, cosine=None, samples=None) for light in lights]
    return np.concatenate(developed, axis=1)


def main(out: Path, names: Sequence[str]) -> None:
    """Draw the worlds and write the sheet."""
    renderers: list[Renderer] = [EmbreeRenderer(), MitsubaRenderer()]
    images = []
    try:
        for name in names:
            image = Image.fromarray(pair(name, renderers))
            ImageDraw.Draw(image).text(
                (6, 4), f"{name}: fast, photo", fill="white", stroke_width=1, stroke_fill="black"
            )
            images.append(image)
            print(name, flush=True)
    finally:
        for renderer in renderers:
            renderer.close()
    contact_sheet(images, COLUMNS).save(out, quality=85)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(GENERATORS))
