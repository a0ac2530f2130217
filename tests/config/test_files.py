"""Tests of files that extend others, of worlds and vehicles within scenarios, and of changes of fields."""

import numpy as np
import pytest
import yaml

from pegasus.base.errors import ConfigError
from pegasus.config import Changes, load_scenario, load_vehicle, load_world
from pegasus.config.files import files_of
from pegasus.core.aircraft import Multirotor
from pegasus.experiments import Flight

ROTORS = {"count": 4, "radius": 0.2}
BASE = {
    "name": "base",
    "description": "A base.",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "rotors": ROTORS,
    "motor": {"model": "first_order", "time_constant": 0.05, "max_speed": 1500.0},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
}
SQUARE = [{"takeoff": {"height": 2.0}}, {"square": {"side": 5.0, "height": 2.0, "speed": 2.0}}, "land"]
SCENARIO = {
    "name": "two",
    "world": "flat",
    "vehicles": [
        {"model": "iris", "backends": [{"model": "geometric", "trajectory": SQUARE}]},
        {"model": "iris", "name": "second"},
    ],
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a YAML file below a folder, and returns its path."""
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(tmp_path / "config"))

    def written(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
        return path

    return written


def refused(load, *arguments):
    with pytest.raises(ConfigError) as caught:
        load(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_fields_are_merged(write):
    """A field of the extended file would be lost, a list be mixed, or parameters of another model be kept."""
    write("base.yaml", BASE | {"battery": {"model": "ideal"}})
    path = write(
        "mine.yaml",
        {
            "extends": "base.yaml",
            "mass": 2.0,
            "inertia": [0.02, 0.02, 0.03],
            "motor": {"time_constant": 0.1},
            "thrust_curve": {"model": "polynomial", "coefficients": [1.0]},
            "sensors": {"gps": None, "imu": {"rate_hz": 100.0}},
            "battery": None,
        },
    )
    spec, file = load_vehicle(path)
    assert file == path
    assert (spec.name, spec.description, spec.mass) == ("mine", "A base.", 2.0)
    assert spec.inertia == (0.02, 0.02, 0.03)
    assert spec.motor == {"model": "first_order", "time_constant": 0.1, "max_speed": 1500.0}
    assert spec.thrust_curve == {"model": "polynomial", "coefficients": [1.0]}
    assert spec.battery is None
    # The sensors of the base are those of the defaults.
    assert spec.sensors == {
        "imu": {"model": "imu", "rate_hz": 100.0},
        "barometer": {"model": "barometer"},
        "magnetometer": {"model": "magnetometer"},
    }


def test_chains_and_paths(write, tmp_path):
    """A path would be taken from the file that extends, not from the one that has written it."""
    write("far/model.usda", {})
    write("far/first.yaml", BASE | {"usd": "model.usda"})
    write("second.yaml", {"extends": "far/first.yaml", "mass": 3.0})
    path = write("near/third.yaml", {"extends": "../second.yaml", "name": "third"})
    spec, _ = load_vehicle(path)
    assert (spec.name, spec.mass, spec.usd) == ("third", 3.0, tmp_path / "far" / "model.usda")
    assert [item.name for item in files_of("vehicles", path)] == ["third.yaml", "second.yaml", "first.yaml"]


def test_scenarios_extend_scenarios(write, tmp_path):
    """Worlds, vehicles and trajectories of an extended scenario would be looked for beside the wrong file."""
    write("far/own.yaml", BASE)
    write("far/field.yaml", {"extends": "flat", "origin": {"latitude": 10.0}})
    csv = [{"csv": {"file": "path.csv"}}]
    backends = [{"model": "geometric", "trajectory": csv}]
    vehicles = [{"model": "own.yaml", "backends": backends}, {"model": "iris"}]
    write("far/scenario.yaml", SCENARIO | {"world": "field.yaml", "vehicles": vehicles})
    spec, _ = load_scenario(write("mine.yaml", {"extends": "far/scenario.yaml", "seed": 3}))
    assert (spec.name, spec.seed, spec.world) == ("mine", 3, str(tmp_path / "far" / "field.yaml"))
    assert [entry.model for entry in spec.vehicles] == [str(tmp_path / "far" / "own.yaml"), "iris"]
    assert spec.vehicles[0].backends[0]["trajectory"][0]["csv"]["file"] == str(tmp_path / "far" / "path.csv")
    assert load_world(spec.world)[0].origin.latitude == 10.0


def test_an_own_file_extends_the_shipped_one_of_its_name(write):
    """An own `iris` would extend itself, although the shipped one is meant."""
    write("config/vehicles/iris.yaml", {"extends": "iris", "mass": 1.75})
    spec, _ = load_vehicle("iris")
    assert (spec.name, spec.mass) == ("iris", 1.75)
    assert len(spec.rotor_list()) == 4


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": {"extends": "b.yaml"}, "b": {"extends": "a.yaml"}}, "is a circle: a.yaml > b.yaml > a.yaml"),
        ({"a": {"extends": "a.yaml"}}, "a.yaml: extends = 'a.yaml': is a circle"),
        ({"a": {"extends": "x5000"}}, "a.yaml: extends = 'x5000': no such vehicle; known are .* mean x500?"),
        ({"a": {"extends": ["iris"]}}, "must be the name of a vehicle, or the path of its file"),
        (
            {"a": {"extends": "b.yaml"}, "b": BASE | {"mas": 1}},
            "a.yaml: mas: unknown field; did you mean mass",
        ),
        ({"a": {"extends": "iris", "mass": -1}}, "a.yaml: mass = -1: must be above 0"),
    ],
)
def test_what_cannot_be_extended(write, files, message):
    """A circle would never end, or a wrong base be blamed on nothing."""
    for name, content in files.items():
        write(f"{name}.yaml", content)
    text = refused(load_vehicle, write("a.yaml", files["a"]))
    assert all(part in text for part in message.split(" .* ")), text


def test_a_mapping_extends():
    """In Python, a changed vehicle would need a file."""
    assert Multirotor({"extends": "iris", "mass": 1.6}).mass == 1.6


def test_worlds_and_vehicles_within_a_scenario(write):
    """An experiment would need three files."""
    world = {"extends": "flat", "wind": {"mean_velocity": [4.0, 0.0, 0.0]}, "origin": {"latitude": 10.0}}
    model = {"extends": "iris", "mass": 1.6}
    flight = Flight(
        write("s.yaml", {"name": "s", "world": world, "duration": 1.0, "vehicles": [{"model": model}]})
    )
    with flight.simulation as simulation:
        assert simulation.environment.origin.latitude == 10.0
        assert simulation.environment.wind.mean_velocity == (4.0, 0.0, 0.0)
        assert simulation.vehicles["iris"].mass == 1.6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"world": {"extends": "flt"}}, "s.yaml: world.extends = 'flt': no such world"),
        ({"world": {"name": "w"}}, "s.yaml: world.usd: exactly one of usd and generator"),
        ({"world": {"extends": "flat", "wnd": {}}}, "s.yaml: world.wnd: unknown field; did you mean wind?"),
        (
            {"world": {"extends": "flat", "wind": {"model": "gust"}}},
            "s.yaml: world.wind.model = 'gust': must be one of constant, ",
        ),
        ({"world": 3}, "s.yaml: world = 3: must be text or a mapping of fields"),
        (
            {"vehicles": [{"model": {"extends": "iris", "mass": "heavy"}}]},
            "s.yaml: vehicles.0.model.mass = 'heavy': must be a number",
        ),
        (
            {"vehicles": [{"model": {"extends": "iris", "motor": {"max_sped": 3}}}]},
            "s.yaml: vehicles.0.model.motor.max_sped: unknown field; did you mean max_speed?",
        ),
        (
            {"vehicles": [{"model": "iris", "mass": 2.0}]},
            "s.yaml: vehicles.0.mass: unknown field; it is a field of the vehicle: vehicles.0.model.mass",
        ),
    ],
)
def test_faults_within_a_scenario(write, content, message):
    """The error in a world or vehicle within a scenario would name a field that the file lacks."""
    path = write("s.yaml", {"name": "s", "duration": 1.0, "vehicles": [{"model": "iris"}]} | content)
    assert refused(Flight, path).removeprefix(f"{path.parent}/").startswith(message)


def changed(**values):
    return Changes({path.replace("__", "."): value for path, value in values.items()}).apply(SCENARIO)


def test_paths_of_changes():
    """A change would miss its field, or a list's entry be out of reach."""
    content = changed(
        seed=3,
        record__images=True,
        vehicles__second__count=4,
        vehicles__0__backends__geometric__trajectory__square__side=3.0,
        vehicles__0__backends__0__trajectory__land__speed=0.5,
        vehicles__0__backends__0__trajectory__0__takeoff__height=1.0,
        vehicles__1__model__mass=1.7,
        world__wind__mean_velocity=[4, 0, 0],
    )
    assert (content["seed"], content["record"]) == (3, {"images": True})
    assert content["world"] == {"extends": "flat", "wind": {"mean_velocity": [4, 0, 0]}}
    first, second = content["vehicles"]
    assert second == {"model": {"extends": "iris", "mass": 1.7}, "name": "second", "count": 4}
    takeoff, square, land = first["backends"][0]["trajectory"]
    assert takeoff == {"takeoff": {"height": 1.0}}
    assert square == {"square": {"side": 3.0, "height": 2.0, "speed": 2.0}}
    assert land == {"land": {"speed": 0.5}}
    assert [entry["count"] for entry in changed(**{"vehicles__*__count": 2})["vehicles"]] == [2, 2]
    assert SCENARIO["vehicles"][0]["backends"][0]["trajectory"][2] == "land"


def test_another_model_has_other_parameters():
    """The former controller's trajectory would be given to a battery, or gains to another controller."""
    backend = changed(vehicles__0__backends__0__model="px4", vehicles__0__backends__0__airframe="none_iris")[
        "vehicles"
    ][0]["backends"][0]
    assert backend == {"model": "px4", "airframe": "none_iris"}
    (other,) = changed(vehicles__0__backends__0__model="cascaded_pid")["vehicles"][0]["backends"]
    trajectory = SCENARIO["vehicles"][0]["backends"][0]["trajectory"]
    assert other == {"model": "cascaded_pid", "trajectory": trajectory}, "controllers share their missions"
    # The vehicle's own model is none of a component.
    assert changed(vehicles__1__model="x500")["vehicles"][1] == {"model": "x500", "name": "second"}


def test_changes_reach_the_flight(write):
    """A change would be written into the scenario, and never flown."""
    path = write("s.yaml", SCENARIO)
    flight = Flight(
        path,
        {
            "duration": 1.0,
            "world.wind.mean_velocity": [4, 0, 0],
            "vehicles.second.model.mass": 1.7,
            "vehicles.second.position": [3, 0, 0.2],
        },
    )
    with flight.simulation as simulation:
        np.testing.assert_array_equal(
            simulation.environment.wind.velocity(np.zeros((1, 3)), 0.0), [[4, 0, 0]]
        )
        assert [vehicle.mass for vehicle in simulation.vehicles] == [1.5, 1.7]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wrld": "flat"}, "changes: wrld: unknown field; did you mean world?"),
        ({"world.wnd.mean_velocity": 1}, "changes: world.wnd: unknown field; did you mean wind?"),
        (
            {"world.wind.velocity": [4, 0, 0]},
            "changes: world.wind.velocity: unknown field; did you mean mean_ve",
        ),
        ({"world": "falt"}, "changes: world = 'falt': no such world; known are "),
        (
            {"vehicles.scond.count": 2},
            "changes: vehicles.scond.count: no entry is called scond; there are 0, 1, ",
        ),
        ({"vehicles.2.count": 2}, "changes: vehicles.2.count: no entry is called 2"),
        (
            {"vehicles.second.mass": 2},
            "changes: vehicles.second.mass: unknown field; it is a field of the vehicle",
        ),
        (
            {"vehicles.second.model.mass": "x"},
            "changes: vehicles.second.model.mass = 'x': must be a number",
        ),
        (
            {"vehicles.0.backends.geometric.trajectory.sqare.side": 1},
            "changes: vehicles.0.backends.geometric.trajectory.sqare.side: no entry is called sqare; "
            "there are 0, 1, 2, takeoff, square, land; did you mean square?",
        ),
        ({"seed.x": 3}, "changes: seed.x: seed is 0 and has no fields"),
        ({"rate": "fast"}, "changes: rate = 'fast': must be a number"),
    ],
)
def test_changes_that_lead_nowhere(write, changes, message):
    """A misspelt path would be ignored, or be blamed on the scenario's file."""
    path = write("s.yaml", SCENARIO | {"seed": 0, "duration": 1.0})
    assert refused(Flight, path, changes).startswith(message)


def test_files_of_surfaces_and_propulsion_are_beside_the_vehicle(tmp_path):
    """An airframe's or a pusher's file would be looked for in the current folder."""
    curve = {"model": "propeller", "diameter": 0.3, "file": "pusher.txt"}
    surfaces = {"airframe": {"model": "avl", "file": "plane.st"}}
    content = {"extends": "iris", "surfaces": surfaces, "propulsion": {"pusher": {"thrust_curve": curve}}}
    (tmp_path / "plane.yaml").write_text(yaml.safe_dump(content))
    spec, _ = load_vehicle(tmp_path / "plane.yaml")
    assert spec.surfaces["airframe"]["file"] == str(tmp_path / "plane.st")
    assert spec.propulsion["pusher"].thrust_curve["file"] == str(tmp_path / "pusher.txt")
