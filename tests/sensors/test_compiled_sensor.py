"""Tests of compiled sensors: equal bits in plain Python, for any count and order; readings that persist."""

import copy
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_rotation_vector
from pegasus.base.step_math import Quat, Vec3
from pegasus.base.tracing import Argument
from pegasus.contracts.state import VehicleState
from pegasus.core.sensor_bank import SensorTable, _Clock
from pegasus.core.sensor_row import measured
from pegasus.environment import Environment, Gusts
from pegasus.sensors import (
    GPS,
    IMU,
    Accelerometer,
    Airspeed,
    Barometer,
    BarometerReading,
    Gyroscope,
    Magnetometer,
    Odometry,
    Rtk,
    Sensor,
    Vibration,
)
from tests.base.tracing.comparison import flat_result
from tests.flyers import PLAIN_IRIS

SENSORS = [
    IMU(
        vibration=Vibration(in_plane=5e-6, axial=1e-6), position=(0.1, 0.0, 0.0), orientation=(0.6, 0, 0, 0.8)
    ),
    IMU(rate_hz=60.0),
    IMU(
        gyroscope=Gyroscope(scale_error_sigma=0.01, misalignment_sigma=0.01, g_sensitivity_sigma=1e-3),
        accelerometer=Accelerometer(temperature_bias_sigma=0.01, temperature_scale_error=(1e-4, 0.0, -1e-4)),
        vibration=Vibration(blade_passage=1e-6),
        orientation=(0.6, 0, 0, 0.8),
    ),
    GPS(latency=0.011, rate_hz=20.0),
    GPS(latency=0.011, rate_hz=20.0, rtk=Rtk(float_time=0.1, fixed_time=0.2)),
    Barometer(),
    Magnetometer(turn_on_bias=1e-6, hard_iron=(1e-6, 0.0, 0.0)),
    Magnetometer(current_field=(1e-8, 2e-8, -3e-8)),
    Airspeed(turn_on_bias=2.0),
    Odometry(latency=0.011, reset_interval=0.1),
]


def wander(state: VehicleState, step: int) -> None:
    """Set a random state for each vehicle, independent of their number."""
    for n in range(len(state.position)):
        draws = np.random.default_rng([step, n]).normal(size=(5, 3))
        state.position[n], state.velocity[n], state.angular_velocity[n] = draws[:3]
        state.orientation[n] = quaternion_from_rotation_vector(draws[3:4])[0]
        state.rotor_speed[n] = 600.0 + draws[4, 0]


def row_of(argument: Any, columns: dict[str, Any], i: int) -> Any:
    """Return the value of an argument of a step function in row i."""
    if not isinstance(argument, Argument):
        return argument
    if argument.values:
        return tuple(columns["time"].tolist()) if argument.name == "time" else argument.values[0]
    row, kind = columns[argument.name][i].tolist(), argument.kind
    if argument.width:
        return tuple(Vec3(*part) if kind is Vec3 else part for part in row)
    return kind(*row) if kind in (Vec3, Quat) else kind(row)


def run_by_python(table: SensorTable) -> None:
    """Evaluate the rows of a table in Python."""

    def prepared(way: str) -> Any:
        function, kind, names, starts, *arguments = table.arguments(way)
        columns: dict[str, Any] = {**table.columns, "time": table._time}

        def launch() -> None:
            for i in range(table.count):
                values = [row_of(a, columns, i) for a in arguments]
                values[names.index("due")] = int(table._due[0])
                for name, value in measured(function, kind, names, starts, *values).items():
                    columns[name][i] = np.reshape(flat_result(value), columns[name][i].shape)

        table._launches[way] = launch
        return launch

    table._prepared = prepared  # type: ignore[method-assign]


def run(bench: Any, sensor: Sensor, *, count: int, plain: bool = False) -> list[Any]:
    """Return the readings of a random flight, from plain Python instead of compiled code on request."""
    bench.environment = Environment(wind=Gusts(mean_velocity=(4.0, 0.0, 0.0), intensity=1.0))
    bench.environment.bind(np.random.default_rng(1))
    sensor = copy.deepcopy(sensor)
    state = bench.bind(sensor, count=count, rate=250.0)
    readings: list[Any] = []
    for step in range(100):
        wander(state, step)
        if plain and step == 0:
            bank, vehicle = bench.banks[id(sensor)]
            bank.arrange([vehicle], vars(state))
            run_by_python(bank._tables[0])
        reading = bench.step(sensor, state, step / 250)
        if not readings or reading is not readings[-1]:
            readings.append(reading)
    assert len(readings) >= 4
    return readings


