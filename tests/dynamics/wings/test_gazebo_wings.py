"""Wings of Gazebo's plugins, against their formulas written in NumPy apart from the laws."""

import dataclasses

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.base.components import build
from pegasus.dynamics.wings import WINGS, AdvancedLiftDrag, LiftDrag, Wing
from tests.dynamics.wings import gazebo
from tests.dynamics.wings.wing_states import DENSITY, States, differing_bits, power, random_states, wrenches

PX4_WING = {
    "a0": 0.05984281113, "cla": 4.752798721, "cda": 0.6417112299, "alpha_stall": 0.3391428111,
    "cla_stall": -3.85, "cda_stall": -0.9233984055, "cp": (-0.05, 0.45, 0.05), "area": 0.6,
    "control_joint_rad_to_cl": -0.3,
}  # fmt: skip
"""Left wing of PX4's plane."""
RUDDER = {**PX4_WING, "a0": 0.0, "cp": (-0.5, 0.0, 0.05), "area": 0.02}
TAILSITTER = {
    **PX4_WING, "alpha_stall": 0.6391428111, "cp": (0.0, 0.3, 0.0), "area": 0.15,
    "control_joint_rad_to_cl": -0.5, "cm_delta": -0.3,
}  # fmt: skip
LIFT_DRAGS = {
    "wing": LiftDrag(**PX4_WING),
    "rudder": LiftDrag(**RUDDER),
    "tailsitter": LiftDrag(**TAILSITTER),
    "moments": LiftDrag(**PX4_WING, cma=0.2, cma_stall=-0.4, cm_delta=0.1),
    "body": LiftDrag(area=0.1, cla=1.5, cda=0.4, alpha_stall=0.5, radial_symmetry=True, cp=(-0.1, 0.0, 0.02)),
    "reversible": LiftDrag(**{**PX4_WING, "reversible": True, "a0": -0.3}),
    "no_control": LiftDrag(**{**PX4_WING, "control_joint_rad_to_cl": ()}),
}  # fmt: skip
PX4_AIRFRAME = {
    "CL0": 0.15188, "AR": 6.5, "eff": 0.97, "CLa": 5.015, "CD0": 0.029, "Cem0": 0.075, "Cema": -0.463966,
    "CYb": -0.258244, "Cellb": -0.03925, "Cenb": 0.100826, "CYp": 0.065861, "Cellp": -0.487407,
    "Cenp": -0.040416, "CDq": 0.055166, "CLq": 7.971792, "Cemq": -12.14014, "CYr": 0.230299,
    "Cellr": 0.078165, "Cenr": -0.089947, "alpha_stall": 0.3391428111, "cp": (-0.12, 0.0, 0.0), "area": 0.34,
    "mac": 0.22,
}  # fmt: skip
"""PX4's advanced plane, without its control surfaces."""
CONTROLS = {
    "direction": (1.0, 1.0, -1.0, 1.0), "CD_ctrl": (-0.000059, -0.000059, 0.000274, 0.0),
    "CY_ctrl": (0.000171, -0.000171, 0.0, -0.003913), "CL_ctrl": (-0.01194, -0.01194, 0.010696, 0.0),
    "Cell_ctrl": (-0.003331, 0.003331, 0.0, -0.000257), "Cem_ctrl": (0.001498, 0.001498, -0.025798, 0.0),
    "Cen_ctrl": (-0.000057, 0.000057, 0.0, 0.001613),
}  # fmt: skip
"""Its ailerons, elevator and rudder."""
MORE = {
    "CLb": 0.1, "CLp": 0.2, "CLr": -0.3, "CDp": 0.01, "CDr": 0.02, "CYa": 0.1, "CYq": 0.2, "Cella": 0.01,
    "Cellq": 0.02, "Cema_stall": -0.3, "Cemb": 0.05, "Cemp": 0.1, "Cemr": -0.2, "Cena": 0.03, "Cenq": 0.04,
    "M": 40.0, "mac": None,
}  # fmt: skip
AIRFRAMES = {
    "plane": AdvancedLiftDrag(**PX4_AIRFRAME, **CONTROLS),
    "every_term": AdvancedLiftDrag(**{**PX4_AIRFRAME, **CONTROLS, **MORE}),
}


def differences(wing, oracle):
    """Return the largest difference from an oracle over 10^4 states, by the size of the wrench."""
    states = random_states(10_000, wing.control_count)
    found = wrenches(wing, states)
    parts = zip(states.velocity, states.rate, states.deflection.tolist(), strict=True)
    expected = np.array([np.concatenate(oracle(wing, v, w, d, DENSITY)) for v, w, d in parts])
    assert (np.abs(expected).max(axis=1) > 0).mean() > 0.45
    scale = np.linalg.norm(expected, axis=1, keepdims=True)
    return np.abs(found - expected) / (scale + 1e-12)


@pytest.mark.parametrize("name", LIFT_DRAGS)
def test_lift_drag_is_that_of_gazebo(name):
    """A sign, a factor or a branch other than Gazebo's would fly PX4's planes otherwise."""
    assert differences(LIFT_DRAGS[name], gazebo.lift_drag).max() < 1e-7


