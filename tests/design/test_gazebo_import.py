"""Tests of vehicles made of Gazebo models."""

import math
import re

import numpy as np
import pytest
import yaml

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.design import trim
from pegasus.design.gazebo import import_gazebo
from tests.design import gazebo_models as models


def fields(folder, **options):
    """Return the fields of the vehicle file of a model."""
    return yaml.safe_load(import_gazebo(folder, **options).text)


def test_links_are_merged(tmp_path):
    """Mass, centre or inertia would not be those of all links at their poses in the frame of the base."""
    found = fields(models.quad(tmp_path))
    # The hook, 0.05 m above the box along z, is 0.1 m below the base; the box's own pose cancels.
    parts = [(1.2, np.zeros(3), np.diag([0.012, 0.014, 0.02]))]
    parts += [(0.01, np.array([0.01 + x, y, 0.07]), np.diag([1e-6, 1e-5, 2e-5])) for x, y, _ in models.PLACES]
    # The box's inertial is 0.02 m ahead in its own frame.
    parts.append((0.3, np.array([0.02, 0.0, -0.15]), np.diag([0.001, 0.002, 0.0025])))
    mass = sum(m for m, _, _ in parts)
    center = sum(m * r for m, r, _ in parts) / mass
    tensor = sum(j + m * ((r - center) @ (r - center) * np.eye(3) - np.outer(r - center, r - center))
                 for m, r, j in parts)  # fmt: skip
    assert found["mass"] == pytest.approx(mass)
    assert found["center_of_mass"] == pytest.approx(center, abs=1e-6)
    expected = [*np.diagonal(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    assert found["inertia"] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_frames_within_frames(tmp_path):
    """A turned link, frame or axis would stand elsewhere, or turn what is in it the wrong way."""
    text = models.AIRPLANE.replace('version="1.6"', 'version="1.11"')
    text = text.replace(
        '<link name="elevator"><pose>-0.6 0 0 0 0 0</pose>',
        """<frame name="boom" attached_to="base"><pose degrees="true">-0.4 0 0 0 0 180</pose></frame>
        <frame name="end">
        <pose relative_to="boom" rotation_format="quat_xyzw">0.2 0 0.1 0 0 1 0</pose></frame>
        <link name="elevator"><pose relative_to="end">0 0 -0.1 0 0 0</pose>""",
    )
    text = text.replace(
        "<child>elevator</child>\n  <axis><xyz>0 1 0</xyz>",
        '<child>elevator</child><pose relative_to="boom">0.2 0 0 0 0 0</pose>'
        '<axis><xyz expressed_in="boom">0 -1 0</xyz>',
    )
    assert text.count("boom") == 4
    text = text.replace(
        "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", "<xyz>0 0 1</xyz>"
    )
    (models.write(tmp_path, my_airplane=text))
    found, plain = fields(tmp_path / "my_airplane"), fields(models.airplane(tmp_path / "plain"))
    assert found["joints"] == plain["joints"]
    assert found["inertia"] == pytest.approx(plain["inertia"])
    assert found["rotors"] == plain["rotors"]


def test_the_quadrotor_hovers(tmp_path):
    """The vehicle that is made would not fly."""
    path = tmp_path / "my_quad.yaml"
    path.write_text(import_gazebo(models.quad(tmp_path)).text)
    backends = [GeometricController(trajectories.hold(height=2.0), spin_up=0.0)]
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor(path, position=(0, 0, 2.0), backends=backends))
        simulation.run(3.0)
        state = vehicle.state
    assert state.position[0] == pytest.approx([0, 0, 2.0], abs=0.05)
    assert np.linalg.norm(state.velocity[0]) < 0.05
    hover = math.sqrt(1.54 * 9.80665 / 4 / 9e-6)
    assert state.rotor_speed[0].mean() == pytest.approx(hover, rel=0.01)


def test_sections_of_the_quadrotor(tmp_path):
    """Motors, propellers, body, sensors or their order would not be those of the model."""
    found = fields(models.quad(tmp_path))
    assert [rotor["direction"] for rotor in found["rotors"]] == [sense for _, _, sense in models.PLACES]
    assert found["motor"] == {
        "model": "first_order", "time_constant_up": 0.02, "time_constant_down": 0.03, "max_speed": 900.0,
    }  # fmt: skip
    curve = {"thrust_constant": 9e-6, "moment_ratio": 0.02, "rotor_drag": 5e-5, "rolling_moment": 2e-6}
    assert found["thrust_curve"] == {"model": "gazebo"} | curve
    # The link turns ten times slower than its rotor.
    assert found["propeller"] == {"diameter": 0.2, "inertia": 2e-6}
    assert found["body"] == {"size": [0.2, 0.15, 0.06], "x": 0.0, "height": 0.01, "leg_height": 0.14}
    noise = {"noise_density": 0.00014142, "bias_random_walk": 3e-5, "bias_correlation_time": 900.0}
    gyroscope = noise | {"turn_on_bias": 0.0}
    beam = {"position": [0.0, 0.0, -0.15], "min_range": 0.2, "max_range": 30.0, "direction": [0.0, 0.0, -1.0]}
    lens = {"rate_hz": 15.0, "position": [0.1, 0.0, -0.15], "horizontal_fov": 1.2, "resolution": [64, 48]}
    assert found["sensors"] == {
        "imu": {"model": "imu", "rate_hz": 200.0, "gyroscope": gyroscope},
        "barometer": {"model": "barometer", "rate_hz": 40.0},
        "camera": {"model": "camera", "near": 0.1, "far": 100.0} | lens,
        "rangefinder": {"model": "rangefinder", "noise_sigma": 0.0} | beam,
    }


def test_the_airplane_is_trimmed(tmp_path):
    """The airplane would not fly level: its lift at the trim is its weight by the formulas of LiftDrag."""
    path = tmp_path / "my_airplane.yaml"
    path.write_text(import_gazebo(models.airplane(tmp_path)).text)
    vehicle = Multirotor(path)
    found = trim(vehicle, 15.0)
    alpha, elevator = found.angle_of_attack, found.command[3]
    pressure = 0.5 * 1.225 * 15.0**2
    wings = 2 * 0.15 * 4.5 * (alpha + 0.05)
    tail = 0.06 * (4.5 * (alpha - 0.02) - 2.0 * elevator)
    thrust = 1.6e-5 * found.command[0] ** 2
    lift = pressure * (wings + tail) + thrust * math.sin(alpha)
    assert lift == pytest.approx(1.470004 * 9.80665, rel=0.01)
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor(path, position=(0, 0, 0.2)))
        simulation.run(1.0)
        # It stands on its wheels, its tail lower.
        assert vehicle.state.position[0, 2] == pytest.approx(0.19, abs=0.01)


