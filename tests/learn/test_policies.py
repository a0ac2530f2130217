"""Tests of files of policies, and of vehicles that fly by them."""

import dataclasses

import numpy as np
import pytest
import yaml

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.learn import Description, Flights, Layer, PolicyController, Task, evaluate, write_policy
from pegasus.learn.core_flights import Disturbances, evaluate_in_core
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.tasks import Hover
from pegasus.learn.training import description_of

pytestmark = pytest.mark.learn


def linear_policy(path, **changes):
    """Write a policy for the Crazyflie by proportional and derivative feedback, and return its file."""
    flights = Flights(Hover(), 1)
    flights.begin(np.ones(1, dtype=bool))
    width = flights.observe().shape[1]
    # Columns of the observation by term.
    places, first = {}, 0
    for term in Hover.observation:
        size = term(flights.episodes).shape[1]
        places[term.name], first = slice(first, first + size), first + size
    gains = np.zeros((3, width))
    position, velocity = gains[:, places["position_error"]], gains[:, places["velocity"]]
    tilt, turn = gains[:, places["rotation"]], gains[:, places["angular_velocity"]]
    # Lift, and torque about x and y: a lean by 0.3 for each metre and metre per second.
    position[0, 2], velocity[0, 2] = -0.5, -0.8
    tilt[1, 5], position[1, 1], velocity[1, 1], turn[1, 0] = 0.14, 0.042, 0.084, -0.2
    tilt[2, 2], position[2, 0], velocity[2, 0], turn[2, 1] = -0.14, -0.042, -0.084, -0.2
    gains[:, places["position_integral"]] = 0.0
    signs = np.sign(flights.fleet.vehicle.layout.position)
    mixed = np.stack([np.ones(4), signs[:, 1], -signs[:, 0]], axis=1)
    about = dataclasses.replace(description_of(flights), **changes)
    half = 0.5 * (flights.high - flights.low)
    hover = (flights.episodes.rest_speed - flights.low) / half - 1.0
    write_policy(path, [Layer(mixed @ gains, hover, None)], about)
    return path


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return linear_policy(tmp_path_factory.mktemp("policy") / "policy.onnx")


def test_a_policy_flies_alike_in_the_fleet_and_in_the_core(policy):
    """Observations, actions or their times that differ would give other flights in the core."""
    task = Hover(tilt=0.3, speed=0.3, turn_rate=0.5, duration=4.0)
    share, error = evaluate(PolicyFile(policy), task, count=16, seed=5)
    assert share == 1.0
    in_core = evaluate_in_core(policy, task, Disturbances(), count=16, seed=5)
    assert in_core[0] == 1.0
    assert in_core[1] == pytest.approx(error, abs=2e-3)


def test_disturbances_reach_the_vehicle(policy):
    """Wind and masses that nobody feels would leave the vehicles where they are without them."""
    task = Hover(tilt=0.1, speed=0.1, turn_rate=0.1, duration=4.0)
    still = evaluate_in_core(policy, task, Disturbances(), count=4)[1]
    assert evaluate_in_core(policy, task, Disturbances(wind=3.0), count=4)[1] > still + 0.03
    assert evaluate_in_core(policy, task, Disturbances(mass=0.2), count=4)[1] > still + 0.01
    assert evaluate_in_core(policy, task, Disturbances(noise=True), count=4)[1] != still


def test_where_a_policy_flies_to(policy):
    """Copies would fly to the place of another, or go on with the trajectory."""
    with Simulation("flat", rate=500) as sim:
        pilot = PolicyController(policy, trajectory=[{"hold": {"height": 1.5}}])
        places = [(0.0, 0.0, 1.0), (3.0, 0.0, 1.0)]
        vehicle = sim.add(Multirotor("crazyflie", count=2, position=places, backends=[pilot]))
        pilot.goto((3.0, 0.5, 1.0), copies=[1])
        sim.run(duration=5.0)
        np.testing.assert_allclose(vehicle.position, [[0, 0, 1.5], [3, 0.5, 1]], atol=0.05)
        np.testing.assert_allclose(pilot.reference.position, [[0, 0, 1.5], [3, 0.5, 1]])


