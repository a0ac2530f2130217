"""Tests of the parameters of control surfaces, tilts and forward rotors of PX4, by PX4's own figures."""

import numpy as np
import pytest
from px4_rig import PX4Tree

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.airframe import output_map
from pegasus.backends.px4.geometry import geometry_parameters
from pegasus.backends.px4.roles import Kind, roles_of
from pegasus.config.autopilot_specs import PX4Spec
from pegasus.config.files import load_vehicle
from pegasus.core.trim import search_of

pytestmark = pytest.mark.usefixtures("nothing_left")
FORWARD = (1.0, 0.0, 0.0)
# Airframes 1030, 1040, 1042 and 1041 of PX4: by output, the motor's axis and tilt, or the surface's type and
# torques of roll, pitch and yaw, negative where PWM_MAIN_REV turns the output round; or the tilt's number.
PLANE = {
    2: (4, 0.0, 0.0, 1.0),
    3: (9, 0.0, 0.0, 0.0),
    4: (FORWARD, 0),
    5: (1, -0.5, 0.0, 0.0),
    6: (2, 0.5, 0.0, 0.0),
    7: (3, 0.0, 1.0, 0.0),
    8: (10, 0.0, 0.0, 0.0),
}
UP = (0.0, 0.0, -1.0)
LIFT = dict.fromkeys(range(4), (UP, 0))
AILERONS = (1, -0.5, 0.0, 0.0), (2, 0.5, 0.0, 0.0), (3, 0.0, 1.0, 0.0)
PUBLISHED = {
    "plane": (Kind.PLANE, PLANE),
    "standard_vtol": (
        Kind.STANDARD_VTOL,
        LIFT | {4: (FORWARD, 0)} | dict(zip((5, 6, 7), AILERONS, strict=True)),
    ),
    "tiltrotor": (
        Kind.TILTROTOR,
        LIFT
        | {0: (UP, 1), 2: (UP, 2), 4: "tilt 0", 5: "tilt 1"}
        | dict(zip((6, 7, 8), AILERONS, strict=True)),
    ),
    "tailsitter": (Kind.TAILSITTER, LIFT | {5: (5, 0.0, -0.5, 0.5), 6: (6, 0.0, -0.5, -0.5)}),
}


@pytest.fixture
def derived():
    """Return a function from a vehicle to its parameters, map of outputs, and vehicle."""
    opened = []

    def of(model, **given):
        simulation = Simulation("flat")
        opened.append(simulation)
        vehicle = simulation.add(Multirotor(model, sensors={}))
        outputs = output_map(vehicle.spec.px4, vehicle.channels, output_count=16, field="px4")
        roles = roles_of(vehicle, outputs)
        return geometry_parameters(vehicle, outputs, given, roles), outputs, vehicle, roles.kind

    yield of
    for simulation in opened:
        simulation.close()


def by_output(given):
    """Return the motor, surface or tilt of each output that has one."""
    roles, surfaces = {}, given["CA_SV_CS_COUNT"]
    for output in range(16):
        function = given[f"PWM_MAIN_FUNC{output + 1}"]
        if 101 <= function <= 112:
            motor = f"CA_ROTOR{function - 101}_"
            roles[output] = tuple(given[f"{motor}A{axis}"] for axis in "XYZ"), given[f"{motor}TILT"]
        elif 201 <= function < 201 + surfaces:
            surface = f"CA_SV_CS{function - 201}_"
            torque = (given[f"{surface}TRQ_{axis}"] for axis in "RPY")
            roles[output] = given[f"{surface}TYPE"], *torque
        elif function:
            roles[output] = f"tilt {function - 201 - surfaces}"
    return roles


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_figures_of_px4(derived, name):
    """A sign, a scale or a type would be another one than in PX4's own airframe."""
    given, _, _, kind = derived(name)
    expected_kind, expected = PUBLISHED[name]
    assert kind is expected_kind
    assert given["CA_AIRFRAME"] == kind.number
    assert given["PWM_MAIN_REV"] == 0
    assert by_output(given) == expected


