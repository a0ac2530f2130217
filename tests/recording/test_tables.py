"""Tests of logs as data frames and data sets."""

import sys
from pathlib import Path

import numpy as np
import pytest
from recording_stand_ins import random_flight

from pegasus.base.errors import ConfigError
from pegasus.recording import Log, McapRecorder, read_log

pandas = pytest.importorskip("pandas", reason="needs pandas: pip install pandas")


def log_of(path: Path, count: int = 1, names: tuple[str, ...] = ("iris",)) -> Log:
    """Record a random flight of 0.8 s, and read it back."""
    random_flight(McapRecorder(path), steps=200, count=count, names=names)
    return read_log(path)


def test_a_frame_has_a_column_for_each_component(tmp_path: Path) -> None:
    """Columns would be swapped, missing, or named as nobody expects."""
    log = log_of(tmp_path / "log")
    frame, state = log.to_pandas("iris/state"), log["iris/state"]
    assert frame.index.name == "time"
    np.testing.assert_array_equal(frame.index, state.time)
    for column, values in (
        ("position_x", state.position[:, 0, 0]),
        ("velocity_z", state.velocity[:, 0, 2]),
        ("orientation_w", state.orientation[:, 0, 3]),
        ("rotor_speed_3", state.rotor_speed[:, 0, 3]),
    ):
        np.testing.assert_array_equal(frame[column], values)
    assert frame.shape[1] == 5 * 3 + 4 + 4
    assert frame.attrs["units"]["rotor_speed_3"] == "rad/s"
    assert frame.attrs["units"]["acceleration_x"] == "m/s^2"
    assert "orientation_x" not in frame.attrs["units"]


def test_texts_and_single_values_have_one_column(tmp_path: Path) -> None:
    """The segment of a reference or the stamp of a reading would be missing."""
    log = log_of(tmp_path / "log", count=2)
    fix = log.to_pandas("iris/fix")
    assert fix["mode"].unique().tolist() == ["3D"]
    assert fix["satellite_count"].dtype == np.int64
    np.testing.assert_array_equal(fix["stamp"], fix.index.get_level_values("time"))
    assert log.to_pandas("iris/reference")["segment"].unique().tolist() == ["climb"]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_copies_are_the_second_level_of_the_index(tmp_path: Path, count: int) -> None:
    """Copies would be mixed up, also where their number is that of axes or rotors."""
    log = log_of(tmp_path / "log", count=count)
    frame, state = log.to_pandas("state"), log["state"]
    assert frame.index.names == ["time", "copy"]
    assert len(frame) == len(state) * count
    for copy in range(count):
        alone = log.to_pandas("state", copy=copy)
        pandas.testing.assert_frame_equal(frame.xs(copy, level="copy"), alone)
        np.testing.assert_array_equal(alone["position_y"], state.position[:, copy, 1])
        np.testing.assert_array_equal(alone["rotor_speed_1"], state.rotor_speed[:, copy, 1])
    with pytest.raises(ConfigError, match=f"copy = {count}: must be a whole number from 0 to {count - 1}"):
        log.to_pandas("state", copy=count)


def test_topics_are_joined_by_their_times(tmp_path: Path) -> None:
    """Values of one topic would stand at the times of another."""
    log = log_of(tmp_path / "log")
    frame = log.to_pandas("iris/state", "*/gyro")
    state, gyro = log["iris/state"], log["gyro"]
    np.testing.assert_array_equal(frame.index, gyro.time)
    np.testing.assert_array_equal(
        frame["iris/sensors/gyro", "angular_velocity_y"], gyro.angular_velocity[:, 0, 1]
    )
    positions = frame["iris/state", "position_x"]
    np.testing.assert_array_equal(positions.dropna(), state.position[:, 0, 0])
    np.testing.assert_array_equal(positions.dropna().index, state.time)


def test_topics_of_unlike_numbers_of_copies_are_refused(tmp_path: Path) -> None:
    """Joining one vehicle and a fleet would end in an error of pandas."""
    log = log_of(tmp_path / "log", names=("a", "b"))
    other = log_of(tmp_path / "other", count=2)
    series = Log(log.path, True, {}, {}, type(log.series)(log.series.columns | other.series.columns))
    with pytest.raises(ConfigError, match="numbers of copies"):
        series.to_pandas("a/state", "iris/state")
    assert len(series.to_pandas("a/state", "iris/state", copy=0)) == 100


def test_a_data_set_has_named_dimensions_and_units(tmp_path: Path) -> None:
    """Dimensions would be numbered, or units be lost."""
    pytest.importorskip("xarray", reason="needs xarray: pip install xarray")
    log = log_of(tmp_path / "log", count=3)
    data, state = log.to_xarray("state"), log["state"]
    assert data.position.dims == ("time", "copy", "axis")
    assert data.rotor_speed.dims == ("time", "copy", "rotor")
    np.testing.assert_array_equal(data.orientation.sel(quaternion="w", copy=2), state.orientation[:, 2, 3])
    np.testing.assert_array_equal(data.position.sel(axis="z"), state.position[:, :, 2])
    assert data.velocity.attrs["units"] == "m/s"
    assert data.time.attrs["units"] == "s"
    assert log["state"].to_xarray(copy=1).sizes["copy"] == 1
    assert log.to_xarray("reference").segment.dims == ("time", "copy")


@pytest.mark.parametrize("package", ["pandas", "xarray"])
def test_a_missing_package_is_one_line(tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error would be a traceback without the command that helps."""
    log = log_of(tmp_path / "log")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ConfigError, match=f"needs the package {package}, .*; pip install .*{package}"
    ) as error:
        getattr(log, f"to_{package}")("state")
    assert "\n" not in str(error.value)


def test_frames_need_a_topic(tmp_path: Path) -> None:
    """`log.to_pandas()` would end in an error of pandas."""
    with pytest.raises(ConfigError, match="must name at least one topic; such as iris/state"):
        log_of(tmp_path / "log").to_pandas()
