"""Custom compiled sensor: an inclinometer. Run it with `python examples/own_compiled_sensor.py`."""

from dataclasses import dataclass

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.base.random_numbers import normals
from pegasus.base.step_math import Column, Quat, Real, Vec3, atan2, norm, rotate
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import CompiledSensor, Reading, SensorRows


@dataclass
class TiltRows(SensorRows):
    """Columns: orientation of the bodies, and the last reading [rad]."""

    orientation: Column[Quat]
    tilt: Column[Real]


def inclinometer(i: int, rows: TiltRows) -> None:
    """Measure the angle between the body's z axis and the vertical, if a reading is due."""
    if rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1:
        up = rotate(rows.orientation[rows.body[i]], Vec3(0.0, 0.0, 1.0))
        noise, _, _, _ = normals(rows.key[i], rows.copy[i], rows.count[i], 0)
        rows.tilt[i] = atan2(norm(Vec3(up[0], up[1], 0.0)), up[2]) + 0.01 * noise
        rows.count[i] = rows.count[i] + 1
        rows.stamp[i] = rows.time[0]


@dataclass(frozen=True, eq=False)
class TiltReading(Reading):
    """Tilt [rad], shape (N,)."""

    tilt: Array


@dataclass(kw_only=True, eq=False)
class Inclinometer(CompiledSensor):
    """Tilt sensor: compiled, with one launch for all copies of a vehicle."""

    columns, function, gives = TiltRows, staticmethod(inclinometer), (TiltReading, "tilt")
    rate_hz: float = 50.0


def main() -> list[float]:
    """Accelerate along a line; return the tilts measured on the way [rad]."""
    pilot = GeometricController(trajectories.waypoints(points=((0, 0, 2), (12, 0, 2)), speed=4.0))
    with Simulation("flat", seed=3) as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot], sensors={"tilt": Inclinometer()}))
        return [float(iris.reading(TiltReading).tilt[0]) for _ in sim.stepping(8.0) if iris.new_readings]


if __name__ == "__main__":
    start_host()
    print(f"largest tilt: {max(main()):.2f} rad")