def test_sections_of_the_airplane(tmp_path):
    """Joints, servos, wings, wheels or their order would not be those of the model."""
    found = fields(models.airplane(tmp_path))
    # By the numbers of the servos; damping (0.4 + 0.1) by the gain of 10, and a force of 2 N m by it.
    assert list(found["joints"]) == ["right_aileron", "left_aileron", "elevator", "rudder"]
    servo = {"low": -0.5, "high": 0.5, "rate_limit": 4.0, "time_constant": 0.05}
    assert found["joints"]["rudder"] == {
        "position": [-0.6, 0.0, 0.1],
        "axis": [0.0, 0.0, 1.0],
        "servo": servo,
    }
    assert list(found["surfaces"]) == [
        f"{name}_wing" for name in ("left_aileron", "right_aileron", "elevator", "rudder")
    ]
    fin = found["surfaces"]["rudder_wing"]
    assert fin["upward"] == [0.0, 1.0, 0.0]
    assert (fin["position"], fin["area"], fin["control_joint_rad_to_cl"]) == ([-0.6, 0.0, 0.05], 0.03, 1.0)
    assert found["wheels"]["tail_wheel"] == {"position": [-0.5, 0.0, -0.12], "radius": 0.04}
    assert found["rotors"] == [{"position": [0.35, 0.0, 0.0], "axis": [1.0, 0.0, 0.0], "direction": "cw"}]
    assert found["propeller"]["diameter"] == 0.24


