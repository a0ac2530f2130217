"""Tests of writing a simulation's state as a scenario file."""

import numpy as np
import pytest
import yaml

from pegasus import Multirotor, Simulation
from pegasus.base.components import build, describe
from pegasus.base.errors import ConfigError
from pegasus.cameras import Camera, Imaging
from pegasus.config.files import load_scenario
from pegasus.contracts.backend import BACKENDS, Backend
from pegasus.control import GeometricController, PlaneController, trajectories
from pegasus.environment import Environment
from pegasus.experiments import Flight
from pegasus.movers import SolidMover
from pegasus.panel.scenario_writer import save_scenario
from pegasus.panel.steering import STEERED
from pegasus.sensors import SENSORS, Sensor

SCENARIO = """
name: pair
world: flat
rate: 500.0
seed: 7
duration: 0.2
vehicles:
  - model: iris
    name: leader
    position: [1.0, 2.0, 0.3]
    heading: 0.5
    backends: [{model: geometric, trajectory: [{takeoff: {height: 2.0}}, {hold: {height: 2.0}}]}]
    sensors: {front: {model: camera, resolution: [64, 48], outputs: [rgb, depth], rate_hz: 5.0}}
  - model: crazyflie
    count: 5
    spacing: 0.7
    position: [-4.0, 0.0, 0.2]
"""


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """Return the user's folder."""
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config"


def flown(simulation, steps):
    """Return the positions of all vehicles after some steps."""
    simulation.step(steps)
    return np.concatenate([vehicle.state.position for vehicle in simulation.vehicles])


def test_a_saved_scenario_flies_as_what_was_saved(tmp_path, config):
    """A saved scenario would fly differently when it is opened again."""
    (tmp_path / "pair.yaml").write_text(SCENARIO)
    with Flight(tmp_path / "pair.yaml").simulation as first:
        saved = save_scenario(first, "again", speed=None)
        assert saved.left_out == ()
        assert saved.file == config / "scenarios" / "again.yaml"
        path = flown(first, 60)
        camera = first.vehicles["leader"].sensors["front"]
    spec, _ = load_scenario("again")
    assert (spec.world, spec.rate, spec.seed, spec.speed, spec.duration) == ("flat", 500.0, 7, "max", 60.0)
    assert [(v.name, v.count, v.model) for v in spec.vehicles] == [
        ("leader", 1, "iris"),
        ("crazyflie", 5, "crazyflie"),
    ]
    with Flight("again").simulation as second:
        np.testing.assert_array_equal(flown(second, 60), path)
        again = second.vehicles["leader"].sensors["front"]
        assert (again.resolution, again.outputs, again.rate_hz) == ((64, 48), camera.outputs, 5.0)


def test_movers_are_saved_but_those_of_the_world():
    """A saved scenario would lose its platform, or have that of the world twice."""
    motion = {"model": "oscillation", "position": [0, 0, 1], "amplitude": [1.0, 0, 0], "period": 9.0}
    platform = {"name": "platform", "box": [2.0, 2.0, 0.2], "color": [0.8, 0.2, 0.1], "motion": motion}
    with Simulation({"extends": "flat", "movers": [{**platform, "name": "ship"}]}) as simulation:
        simulation.add(Multirotor("iris", position=(5.0, 0.0, 0.1)))
        simulation.add_mover(platform)

        class Own(SolidMover):
            pass

        simulation.add_mover(Own({**platform, "name": "own"}))
        saved = save_scenario(simulation, "ships")
        places = [simulation.movers[name].poses(1.3)[0] for name in ("ship", "platform")]
    assert saved.left_out == ("mover own",)
    with Flight("ships").simulation as again:
        assert again.movers.names == ["ship", "platform"]
        np.testing.assert_array_equal([mover.poses(1.3)[0] for mover in again.movers], places)


def test_wind_and_origin_are_saved_as_a_world(config):
    """The scenario would lose its origin on Earth or its wind."""
    with Simulation("flat") as simulation:
        simulation.add(Multirotor("iris", position=(0, 0, 1.0)))
        moved = simulation.given_world.model_copy(
            update={"origin": simulation.given_world.origin.model_copy(update={"altitude": 1500.0})}
        )
    with Simulation(moved) as simulation:
        simulation.add(Multirotor("iris", position=(0, 0, 1.0)))
        simulation.environment.wind = Environment.from_spec(
            moved.model_copy(update={"wind": {"model": "constant", "mean_velocity": [3.0, 0.0, 0.0]}})
        ).wind
        saved = save_scenario(simulation, "windy")
        path = flown(simulation, 50)
    assert yaml.safe_load(saved.file.read_text())["world"] == "windy_world"
    assert (config / "worlds" / "windy_world.yaml").is_file()
    with Flight("windy").simulation as again:
        assert again.environment.origin.altitude == 1500.0
        np.testing.assert_array_equal(flown(again, 50), path)


def test_copies_in_no_grid_are_saved_one_by_one():
    """Freely placed copies would be saved as a grid."""
    places = np.array([[0.0, 0.0, 0.2], [3.0, 1.0, 0.4], [-2.0, 5.0, 0.2]])
    headings = [0.1, 0.2, 0.3]
    with Simulation("flat") as simulation:
        simulation.add(Multirotor("iris", name="lot", count=3, position=places, heading=headings))
        save_scenario(simulation, "lot")
    with Flight("lot").simulation as again:
        assert [vehicle.name for vehicle in again.vehicles] == ["lot_0", "lot_1", "lot_2"]
        starts = np.concatenate([vehicle.start.position for vehicle in again.vehicles])
        np.testing.assert_allclose(starts, places, atol=1e-12)
        turned = np.concatenate([vehicle.start.orientation for vehicle in again.vehicles])
        np.testing.assert_allclose(turned[:, 2], np.sin(np.array(headings) / 2), atol=1e-12)


