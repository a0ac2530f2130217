"""Tests of the plot of a flight."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from recording_stand_ins import Vehicle, fly

from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.state import Reference
from pegasus.recording import McapRecorder, plot_flight, read_log
from pegasus.recording.reader import Log
from tests.waits import LIMIT

BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"


def flown(path: Path, *, followed: bool = True, count: int = 1, rotor_count: int = 4) -> Log:
    """Record a circle of 10 s with tracking errors of some centimetres, and read it back."""

    def move(vehicle: Vehicle, t: float) -> None:
        position = np.stack([5 * np.cos(t) + 12 * np.arange(count), np.full(count, 5 * np.sin(t))], axis=-1)
        vehicle.state.position[:, :2], vehicle.state.position[:, 2] = position, min(t, 3)
        vehicle.state.orientation[:] = quaternion_from_euler(0.2 * np.sin(3 * t), 0.2 * np.cos(3 * t), t)
        vehicle.state.rotor_speed[:] = 600 + 50 * np.sin(t + np.arange(rotor_count))
        if followed:
            offset = 0.1 * np.array([np.sin(t), np.cos(2 * t), 0.5])
            vehicle.reference = Reference.hold(vehicle.state.position + offset, np.zeros(count))
            vehicle.reference.segment = "climb" if t < 3 else "circle"

    fly([McapRecorder(path)], Vehicle("iris", count, rotor_count), move, steps=2500)
    return read_log(path)


def quadrants(path: Path) -> list[npt.NDArray[np.float32]]:
    """Return the path, error, attitude and rotor panels of an image."""
    pixels = imread(path)[..., :3]
    assert pixels.shape == (1200, 1600, 3)
    return [
        pixels[rows, columns]
        for rows in (slice(600), slice(600, 1200))
        for columns in (slice(760), slice(800, 1600))
    ]


def has(pixels: npt.NDArray[np.float32], color: str, *, least: int = 300) -> bool:
    """Tell whether an image has at least a number of pixels of a colour."""
    near = np.abs(pixels - np.array(to_rgb(color))).max(axis=-1) < 0.03
    return int(near.sum()) >= least


def test_picture_shows_every_part(tmp_path: Path) -> None:
    """A curve of the flight's plot would be missing."""
    plot_flight(flown(tmp_path / "log"), tmp_path / "flight.png")
    path, errors, attitude, rotors = quadrants(tmp_path / "flight.png")
    assert has(path, BLUE)
    assert has(path, "#f0b95c")
    for curve in (BLUE, ORANGE, GREEN):
        assert has(errors, curve)
        assert has(attitude, curve)
    for curve in (BLUE, ORANGE, GREEN, PINK):
        assert has(rotors, curve)
    for panel in (errors, attitude, rotors):
        assert has(panel, "#dbe9f6", least=20_000)  # The segments' shades.
        assert has(panel, "#fde8d7", least=60_000)


def test_the_figure_is_returned_and_not_shown(tmp_path: Path) -> None:
    """A notebook could not show or change the plot, or a file would be written unasked."""
    figure = plot_flight(flown(tmp_path / "log"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Path",
        "Position error",
        "Attitude",
        "Rotor speeds",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    figure.savefig(tmp_path / "own.pdf")
    assert (tmp_path / "own.pdf").read_bytes()[:4] == b"%PDF"


def test_picture_without_reference(tmp_path: Path) -> None:
    """A flight by a user's own controller could not be drawn."""
    plot_flight(flown(tmp_path / "log", followed=False), tmp_path / "flight.png")
    path, errors, attitude, _ = quadrants(tmp_path / "flight.png")
    assert has(path, BLUE)
    assert has(attitude, ORANGE)
    assert not has(path, "#f0b95c", least=1)
    assert not has(errors, BLUE, least=1)


def test_picture_of_many_copies_and_rotors(tmp_path: Path) -> None:
    """A fleet or an octorotor could not be drawn."""
    plot_flight(flown(tmp_path / "log", count=3, rotor_count=8), tmp_path / "flight.png", vehicle="iris")
    path, _, _, rotors = quadrants(tmp_path / "flight.png")
    assert has(path, BLUE)
    assert has(rotors, "#4d4d4d", least=50)


def test_what_cannot_be_drawn_or_written_is_one_line(tmp_path: Path) -> None:
    """A wrong name, an empty log or a wrong folder would end in a traceback."""
    log = flown(tmp_path / "log")
    with pytest.raises(ConfigError, match=r"vehicle = 'hexa': has no recorded states; choose one of iris"):
        plot_flight(log, tmp_path / "flight.png", vehicle="hexa")
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        plot_flight(log, tmp_path / "gone" / "flight.png")
    fly([McapRecorder(tmp_path / "log")], Vehicle(), lambda *_: None, steps=-1)
    with pytest.raises(ConfigError, match="record a run of at least one step"):
        plot_flight(read_log(tmp_path / "log"), tmp_path / "flight.png")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_drawing_leaves_matplotlib_as_it_was(tmp_path: Path) -> None:
    """Importing would be slow, or a user's own plots would change their style."""
    flown(tmp_path / "log")
    program = (
        "import sys, pegasus.recording as r\n"
        "assert not any(m in sys.modules for m in ('matplotlib', 'rich'))\n"
        f"log = r.read_log({str(tmp_path / 'log')!r})\n"
        "import matplotlib\n"
        "before = dict(matplotlib.rcParams)\n"
        f"r.plot_flight(log, {str(tmp_path / 'flight.png')!r})\n"
        "assert dict(matplotlib.rcParams) == before\n"
        "assert not sys.modules['matplotlib.pyplot'].get_fignums()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], timeout=LIMIT, check=True)