@pytest.mark.parametrize("name", AIRFRAMES)
def test_advanced_lift_drag_is_that_of_gazebo(name):
    """A derivative of another sign, scale or axis would fly PX4's advanced plane otherwise."""
    assert differences(AIRFRAMES[name], gazebo.advanced_lift_drag).max() < 1e-9


@pytest.mark.parametrize("name", ["wing", "rudder", "body", "reversible"])
def test_lift_drag_without_moments_only_takes_energy_out(name):
    """Lift not across the flow at the centre of pressure, or drag along it, would drive an aircraft."""
    gained, terms = power(LIFT_DRAGS[name], random_states(10_000, LIFT_DRAGS[name].control_count))
    assert (gained <= 1e-14 * terms).all()


@pytest.mark.parametrize("name", ["tailsitter", "moments"])
def test_a_moment_is_all_that_gives_energy(name):
    """The docs say that a wing gains energy by its moment coefficients alone."""
    wing = LIFT_DRAGS[name]
    states = random_states(10_000, 1)
    plain = dataclasses.replace(wing, cma=0.0, cma_stall=0.0, cm_delta=())
    gained, terms = power(wing, states)
    assert (gained > 0).any()
    moment = wrenches(wing, states)[:, 3:] - wrenches(plain, states)[:, 3:]
    assert (gained - (moment * states.rate).sum(axis=1) <= 1e-14 * terms).all()


@pytest.mark.parametrize("wing", [*LIFT_DRAGS.values(), *AIRFRAMES.values()], ids=[*LIFT_DRAGS, *AIRFRAMES])
def test_bits_are_those_of_compiled_code(wing):
    """A law that compiles to other bits than Python's would not be repeatable."""
    assert not differing_bits(wing)


@pytest.mark.parametrize("wing", [LIFT_DRAGS["wing"], LIFT_DRAGS["body"], AIRFRAMES["every_term"]])
def test_in_flow_along_the_axis_and_at_rest(wing):
    """A division by zero at the angle of attack 0, or at rest, would end a flight."""
    angles = np.array([0.0, 1e-12])
    at, near = np.transpose(wing.polar(angles))
    np.testing.assert_allclose(at, near, atol=1e-9)
    still = np.zeros((1, 3))
    np.testing.assert_array_equal(wrenches(wing, States(still, still, np.ones((1, wing.control_count)))), 0.0)


def test_polar_of_a_wing():
    """The polar would not be that of the parameters."""
    lift, drag, moment = LiftDrag(area=0.6, cla=4.0, cda=0.5, cma=0.1, a0=0.1).polar(np.array([-0.1, 0.1]))
    np.testing.assert_allclose([lift, drag, moment], [[0.0, 0.8], [0.0, 0.1], [0.0, 0.02]], atol=1e-15)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"model": "lift_drag"}, r"^surfaces.left.area: required field is missing"),
        ({"model": "lift_drag", "area": 0}, r"^surfaces.left.area = 0.0: must be above 0 m\^2"),
        (
            {"model": "lift_drag", "area": 1, "a0": 3.0},
            r"^surfaces.left.a0 = 3.0: must be from -pi/2 to pi/2 rad",
        ),
        (
            {"model": "lift_drag", "area": 1, "alpha_stall": 0},
            "surfaces.left.alpha_stall = 0.0: must be above 0",
        ),
        (
            {"model": "lift_drag", "area": 1, "control_joint_rad_to_cl": [1, 2], "cm_delta": 0.1},
            "surfaces.left.cm_delta = 0.1: must have as many values as control_joint_rad_to_cl, 2",
        ),
        (
            {"model": "lift_drag", "area": 1, "cl_a": 3.0},
            "surfaces.left.cl_a: unknown field; did you mean cla",
        ),
        (
            {"model": "advanced_lift_drag", "area": 1, "AR": 0, "eff": 1},
            "surfaces.left.AR = 0.0: must be above 0",
        ),
        ({"model": "advanced_lift_drag", "area": 1, "AR": 6}, "surfaces.left.eff: required field is missing"),
        (
            {"model": "advanced_lift_drag", "area": 1, "AR": 6, "eff": 1, "CL_ctrl": [1, 2], "CD_ctrl": 0.1},
            "surfaces.left.CD_ctrl = 0.1: must have one value for each control surface, 2, or none",
        ),
    ],
)
def test_wrong_parameters(spec, message):
    """A wing without area, or with a misspelt derivative, would fly in silence."""
    with pytest.raises(ConfigError, match=message):
        build(Wing, WINGS, spec, field="surfaces.left")


def test_parameters_as_in_a_file():
    """A file could not name the plugin's parameters, or one derivative without a list."""
    spec = {**PX4_AIRFRAME, "model": "advanced_lift_drag", "CL_ctrl": 0.01}
    assert build(Wing, WINGS, spec, field="x") == AdvancedLiftDrag(**PX4_AIRFRAME, CL_ctrl=0.01)
    assert build(Wing, WINGS, {**PX4_WING, "model": "lift_drag"}, field="x") == LIFT_DRAGS["wing"]
    assert LIFT_DRAGS["wing"].control_count == 1
    assert AIRFRAMES["plane"].control_count == 4