def test_a_snapshot_goes_on_with_the_same_bits(policy):
    """Actions, their times or integrals that are not saved would give another flight."""
    with Simulation("flat", rate=500) as sim:
        vehicle = sim.add(
            Multirotor(
                "crazyflie", count=2, position=[(0, 0, 1), (3, 0, 1)], backends=[PolicyController(policy)]
            )
        )
        sim.step(203)
        saved = sim.snapshot()
        sim.step(300)
        flown = vehicle.position.copy()
        sim.restore(saved)
        sim.step(300)
        np.testing.assert_array_equal(vehicle.position, flown)


def test_a_copy_that_starts_anew_forgets_its_flight(policy):
    """The action before the reset would be taken once more."""
    with Simulation("flat", rate=500) as sim:
        pilot = PolicyController(policy)
        sim.add(Multirotor("crazyflie", count=2, position=[(0, 0, 1), (3, 0, 2)], backends=[pilot]))
        sim.run(duration=0.5)
        pilot.reset_copies(np.array([1]))
        assert pilot.episodes.time.tolist() == [pytest.approx(0.5, abs=0.01), 0.0]
        assert not pilot.episodes.action[1].any()
        assert pilot.episodes.action[0].any()


def test_a_policy_in_a_scenario(policy, tmp_path):
    """A backend that files cannot name would be of no use to campaigns."""
    from pegasus.experiments import Flight

    entry = {
        "model": "crazyflie",
        "position": [0, 0, 0.8],
        "backends": [{"model": "policy", "policy": str(policy), "trajectory": [{"hold": {"height": 1.2}}]}],
    }
    file = tmp_path / "s.yaml"
    file.write_text(
        yaml.safe_dump({"name": "s", "world": "flat", "duration": 3.0, "rate": 500, "vehicles": [entry]})
    )
    flight = Flight(file)
    flight.fly(out=tmp_path)


def test_a_scenario_finds_its_policy_beside_it(policy, tmp_path, monkeypatch):
    """A scenario would fly only from the folder in which the policy was trained."""
    from pegasus.backends.scenario import scenario_simulation
    from pegasus.config.files import load_scenario

    (tmp_path / "flights" / "learnt").mkdir(parents=True)
    (tmp_path / "flights" / "learnt" / "hover.onnx").write_bytes(policy.read_bytes())
    file = tmp_path / "flights" / "s.yaml"

    def scenario(name):
        backend = {"model": "policy", "policy": name}
        vehicle = {"model": "crazyflie", "position": [0, 0, 0.8], "backends": [backend]}
        file.write_text(yaml.safe_dump({"name": "s", "world": "flat", "rate": 500, "vehicles": [vehicle]}))
        spec, path = load_scenario(file)
        return scenario_simulation(spec, path)

    monkeypatch.chdir(tmp_path)
    scenario("learnt/hover.onnx").close()
    (tmp_path / "hover.onnx").write_bytes(policy.read_bytes())
    with pytest.raises(ConfigError) as caught:
        scenario("hover.onnx")
    folder = tmp_path / "flights"
    assert str(caught.value).endswith(
        f"vehicles.0.backends.0.policy = '{folder / 'hover.onnx'}': there is no such file; looked in {folder}"
    )


@pytest.mark.parametrize(
    ("changes", "vehicle", "says"),
    [
        ({}, "iris", "policy = .*: commands rotor_0 from .* with 'crazyflie'; 'iris' takes rotor_0"),
        ({}, "plane", "policy = .*: commands rotor_0, rotor_1, rotor_2, rotor_3; 'plane' has rotor_0, brake"),
        (
            {"terms": (("gate_corners", 1.0),), "task": "race_gates"},
            "crazyflie",
            "policy = .*: observes gate_corners, which only its task 'race_gates' has",
        ),
        (
            {"terms": (("wishes", 1.0),)},
            "crazyflie",
            "terms = 'wishes': must be a shipped term, or one that is given",
        ),
    ],
)
def test_a_policy_of_another_vehicle(changes, vehicle, says, tmp_path):
    """A policy would command rotors that cannot turn so, or channels that are others."""
    file = linear_policy(tmp_path / "policy.onnx", **changes)
    with Simulation("flat", rate=500) as sim, pytest.raises(ConfigError, match=says):
        sim.add(Multirotor(vehicle, position=(0, 0, 5), backends=[PolicyController(file)]))


