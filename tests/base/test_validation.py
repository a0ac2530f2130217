"""Tests of the messages for rejected fields: in plain words, without those of pydantic."""

import pytest

from pegasus.base.components import finite_angles, require_positive
from pegasus.base.errors import ConfigError, UnknownNameError, did_you_mean
from pegasus.config.scenario import ScenarioSpec, VehicleSpec, parse
from pegasus.control import trajectories
from pegasus.core.aircraft import Multirotor
from pegasus.core.simulation import Simulation
from pegasus.sensors import SENSORS

SCENARIO = {"name": "x", "vehicles": [{"model": "iris"}]}
VEHICLE = {
    "name": "n",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "rotors": {"count": 6, "radius": 0.3},
    "thrust_curve": {"model": "quadratic"},
}


def entry(**fields):
    return {"vehicles": [{"model": "iris"} | fields]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nme": 1}, "nme: unknown field; did you mean name? allowed here: dataset, description, "),
        ({"vehicles": []}, "vehicles = []: must not be empty"),
        ({"vehicles": 3}, "vehicles = 3: must be a list"),
        ({"vehicles": [3]}, "vehicles.0 = 3: must be a mapping of fields"),
        (entry(position=[1, 2]), "vehicles.0.position = [1, 2]: must hold 3 entries, not 2"),
        (entry(position=[1] * 4), "vehicles.0.position = [1, 1, 1, 1]: must hold at most 3 entries, not 4"),
        (entry(position=[1, "x", 3]), "vehicles.0.position.1 = 'x': must be a number"),
        (
            entry(heading=90),
            "vehicles.0.heading = 90.0: must be an angle in radians, from -4 pi to 4 pi; 90 degrees are "
            "1.5708 rad",
        ),
        (entry(backends={}), "vehicles.0.backends = {}: must be a list"),
        (entry(backends=[3]), "vehicles.0.backends.0 = 3: must be a mapping of names to values"),
        ({"rate": "fast"}, "rate = 'fast': must be a number"),
        ({"seed": 1.5}, "seed = 1.5: must be a whole number"),
        ({"speed": "mx"}, "speed = 'mx': must be a number or max"),
        ({"name": 3}, "name = 3: must be text"),
        ({"record": {"images": "maybe"}}, "record.images = 'maybe': must be true or false"),
    ],
)
def test_scenarios(change, message):
    """A message would name a type of pydantic's, blame another field, or not say what is allowed."""
    with pytest.raises(ConfigError) as caught:
        parse(SCENARIO | change, ScenarioSpec)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"px4": {"offset": "x"}}, "px4.offset = 'x': must be a number or a list"),
        ({"px4": {"offset": [1, "x"]}}, "px4.offset.1 = 'x': must be a number"),
        ({"px4": {"parameters": {"a": "x"}}}, "px4.parameters.a = 'x': must be a number"),
        ({"px4": {"channels": [33]}}, "px4.channels.0 = 33: must be at most 31"),
        (
            {"body": {"landing_gear": "feets"}},
            "body.landing_gear = 'feets': must be one of skids, feet; did you mean feet?",
        ),
        ({"rotors": {"cuont": 3, "radius": 3}}, "rotors.cuont: unknown field; did you mean count?"),
        ({"usd": 3}, "usd = 3: must be a path"),
    ],
)
def test_forms_of_a_value(change, message):
    """The message for a value of several forms would hold their tags, or name only one form."""
    with pytest.raises(ConfigError) as caught:
        parse(VEHICLE | change, VehicleSpec)
    assert str(caught.value).startswith(message)


def test_several_missing_fields():
    """A user would add the missing fields one by one."""
    with pytest.raises(ConfigError, match=r"^name: required field is missing; also missing: vehicles$"):
        parse({}, ScenarioSpec)


def test_did_you_mean():
    """A slip of the keyboard would find nothing, or an unrelated name be proposed."""
    assert did_you_mean("irsi", ["x500", "iris"]) == ["did you mean iris?"]
    assert did_you_mean("First-Flight", ["first_flight"]) == ["did you mean first_flight?"]
    faults = ["cell_failure", "motor_loss", "motor_stuck", "motor_seized", "sensor_off"]
    (question,) = did_you_mean("motor_failure", faults)
    assert "motor_loss" in question
    assert "cell_failure" not in question
    assert did_you_mean("motor_los", faults) == ["did you mean motor_loss?"]
    assert did_you_mean("zeppelin", ["x500", "iris"]) == []


def test_unknown_names_in_mappings():
    """`KeyError: 'gsp'` would leave the user without the names there are."""
    with pytest.raises(
        UnknownNameError, match=r"^sensor = 'gsp': no such sensor; there .*; did you mean gps\?$"
    ):
        SENSORS["gsp"]
    with Simulation("flat") as simulation:
        iris = simulation.add(Multirotor("iris"))
        with pytest.raises(KeyError, match=r"no such sensor; there are imu, gps, .* did you mean gps"):
            iris.sensors["gsp"]
        assert iris.sensors.get("gsp") is None
        with pytest.raises(ConfigError, match=r"no such vehicle; there are iris; did you mean iris\?"):
            simulation.vehicles["irsi"]


@pytest.mark.parametrize("duration", ["10", None, 0.0, -1, True, float("nan")])
def test_a_duration_is_a_number(duration):
    """`run("10")` would raise a TypeError about an operator."""
    with Simulation("flat") as simulation, pytest.raises(ConfigError, match="must be a number above 0 s"):
        simulation.run(duration)
    require_positive("duration", float("inf"), "s")


@pytest.mark.parametrize(
    "make",
    [
        lambda: trajectories.hold(height=2.0, yaw=90),
        lambda: trajectories.circle(radius=3.0, height=2.0, yaw=90),
        lambda: trajectories.waypoints([[0, 0, 1], [1, 0, 1]], speed=1.0, yaw=90),
        lambda: Multirotor("iris", heading=90),
        lambda: Multirotor("iris", count=2, heading=[0.0, 90.0]),
    ],
)
def test_degrees_are_refused(make):
    """`yaw=90` would turn the vehicle by 117 degrees without a word."""
    with pytest.raises(ConfigError, match=r"must be an angle in radians.* 90 degrees are 1\.5708 rad"):
        make()
    assert finite_angles("yaw", -7.0, (2,)).tolist() == [-7.0, -7.0]
