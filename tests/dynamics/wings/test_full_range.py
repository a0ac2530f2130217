"""Wing at all angles of attack: closed forms apart from the law, measured plates, energy, and bits."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.dynamics.wings import FullRangeWing
from tests.dynamics.wings.wing_states import DENSITY, States, differing_bits, power, random_states, wrenches

PLAIN = FullRangeWing(area=0.55, span=2.9, zero_lift_angle=-0.05, moment_coefficient=-0.08, skin_drag=0.03)
FLAPPED = FullRangeWing(
    area=0.3,
    span=1.2,
    zero_lift_angle=-0.03,
    stall_sharpness=20.0,
    flap_chord=(0.25, 0.4),
    flap_span=(0.5, 0.3),
)
ELEVON = FullRangeWing(area=0.1, span=0.3, skin_drag=0.0, flap_chord=0.5, stall_angle=0.4)
WINGS = {"plain": PLAIN, "flapped": FLAPPED, "elevon": ELEVON}
STALL = 0.26


def attached_share(alpha, stall, sharpness):
    """Return 1 - sigma of Beard and McLain, eq. 4.10."""
    a, b = np.exp(-sharpness * (alpha - stall)), np.exp(sharpness * (alpha + stall))
    return 1 - (1 + a + b) / ((1 + a) * (1 + b))


def oracle(wing, alpha):
    """Return CL, CD and the moment about the quarter chord by metre of a wing without flaps."""
    ratio, chord = wing.span**2 / wing.area, wing.area / wing.span
    slope = math.pi * ratio / (1 + math.sqrt(1 + (math.pi * ratio / wing.section_slope) ** 2))
    share = attached_share(alpha, wing.stall_angle, wing.stall_sharpness)
    linear = slope * (alpha - wing.zero_lift_angle)
    sine, cosine = np.sin(alpha), np.cos(alpha)
    tips = 0.41 * (1 - math.exp(-17 / ratio))
    normal = 1.98 * (1 / (0.56 + 0.44 * abs(sine)) - tips) * sine
    center = 0.5 - 0.175 * (1 - 2 * abs(alpha) / math.pi)
    lift = share * linear + (1 - share) * normal * cosine
    drag = share * linear**2 / (math.pi * wing.oswald_efficiency * ratio) + (1 - share) * normal * sine
    # The moment of camber is a couple of lift, whose parts are across the flow.
    moment = share * wing.moment_coefficient * cosine - (1 - share) * normal * (center - 0.25)
    return lift, drag + wing.skin_drag, moment * chord


def test_polar_right_to_180_degrees():
    """A wrong slope, blending, plate or centre of pressure would fly at high angles of attack otherwise."""
    angles = np.linspace(-math.pi, math.pi, 721)[1:-1]
    np.testing.assert_allclose(PLAIN.polar(angles), oracle(PLAIN, angles), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("ratio", "measured"), [(1.0, 1.18), (5.0, 1.20), (10.0, 1.30), (20.0, 1.50)])
def test_plate_across_the_flow(ratio, measured):
    """The drag of plates across the flow is measured (Hoerner 1965, fig. 3-28), within 8 %."""
    plate = FullRangeWing(area=1.0, span=math.sqrt(ratio), skin_drag=0.0)
    _, drag, moment = plate.polar(np.array([math.pi / 2]))
    assert drag[0] == pytest.approx(measured, rel=0.08)
    # The centre of pressure is the middle.
    assert moment[0] == pytest.approx(-0.25 * drag[0] / plate.span, rel=1e-9)


def test_lift_slope_is_between_slender_and_long_wings():
    """The slope of a slender wing is pi AR / 2 (Jones 1946), and that of a long one that of its section."""
    step = np.array([-1e-4, 1e-4])
    for ratio, expected in ((0.01, math.pi * 0.01 / 2), (1e4, 2 * math.pi)):
        lift, _, _ = FullRangeWing(area=1.0, span=math.sqrt(ratio)).polar(step)
        assert (lift[1] - lift[0]) / 2e-4 == pytest.approx(expected, rel=0.002)


def test_flap_moves_the_zero_lift_angle_as_thin_aerofoils_do():
    """The flap's lift and moment are integrals of Glauert's series over the camber line, made apart."""
    chord, angle = 0.25, 0.05
    wing = FullRangeWing(area=1.0, span=1e3, skin_drag=0.0, flap_chord=chord, flap_efficiency=1.0)
    theta = (np.arange(200_000) + 0.5) * math.pi / 200_000
    slope = np.where((1 - np.cos(theta)) / 2 > 1 - chord, -angle, 0.0)
    a0 = -slope.mean()
    a1, a2 = (2 * (slope * np.cos(n * theta)).mean() for n in (1, 2))
    lift, _, moment = wing.polar(np.array([0.0]), (angle,))
    assert lift[0] == pytest.approx(2 * math.pi * (a0 + a1 / 2), rel=3e-3)
    assert moment[0] / 1e-3 == pytest.approx(math.pi / 4 * (a2 - a1), rel=3e-3)


def test_flap_of_the_whole_chord_turns_a_stalled_wing():
    """A flap would not be a plate of its own beyond stall."""
    wing = FullRangeWing(area=1.0, span=2.0, skin_drag=0.0, flap_chord=1.0)
    states = States(np.array([[0.0, 0.0, -8.0]]), np.zeros((1, 3)), np.array([[0.3]]))
    force = wrenches(wing, states)[0]
    assert force[0] / force[2] == pytest.approx(-math.tan(0.3), rel=1e-12)


def test_pitching_gives_the_lift_of_the_flow_at_three_quarters_of_the_chord():
    """The lift of pitching about the quarter chord is that of the angle q c / (2 V) (Pistolesi)."""
    q, speed = -0.4, 20.0
    chord = PLAIN.area / PLAIN.span
    states = States(np.array([[speed, 0, 0]]), np.array([[0, q, 0]]), np.zeros((1, 0)))
    still = States(states.velocity, 0 * states.rate, states.deflection)
    gained = (wrenches(PLAIN, states) - wrenches(PLAIN, still))[0, 2]
    slope = PLAIN.parameters().lift_slope
    assert gained == pytest.approx(
        0.5 * DENSITY * speed**2 * PLAIN.area * slope * -q * chord / (2 * speed), rel=1e-3
    )


@pytest.mark.parametrize("name", WINGS)
def test_still_air_never_gives_energy(name):
    """Any motion, rotation and deflection would gain energy."""
    wing = WINGS[name]
    for seed in (1, 2):
        states = random_states(10_000, wing.control_count, seed)
        gained, terms = power(wing, states._replace(deflection=states.deflection * 3))
        assert (gained <= 1e-14 * terms).all()


@pytest.mark.parametrize("name", WINGS)
def test_bits_are_those_of_compiled_code(name):
    """A law that compiles to other bits than Python's would not be repeatable."""
    assert not differing_bits(WINGS[name])


