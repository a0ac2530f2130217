"""Tests of trajectories from CSV files."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories import located, trajectory_from_spec
from pegasus.core.track_table import COLUMNS


def curve(t):
    """Return the row of a known curve: time, position to jerk, yaw, yaw rate."""
    w = 0.8
    c, s = math.cos(w * t), math.sin(w * t)
    return [
        *(t, 3 * c, 2 * s, 2 + 0.5 * s),
        *(-3 * w * s, 2 * w * c, 0.5 * w * c),
        *(-3 * w**2 * c, -2 * w**2 * s, -0.5 * w**2 * s),
        *(3 * w**3 * s, -2 * w**3 * c, -0.5 * w**3 * c),
        *(3.0 + 0.5 * t, 0.5),
    ]


def rows(step=0.05, count=120, begin=0.0):
    return [curve(begin + step * k) for k in range(count)]


def written(path, table, names=COLUMNS, digits=9):
    lines = [",".join(names)] if names else []
    width = len(names) if names else len(table[0])
    lines += [",".join(f"{value:.{digits}g}" for value in row[:width]) for row in table]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "flight.csv"


@pytest.mark.parametrize("given", [4, 7, 10, 13, 15])
def test_follows_the_curve_whatever_is_given(given, file):
    """If this fails, derivatives that are left out are not those of the path."""
    flight = trajectories.csv(written(file, rows(digits := 0.05), COLUMNS[:given], digits=14))
    assert flight.duration == pytest.approx(119 * digits)
    # The ends of a spline know less of the curve than its middle.
    for t in np.linspace(0.5, flight.duration - 0.5, 97):
        point, expected = flight.sample(t), np.array(curve(t)[1:13]).reshape(4, 3)
        for k, tolerance in enumerate((1e-6, 1e-5, 1e-4, 3e-3)):
            np.testing.assert_allclose(point.motion[k], expected[k], atol=tolerance)
        if given == 15:
            assert point.yaw == pytest.approx(3.0 + 0.5 * t)
            assert point.yaw_rate == pytest.approx(0.5)
        else:
            assert point.yaw is None


def test_positions_alone_have_exact_derivatives(file, oracle):
    """If this fails, feed-forward contradicts the path between the rows."""
    flight = trajectories.csv(written(file, rows(0.7, 9), COLUMNS[:4]))
    oracle.assert_exact_derivatives(flight, tolerance=1e-4)
    for k in range(9):
        np.testing.assert_allclose(flight.sample(0.7 * k).position, curve(0.7 * k)[1:4], atol=1e-8)


def test_rounded_rows_stay_smooth(file):
    """If this fails, five digits in a file turn into jerks of hundreds of m/s^3."""
    flight = trajectories.csv(written(file, rows(0.01, 300), digits=5))
    for t in np.linspace(0.0, flight.duration, 1000):
        for k, expected in enumerate(np.array(curve(t)[1:13]).reshape(4, 3)):
            np.testing.assert_allclose(flight.sample(t).motion[k], expected, atol=2e-4)


def test_reads_the_layout_of_pegasus_simulator(file):
    """If this fails, the files that its examples fly are refused or flown backwards.

    They have 15 columns without names at 100 Hz, the last instant first.
    """
    flight = trajectories.csv(written(file, rows(0.01, 300)[::-1], names=None))
    np.testing.assert_allclose(flight.sample(1.0).position, curve(1.0)[1:4], atol=1e-8)
    assert flight.sample(1.0).yaw == pytest.approx(3.5)


def test_headings_beyond_a_turn_do_not_jump(file):
    """If this fails, the vehicle spins around where a file's heading goes from pi to -pi."""
    table = rows()
    for row in table:
        row[13] = math.remainder(row[13], 2 * math.pi)
    flight = trajectories.csv(written(file, table))
    yaws = [flight.sample(t).yaw for t in np.linspace(0, flight.duration, 500)]
    assert np.abs(np.diff(yaws)).max() < 0.01


