"""Tests of wind fields from files: interpolation, placement, time, staggered grids and bad files."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator
from scipy.io import netcdf_file

from pegasus.base.errors import ConfigError
from pegasus.base.row_map import RowMap
from pegasus.environment import Environment, SumWind, WindField
from pegasus.environment.samples import Sampler, Samples

X = np.array([0.0, 1.0, 3.0, 7.0, 8.0])
Y = np.array([-5.0, 0.0, 2.0, 4.0])
Z = np.array([0.0, 2.0, 10.0])
T = np.array([10.0, 12.0, 18.0])
RNG = np.random.default_rng(0)
U, V, W = RNG.normal(size=(3, 3, 3, 4, 5))


def saved(path: Path, **changed: object) -> str:
    """Return a file of arrays, with some of them changed or left out (None)."""
    arrays = {"x": X, "y": Y, "z": Z, "t": T, "u": U, "v": V, "w": W, **changed}
    np.savez(path / "field.npz", **{name: a for name, a in arrays.items() if a is not None})  # type: ignore[arg-type]
    return str(path / "field.npz")


def points(count: int = 200) -> np.ndarray:
    """Return points within the grid."""
    return np.random.default_rng(1).uniform([0, -5, 0], [8, 4, 10], (count, 3))


def oracle(values: np.ndarray, place: np.ndarray, t: float) -> np.ndarray:
    """Return the interpolation of SciPy."""
    grid = RegularGridInterpolator((T, Z, Y, X), values)
    return np.asarray(grid(np.column_stack([np.full(len(place), t), place[:, ::-1]])))


def test_linear_in_space_and_time(tmp_path: Path) -> None:
    """Axes would be exchanged, a cell be missed on an uneven grid, or time be taken from the wrong end."""
    wind, place = WindField(file=saved(tmp_path)), points()
    for t in (0.0, 1.5, 2.0, 7.9):
        expected = np.column_stack([oracle(values, place, 10.0 + t) for values in (U, V, W)])
        np.testing.assert_allclose(wind.velocity(place, t), expected, rtol=1e-12, atol=1e-13)


def test_placed_in_the_world(tmp_path: Path) -> None:
    """Offset or heading would have the wrong sign, or the velocities not be turned with the grid."""
    heading, offset = 0.7, np.array([100.0, -50.0, 3.0])
    wind = WindField(file=saved(tmp_path), offset=(100.0, -50.0, 3.0), heading=heading)
    turn = np.array(
        [[math.cos(heading), -math.sin(heading), 0], [math.sin(heading), math.cos(heading), 0], [0, 0, 1]]
    )
    place = points()
    velocity = wind.velocity(place @ turn.T + offset, 3.0)
    expected = np.column_stack([oracle(values, place, 13.0) for values in (U, V, W)]) @ turn.T
    np.testing.assert_allclose(velocity, expected, rtol=1e-10, atol=1e-10)


def test_repeated_and_held_in_time(tmp_path: Path) -> None:
    """The record would end, start at the wrong time, or be extrapolated."""
    file, place = saved(tmp_path), points(20)
    repeated, held = WindField(file=file), WindField(file=file, after_end="hold", start=9.0)
    np.testing.assert_allclose(
        repeated.velocity(place, 8.0 * 5 + 3.0), repeated.velocity(place, 3.0), atol=1e-12
    )
    np.testing.assert_allclose(held.velocity(place, 3.0), repeated.velocity(place, 2.0), atol=1e-12)
    np.testing.assert_array_equal(held.velocity(place, 900.0), held.velocity(place, 9.0))
    np.testing.assert_array_equal(held.velocity(place, 0.0), held.velocity(place, 1.0))
    steady = WindField(file=saved(tmp_path, t=None, u=U[0], v=V[0], w=W[0]))
    np.testing.assert_array_equal(steady.velocity(place, 50.0), repeated.velocity(place, 0.0))


def test_outside_of_the_grid(tmp_path: Path) -> None:
    """Air outside would be extrapolated, or calm where it should be held."""
    file = saved(tmp_path)
    beyond = np.array([[-3.0, 1.0, 5.0], [4.0, 9.0, 5.0], [4.0, 1.0, 99.0], [4.0, 1.0, -1.0]])
    edge = np.clip(beyond, [0, -5, 0], [8, 4, 10])
    hold = WindField(file=file, outside="hold")
    np.testing.assert_array_equal(hold.velocity(beyond, 1.0), hold.velocity(edge, 1.0))
    calm = WindField(file=file, outside="calm")
    np.testing.assert_array_equal(calm.velocity(beyond, 1.0), 0.0)
    np.testing.assert_array_equal(calm.velocity(edge, 1.0), hold.velocity(edge, 1.0))


def test_buildings_are_air_at_rest(tmp_path: Path) -> None:
    """A cell without a value would make a flight fail, or spread over the field."""
    u = U.copy()
    u[:, 1, 2, 3] = np.nan
    wind = WindField(file=saved(tmp_path, u=u))
    inside = np.array([[7.0, 2.0, 2.0], [7.0, 2.0, 6.0]])
    velocity = wind.velocity(inside, 0.0)[:, 0]
    np.testing.assert_allclose(velocity, [0.0, U[0, 2, 2, 3] / 2], rtol=1e-13)


def palm(path: Path, **axes: np.ndarray) -> str:
    """Return a NetCDF file as PALM writes it: each component on its own grid, fill values in buildings."""
    grids = {
        "time": T,
        "x": X,
        "y": Y,
        "xu": X[:5] - 0.5,
        "yv": Y - 0.25,
        "zu_3d": Z,
        "zw_3d": Z + 1.0,
        **axes,
    }
    with netcdf_file(path / "palm.nc", "w") as file:
        for name, values in grids.items():
            file.createDimension(name, len(values))
            file.createVariable(name, "d", (name,))[:] = values
        for name, values, dimensions in (
            ("u", U, ("time", "zu_3d", "y", "xu")),
            ("v", V, ("time", "zu_3d", "yv", "x")),
            ("w", W, ("time", "zw_3d", "y", "x")),
        ):
            variable = file.createVariable(name, "d", dimensions)
            variable._FillValue = -9999.0
            variable[:] = values
            variable[0, 0, 0, 0] = -9999.0
    return str(path / "palm.nc")


def test_staggered_grids_of_palm(tmp_path: Path) -> None:
    """Components of PALM would be read as if all lay at one point, or fill values be wind."""
    wind = WindField(file=palm(tmp_path), outside="hold")
    node = np.array([[X[2] - 0.5, Y[1], Z[1]], [X[2], Y[1] - 0.25, Z[1]], [X[2], Y[1], Z[1] + 1.0]])
    velocity = wind.velocity(node, 2.0)
    expected = U[1, 1, 1, 2], V[1, 1, 1, 2], W[1, 1, 1, 2]
    np.testing.assert_allclose(np.diag(velocity), expected, rtol=1e-13)
    assert wind.velocity(np.array([[-0.5, -5.0, 0.0]]), 0.0)[0, 0] == 0.0


def test_python_and_compiled_code_give_the_same_bits(tmp_path: Path) -> None:
    """Debugging in Python, or another number of vehicles, would give another wind."""
    pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")
    wind = WindField(file=palm(tmp_path), heading=0.3, outside="calm")
    place = np.random.default_rng(2).uniform(-9, 14, (300, 3))
    compiled = RowMap(wind.step_function, values=1, few=0)(wind.parameters, place, 3.3)  # type: ignore[arg-type]
    plain = RowMap(wind.step_function, values=1, few=1000)(wind.parameters, place, 3.3)  # type: ignore[arg-type]
    np.testing.assert_array_equal(compiled, plain)
    out = Samples.of(300)
    total = SumWind([wind, {"mean_velocity": [1.0, 0.0, 0.0]}])
    Sampler(Environment(wind=total), np.ascontiguousarray(place), out)(3.3)
    np.testing.assert_allclose(out.wind_velocity, compiled + np.array([1.0, 0.0, 0.0]), atol=1e-14)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"u": None}, r"has no variable 'u', only v, w; .*name the velocities in `names`"),
        ({"z": None}, "has no array 'z'"),
        ({"x": X[::-1]}, "coordinates 'x' of 'u' must rise; they go from 8 to 7 at entry 1"),
        ({"t": np.array([1.0, math.nan, 3.0])}, "coordinates 't' of 'u' hold a value that is not finite"),
        (
            {"y": Y[:3]},
            r"'u' must be numbers of the shape \(3, 3, 3, 5\) of t, z, y, x; it has \(3, 3, 4, 5\)",
        ),
        ({"z": Z[:1]}, "coordinates 'z' of 'u' must hold at least 2 values"),
        ({"v": np.full(V.shape, "a")}, "'v' must be numbers"),
        ({"x": X[None]}, "coordinates 'x' of 'u' must be a list of numbers"),
    ],
)
def test_bad_arrays_are_refused(tmp_path: Path, changed: dict, message: str) -> None:
    """A fault of a file would be found late, or be told in many lines."""
    with pytest.raises(ConfigError, match=message) as caught:
        WindField(file=saved(tmp_path, **changed))
    assert "\n" not in str(caught.value)
    assert "field.npz" in str(caught.value)


def test_packages_that_are_not_installed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file would be called broken where only its reader is missing."""
    file = palm(tmp_path)
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    with pytest.raises(ConfigError, match=r"pip install pegasus-multirotor\[netcdf\]"):
        WindField(file=file)
    (tmp_path / "four.nc").write_bytes(b"\x89HDF\r\n")
    with pytest.raises(ConfigError, match="is a NetCDF 4 file; pip install netCDF4"):
        WindField(file=str(tmp_path / "four.nc"))