def test_the_rotors_of_px4(derived):
    """Lift rotors of a VTOL would stand elsewhere, or turn the other way, than in PX4's own airframe."""
    given, *_ = derived("standard_vtol")
    published = [
        (0.1515, 0.245, 0.05),
        (-0.1515, -0.1875, 0.05),
        (0.1515, -0.245, -0.05),
        (-0.1515, 0.1875, -0.05),
    ]
    for k, figures in enumerate(published):
        ours = [given[f"CA_ROTOR{k}_{name}"] for name in ("PX", "PY", "KM")]
        assert np.sign(ours).tolist() == np.sign(figures).tolist()
    # PX4's file has the arms of its Iris; those of the model are 0.35 m, and its torque by thrust is 0.06 m.
    assert [given[f"CA_ROTOR0_{name}"] for name in ("PX", "PY", "KM")] == pytest.approx([0.3502, 0.35, 0.06])
    # Of hover: 5.04 kg on four rotors of 2.0e-5 N/(rad/s)^2 and 1500 rad/s.
    assert given["MPC_THR_HOVER"] == pytest.approx(np.sqrt(5.04 * 9.8 / 8e-5) / 1500.0, abs=2e-3)


def test_the_tilts_of_px4(derived):
    """PX4 would tilt by other angles, or to another side, than the servos."""
    given, *_ = derived("tiltrotor")
    for k in range(2):
        tilt = [given[f"CA_SV_TL{k}_{name}"] for name in ("MINA", "MAXA", "TD", "CT")]
        # The servo ends at 1.5 rad; PX4's file says 90 degrees.
        assert tilt == [0, 86, 0, 1]


def moved(model, order, signs):
    """Return a vehicle with its channels at other outputs, and its servos turned round."""
    spec, _ = load_vehicle(model)
    channels = {}
    for (name, old), output, sign in zip(spec.px4.channels.items(), order, signs, strict=True):
        if old is None:
            channels[name] = None
        elif name.startswith("rotor"):
            channels[name] = {"output": output, "scale": old.scale}
        elif "tilt" in name:
            channels[name] = {"output": output, "scale": sign * old.scale, "offset": old.offset}
        else:
            channels[name] = {"output": output, "scale": sign * 0.53}
    return spec.model_copy(update={"px4": PX4Spec.model_validate({"channels": channels})})


def commands_of(given, outputs, axis):
    """Return the commands by channel for a full torque of PX4's forward flight about an axis of FRD.

    As its ActuatorEffectivenessControlSurfaces and ControlAllocationPseudoInverse do.
    """
    count = given["CA_SV_CS_COUNT"]
    torque = np.array([[given[f"CA_SV_CS{k}_TRQ_{name}"] for k in range(count)] for name in "RPY"])
    servos = np.linalg.pinv(torque)[:, axis]
    assert np.abs(servos).max() <= 1.0 + 1e-6
    controls = [0.0] * 16
    for k in range(16):
        function = given[f"PWM_MAIN_FUNC{k + 1}"]
        if 201 <= function < 201 + count:
            controls[k] = servos[function - 201] * (-1 if given["PWM_MAIN_REV"] >> k & 1 else 1)
    return outputs.commands(controls)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("seed", [1, 2])