def test_a_scenario_names_files_beside_itself(file, tmp_path):
    """If this fails, a scenario flies only from its own folder."""
    written(file, rows())
    spec = [{"takeoff": {"height": 2.0}}, {"csv": {"file": "flight.csv"}}, "land"]
    flight = trajectory_from_spec(located(spec, tmp_path))
    assert "csv" in [part.name for part in flight.parts]
    assert located(spec, tmp_path)[1]["csv"]["file"] == str(file)
    absolute = [{"csv": {"file": str(file)}}]
    assert located(absolute, tmp_path / "elsewhere") == absolute
    with pytest.raises(ConfigError, match=r"^trajectory\.0\.csv\.file = 'no\.csv': cannot be read"):
        trajectory_from_spec([{"csv": {"file": "no.csv"}}])


def spoilt(change):
    table = rows(0.01, 60)
    change(table)
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t[7].__setitem__(4, math.nan),
            "row 9, column vx = 'nan': must be a finite number; correct or remove the row",
        ),
        (
            lambda t: t[7].__setitem__(13, math.inf),
            "row 9, column yaw = 'inf': must be a finite number; correct or remove the row",
        ),
        (
            lambda t: t.pop(20),
            "row 22, column time = 0.21: comes 0.02 s after the row before, where 0.01 s are usual; "
            "add the missing rows, or use the wider spacing for all rows",
        ),
        (
            lambda t: t[7].__setitem__(0, 0.055),
            "row 9, column time = 0.055: must not be earlier than the row before; sort the rows",
        ),
        (
            lambda t: t[7].__setitem__(3, -0.2),
            "row 9, column z = -0.2: is below the ground, z = 0 m; "
            "raise it, or set ground to the lowest height of the world's terrain",
        ),
        (
            lambda t: t[7].pop(),
            "row 9: has 14 columns, must have 15; complete the row or remove it",
        ),
        (
            lambda t: [row.__setitem__(5, -row[5]) for row in t],
            "column vy = -1.5999488: is not the rate of y, which changes from the previous row at 1.6, not "
            "at -1.6 (allowed difference 0.32); correct the velocity, omit its columns, or raise",
        ),
        (
            lambda t: t[7].__setitem__(7, 9.0),
            "row 9, column ax = 9.0: is not the rate of vx, which changes from the previous row at -1.917, "
            "not at 3.541 (allowed difference 1.8); correct the acceleration,",
        ),
        (lambda t: t.__delitem__(slice(3, None)), ": holds 3 rows of numbers; at least four are needed"),
    ],
)
def test_bad_tables_are_named(change, message, file):
    """If this fails, a broken file is flown, or its user searches thousands of rows for the mistake."""
    written(file, spoilt(change))
    with pytest.raises(ConfigError) as caught:
        trajectories.csv(file)
    text = str(caught.value)
    assert text.startswith(str(file))
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("time", "x", "y"),
            "header = 'time, x, y': has no column z; known are time, x, y, z, vx",
        ),
        (("time", "x", "y", "z", "vx", "vy"), "has no column vz"),
        (("time", "x", "y", "z", "ax", "ay", "az"), "has no column vx"),
        (
            ("time", "x", "y", "height"),
            "header = 'time, x, y, height': has no column z; known are time, x, y, z, vx",
        ),
        (("time", "x", "x", "z"), "header, column 3 = 'x': is given twice; remove one"),
        (
            None,
            "has no header and 6 columns; add a header, or give the first 4, 7, 10,",
        ),
    ],
)
def test_bad_columns_are_named(names, message, file):
    """If this fails, a column is taken for another one."""
    written(file, [row[: len(names or range(6))] for row in rows()], names)
    with pytest.raises(ConfigError) as caught:
        trajectories.csv(file)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(file))


def test_rows_at_no_fixed_rate_have_no_gaps(file):
    """If this fails, a list of instants far apart is refused for not being a recording."""
    times = [0.0, 0.5, 0.6, 1.8, 2.0, 3.5, 4.4]
    assert trajectories.csv(written(file, [curve(t) for t in times], COLUMNS[:4])).duration == 4.4


def test_an_empty_file_is_named(file):
    """If this fails, an empty file ends in a traceback."""
    file.write_text("")
    with pytest.raises(ConfigError, match="0 columns"):
        trajectories.csv(file)