def test_bad_files_are_refused(tmp_path: Path) -> None:
    """A missing or foreign file would be told by an error of the library that reads it."""
    for name, content, message in (
        ("none.nc", None, "is no file"),
        ("a.txt", b"1", "has the suffix .txt"),
        ("a.nc", b"CDF nonsense", "is no NetCDF file"),
        ("b.nc", b"", "is no NetCDF file"),
        ("a.npz", b"PK nonsense", "cannot be read"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=message) as caught:
            WindField(file=str(tmp_path / name))
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"coordinates 'x' of 'u' must rise"):
        WindField(file=palm(tmp_path, xu=-X))
    with pytest.raises(ConfigError, match="has no variable 'U'"):
        WindField(file=palm(tmp_path), names=("U", "v", "w"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"outside": "warm"}, "outside = 'warm': must be hold or calm"),
        ({"after_end": "stop"}, "after_end"),
        ({"heading": math.inf}, "heading"),
        ({"start": math.nan}, "start"),
        ({"offset": (1.0, 2.0)}, "offset"),
    ],
)
def test_bad_parameters_are_refused(tmp_path: Path, parameters: dict, message: str) -> None:
    """An invalid parameter would be accepted, or the error not name it."""
    with pytest.raises(ConfigError, match=message):
        WindField(file=saved(tmp_path), **parameters)


