"""Tests of the rotor geometry parameters of PX4, by PX4's own mixing."""

import numpy as np
import pytest
import yaml
from px4_rig import sensors

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.airframe import output_map
from pegasus.backends.px4.geometry import geometry_parameters
from pegasus.backends.px4.roles import roles_of
from pegasus.base.system import resource
from pegasus.config.autopilot_specs import PX4Spec
from pegasus.config.files import load_vehicle
from pegasus.control import Allocation
from tests.flyers import MULTIROTORS

pytestmark = pytest.mark.usefixtures("nothing_left")
HEXAROTOR = yaml.safe_load(resource("config", "vehicles", "tilted_hexarotor.yaml").read_text())
CHANNELS = 16


def parameters_of(model):
    """Return the rotor parameters given to PX4, the vehicle, and the output of each rotor."""
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor(model, sensors={}))
        rotors = output_map(vehicle.spec.px4, vehicle.channels, output_count=CHANNELS, field="px4")
        given = vehicle.spec.px4.parameters
        roles = roles_of(vehicle, rotors)
        return geometry_parameters(vehicle, rotors, given, roles), vehicle, rotors.outputs


def mixed(given):
    """Return PX4's outputs for unit roll, pitch, yaw and thrust (FRD, thrust up), shape (16, 4).

    As its ActuatorEffectivenessRotors, ControlAllocator and ControlAllocationPseudoInverse do, but for the
    scaling.
    """
    effects = np.zeros((6, given["CA_ROTOR_COUNT"]))
    for k, effect in enumerate(effects.T):
        place, axis = (
            np.array([given[f"CA_ROTOR{k}_{kind}{name}"] for name in "XYZ"]) for kind in ("P", "A")
        )
        axis, strength = axis / np.linalg.norm(axis), given[f"CA_ROTOR{k}_CT"]
        effect[:3] = strength * (np.cross(place, axis) - given[f"CA_ROTOR{k}_KM"] * axis)
        effect[3:] = strength * axis
    effects[np.abs(effects).max(axis=1) <= 0.05] = 0.0  # axes of weak authority are left alone
    motors = np.linalg.pinv(effects, rcond=1e-5)[:, [0, 1, 2, 5]] * [1, 1, 1, -1]
    outputs = np.zeros((CHANNELS, 4))
    for k in range(CHANNELS):
        function = given.get(f"PWM_MAIN_FUNC{k + 1}", 0)
        if function > 100:
            outputs[k] = motors[function - 101]
    return outputs


def assert_flown(model, most=0.02):
    """Assert that each command of PX4 acts on its axis of the vehicle, with little coupling."""
    given, vehicle, channels = parameters_of(model)
    thrust = mixed(given)[channels]
    curve, density = vehicle.thrust_curve, vehicle.environment.air_density(np.zeros((1, 3)))[:, None]
    top = np.minimum(vehicle.motor.max_speed, 1e9)
    force, torque = (float(x[0, 0]) for x in curve.thrust(np.full((1, 1), top), np.zeros((1, 1)), density))
    allocation = Allocation(vehicle.layout, vehicle.center_of_mass, torque / force)
    # From PX4's axes (FRD) to those of the vehicle (FLU): pitch and yaw change their signs.
    effect = (allocation.matrix @ thrust)[[3, 4, 5, 2]] * np.array([1, -1, -1, 1])[:, None]
    main = np.diag(effect)
    assert (main > 0).all()
    reach = np.abs(effect - np.diag(main)) / main[:, None]
    assert reach.max() < most
    return given


@pytest.mark.parametrize("name", MULTIROTORS)
def test_a_vehicle_without_a_section(name):
    """A vehicle without a PX4 section would turn over: PX4 would mix for other rotors."""
    spec, _ = load_vehicle(name)
    given = assert_flown(spec.model_copy(update={"px4": PX4Spec()}))
    count = len(spec.rotor_list())
    assert given["MAV_TYPE"] == {4: 2, 6: 13, 8: 14}[count]
    assert (given["CA_AIRFRAME"], given["CA_ROTOR_COUNT"]) == (0, count)
    assert [given[f"PWM_MAIN_FUNC{k + 1}"] for k in range(count)] == list(range(101, 101 + count))


@pytest.mark.parametrize("name", MULTIROTORS)
def test_a_shipped_vehicle(name):
    """A shipped vehicle's PX4 section would contradict its rotors."""
    spec, _ = load_vehicle(name)
    if spec.px4.airframe == "none_iris":
        assert_flown(spec)
        assert not {key for key in spec.px4.parameters if key.startswith(("CA_", "PWM_", "MAV_"))}