def ring(file, digits, *, jitter=0.0):
    """Write a circle of 3 m at 3 m/s and 100 Hz, rounded, with white noise."""
    t = np.arange(0.0, 2 * math.pi, 0.01)
    places = np.stack([3 * np.cos(t) - 3, 3 * np.sin(t), 0 * t + 2], axis=1)
    places += jitter * np.random.default_rng(3).normal(size=places.shape)
    return written(file, np.column_stack([t, np.round(places, digits)]), COLUMNS[:4], digits=14)


@pytest.mark.parametrize(("digits", "jitter"), [(9, 0.0), (4, 0.0), (3, 0.0), (2, 0.0), (9, 0.001)])
def test_noise_of_rows_does_not_reach_the_derivatives(digits, jitter, file):
    """If this fails, a recorded track is flown with accelerations that throw the vehicle over.

    The third derivative of the rounding of 1 mm, interpolated at 100 Hz, is thousands of m/s^3.
    """
    flight = trajectories.csv(ring(file, digits, jitter=jitter))
    t = np.linspace(0.0, flight.duration, 2000)
    points, _ = flight.samples(t)
    # The ends of a track tell less of its derivatives than its middle.
    for k, (bound, inner) in enumerate(((0.01, 0.002), (0.1, 0.01), (0.7, 0.15), (5.0, 3.0))):
        phase = t + 0.5 * math.pi * k
        exact = np.stack([3 * np.cos(phase) - 3 * (k == 0), 3 * np.sin(phase), 0 * t + 2 * (k == 0)], axis=1)
        missed = np.abs(points[:, 3 * k : 3 * k + 3] - exact).max(axis=1)
        assert missed.max() < bound, k
        assert missed[300:-300].max() < inner, k


def test_noisy_velocities_are_replaced(file):
    """If this fails, noisy velocities beside good positions turn into jolts, as in EuRoC."""
    w, t = 1.5, np.arange(0.0, 8.0, 0.005)
    rng = np.random.default_rng(5)
    position = np.stack([np.sin(w * t), np.cos(w * t), 2 + 0 * t], axis=1) + 1e-5 * rng.normal(
        size=(len(t), 3)
    )
    velocity = w * np.stack([np.cos(w * t), -np.sin(w * t), 0 * t], axis=1)
    velocity += 5e-3 * rng.normal(size=velocity.shape)
    flight = trajectories.csv(written(file, np.column_stack([t, position, velocity]), COLUMNS[:7], digits=12))
    points, _ = flight.samples(t)
    assert np.abs(points[:, 6:9] + w * w * points[:, :3] * [1, 1, 0]).max() < 0.5


def test_noisy_headings_turn_smoothly(file):
    """If this fails, a heading rounded to a degree gives yaw rates of radians per second."""
    t = np.arange(0.0, 8.0, 0.01)
    rows = np.column_stack([t, 0 * t, 0 * t, 2 + 0 * t, np.round(0.5 * np.sin(t), 2)])
    flight = trajectories.csv(written(file, rows, (*COLUMNS[:4], "yaw")))
    points, _ = flight.samples(t)
    assert np.abs(points[:, 13] - 0.5 * np.cos(t)).max() < 0.15


def test_sparse_points_are_passed(file):
    """If this fails, rows that are points to fly through count as noise and are missed."""
    rng = np.random.default_rng(1)
    places = np.round(rng.uniform(1.0, 9.0, size=(20, 3)), 1)
    flight = trajectories.csv(written(file, np.column_stack([np.arange(20.0), places]), COLUMNS[:4]))
    np.testing.assert_allclose(flight.samples(np.arange(20.0))[0][:, :3], places, atol=1e-9)


def test_a_path_below_the_ground_between_rows(file):
    """If this fails, a table whose rows are all above the ground is flown into it."""
    heights = [6.0, 0.2, 0.2, 6.0, 6.0]
    rows = [(k, 4.0 * k, 0.0, z) for k, z in enumerate(heights)]
    with pytest.raises(ConfigError, match=r"row 3, column z = -\d.*: is below the ground, z = 0 m"):
        trajectories.csv(written(file, rows, COLUMNS[:4]))