def test_outputs_in_any_order(derived, name, seed):
    """A surface at another output, or turned round, would turn the vehicle the wrong way."""
    rng = np.random.default_rng(seed)
    count = len(load_vehicle(name)[0].px4.channels)
    given, outputs, vehicle, _ = derived(
        moved(name, rng.permutation(16)[:count].tolist(), rng.choice([-1, 1], count))
    )
    search = search_of(vehicle, None)
    found = search.steady(15.0, 0.0, 0.0)
    joints = [
        joint.channel
        for joint in vehicle.machines[0].joints
        if "tilt" not in vehicle.channels[joint.channel].name
    ]
    for axis in range(3):
        if not any(given[f"CA_SV_CS{k}_TRQ_{'RPY'[axis]}"] for k in range(given["CA_SV_CS_COUNT"])):
            continue
        turned = found.command.copy()
        turned[joints] += np.array(commands_of(given, outputs, axis))[joints]
        change = (
            search.loads.rates(found.flight, turned)[1] - search.loads.rates(found.flight, found.command)[1]
        )
        torque = (vehicle.inertia @ change) * [1.0, -1.0, -1.0]
        assert torque[axis] > 0.5
        assert np.abs(np.delete(torque, axis)).max() < 0.2 * torque[axis]
    if name == "tiltrotor":
        reverse = given["PWM_MAIN_REV"]
        for joint in ("left_tilt", "right_tilt"):
            scale = vehicle.spec.px4.channels[joint].scale
            assert bool(reverse >> vehicle.spec.px4.channels[joint].output & 1) == (scale < 0.0)


def test_elevons_of_a_flying_wing(derived):
    """Elevons would only roll it, or PX4 look for a rudder."""
    given, *_ = derived("flying_wing")
    assert by_output(given)[2] == (5, -0.5, 0.5, 0.0)
    assert by_output(given)[3] == (6, 0.5, 0.5, 0.0)


@pytest.mark.parametrize(
    ("name", "published", "most"),
    [
        ("plane", 0.25, 0.02),
        ("standard_vtol", 0.25, 0.02),
        ("tailsitter", 0.35, 0.03),
        ("tiltrotor", 0.38, 0.1),
    ],
)
def test_level_flight(derived, name, published, most):
    """PX4 would begin with throttle and elevator of another vehicle, and sink or climb."""
    given, *_ = derived(name, FW_AIRSPD_TRIM=15.0)
    # FW_THR_TRIM of PX4's airframes, found by flight.
    assert given["FW_THR_TRIM"] == pytest.approx(published, abs=most)
    if name == "standard_vtol":
        # Its elevator is 0.223 rad up, by scale 1.
        assert given["TRIM_PITCH"] == pytest.approx(0.223, abs=1e-3)
        assert derived(name, FW_AIRSPD_TRIM=18.0)[0]["TRIM_PITCH"] < 0.2


def test_airspeeds(derived):
    """PX4 would approach at 10 m/s with a wing that stalls at 9.5 m/s, or be as slow in forward flight."""
    given, *_ = derived("flying_wing")
    speeds = [given[f"FW_AIRSPD_{name}"] for name in ("STALL", "MIN", "TRIM", "MAX")]
    assert speeds == [9.5, 11.4, 15.0, 20.0]
    assert given["FW_THR_MAX"] == 1.0
    assert given["FW_LND_USETER"] == 0
    assert derived("standard_vtol")[0]["VT_ARSP_TRANS"] == 11.5
    slow, *_ = derived("tailsitter")
    assert [slow[name] for name in ("FW_AIRSPD_MIN", "FW_AIRSPD_TRIM", "VT_ARSP_TRANS")] == [10.0, 15.0, 10.0]


def test_flaps_that_rest_at_one_end(derived):
    """PX4 would hold flaps up whose servo moves to both sides, or never lower those that only go down."""
    spec, _ = load_vehicle("plane")
    assert [derived(spec)[0][f"CA_SV_CS{k}_FLAP"] for k in range(6)] == [0] * 6
    down = {"scale": 0.26, "offset": -0.26}
    flaps = {"left_flap": {"output": 3, **down}, "right_flap": {"output": 8, "scale": -0.26, "offset": -0.26}}
    channels = {name: value for name, value in spec.px4.channels.items() if name not in flaps}
    px4 = PX4Spec.model_validate({"channels": {**channels, **flaps}})
    given, *_ = derived(spec.model_copy(update={"px4": px4}))
    # Negative angles lower them; that of the left one is at rest at output 1, that of the right one at -1.
    assert (given["CA_SV_CS1_TYPE"], given["CA_SV_CS1_FLAP"]) == (9, -1)
    assert (given["CA_SV_CS5_TYPE"], given["CA_SV_CS5_FLAP"]) == (10, 1)


