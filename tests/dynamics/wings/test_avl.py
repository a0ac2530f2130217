"""Reader of AVL's stability derivatives."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.base.components import build
from pegasus.dynamics.wings import WINGS, Wing, read_avl
from tests.dynamics.wings.wing_states import States, wrenches

FILE = """ ---------------------------------------------------------------
 Vortex Lattice Output -- Total Forces

  Sref =  2.0000       Cref =  0.5000       Bref =  4.0000
  Xref = 0.25146       Yref =  0.0000       Zref =  0.0000

 Standard axis orientation,  X fwd, Z down

  Alpha =  10.00000     pb/2V =  -0.00000     p'b/2V =   0.00000
  Beta  =   0.00000     qc/2V =   0.00000
  Mach  =     0.000     rb/2V =  -0.00000     r'b/2V =   0.00000

  CXtot =   0.21849     Cltot =  -0.00000     Cl'tot =  -0.00000
  CYtot =  -0.00000     Cmtot =  -0.23110
  CZtot =  -1.21585     Cntot =  -0.00000     Cn'tot =  -0.00000

  CLtot =   1.23521
  CDtot =   0.09726
  CDvis =   0.00000     CDind =   0.09726
  CLff  =   1.23000     CDff  =   0.09800    | Trefftz
  CYff  =  -0.00000         e =   0.95000    | Plane

   elevator        =   2.00000
   rudder          =   0.00000

 Stability-axis derivatives...

                             alpha                beta
                  ----------------    ----------------
 z' force CL |    CLa =   5.348051    CLb =  -0.000000
 y  force CY |    CYa =  -0.000000    CYb =  -0.245064
 x' mom.  Cl'|    Cla =  -0.000000    Clb =  -0.140542
 y  mom.  Cm |    Cma =  -1.454684    Cmb =-10.000000
 z' mom.  Cn'|    Cna =  -0.000000    Cnb =   0.004441

                     roll rate  p'      pitch rate  q'        yaw rate  r'
                  ----------------    ----------------    ----------------
 z' force CL |    CLp =  -0.000000    CLq =   5.926507    CLr =  -0.000000
 y  force CY |    CYp =  -0.206636    CYq =  -0.000000    CYr =   0.174724
 x' mom.  Cl'|    Clp =  -0.600380    Clq =   0.000000    Clr =   0.286591
 y  mom.  Cm |    Cmp =  -0.000000    Cmq =  -9.370290    Cmr =   0.000000
 z' mom.  Cn'|    Cnp =  -0.127626    Cnq =  -0.000000    Cnr =  -0.013729

                  elevator     d01     rudder       d02
                  ----------------    ----------------
 z' force CL |   CLd01 =   0.003295   CLd02 =   0.000000
 y  force CY |   CYd01 =  -0.000000   CYd02 =  -0.002123
 x' mom.  Cl'|   Cld01 =   0.000000   Cld02 =  -0.000024
 y  mom.  Cm |   Cmd01 =  -0.012331   Cmd02 =  -0.000000
 z' mom.  Cn'|   Cnd01 =  -0.000000   Cnd02 =   0.000328

 Neutral point  Xnp =   0.500000
