"""Reader of JSBSim's aerodynamics: coefficients by formulas apart from the reader, and errors by line."""

import json
import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.config.files import load_vehicle
from pegasus.dynamics.wings import read_jsbsim
from pegasus.model.airframe import Airframe
from tests.dynamics.wings.wing_states import DENSITY, random_states, wrenches

FILE = """<?xml version="1.0"?>
<fdm_config name="glider">
  <metrics>
    <wingarea unit="M2"> 10.0 </wingarea>
    <wingspan unit="FT"> 49.2125984 </wingspan>
    <chord unit="IN"> 31.496063 </chord>
  </metrics>
  <aerodynamics>
    <function name="aero/function/ground"><table>
      <independentVar>aero/h_b-mac-ft</independentVar>
      <tableData>
        0.0 1.5
        2.0 1.0
      </tableData>
    </table></function>
    <axis name="LIFT">
      <function name="lift_alpha"><description>Lift</description><product>
        <property>aero/function/ground</property>
        <property>aero/qbar-psf</property> <property>metrics/Sw-sqft</property>
        <table>
          <independentVar lookup="row">aero/alpha-deg</independentVar>
          <tableData>
            -10 -0.6
              0  0.3
             10  1.2
             20  0.9
          </tableData>
        </table>
      </product></function>
      <function name="lift_q"><product>
        <property>aero/qbar-area</property> <property>velocities/q-aero-rad_sec</property>
        <property>aero/ci2vel</property> <value>4.5</value>
      </product></function>
      <function name="lift_elevator"><product>
        <property>aero/qbar-area</property> <property>fcs/elevator-pos-rad</property> <value>0.4</value>
      </product></function>
    </axis>
    <axis name="DRAG">
      <function name="drag"><product>
        <property>aero/qbar-area</property>
        <sum><value>0.02</value><product><property>aero/cl-squared</property><value>0.03</value></product></sum>
      </product></function>
      <function name="drag_elevator"><product>
        <property>aero/qbar-area</property> <property>fcs/mag-elevator-pos-rad</property> <value>0.05</value>
      </product></function>
    </axis>
    <axis name="SIDE">
      <function name="side"><product>
        <property>aero/qbar-area</property>
        <table>
          <independentVar>aero/beta-rad</independentVar>
          <tableData>
            -0.4  0.3
             0.0  0.0
             0.4 -0.3
          </tableData>
        </table>
      </product></function>
    </axis>
    <axis name="ROLL">
      <function name="roll_beta"><product>
        <property>aero/qbar-area</property> <property>metrics/bw-ft</property>
        <property>aero/beta-rad</property>
        <table>
          <independentVar lookup="row">aero/alpha-deg</independentVar>
          <independentVar lookup="column">velocities/mach</independentVar>
          <tableData>
                  0.0   0.5
             0  -0.10  -0.20
            20  -0.30  -0.40
          </tableData>
        </table>
      </product></function>
      <function name="roll_p"><product>
        <property>aero/qbar-area</property> <property>metrics/bw-ft</property>
        <property>velocities/p-aero-rad_sec</property> <property>aero/bi2vel</property> <value>-0.5</value>
      </product></function>
      <function name="roll_aileron"><product>
        <property>aero/qbar-area</property> <property>metrics/bw-ft</property>
        <property>fcs/left-aileron-pos-rad</property> <value>0.15</value>
      </product></function>
    </axis>
    <axis name="PITCH">
      <function name="pitch"><product>
        <property>aero/qbar-area</property> <property>metrics/cbarw-ft</property>
        <difference><value>0.05</value><product>
          <property>aero/alpha-rad</property><value>0.8</value>
        </product></difference>
      </product></function>
      <function name="pitch_alphadot"><product>
        <property>aero/qbar-area</property> <property>metrics/cbarw-ft</property>
        <property>aero/alphadot-rad_sec</property> <property>aero/ci2vel</property> <value>-5.0</value>
      </product></function>
    </axis>
    <axis name="YAW">
      <function name="yaw"><product>
        <property>aero/qbar-area</property> <property>metrics/bw-ft</property>
        <property>fcs/rudder-pos-rad</property> <property>aero/alpha-rad</property> <value>-0.2</value>
      </product></function>
    </axis>
  </aerodynamics>
</fdm_config>
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "glider.xml").write_text(FILE)
    return tmp_path / "glider.xml"


def oracle(velocity, rate, deflection):
    """Return force and torque of the file by its formulas in SI, in axes forward, left and up."""
    area, span, chord = 10.0, 15.0, 0.8
    elevator, aileron, rudder = deflection
    u, v, w = velocity * (1, -1, -1)
    p, q, _ = rate * (1, -1, -1)
    V = math.sqrt(u * u + v * v + w * w)
    alpha, beta = math.atan2(w, u), math.asin(v / V)
    table = np.interp(math.degrees(alpha), [-10, 0, 10, 20], [-0.6, 0.3, 1.2, 0.9])
    lift = table + 4.5 * q * chord / (2 * V) + 0.4 * elevator
    drag = 0.02 + 0.03 * table**2 + 0.05 * abs(elevator)
    side = np.interp(beta, [-0.4, 0.4], [0.3, -0.3])
    by_mach = np.interp(math.degrees(alpha), [0, 20], [-0.1, -0.3])
    roll = span * (by_mach * beta - 0.5 * p * span / (2 * V) + 0.15 * aileron)
    pitch = chord * (0.05 - 0.8 * alpha)
    held = np.clip(alpha, math.radians(-10), math.radians(20))
    yaw = span * -0.2 * rudder * held
    ca, sa, cb, sb = math.cos(alpha), math.sin(alpha), math.cos(beta), math.sin(beta)
    to_body = np.array([[ca * cb, -ca * sb, -sa], [sb, cb, 0], [sa * cb, -sa * sb, ca]])
    force = to_body @ [-drag, side, -lift]
    pressure = 0.5 * DENSITY * V * V * area
    return pressure * np.concatenate([force * (1, -1, -1), np.array([roll, pitch, yaw]) * (1, -1, -1)])


def test_an_airframe_by_its_formulas(path):
    """A unit, a sign or an axis other than JSBSim's would fly an aircraft otherwise."""
    wing = read_jsbsim(path)
    states = random_states(3000, 3)
    found = wrenches(wing, states)
    parts = zip(states.velocity, states.rate, states.deflection, strict=True)
    expected = np.array([oracle(*part) for part in parts])
    scale = np.linalg.norm(expected, axis=1, keepdims=True)
    # The square of a piecewise linear lift is read at steps of half a degree.
    assert (np.abs(found - expected) / scale).max() < 2e-4
    assert np.median(np.abs(found - expected).max(axis=1) / scale[:, 0]) < 1e-6
    assert (wing.area, wing.span, wing.chord) == pytest.approx((10.0, 15.0, 0.8))