def test_rotors_that_turn_both_ways(derived):
    """PX4 would never reverse a rotor of the omnicopter; its own airframe for it has these figures."""
    given, *_ = derived("omnicopter")
    assert (given["CA_R_REV"], given["CA_METHOD"], given["CA_AIRFRAME"]) == (255, 0, 0)
    figures = [given[f"CA_ROTOR2_{name}"] for name in ("PX", "PY", "PZ", "AX", "AY", "AZ")]
    assert figures == pytest.approx([0.14435, 0.14435, -0.14435, -0.211325, 0.788675, 0.57735], abs=2e-5)
    assert given["MPC_THR_HOVER"] == pytest.approx(0.513, abs=5e-3)
    assert derived("iris")[0]["CA_R_REV"] == 0


def test_a_plane_without_an_airframe(tmp_path):
    """PX4 would fly a plane as a multirotor, or leave functions of its own plane at other outputs."""
    tree = PX4Tree(tmp_path / "PX4-Autopilot", ("10016_none_iris", "1030_gazebo-classic_plane"))
    backend = PX4(tree.folder)
    backend.run_folder = tmp_path / "run"
    with Simulation("flat") as simulation:
        simulation.add(Multirotor("flying_wing", backends=[backend]))
        simulation.step()
        text = (backend.run_folder / f"px4_{backend.first_instance}" / "environment").read_text()
    seen = dict(line.split("=", 1) for line in text.splitlines())
    assert seen["PX4_SIM_MODEL"] == "gazebo-classic_plane"
    assert seen["PX4_PARAM_CA_SV_CS_COUNT"] == "2"
    assert [seen[f"PX4_PARAM_PWM_MAIN_FUNC{k}"] for k in (1, 3, 4, 6)] == ["101", "201", "202", "0"]


def test_an_airframe_with_surfaces_of_its_own(tree, tmp_path):
    """Surfaces of an airframe that the file names would be replaced."""
    with Simulation("flat") as simulation:
        backend = PX4(tree.folder, airframe="gazebo-classic_typhoon_h480")
        backend.run_folder = tmp_path / "run"
        simulation.add(Multirotor("plane", backends=[backend]))
        simulation.step()
        text = (backend.run_folder / f"px4_{backend.first_instance}" / "environment").read_text()
    assert "CA_SV_" not in text


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "tilt_hexarotor",
            "px4.airframe: PX4 has no airframe of its kind: it has no wings, but rotors that tilt_0, ",
        ),
        (
            "tiltrotor",
            "px4.channels.right_tilt: turns its rotors from -86 to 86 degrees of upright at outputs -1 to 1",
        ),
    ],
)
def test_tilts_that_px4_cannot_move(tree, model, message):
    """PX4 would tip the vehicle over without an error."""
    spec, _ = load_vehicle(model)
    bare = spec.model_copy(update={"px4": PX4Spec()})
    with Simulation("flat") as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor(bare, backends=[PX4(tree.folder)]))
    assert str(caught.value).startswith(message)


def test_more_surfaces_than_servos(derived):
    """PX4 would leave the ninth servo out without an error."""
    spec, _ = load_vehicle("plane")
    wing, joint = dict(spec.surfaces["left_wing"]), spec.joints["left_elevon"]
    more = {f"extra_{k}": joint for k in range(3)}
    surfaces = {f"wing_{k}": {**wing, "controls": [f"extra_{k}"]} for k in range(3)}
    update = {"joints": {**spec.joints, **more}, "surfaces": {**spec.surfaces, **surfaces}, "px4": PX4Spec()}
    with pytest.raises(ConfigError, match="PX4 moves 8 servos at most, the vehicle has 9"):
        derived(spec.model_copy(update=update))