def test_looks_of_the_airplane(tmp_path):
    """Wings of no known size would overlap, strike the ground, or hide where their hinges are."""
    wide = (
        '<collision name="wing"><geometry><box><size>0.2 2.0 0.02</size></box></geometry></collision><sensor'
    )
    text = models.AIRPLANE.replace("<sensor", wide, 1)
    text = text.replace(
        "<child>left_aileron</child>", "<child>left_aileron</child><pose>0 0 0 0 0 0.2</pose>"
    )
    made = import_gazebo(models.write(tmp_path, my_airplane=text) / "my_airplane")
    found = yaml.safe_load(made.text)
    assert found["body"] == {
        "size": [0.8, 0.1, 0.1], "x": 0.0, "height": 0.0, "leg_height": 0.0, "form": "fuselage",
        "struts": [[[-0.35, 0.0, 0.0], [-0.6, 0.0, 0.0]], [[-0.35, 0.0, 0.0], [-0.6, 0.0, 0.05]]],
    }  # fmt: skip
    # From the root to the end of the box, the hinge at three quarters of the chord.
    shapes = [
        found["surfaces"][f"{name}_wing"]["shape"] for name in ("left_aileron", "right_aileron", "rudder")
    ]
    left, right, fin = shapes
    chord = 2.0 / 6
    assert left["chord"] == right["chord"] == pytest.approx(chord, abs=1e-6)
    assert right["position"] == pytest.approx([-0.05 + chord / 2, -0.5, 0.02], abs=1e-6)
    assert (right["span"], "sweep" in right) == (1.0, False)
    assert left["sweep"] == pytest.approx(0.2, abs=1e-6)
    assert fin["position"][2] == pytest.approx(0.05 + fin["span"] / 2, abs=1e-6)
    vtol = text.replace("<size>0.8 0.1 0.1</size>", "<size>0.5 1.8 0.04</size>", 1)
    body = fields(models.write(tmp_path / "vtol", my_airplane=vtol) / "my_airplane")["body"]
    assert (body["size"], body["height"]) == ([0.5, 0.125, 0.125], pytest.approx(-0.02 + 0.0625))


def test_propellers_that_overlap_become_smaller(tmp_path):
    """A model whose discs overlap, which Gazebo allows, would be refused."""
    frame = models.FRAME.replace("<radius>0.1</radius>", "<radius>0.25</radius>")
    folder = models.write(tmp_path, my_quad=models.QUAD, frame=frame, payload=models.PAYLOAD)
    made = import_gazebo(folder / "my_quad")
    assert yaml.safe_load(made.text)["propeller"]["diameter"] == pytest.approx(0.4, abs=1e-4)
    assert "rotors: their discs overlap, so that propellers are 0.8 times as large" in made.notes


def test_a_rotor_on_a_tilting_joint(tmp_path):
    """A nacelle would not tilt, or its rotor turn with the wrong joint."""
    nacelle = models.FLAP.format(name="nacelle", place="0.2 -0.2 0", axis="0 1 0", k=7)
    text = models.QUAD.replace("</model>", f"{nacelle}</model>")
    frame = models.FRAME.replace(
        "<parent>base</parent> <child>rotor_0</child>", "<parent>nacelle</parent> <child>rotor_0</child>"
    )
    folder = models.write(tmp_path, my_quad=text, frame=frame, payload=models.PAYLOAD)
    found = fields(folder / "my_quad")
    assert [rotor.get("joint") for rotor in found["rotors"]] == ["nacelle", None, None, None]
    # The base stands 0.3 m above the frame of the model, in which the nacelle is.
    assert found["joints"]["nacelle"]["position"] == [0.2, -0.2, -0.3]