def test_held_properties(path):
    """Ground effect and Mach number would be those of other flight than asked for."""
    wing = read_jsbsim(path, held={"aero/h_b-mac-ft": 0.0, "velocities/mach": 0.25})
    lift, _, _ = wing.polar(np.array([0.0]))
    assert lift[0] == pytest.approx(0.45)
    assert wing.Cl.beta[0] == pytest.approx(-0.15)


def test_a_file_of_a_vehicle(path):
    """A vehicle file could not name the file beside it, or what is held."""
    vehicle = path.with_name("vehicle.yaml")
    surface = {"model": "jsbsim", "file": "glider.xml", "controls": ["elevator", "rudder"]}
    surface |= {"control_properties": ["fcs/elevator-pos-rad", "fcs/rudder-pos-rad"]}
    surface |= {"held": {"fcs/left-aileron-pos-rad": 0.0}}
    joints = {"elevator": {"position": [-5, 0, 0]}, "rudder": {"position": [-5, 0, 0], "axis": [0, 0, 1]}}
    content = {"extends": "iris", "joints": joints, "surfaces": {"airframe": surface}}
    vehicle.write_text(json.dumps(content))
    spec, _ = load_vehicle(vehicle)
    wing = Airframe.of(spec).surfaces["airframe"].model
    assert (wing.control_count, wing.area) == (2, pytest.approx(10.0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "aero/alphadot-rad_sec",
            "velocities/u-fps",
            "glider.xml: line 92: property velocities/u-fps is not under",
        ),
        ("<value>4.5</value>", "<value>4,5</value>", "line 32: value '4,5' is not a number"),
        ("<value>4.5</value>", "<urandom/>", "line 32: <urandom> is not understood; understood are value"),
        ('unit="FT"', 'unit="YD"', "line 5: unit YD must be one of FT, IN, M"),
        (" 10.0 ", " -10 ", "line 4: wingarea '-10' must be a number above 0"),
        ('name="SIDE"', 'name="FORWARD"', "line 47: axis FORWARD must be one of LIFT, DRAG"),
        ("aero/ci2vel", "aero/alpha-rad", "line 30: function lift_q is not dynamic pressure times area"),
        ("  0  0.3\n", "  0  0.3 0.4\n", "line 22: each row must have 2 numbers"),
        ("  0  0.3\n", "-20  0.3\n", "line 22: the points must rise"),
        ("  0  0.3\n", "  0  x\n", "line 22: 'x' is not a number"),
        ("velocities/mach</ind", "aero/Re</ind", "line 66: a table over aero/Re is not understood; hold it"),
        (
            "<property>aero/function/ground",
            "<property>lift_alpha",
            "line 17: function lift_alpha depends on itself",
        ),
        ("</fdm_config>", "", "line 103: is not XML: no element found"),
        ("aerodynamics>", "aero>", "line 2: <fdm_config> has no <aerodynamics>; give a file of an aircraft"),
    ],
)
def test_what_is_not_understood(path, old, new, message):
    """A term that is left out in silence would be another aircraft."""
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        read_jsbsim(path)


def test_no_file(tmp_path):
    """A missing file would end in a traceback."""
    with pytest.raises(ConfigError, match=r"none.xml: cannot be read: No such file"):
        read_jsbsim(tmp_path / "none.xml")