def vehicle_file(rotors, **others):
    """Return the content of a vehicle file with these rotors."""
    return HEXAROTOR | {"name": "mine", "rotors": rotors, "propeller": {"diameter": 0.1}} | others


def test_rotors_in_any_order_and_place():
    """Order, tilt, height or an offset centre of mass would give PX4 a wrong rotor position."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        count = int(rng.choice([4, 6, 8, 10, 12]))
        rotors = []
        for k, angle in enumerate(2 * np.pi * (np.arange(count) + rng.uniform(-0.1, 0.1, count)) / count):
            outward = np.array([np.cos(angle), np.sin(angle), 0.0])
            sense = 1 if k % 2 else -1
            # Tilted about the arms, so that the reaction of the rotors and their tilt yaw the same way.
            axis = [0, 0, 1] - sense * rng.uniform(0.0, 0.3) * np.cross([0, 0, 1], outward)
            position = rng.uniform(0.3, 0.5) * outward + [0, 0, rng.uniform(0.0, 0.1)]
            rotors.append(
                {
                    "position": position.tolist(),
                    "axis": axis.tolist(),
                    "direction": "ccw" if sense > 0 else "cw",
                }
            )
        order = rng.permutation(count)
        channels = rng.permutation(CHANNELS)[:count]
        model = vehicle_file(
            [rotors[k] for k in order],
            center_of_mass=rng.uniform(-0.02, 0.02, 3).tolist(),
            px4={"channels": channels.tolist()},
        )
        given = assert_flown(model, most=0.3)
        assert given["CA_ROTOR_COUNT"] == count
        functions = {given[f"PWM_MAIN_FUNC{channel + 1}"] for channel in channels}
        assert functions == set(range(101, 101 + count))


def test_figures_of_a_rotor():
    """PX4's rotor figures would have wrong signs or units: FRD axes about the centre of mass."""
    given, _, _ = parameters_of(vehicle_file(HEXAROTOR["rotors"], center_of_mass=[0.01, 0.02, 0.03]))
    first = {name: given[f"CA_ROTOR0_{name}"] for name in ("PX", "PY", "PZ", "AX", "AY", "AZ", "CT", "KM")}
    expected = [0.38, 0.00632, -0.00759, 0.0, -0.34202, -0.93969, 6.5, -0.0210526]
    assert list(first.values()) == pytest.approx(expected, abs=1e-5)
    assert given["CA_ROTOR1_KM"] == pytest.approx(0.0210526)
    # 2.92 kg on six rotors of 2.88765e-5 N/(rad/s)^2 in 1.225 kg/m^3, tilted by 20 degrees, of 628.3 rad/s,
    # 90 m above the sea.
    thinner = (1 - 2.25577e-5 * 90) ** 4.2559
    speed = np.sqrt(2.92 * 9.7951 / (6 * np.cos(np.radians(20.0)) * 2.88765e-5 * thinner))
    assert given["MPC_THR_HOVER"] == pytest.approx(speed / 628.3, abs=1.1e-3)


def test_rotors_of_different_speeds():
    """PX4 would assume the full thrust for a rotor of half the speed."""
    scale = [300.0] + [600.0] * 5
    given, _, _ = parameters_of(vehicle_file(HEXAROTOR["rotors"], mass=1.0, px4={"scale": scale}))
    assert given["CA_ROTOR1_CT"] / given["CA_ROTOR0_CT"] == pytest.approx(4.0, rel=1e-4)


def test_an_agile_vehicle_gets_lower_gains():
    """PX4's gains, tuned for an Iris, would make a Crazyflie oscillate on the ground."""
    bare, _ = load_vehicle("crazyflie")
    given, _, _ = parameters_of(bare.model_copy(update={"px4": PX4Spec()}))
    # Slope of the thrust in hover by full output, with C_T 0.1454 of propellers of 47.1 mm, 90 m high.
    # One unit is 0.707 of each of four rotors at 32.53 mm, whose root mean square over half of them is 1.
    factor = 0.1454 * 1.225 * (1 - 2.25577e-5 * 90) ** 4.2559 * 0.0471**4 / (2 * np.pi) ** 2
    slope = 2 * factor * np.sqrt(0.0319 * 9.7951 / (4 * factor)) * 2501.0
    acceleration = 4 * np.sqrt(0.5) * slope * 0.03253 / 16.8e-6
    for axis in ("ROLL", "PITCH"):
        assert given[f"MC_{axis}RATE_K"] == pytest.approx(500.0 / acceleration, abs=2e-3)
    assert parameters_of("iris")[0]["MC_ROLLRATE_K"] == 1.0
    # Gains chosen by the user are kept.
    assert not [name for name in parameters_of("crazyflie")[0] if name.endswith("RATE_K")]