def same(one: Any, other: Any, rows: slice = slice(None)) -> bool:
    """Return whether two readings have equal bits in some rows."""
    return all(
        np.array_equal(value[rows], vars(other)[name][rows])
        if isinstance(value, np.ndarray)
        else value == vars(other)[name]
        for name, value in vars(one).items()
    )


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda sensor: type(sensor).__name__)
def test_python_and_compiled_code_give_the_same_bits(sensor: Sensor, bench: Any) -> None:
    """Debugging in Python would show other readings than compiled code."""
    compiled, plain = (run(bench, sensor, count=9, plain=plain) for plain in (False, True))
    assert all(same(a, b) for a, b in zip(compiled, plain, strict=True))
    assert not same(compiled[1], compiled[2])


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda sensor: type(sensor).__name__)
def test_a_copy_has_the_same_readings_for_any_count(sensor: Sensor, bench: Any) -> None:
    """Noise would depend on how many vehicles fly."""
    few, many = (run(bench, sensor, count=count) for count in (2, 40))
    assert all(same(a, b, slice(0, 2)) for a, b in zip(few, many, strict=True))


def fleet(order: list[str], *, later: list[str]) -> dict[str, Any]:
    """Return the readings by vehicle of a simulation in which vehicles are added later and d is removed."""
    places = {name: (6.0 * k, 0.0, 0.1) for k, name in enumerate(("a", "b", "c", "d"))}
    seen: dict[str, Any] = {}
    with Simulation("flat", seed=3) as sim:

        def add(name: str) -> Multirotor:
            sensors = {"imu": IMU(), "gps": GPS(), "vio": Odometry()}
            return sim.add(Multirotor(PLAIN_IRIS, name=name, position=places[name], sensors=sensors))

        for name in order:
            add(name)
        for step in range(300):
            if step == 100:
                for name in later:
                    add(name)
            if step == 200 and "d" in order:
                sim.remove("d")
            sim.step()
            for vehicle in sim.vehicles:
                for name, reading in vehicle.new_readings.items():
                    seen.setdefault(f"{vehicle.name}/{name}", []).append(reading)
    return seen


def test_company_and_order_change_no_bit() -> None:
    """Rows of a table would be exchanged or lose their state when vehicles are added or removed."""
    alone = fleet(["a", "b"], later=[])
    among = fleet(["d", "b", "a"], later=["c"])
    for name, readings in alone.items():
        assert len(readings) == len(among[name])
        assert all(map(same, readings, among[name]))
    assert [r.stamp for r in among["c/gps"]] == [0.4, 0.44, 0.48, 0.52, 0.6][:1] + [
        r.stamp for r in among["a/gps"] if r.stamp > 0.4
    ]
    assert not same(among["a/imu"][5], among["b/imu"][5])


def test_alike_sensors_of_neighbours_share_a_launch() -> None:
    """Ten vehicles would cost ten launches of each sensor, or one would have the noise of another."""
    noises = [1e-3, 1e-3, 2e-3, 1e-3]
    with Simulation("flat", seed=3) as sim:
        for k, noise in enumerate(noises):
            sensor = Airspeed(noise_density=noise, rate_hz=20.0 if k == 1 else 50.0)
            place, sensors = (6.0 * k, 0.0, 0.1), {"barometer": Barometer(), "pitot": sensor}
            sim.add(
                Multirotor(
                    PLAIN_IRIS,
                    name=f"v{k}",
                    count=2,
                    position=[place, (*place[:1], 9.0, 0.1)],
                    sensors=sensors,
                )
            )
        sim.step(2)
        tables = {name: [v.sensors[name].table for v in sim.vehicles] for name in ("barometer", "pitot")}
        assert len({id(table) for table in tables["barometer"]}) == 1
        assert [len(t.sensors) for t in tables["pitot"]] == [1, 1, 1, 1]
        sim.remove("v1")
        sim.step(2)
        assert sim.vehicles["v0"].sensors["barometer"].table is sim.vehicles["v3"].sensors["barometer"].table
        drawn = [v.reading(BarometerReading).pressure for v in sim.vehicles]
        assert len(np.unique(np.concatenate(drawn))) == 6


