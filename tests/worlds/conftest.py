"""A fixture of worlds without their textures, which take longest to make."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from pegasus.scene.scene import Scene
from pegasus.scene.translation import translate
from pegasus.worlds import WorldGenerator, make_world
from pegasus.worlds.finishes import Finish, Images


@pytest.fixture(scope="session")
def unpainted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[WorldGenerator], Scene]:
    """Make a world whose surfaces all show one grey pixel, and translate it."""

    def grey(_finish: Finish, _name: str, folder: Path) -> Images:
        Image.new("RGB", (1, 1), (128, 128, 128)).save(folder / "grey.png")
        return Images("./grey.png", "./grey.png", "./grey.png", has_opacity=False)

    def make(generator: WorldGenerator) -> Scene:
        folder = tmp_path_factory.mktemp(generator.name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pegasus.worlds.site.finish_images", grey)
            make_world(generator, folder)
        return translate(folder / f"{generator.name}.usdc")

    return make