def test_at_rest():
    """A wing at rest, or one that only turns, would divide by zero."""
    still = np.zeros((1, 3))
    np.testing.assert_array_equal(wrenches(FLAPPED, States(still, still, np.ones((1, 2)))), 0.0)
    turning = wrenches(FLAPPED, States(still, np.array([[0.0, 5.0, 0.0]]), np.zeros((1, 2))))[0]
    assert turning[4] < 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"area": 0.0, "span": 1.0}, r"^area = 0.0: must be above 0 m\^2"),
        ({"area": 1.0, "span": 0.0}, "^span = 0.0: must be above 0 m"),
        ({"area": 1.0, "span": 1.0, "stall_angle": -0.2}, "^stall_angle = -0.2: must be above 0 rad"),
        ({"area": 1.0, "span": 1.0, "flap_chord": (0.2, 1.2)}, "^flap_chord .* must be above 0, up to 1"),
        (
            {"area": 1.0, "span": 1.0, "flap_chord": 0.2, "flap_span": (0.2, 0.2)},
            "^flap_span .* as many values",
        ),
        ({"area": 1.0, "span": 1.0, "flap_chord": (0.6, 0.6)}, "^flap_span .* not be larger than the wing"),
        ({"area": 1.0, "span": 1.0, "skin_drag": -0.1}, "^skin_drag = -0.1: must not be negative"),
    ],
)
def test_wrong_parameters(options, message):
    """A wing without area or span would fly in silence."""
    with pytest.raises(ConfigError, match=message):
        FullRangeWing(**options)