def test_readings_stay_and_come_anew() -> None:
    """A reading kept by a user would change, or each access would make a new one."""
    with Simulation("flat", seed=3) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 500)))
        sim.step()
        first = iris.new_readings
        assert set(first) == {"imu", "gps", "barometer", "magnetometer"}
        kept = copy.deepcopy(first["imu"])
        sim.step()
        assert set(iris.new_readings) == {"imu"}
        assert iris.readings["gps"] is first["gps"]
        assert iris.new_readings["imu"] is iris.readings["imu"]
        sim.step(10)
        assert same(first["imu"], kept)
        assert not same(iris.readings["imu"], kept)
        # Readings that nobody looked at are those of their own time.
        late = copy.deepcopy(iris.readings["barometer"])
        assert late.stamp == 0.04
        sim.reset()
        assert iris.readings == iris.new_readings == {}
        sim.step()
        assert iris.new_readings.keys() == first.keys()
        sim.reset()
        assert iris.readings == iris.new_readings == {}
        sim.step()
        assert iris.new_readings.keys() == first.keys()
        assert all(same(iris.readings[name], first[name]) for name in first)


def test_a_teleport_is_not_felt() -> None:
    """Sensors would measure an acceleration or angular rate for a teleport."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 500)))
        sim.step(3)
        iris.place((0, 0, 700), heading=2.0, velocity=(20, 0, 0))
        sim.step()
        imu: Any = iris.readings["imu"]
        assert np.abs(imu.specific_force).max() < 15.0
        assert np.abs(imu.angular_velocity).max() < 0.2


@pytest.mark.parametrize(("rate_hz", "latency"), [(10.0, 0.2), (20.0, 0.011), (60.0, 0.0), (33.3, 0.05)])
def test_kept_plans_are_those_of_every_round(rate_hz: float, latency: float) -> None:
    """After a round of the schedule a reading would be missed, be given early, or be of another instant."""
    clock = _Clock(GPS(rate_hz=rate_hz, latency=latency), 250.0)
    lead = math.ceil(round(latency * 250, 9))
    due = [step for step in range(3 * clock._period) if clock.plan(step)[0]]
    assert due == [math.ceil(k * Fraction(2500) / Fraction(str(rate_hz * 10))) for k in range(len(due))]
    recorded = {}
    for step in range(-lead, due[-1]):
        is_due, before, after, slot, wait = clock.plan(step)
        if before >= 0:
            recorded[int(before), "before"] = step
        if after >= 0:
            recorded[int(after), "after"] = step
        if is_due and step >= 0:
            assert recorded[int(slot), "before"] == step - lead
            assert not lead or recorded[int(slot), "after"] == step - lead + 1
        assert not any(clock.plan(step + k)[0] for k in range(1, wait))


def squared_pressure(i: int, rows: Any) -> None:
    """Use the power operator, which processors do not round alike."""
    rows.measured_pressure[i] = rows.pressure[rows.body[i]] ** 2


def test_a_step_function_that_cannot_be_compiled_is_named_with_its_line():
    """A user would look for the fault of a custom sensor in the bank."""

    class Squared(Barometer):
        function = staticmethod(squared_pressure)

    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "** 2" in text)
    with Simulation("flat") as simulation:
        simulation.add(Multirotor(PLAIN_IRIS, sensors={"squared": Squared()}))
        with pytest.raises(ConfigError, match=rf"test_compiled_sensor.py:{line}: .*power\(x, y\)"):
            simulation.step(1)


def test_a_sensor_that_gives_nothing_is_named():
    """A sensor without a reading would end in an error about a tuple."""

    class Silent(Barometer):
        gives = ()

    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor(PLAIN_IRIS, sensors={"silent": Silent()}))
        simulation.step(1)
        with pytest.raises(NotImplementedError, match="Silent must declare `gives`, or a method `reading`"):
            _ = vehicle.readings