def test_advanced_lift_drag_and_classic_names(tmp_path):
    """A whole airframe, or plugins of Gazebo classic with their channels to PX4, would not be understood."""
    start = models.AIRPLANE.index('<plugin filename="gz-sim-lift-drag')
    end = models.AIRPLANE.index('<link name="left_wheel"')
    controls = "".join(
        f"<control_surface><name>{name}_joint</name><index>{k}</index><direction>{sense}</direction>"
        f"<CL_ctrl>{0.01 * k}</CL_ctrl></control_surface>"
        for k, (name, sense) in enumerate((("elevator", -1), ("rudder", 1)))
    )
    airframe = f"""<plugin filename="gz-sim-advanced-lift-drag-system" name="AdvancedLiftDrag">
      <link_name>base</link_name><CL0>0.15</CL0><CLa>5</CLa><AR>6.5</AR><eff>0.9</eff><area>0.34</area>
      <cp>-0.1 0 0</cp><Cemq>-12</Cemq><num_ctrl_surfaces>2</num_ctrl_surfaces>{controls}</plugin>"""
    channel = """<plugin name="px4" filename="libgazebo_mavlink_interface.so"><control_channels>
      <channel name="a"><input_index>7</input_index><input_offset>0.5</input_offset>
      <input_scaling>0.8</input_scaling><zero_position_armed>0.1</zero_position_armed>
      <joint_control_type>position_kinematic</joint_control_type><joint_name>elevator_joint</joint_name></channel>
      </control_channels></plugin>"""
    text = models.AIRPLANE[:start] + airframe + channel + models.AIRPLANE[end:]
    text = re.sub(r"gz-sim-multicopter-motor-model-system", "libgazebo_motor_model.so", text)
    text = text.replace("gz::sim::systems::MulticopterMotorModel", "puller")
    found = fields(models.write(tmp_path, my_airplane=text) / "my_airplane")
    assert found["surfaces"] == {
        "airframe": {
            "model": "advanced_lift_drag", "area": 0.34, "AR": 6.5, "eff": 0.9, "CL0": 0.15, "CLa": 5.0,
            "Cemq": -12.0, "direction": [-1.0, 1.0], "CL_ctrl": [0.0, 0.01], "position": [-0.1, 0.0, 0.0],
            "controls": ["elevator", "rudder"],
        }
    }  # fmt: skip
    # The elevator follows its channel at once, in place of its controller.
    assert found["joints"]["elevator"]["servo"] == {"low": -0.5, "high": 0.5}
    assert found["thrust_curve"]["max_airspeed"] == 25.0
    elevator = {"output": 7, "scale": 0.8, "offset": pytest.approx(0.5)}
    assert found["px4"]["channels"] == {"rotor_0": None, "elevator": elevator, "rudder": None}