def test_own_terms_are_given_to_the_controller(tmp_path):
    """A policy that observes a term of the user's own could not be flown."""

    def height(episodes):
        return episodes.motion.position[:, 2:]

    about = description_of(Flights(Hover(), 1))
    about = dataclasses.replace(about, terms=(("height", 1.0),))
    write_policy(tmp_path / "p.onnx", [Layer(np.zeros((4, 1)), np.full(4, 0.1), "Tanh")], about)
    with Simulation("flat", rate=500) as sim:
        pilot = PolicyController(tmp_path / "p.onnx", terms={"height": height})
        vehicle = sim.add(Multirotor("crazyflie", position=(0, 0, 1), backends=[pilot]))
        sim.run(duration=0.2)
        middle = 0.5 * (np.array(about.low) + about.high)
        half = 0.5 * (np.array(about.high) - about.low)
        np.testing.assert_allclose(vehicle.command[0], middle + half * np.tanh(0.1), rtol=1e-6)


def test_files_that_are_no_policies(tmp_path):
    """What is wrong with a file would be told by a traceback."""
    import onnx

    with pytest.raises(ConfigError, match=r"policy = .*none.onnx': there is no such file"):
        PolicyFile(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("text")
    with pytest.raises(ConfigError, match="is not a file of ONNX"):
        PolicyFile(tmp_path / "text.onnx")
    model = onnx.load(linear_policy(tmp_path / "policy.onnx"))
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.metadata_props[:]
    onnx.save(bare, tmp_path / "bare.onnx")
    with pytest.raises(ConfigError, match="has no description"):
        PolicyFile(tmp_path / "bare.onnx")
    for text, says in (
        ('{"format": 9}', "has format 9"),
        ("{", "cannot be read"),
        ('{"format": 1}', "cannot be read"),
    ):
        onnx.helper.set_model_props(bare, {"pegasus.policy": text})
        onnx.save(bare, tmp_path / "odd.onnx")
        with pytest.raises(ConfigError, match=says):
            PolicyFile(tmp_path / "odd.onnx")


def test_the_description_survives_the_file(tmp_path):
    """A number that is lost in the file would fly the vehicle otherwise."""
    flights = Flights(Hover(), 1)
    about = description_of(flights)
    assert about.task == "hover"
    assert PolicyFile(linear_policy(tmp_path / "policy.onnx")).description == about
    assert isinstance(about, Description)

    class Own(Hover):
        """A task of a user."""

    own = Flights(Own(), 1)
    assert description_of(own).task.endswith("Own")
    assert issubclass(Own, Task)


@pytest.mark.parametrize("model", ["crazyflie", "iris", "x500"])
def test_raptor_flies_quadrotors_of_any_size(model):
    """Rotors in another order, or axes of another convention, would turn the vehicle over."""
    pytest.importorskip("foundation_policy")
    with Simulation("flat", rate=500) as sim:
        pilot = PolicyController("raptor")
        vehicle = sim.add(Multirotor(model, count=2, position=[(0, 0, 0.5), (5, 0, 3)], backends=[pilot]))
        pilot.goto([(0, 0.5, 2), (5.5, 0, 3)])
        sim.run(duration=6.0)
        np.testing.assert_allclose(vehicle.position, [[0, 0.5, 2], [5.5, 0, 3]], atol=0.08)
        # A copy that starts anew flies as the other did.
        pilot.reset_copies(np.array([0]))
        vehicle.place((0, 0, 1), copies=[0])
        pilot.goto((0, 0, 2), copies=[0])
        sim.run(duration=6.0)
        np.testing.assert_allclose(vehicle.position, [[0, 0, 2], [5.5, 0, 3]], atol=0.08)


def test_raptor_flies_no_hexarotor():
    """A policy for four rotors would command some of six."""
    pytest.importorskip("foundation_policy")
    with (
        Simulation("flat") as sim,
        pytest.raises(ConfigError, match="must be a quadrotor with a rotor in each corner"),
    ):
        sim.add(Multirotor("tilt_hexarotor", position=(0, 0, 5), backends=[PolicyController("raptor")]))