def test_field_must_cover_the_world(tmp_path: Path) -> None:
    """A flight would leave the field unnoticed, or a field that is placed over the world be refused."""
    file = saved(tmp_path)
    low, high = np.array([0.0, -4.0, -1.0]), np.array([8.0, 4.0, 6.0])
    WindField(file=file).require_cover(low, high)
    wind = SumWind([WindField(file=file, offset=(2.0, 0.0, 0.0))])
    assert wind.must_cover
    expected = (
        "parts.0.file = .*does not cover the world: x of the field goes from 0 to 8 m, the world from -2"
    )
    with pytest.raises(ConfigError, match=expected):
        wind.require_cover(low, high)
    with pytest.raises(ConfigError, match=r"z of the field goes from 0 to 10 m, the world to 11 m"):
        WindField(file=file).require_cover(low, np.array([8.0, 4.0, 11.0]))
    free = WindField(file=file, outside="hold")
    assert not free.must_cover
    free.require_cover(low - 99.0, high + 99.0)
    turned = WindField(file=file, heading=math.pi / 2)
    with pytest.raises(ConfigError, match="does not cover"):
        turned.require_cover(low, high)
    turned.require_cover(np.array([-3.9, 0.1, 0.0]), np.array([4.9, 7.9, 5.0]))


def with_units(path: Path, **units: str) -> str:
    """Add units to the file of `palm`."""
    name = palm(path)
    with netcdf_file(name, "a") as file:
        for variable, unit in units.items():
            file.variables[variable].units = unit
    return name


@pytest.mark.parametrize(
    ("units", "speed", "length", "time"),
    [
        ({}, 1.0, 1.0, 1.0),
        (
            {"u": "m s-1", "v": "m/s", "w": "m s**-1", "x": "m", "time": "seconds since 2020-01-01"},
            1.0,
            1.0,
            1.0,
        ),
        (dict.fromkeys("uvw", "km/h"), 1.0 / 3.6, 1.0, 1.0),
        (dict.fromkeys("uvw", "knots"), 1852.0 / 3600.0, 1.0, 1.0),
        (dict.fromkeys(("x", "y", "xu", "yv", "zu_3d", "zw_3d"), "km"), 1.0, 1000.0, 1.0),
        ({"time": "hours since 1900-01-01 00:00"}, 1.0, 1.0, 3600.0),
    ],
)
def test_units_are_converted(
    tmp_path: Path, units: dict[str, str], speed: float, length: float, time: float
) -> None:
    """A wind of km/h, on a grid in km, or by the hour would be flown as if in m/s, m and s."""
    plain = WindField(file=palm(tmp_path), outside="hold")
    place = points(20)
    expected = plain.velocity(place, 2.5) * speed
    found = WindField(file=with_units(tmp_path, **units), outside="hold")
    np.testing.assert_allclose(found.velocity(place * length, 2.5 * time), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("variable", "unit"), [("u", "K"), ("x", "degrees_east"), ("zu_3d", "hPa"), ("time", "1")]
)
def test_unknown_units_are_refused(tmp_path: Path, variable: str, unit: str) -> None:
    """Degrees or pressures would be flown as metres."""
    with pytest.raises(ConfigError, match=f"variable '{variable}' has the unit '{unit}'"):
        WindField(file=with_units(tmp_path, **{variable: unit}))