def test_what_a_file_cannot_describe_is_named():
    """A pilot that YAML cannot describe would be dropped without a message."""
    with Simulation("flat") as simulation:
        pilot = GeometricController(trajectories.hold(height=1.0))
        simulation.add(Multirotor("iris", backends=[pilot], extra_sensors={"eye": Camera(lens=None)}))
        saved = save_scenario(simulation, "half")
    assert saved.left_out[0] == "iris: backend GeometricController"
    assert load_scenario("half")[0].vehicles[0].backends == []


@pytest.mark.parametrize(
    ("name", "said"), [("../evil", "must consist of"), ("", "must consist of"), ("a b", "must consist of")]
)
def test_names_stay_in_the_folder(name, said, config):
    """A page could write any file of the machine."""
    with Simulation("flat") as simulation:
        simulation.add(Multirotor("iris"))
        with pytest.raises(ConfigError, match=said):
            save_scenario(simulation, name)
    assert not config.exists()


def test_a_file_is_replaced_only_when_that_is_wanted():
    """A name chosen twice would overwrite the user's scenario."""
    with Simulation("flat") as simulation:
        with pytest.raises(ConfigError, match="has no vehicles; add one first"):
            save_scenario(simulation, "one")
        simulation.add(Multirotor("iris"))
        save_scenario(simulation, "one")
        with pytest.raises(ConfigError, match="already exists; choose another name"):
            save_scenario(simulation, "one")
        simulation.add(Multirotor("crazyflie", position=(3.0, 3.0, 0.2)))
        save_scenario(simulation, "one", replace=True)
    assert len(load_scenario("one")[0].vehicles) == 2


def test_a_component_is_described_by_what_it_was_built_from():
    """A trajectory read from a file could not be written to one."""
    spec = {"model": "geometric", "trajectory": [{"takeoff": {"height": 2.0}}, {"land": {}}]}
    made = build(Backend, BACKENDS, spec, field="backend")
    assert describe(Backend, BACKENDS, made) == spec
    # With the present values of its fields.
    made.relative = False
    assert describe(Backend, BACKENDS, made) == {**spec, "relative": False}
    made.trajectory = trajectories.hold(height=1.0)
    assert describe(Backend, BACKENDS, made) is None
    given = {"model": "lidar", "pattern": "vlp16", "position": [0.0, 0.0, 0.1]}
    assert describe(Sensor, SENSORS, build(Sensor, SENSORS, given, field="sensor")) == given
    camera = Camera(resolution=(64, 48), outputs=("rgb",), rate_hz=5.0)
    described = describe(Sensor, SENSORS, camera)
    assert described == {"model": "camera", "rate_hz": 5.0, "resolution": [64, 48]}
    # Fields that YAML cannot hold and that the camera has no default for.
    assert describe(Sensor, SENSORS, Camera(imaging=Imaging(exposure=2.0))) is None
    from pegasus.sensors import GPS

    assert describe(Sensor, SENSORS, GPS(rate_hz=2.0)) == {"model": "gps", "rate_hz": 2.0}


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("position", [[0.0, 0.0, 0.1], [[0.0, 0.0, 0.1], [3.0, 1.0, 0.1], [9.0, 2.0, 0.1]]])
def test_parameters_of_copies_are_saved(position):
    """A scenario would be opened again with the masses of the file."""
    drawn = {"mass": {"normal": {"mean": 1.5, "std": 0.1}}, "motor.time_constant_up": [0.01, 0.02, 0.03]}
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor("iris", count=3, position=position, variation=drawn))
        assert save_scenario(simulation, "varied").left_out == ()
    with Flight("varied").simulation as again:
        parameters = [p for other in again.vehicles for p in other.parameters]
    assert [p.mass for p in parameters] == vehicle.variation["mass"].tolist()
    assert [p.motor.time_constant_up for p in parameters] == [0.01, 0.02, 0.03]


def test_a_plane_is_saved_with_its_mission():
    """A saved scenario would lose the mission of a plane, or its manual flight."""
    points = {"points": [[150, 0, 30], [250, 90, 30]], "stop": True}
    mission = [{"takeoff": {"height": 30.0}}, {"waypoints": points}, "land"]
    hand = STEERED["plane"]
    with Simulation("flat") as simulation:
        for name, spec in (
            ("plane", {"model": "plane", "trajectory": mission, "airspeed": 14.0}),
            ("hand", {"model": f"{hand.__module__}:{hand.__qualname__}"}),
        ):
            pilot = build(Backend, BACKENDS, spec, field="backend")
            place = (0, 9.0 * (name == "hand"), 0.15)
            simulation.add(Multirotor("plane", name=name, position=place, backends=[pilot]))
        assert save_scenario(simulation, "plane_again").left_out == ()
        path = flown(simulation, 30)
    with Flight("plane_again").simulation as again:
        assert [type(vehicle.backends[0]) for vehicle in again.vehicles] == [PlaneController, hand]
        assert again.vehicles["plane"].backends[0].airspeed == 14.0
        np.testing.assert_array_equal(flown(again, 30), path)