def ring(count):
    """Return a ring of rotors."""
    return {"count": count, "radius": 1.0, "height": 0.1}


def started(tree, tmp_path, model, **options):
    """Return the environment variables that PX4 is started with for a vehicle."""
    backend = PX4(tree.folder, **options)
    backend.run_folder = tmp_path / "run"
    with Simulation("flat") as simulation:
        simulation.add(Multirotor(model, backends=[backend], sensors=sensors()))
        simulation.step()
        text = (backend.run_folder / f"px4_{backend.first_instance}" / "environment").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())


def test_px4_is_started_with_the_rotors_of_a_vehicle(tree, tmp_path):
    """PX4 would start as an Iris, and tip over a vehicle without a PX4 section."""
    seen = started(tree, tmp_path, vehicle_file(ring(6)))
    assert seen["PX4_SIM_MODEL"] == "none_iris"
    assert seen["PX4_PARAM_CA_ROTOR_COUNT"] == "6"
    assert seen["PX4_PARAM_MAV_TYPE"] == "13"
    assert seen["PX4_PARAM_PWM_MAIN_FUNC6"] == "106"
    place = [float(seen[f"PX4_PARAM_CA_ROTOR0_P{axis}"]) for axis in "XYZ"]
    assert place == pytest.approx([np.cos(np.pi / 6), -0.5, -0.1], abs=1e-5)
    assert float(seen["PX4_PARAM_CA_ROTOR0_KM"]) > 0


def test_what_the_user_says_counts(tree, tmp_path):
    """Derived parameters would replace those of the vehicle's section or of the backend."""
    section = {"parameters": {"CA_ROTOR0_KM": 0.07, "MPC_THR_HOVER": 0.4}}
    model = vehicle_file(ring(4), px4=section)
    seen = started(tree, tmp_path, model, parameters={"MPC_THR_HOVER": 0.45})
    assert (seen["PX4_PARAM_CA_ROTOR0_KM"], seen["PX4_PARAM_MPC_THR_HOVER"]) == ("0.07", "0.45")
    assert seen["PX4_PARAM_CA_ROTOR_COUNT"] == "4"


def test_an_airframe_with_rotors_of_its_own(tree, tmp_path):
    """The rotors of an airframe chosen by the user would be replaced."""
    model = vehicle_file(ring(6), px4={"airframe": "gazebo-classic_typhoon_h480"})
    seen = started(tree, tmp_path, model)
    assert not [name for name in seen if name.startswith("PX4_PARAM_CA_")]


@pytest.mark.parametrize(
    ("rotors", "section", "message"),
    [
        (ring(13), {}, "rotors: PX4 flies 12 rotors at most, the vehicle has 13; use fewer rotors, or"),
        (
            ring(4),
            {"channels": [0, 0, 1, 2]},
            "px4.channels = [0, 0, 1, 2]: uses output 0 twice, once for rotor_0 [rad/s], 0 to ",
        ),
        (
            [{"position": [x, y, 0.1], "direction": "ccw"} for x in (-0.5, 0.5) for y in (-0.5, 0.5)],
            {},
            "rotors: these 4 rotors cannot produce force along z and torque about z independently; ",
        ),
    ],
)
def test_rotors_that_px4_cannot_fly(tree, rotors, section, message):
    """PX4 would fly without a rotor, or turn over, without an error."""
    model = vehicle_file(rotors, px4=section)
    with Simulation("flat") as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor(model, backends=[PX4(tree.folder)], sensors=sensors()))
    assert str(caught.value).startswith(message)


def test_rotors_that_hardly_yaw():
    """Coefficients that give every axis its authority would be so large that PX4 drops all axes."""
    content = yaml.safe_load(resource("config", "vehicles", "crazyflie.yaml").read_text())
    curve = {"model": "quadratic", "thrust_constant": 2.3e-8, "moment_ratio": 1e-9}
    given, _, _ = parameters_of(content | {"thrust_curve": curve})
    assert [given[f"CA_ROTOR{k}_CT"] for k in range(4)] == pytest.approx([100.0] * 4)