def test_what_is_not_carried_over_is_named(tmp_path):
    """Something of a model would be left out without a word, or be named although it is carried over."""
    extra = """<plugin filename="libParachute.so" name="parachute"/></model>"""
    text = models.AIRPLANE.replace("</model>", extra).replace(
        "<a0>0.05</a0>", "<a0>0.05</a0><strange>3</strange>"
    )
    text = text.replace(
        "</collision>\n    <sensor",
        "<surface><bounce><threshold>1</threshold></bounce></surface></collision>"
        '<sensor name="sonar" type="sonar"/><sensor',
    )
    notes = import_gazebo(models.write(tmp_path, my_airplane=text) / "my_airplane").notes
    joints = "right_aileron_joint, left_aileron_joint, elevator_joint, rudder_joint"
    assert notes == (
        f"joint {joints}: its controller of force (p_gain 10, i_gain 0, d_gain 0.1, damping 0.4) becomes "
        "a lag of 0.05 s",
        "wings of LiftDrag: their looks are guesses, as the plugin has an area only; see shape",
        "sensor sonar: no counterpart of type 'sonar'",
        "plugin gz::sim::systems::LiftDrag: strange",
        "plugin parachute: no counterpart",
        "link base: collision/surface",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<mass>1.4</mass>", "<mass>heavy</mass>"), "line 4: <mass> = 'heavy': must be a finite number"),
        (("<mass>1.4</mass>", "<mass>-1</mass>"), "<mass> = '-1': must be at least 0 kg"),
        (("<mass>1.4</mass>", "<mass>inf</mass>"), "<mass> = 'inf': must be a finite number"),
        (("0 0.4 0.02", "0 0.4"), "<cp> = '0 0.4': must hold 3 finite numbers"),
        (('version="1.6"', 'version="1.3"'), "version = '1.3': must be from 1.5 to 1.11; convert it"),
        (('version="1.6"', 'version="2.0"'), "version = '2.0': must be from 1.5 to 1.11"),
        (("<xyz>0 0 1</xyz>", "<xyz>0 0 0</xyz>"), "<xyz> = '0 0 0': must not be zero"),
        (("<parent>base</parent>", "<parent>basis</parent>"), "'basis': is no link of model my_airplane"),
        (("<link_name>base", "<link_name>basis"), "names 'basis', which the model does not have; it has"),
        (("<turningDirection>cw", "<turningDirection>left"), "= 'left': must be ccw or cw"),
        (("<lower>-0.5<", "<lower>0.7<"), "leaves joint left_aileron_joint no angle: 0.7 to 0.5 rad"),
        (("<p_gain>10<", "<p_gain>0<"), "<p_gain> = '0': must be above 0"),
        (("<pose>0.05 0.2", '<pose relative_to="left_wheel">0 0'), "frame 'left_wheel' relative to itself"),
        (('name="right_wheel"><pose', 'name="left_wheel"><pose'), "is the second element named 'left_wheel'"),
        (("<sdf", "<!DOCTYPE sdf [<!ENTITY a 'b'>]><sdf"), "line 2: declares the entity a; entities"),
        (("<sdf", "{% if x %}<sdf"), "is a template, not an SDF file; make the SDF file of it first"),
        (("</link>", ""), "is not XML: mismatched tag"),
        (("multicopter-motor-model", "sound"), "is the base of a model without rotors; a vehicle needs"),
        (("<inertial>", '<inertial auto="true">'), "auto is not understood; write the mass and the inertia"),
        (("<model name", "<world><model name"), "is not XML"),
        (("<link name=\"base\">", "<include/><link name=\"base\">"), "<include>: has no <uri>"),
        (
            ("<link name=\"base\">", "<include><uri>model://no</uri></include><link name=\"base\">"),
            "'model://no': is in none",
        ),
        (
            ("<link name=\"base\">", "<include><uri>https://x/y</uri></include><link name=\"base\">"),
            "<uri> = 'https://x/y': is on the network; download the model",
        ),
        (
            ("<link name=\"base\">", "<include><uri>model://my_airplane</uri></include><link name=\"base\">"),
            "includes a file that includes it",
        ),
        (('<model name="my_airplane">', '<model name="my_airplane" canonical_link="x">'), "has no link 'x'"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, change, message):
    """A wrong value would raise something else than one line with its place, or give a wrong vehicle."""
    assert change[0] in models.AIRPLANE
    text = models.AIRPLANE.replace(*change, 1)
    if change[0].startswith("multicopter"):
        text = text.replace("MulticopterMotorModel", "Sound")
    folder = models.write(tmp_path, my_airplane=text) / "my_airplane"
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        import_gazebo(folder)
    assert str(folder / "model.sdf") in str(error.value)
    assert "\n" not in str(error.value)


def test_included_models_are_searched(tmp_path, monkeypatch):
    """A model in a folder of the option or of the variable, or the newest file, would not be found."""
    models.write(tmp_path / "own", my_quad=models.QUAD)
    models.write(tmp_path / "a", frame=models.FRAME)
    models.write(tmp_path / "b", payload="<sdf/>")
    (tmp_path / "b/payload/new.sdf").write_text(models.PAYLOAD)
    config = '<model><sdf version="1.6">model.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    (tmp_path / "b/payload/model.config").write_text(config)
    monkeypatch.delenv("GZ_SIM_RESOURCE_PATH", raising=False)
    with pytest.raises(
        ConfigError, match=r"name the folder of the models by --models or GZ_SIM_RESOURCE_PATH"
    ):
        import_gazebo(tmp_path / "own/my_quad")
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", f"/nowhere:{tmp_path / 'a'}")
    made = import_gazebo(tmp_path / "own/my_quad/model.sdf", name="mine", search=[tmp_path / "b"])
    assert made.name == "mine"
    assert yaml.safe_load(made.text)["mass"] == pytest.approx(1.54)
