"""Tests of the thumbnails of worlds and vehicles: completeness, size and repeatability."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.base.system import resource
from pegasus.cli import thumbnails

KINDS = ("worlds", "vehicles")


@pytest.mark.parametrize("kind", KINDS)
def test_every_shipped_name_has_a_picture(kind: str) -> None:
    """The panel would show a missing or outdated thumbnail; run `pegasus make thumbnails`."""
    named = {path.stem for path in resource("config", kind).glob("*.yaml")}
    files = {path.stem: path for path in resource("data", "thumbnails", kind).glob("*.jpg")}
    assert set(files) == named
    for file in files.values():
        assert file.stat().st_size <= thumbnails.MOST_BYTES, file
        with Image.open(file) as image:
            assert image.size == thumbnails.SIZE, file
            # A camera in a wall or a scene without light shows one colour.
            assert np.asarray(image.convert("L")).std() > 8.0, file


def test_the_extension_has_its_pictures() -> None:
    """The extension would have no icon or preview."""
    for name, size, most in (
        ("preview.png", thumbnails.PREVIEW_SIZE, 400_000),
        ("icon.png", thumbnails.ICON_SIZE, 150_000),
    ):
        file = resource("data", name)
        assert file.stat().st_size <= most
        with Image.open(file) as image:
            assert image.size == size


def test_a_fitted_camera_sees_all_and_as_large_as_it_goes() -> None:
    """A vehicle's propellers would be cut off, or the vehicle be too small."""
    rng = np.random.default_rng(4)
    for points in (rng.uniform(-1, 1, (50, 3)) * [1.0, 0.3, 0.1] + 5.0, rng.uniform(0, 9, (50, 3))):
        direction = np.array([0.6, -0.64, 0.48])
        view = thumbnails.fitted_view(points, direction, math.radians(30.0), (400, 200), filled=0.8)
        pixels = view.lens.project((points - view.position) @ view.rotation, view.resolution)
        offsets = np.abs(pixels / [400, 200] - 0.5).max(axis=0)
        assert offsets.max() == pytest.approx(0.4, abs=1e-6)
        # Along the axis that limits the view, the margins on both sides are equal.
        axis = int(offsets.argmax())
        span = pixels[:, axis] / (400, 200)[axis]
        assert span.min() + span.max() == pytest.approx(1.0, abs=0.02)


@pytest.mark.photo
def test_pictures_are_made_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thumbnails would change without a change of their content."""
    monkeypatch.setattr(thumbnails, "_SAMPLES", 1)
    monkeypatch.setattr(thumbnails, "_OVERSIZE", 1)
    made: list[Path] = []
    for folder in "a", "b":
        thumbnails.make_thumbnails(["crazyflie", "box_room"], tmp_path / folder, done=made.append)
    assert [path.relative_to(tmp_path / "a").as_posix() for path in made[:2]] == [
        "thumbnails/vehicles/crazyflie.jpg",
        "thumbnails/worlds/box_room.jpg",
    ]
    contents = [path.read_bytes() for path in made]
    assert contents[:2] == contents[2:]
    with Image.open(io.BytesIO(contents[0])) as image:
        assert image.size == thumbnails.SIZE


@pytest.mark.parametrize("names", [["nothing"], ["town", "nothing.yaml"]])
def test_an_unknown_name_is_told_before_anything_is_drawn(names: Sequence[str], tmp_path: Path) -> None:
    """The error for a wrong name would come only after minutes of rendering."""
    told: list[Any] = []
    with pytest.raises(ConfigError, match=r"no such world or vehicle; known are .*town"):
        thumbnails.make_thumbnails(names, tmp_path, done=told.append)
    assert not told
    assert not list(tmp_path.iterdir())


@pytest.mark.photo
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unwritable folder would cause a traceback after the first image."""
    monkeypatch.setattr(thumbnails, "_thumbnail", lambda *_: b"")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--out = .*cannot be written"):
        thumbnails.make_thumbnails(["flat"], tmp_path / "file", done=print)