"""


@pytest.fixture
def made(tmp_path):
    (tmp_path / "plane.st").write_text(FILE)
    return read_avl(tmp_path / "plane.st")


def stability_coefficients(wing, alpha, rate=(0.0, 0.0, 0.0), deflection=(0.0, 0.0), beta=0.0):
    """Return CD, CY, CL and the moment coefficients about the stability axes, at 1 m/s and 2 kg/m^3."""
    x, z = np.array([math.cos(alpha), 0, -math.sin(alpha)]), np.array([math.sin(alpha), 0, math.cos(alpha)])
    velocity = x * math.cos(beta) - np.array([0, math.sin(beta), 0])
    state = States(velocity[None], np.array([rate]), np.array([deflection]))
    wrench = wrenches(wing, state, 2.0)[0] / wing.area
    force, torque = wrench[:3], wrench[3:] / (wing.span, wing.chord, wing.span)
    roll, yaw = torque @ x, -torque @ z
    return np.array([-force @ x, -force[1], force @ z, roll, -torque[1], yaw])


def test_the_run_itself(made):
    """The state of the run, with its deflection, would not give the totals of the file."""
    found = stability_coefficients(made, math.radians(10.0), deflection=(math.radians(2.0), 0.0))
    np.testing.assert_allclose(found, [0.09726, 0, 1.23521, 0, -0.2311, 0], atol=1e-9)


def test_derivatives_about_the_stability_axes(made):
    """Rates and moments would be about other axes, or deflections of another unit or sign."""
    alpha = math.radians(10.0)
    base = stability_coefficients(made, alpha)
    axis = np.array([math.cos(alpha), 0, -math.sin(alpha)])
    roll = (stability_coefficients(made, alpha, rate=1e-3 * axis) - base) / (1e-3 * 4.0 / 2)
    np.testing.assert_allclose(roll[[1, 3, 5]], [-0.206636, -0.60038, -0.127626], atol=1e-6)
    rudder = stability_coefficients(made, alpha, deflection=(0.0, math.radians(1.0))) - base
    np.testing.assert_allclose(rudder[[1, 3, 5]], [-0.002123, -0.000024, 0.000328], atol=1e-9)
    slip = (stability_coefficients(made, alpha, beta=1e-6) - base) / 1e-6
    np.testing.assert_allclose(slip[[1, 3, 4, 5]], [-0.245064, -0.140542, -10.0, 0.004441], atol=1e-5)
    pitch = (stability_coefficients(made, alpha, rate=(0, -1e-3, 0)) - base) / (1e-3 * 0.5 / 2)
    np.testing.assert_allclose(pitch[[2, 4]], [5.926507, -9.37029], atol=1e-6)


def test_lengths_in_feet(tmp_path):
    """A model in feet would be a wing of three times the span."""
    (tmp_path / "plane.st").write_text(FILE)
    wing = read_avl(tmp_path / "plane.st", length_unit=0.3048)
    assert (wing.span, wing.chord, wing.area) == pytest.approx((1.2192, 0.1524, 0.18580608))


def test_a_file_of_a_vehicle(made, tmp_path):
    """A vehicle file that names the file would fly another airframe, or one that never stalls."""
    spec = {"model": "avl", "file": str(tmp_path / "plane.st"), "stall_angle": 0.25}
    wing = build(Wing, WINGS, spec, field="surfaces.airframe")
    assert (wing.control_count, wing.area) == (2, 2.0)
    angles = np.array([0.05, 0.9])
    linear, stalled = made.polar(angles)[0], wing.polar(angles)[0]
    assert stalled[0] == pytest.approx(linear[0], rel=1e-3)
    assert stalled[1] == pytest.approx(2 * math.sin(0.9) ** 2 * math.cos(0.9), rel=1e-6)
    with pytest.raises(ConfigError, match=r"^surfaces.airframe.length_unit = 0.0: must be above 0 m"):
        build(Wing, WINGS, {**spec, "length_unit": 0.0}, field="surfaces.airframe")
    with pytest.raises(ConfigError, match=r"plane.xml: cannot be read"):
        build(Wing, WINGS, {**spec, "file": str(tmp_path / "plane.xml")}, field="surfaces.airframe")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.004441", "********", r"plane.st: line 34: Cnb = \*{8} is not a number; run AVL"),
        ("CLq =   5.926507", "", "plane.st: has no CLq; give a whole file"),
        (
            "Standard axis orientation",
            "Geometric axis orientation",
            "plane.st: lacks the line .Standard axis",
        ),
        ("e =   0.95000", "", "plane.st: has no e; give the file"),
        ("Cmd01 =  -0.012331", "", "plane.st: has no Cmd01"),
    ],
)
def test_wrong_files(tmp_path, old, new, message):
    """A file with holes would be an airframe without some derivatives."""
    (tmp_path / "plane.st").write_text(FILE.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        read_avl(tmp_path / "plane.st")


def test_no_file(tmp_path):
    """A missing file would end in a traceback."""
    with pytest.raises(ConfigError, match=r"none.st: cannot be read: No such file"):
        read_avl(tmp_path / "none.st")
