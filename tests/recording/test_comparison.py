"""Tests of distances between flown paths, against closed forms and a plain implementation."""

import json
import math

import numpy as np
import pytest

from pegasus import ConfigError, McapRecorder, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.recording import Track, compare_tracks, read_track
from pegasus.recording.comparison import discrete_frechet, distances_to_path


def circle(radius=5.0, *, center=(0.0, 0.0, 2.0), count=2001, phase=0.0):
    time = np.linspace(0.0, 20.0, count)
    angle = 2 * math.pi * time / 20.0 + phase
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
    return Track(f"circle of {radius} m", time, points + center)


def test_concentric_circles():
    """All distances of two circles flown at the same times would not be the difference of their radii."""
    found = compare_tracks(circle(5.0), circle(5.6))
    for distance in (found.hausdorff, found.frechet, found.rms, found.largest):
        assert distance == pytest.approx(0.6, abs=1e-4)
    assert found.common_time == 20.0


def test_a_path_flown_backwards():
    """The Hausdorff distance would depend on the direction, or the Frechet distance would not."""
    ahead = Track("ahead", np.array([0.0, 10.0]), np.array([[0.0, 0, 0], [10, 0, 0]]))
    back = Track("back", np.array([0.0, 10.0]), np.array([[10.0, 0, 0], [0, 0, 0]]))
    found = compare_tracks(ahead, back)
    assert found.hausdorff == 0.0
    assert found.frechet == pytest.approx(10.0)
    # The distance |10 - 2 t| has the mean square 100 / 3 and two samples would give 100.
    dense = [
        Track("x", np.linspace(0, 10, 2001), track.at(np.linspace(0, 10, 2001))) for track in (ahead, back)
    ]
    assert compare_tracks(*dense).rms == pytest.approx(10 / math.sqrt(3), rel=1e-6)


def test_hausdorff_against_points_between_corners():
    """Distances would be measured to the corners of a path instead of to its straight pieces."""
    path = np.array([[0.0, 0, 0], [10, 0, 0], [10, 10, 0]])
    points = np.array([[5.0, 2, 0], [12, 5, 0], [-3, 4, 0], [11, 11, 1]])
    assert distances_to_path(points, path) == pytest.approx([2.0, 2.0, 5.0, math.sqrt(3)])


def test_frechet_against_recursion():
    """The evaluation by antidiagonals would differ from the definition by recursion."""
    rng = np.random.default_rng(4)
    for rows, columns in ((1, 1), (1, 7), (9, 2), (12, 15)):
        a, b = rng.normal(size=(rows, 3)), rng.normal(size=(columns, 3))
        apart = np.linalg.norm(a[:, None] - b[None], axis=-1)
        best = np.full((rows, columns), np.inf)
        for i in range(rows):
            for j in range(columns):
                ways = [best[k] for k in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if min(k) >= 0]
                best[i, j] = max(apart[i, j], min(ways)) if ways else apart[i, j]
        assert discrete_frechet(a, b) == best[-1, -1]


def test_alignment_by_start_and_pose():
    """A rotated, moved and delayed copy of a track would not be brought back onto it."""
    one = circle()
    angle = 0.7
    turn = np.array(
        [[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]]
    )
    other = one.moved(turn, np.array([30.0, -4.0, 1.0]))
    assert compare_tracks(one, other).hausdorff > 20.0
    assert compare_tracks(one, other, align="pose").largest < 1e-9
    late = one.moved(np.eye(3), np.array([0.0, 0.0, 3.0]), 100.0)
    assert compare_tracks(one, late).rms is None
    assert compare_tracks(one, late, align="start").largest < 1e-12


def test_a_log_and_its_text_file(tmp_path):
    """A path read from a log and from a text file in three forms would differ."""
    log = tmp_path / "flight.mcap"
    with Simulation("flat", observers=[McapRecorder(log, state_rate=50.0)]) as sim:
        flight = trajectories.circle(radius=2.0, height=2.0, speed=2.0)
        sim.add(Multirotor("iris", count=2, backends=[GeometricController(flight)]))
        sim.run(duration=3.0)
    track = read_track(log, copy=1)
    assert len(track.time) == 150
    rows = np.column_stack([track.time, track.position])
    np.savetxt(tmp_path / "bare.csv", rows, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "tum.txt", np.column_stack([rows, np.zeros((len(rows), 4))]), fmt="%.17g")
    named = np.column_stack([rows[:, 3], rows[:, 0], rows[:, 0] * 0, rows[:, 1:3]])
    np.savetxt(tmp_path / "named.csv", named, delimiter=";", header="z;t;speed;x;y", comments="", fmt="%.17g")
    for name in ("bare.csv", "tum.txt", "named.csv"):
        assert compare_tracks(track, read_track(tmp_path / name)).largest == 0.0
    with pytest.raises(ConfigError, match="copy = 2: must be from 0 to 1"):
        read_track(log, copy=2)
    with pytest.raises(ConfigError, match="choose one of iris"):
        read_track(log, vehicle="x500")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0,0,0\n", "must have at least two points"),
        ("0,0,0,0\n1,0,0\n", "row 2: has 3 columns, must have 4"),
        ("0,0,0,0\n1,0,nan,0\n", r"row 2, column y = 'nan': must be a finite number"),
        (
            "1,0,0,0\n0.5,0,0,0\n2,0,0,0\n",
            "row 2, column time = 0.5: must not be earlier than the row before",
        ),
        ("time,x,y\n0,0,0\n", "has no column z"),
    ],
)
def test_wrong_text_files(tmp_path, text, message):
    """A damaged track would be compared, or end in a traceback."""
    file = tmp_path / "track.csv"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_track(file)


def test_wrong_arguments(tmp_path):
    """A missing file, or an unknown alignment, would end in a traceback."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_track(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="align = 'ends': must be one of none, start, pose"):
        compare_tracks(circle(), circle(), align="ends")


def test_the_command(tmp_path, capsys, monkeypatch):
    """`pegasus compare` would print other figures than the functions, or a traceback for a missing file."""
    from pegasus.cli.main import main

    for name, track in (("a.csv", circle(5.0)), ("b.csv", circle(5.5))):
        np.savetxt(tmp_path / name, np.column_stack([track.time, track.position]), delimiter=",", fmt="%.17g")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["pegasus", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr()

    code, printed = run(tmp_path / "a.csv", tmp_path / "b.csv", "--json")
    assert code == 0
    assert json.loads(printed.out)["hausdorff"] == pytest.approx(0.5, abs=1e-4)
    code, printed = run(tmp_path / "a.csv", tmp_path / "b.csv", "--align", "start")
    assert "31.42 m in 20.00 s" in printed.out
    assert "Hausdorff" in printed.out
    code, printed = run(tmp_path / "a.csv", tmp_path / "none.csv")
    assert (code, len(printed.err.splitlines())) == (2, 1)
