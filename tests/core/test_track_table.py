"""Tests of tables of tracks in the forms of public data sets."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.core.track_table import read_track_table
from pegasus.recording import compare_tracks, read_track

STEPS = range(6)
START = 1400000000
EUROC = "#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m],q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []\n"

FORMS = {
    "tum.txt": "# timestamp tx ty tz qx qy qz qw\n"
    + "".join(f"{START + k}.0 {k} {2 * k} 1 0 0 0 1\n" for k in STEPS),
    "bare.txt": "".join(f"{START + k} {k} {2 * k} 1 0 0 0 1\n" for k in STEPS),
    "euroc.csv": EUROC + "".join(f"{START + k}000000000,{k},{2 * k},1,1,0,0,0\n" for k in STEPS),
    "bare_ns.csv": "".join(f"{START + k}000000000,{k},{2 * k},1\n" for k in STEPS),
    "named_ns.csv": "timestamp_ns,x,y,z\n" + "".join(f"{START + k}000000000,{k},{2 * k},1\n" for k in STEPS),
    "semicolon.csv": "time;x;y;z\n" + "".join(f"{START + k},0;{k};{2 * k};1,0\n" for k in STEPS),
    "tabs.tum": "t\tx [mm]\ty [mm]\tz [mm]\n"
    + "".join(f"{START + k}\t{k}000\t{2 * k}000\t1000\n" for k in STEPS),
    "order.csv": "frame_id,position.z,position.y,position.x,stamp [ms],\n"
    + "".join(f"map,1,{2 * k},{k},{START + k}000,\n" for k in STEPS),
    "repeated.csv": "time,x,y,z\n" + "".join(f"{START + k},{k},{2 * k},1\n" * 2 for k in STEPS),
    "reversed.csv": "time,x,y,z\n" + "".join(f"{START + k},{k},{2 * k},1\n" for k in reversed(STEPS)),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_track_in_every_form(name, tmp_path):
    """If this fails, nanoseconds are seconds, or a form is refused, by a comparison or by a trajectory."""
    file = tmp_path / name
    file.write_text(FORMS[name])
    track = read_track(file)
    np.testing.assert_array_equal(track.time, START + np.arange(6.0))
    np.testing.assert_allclose(track.position, [(k, 2 * k, 1) for k in STEPS], atol=1e-12)
    flight = trajectories.csv(file)
    assert flight.duration == 5.0
    np.testing.assert_allclose(flight.samples(np.arange(6.0))[0][:, :3], track.position, atol=1e-9)


@pytest.mark.parametrize("clock", ["times.txt", "00_times.txt"])
def test_poses_of_kitti(clock, tmp_path):
    """If this fails, the camera's axes are flown as the world's: a car that drives ahead climbs."""
    file = tmp_path / "00.txt"
    file.write_text("".join(f"1 0 0 {-0.5 * k} 0 1 0 -2 0 0 1 {k}\n" for k in STEPS))
    with pytest.raises(
        ConfigError, match=r"00\.txt: holds poses of KITTI, which have no times; put times.txt"
    ):
        read_track(file)
    (tmp_path / clock).write_text("".join(f"{0.1 * k:e}\n" for k in STEPS))
    track = read_track(file)
    np.testing.assert_allclose(track.position, [(k, 0.5 * k, 2) for k in STEPS])
    assert trajectories.csv(file).duration == pytest.approx(0.5)
    (tmp_path / clock).write_text("0\n1\n")
    with pytest.raises(ConfigError, match="holds 2 times for 6 poses"):
        read_track(file)


def pieces(*rows):
    """Return a table of polynomial pieces: durations with coefficients of x, y, z and yaw."""
    names = ["duration", *(f"{q}^{k}" for q in ("x", "y", "z", "yaw") for k in range(8))]
    return "\n".join(",".join(map(str, row)) + "," for row in (names, *rows)) + "\n"


def piece(duration, **powers):
    """Return a row of a piece from the coefficients that are not 0."""
    rest = {q: [*powers.get(q, ()), *[0.0] * 8][:8] for q in ("x", "y", "z", "yaw")}
    return [duration, *rest["x"], *rest["y"], *rest["z"], *rest["yaw"]]


def test_polynomial_pieces_are_flown(tmp_path):
    """If this fails, a trajectory of Crazyswarm is refused, or flown at the wrong time."""
    file = tmp_path / "figure.csv"
    file.write_text(
        pieces(
            piece(1.5, x=[0, 1, 0.5, -0.2], z=[1.0], yaw=[0.1, 0.2]),
            piece(0.737, x=[1.95, 1.15, -0.4], z=[1.0, 0, 0.3], yaw=[0.4, 0.2]),
        )
    )
    flight = trajectories.csv(file)
    assert flight.duration == pytest.approx(2.237)
    for t in np.linspace(0.0, 1.49, 50):
        p, v, a, j, yaw, rate, *_ = flight.sample(t)
        assert p == pytest.approx((t + 0.5 * t**2 - 0.2 * t**3, 0.0, 1.0), abs=1e-8)
        assert v == pytest.approx((1 + t - 0.6 * t**2, 0.0, 0.0), abs=1e-8)
        assert (a[0], j[0]) == pytest.approx((1 - 1.2 * t, -1.2), abs=1e-6)
        assert (yaw, rate) == pytest.approx((0.1 + 0.2 * t, 0.2))
    t = 0.5
    assert flight.sample(1.5 + t).position == pytest.approx((1.95 + 1.15 * t - 0.4 * t**2, 0, 1 + 0.3 * t**2))
    assert compare_tracks(read_track(file), read_track(file)).common_time == pytest.approx(2.237)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration,x^0\n1,0\n", r"has no column y\^0; give duration, and the coefficients"),
        (pieces(piece(1.0), piece(0.0)), "row 3, column duration: must be above 0 s"),
        (pieces(piece(1.0), piece(1.0, x=[0.5])), "row 3: begins 0.5 m from the end of the piece before"),
        ("time,x [ft],y,z\n0,0,0,0\n", r"header, column 2 = 'x\[ft\]': must be in one of m, cm, mm"),
        ("9e12,0,0,0\n9e12,0,0,0\n", "is no time in seconds; name its unit in the header, such as time"),
        ("lat,lon\n47,8\n", "header = 'lat, lon': has no column time; known are time, x"),
    ],
)
def test_wrong_tables_are_named(text, message, tmp_path):
    """If this fails, a wrong table is flown, or ends in a traceback."""
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_track_table(file)
    assert "\n" not in str(caught.value)


def test_units_of_angles(tmp_path):
    """If this fails, a heading in degrees is flown as radians."""
    file = tmp_path / "table.csv"
    file.write_text(
        "time [s],x [m],y [m],z [m],yaw [deg]\n" + "".join(f"{k},0,0,1,{90 * k}\n" for k in range(4))
    )
    assert read_track_table(file).columns["yaw"][1] == pytest.approx(0.5 * math.pi)
