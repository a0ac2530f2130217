"""Tests of the comparisons with published figures: each figure within the bound that its page states."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor
from pegasus.base.step_math import Vec3
from pegasus.experiments.published import PUBLISHED
from pegasus.experiments.published.airsim import flamewheel

BOUNDS = {
    "hector": {
        "rotor speed": 1e-5,
        "thrust of a rotor": 1e-4,
        "current of a motor": 1e-4,
        "63 %": 0.01,
        "C_T at rest": 0.01,
        "drag": 1e-12,
        "speed left": 1e-5,
    },
    "airsim": {
        "variance of the gyroscope": (0.05, "AirSim"),
        "variance of the accelerometer at rest": (0.02, "AirSim"),
        "variance of the accelerometer in flight": (0.05, "fitted"),
        "thrust": 1e-6,
        "torque": 1e-5,
    },
    "rotors": {
        "rotor speed": 1e-9,
        "torque": 1e-9,
        "time constant": 1e-3,
        "rotor drag in hover at 0.5": 1e-3,
        "rotor drag in hover at 2 ": 2e-3,
        "rotor drag in hover at 8 ": 0.025,
        "noise density": 0.005,
    },
}
"""Relative differences by the beginning of the quantity, and part of the note."""


@pytest.fixture(scope="module", params=sorted(PUBLISHED))
def computed(request):
    return request.param, PUBLISHED[request.param]()


def test_figures_are_within_their_bounds(computed):
    """A model would no longer give the figures that were published with its parameters."""
    name, comparison = computed
    for beginning, bound in BOUNDS[name].items():
        bound, noted = bound if isinstance(bound, tuple) else (bound, "")
        found = [e for e in comparison.entries if e.quantity.startswith(beginning) and noted in e.note]
        assert found, beginning
        for entry in found:
            assert entry.ours == pytest.approx(entry.published, rel=bound), entry.quantity
    for panel in comparison.panels:
        for _, x, y in (*panel.published, *panel.ours):
            assert np.isfinite(x).all()
            assert np.isfinite(y).all()
            assert len(x) == len(y)


def test_what_differs_from_the_published_as_the_page_says(computed):
    """The page would state a difference that is not there any more."""
    name, comparison = computed
    entries = comparison.entries
    if name == "hector":
        slope = next(e for e in entries if e.quantity == "dC_T/dJ")
        assert slope.published / slope.ours == pytest.approx(2.4, abs=0.1)
    if name == "airsim":
        away = [e for e in entries if e.quantity.endswith("Hausdorff distance")]
        words = ("wind", "estimated", "true")
        windy, estimated, true = ([e for e in away if word in e.note] for word in words)
        assert [e.published for e in windy] == [0.65, 1.47]
        assert all(e.ours < 0.05 for e in windy)
        assert all(e.ours < 0.15 for e in estimated)
        assert all(0.3 < e.ours < 2.0 for e in true)
        followed = [e.ours for e in entries if e.published is None]
        assert len(followed) == 4
        assert max(followed) < 0.05


def test_flamewheel_is_that_of_airsims_sources():
    """Inertia or drag would not be those that AirSim computes from its box, arms and propellers."""
    drone = Multirotor(flamewheel())
    arm = 0.225 / math.sqrt(2)
    box, motor = 1.427, 0.052
    expected = [
        box / 12 * (0.10**2 + 0.14**2) + 4 * motor * (arm**2 + 0.15**2),
        box / 12 * (0.16**2 + 0.14**2) + 4 * motor * (arm**2 + 0.15**2),
        box / 12 * (0.16**2 + 0.10**2) + 4 * motor * 2 * arm**2,
    ]
    np.testing.assert_allclose(np.diag(drone.inertia), expected, rtol=1e-12)
    # The force on a level box is rho / 2 C A v^2 of its front face.
    drag = drone.drag
    force, _ = type(drag).law(drag, Vec3(5.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), (0.0,) * 4, 1.2)
    area = 0.10 * 0.14 + 4 * math.pi * 0.2286 * 0.01
    assert force[0] == pytest.approx(-0.5 * 1.2 * 1.3 * area * 25, rel=1e-9)


def test_the_command(tmp_path, capsys, monkeypatch):
    """The command would print other figures, draw nothing, or take a wrong name without a word."""
    pytest.importorskip("matplotlib")
    from pegasus.cli.main import main

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["pegasus", "published", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    code, out, _ = run("hector", "--json", "--plot", tmp_path / "hector.png")
    assert code == 0
    entries = json.loads(out)
    assert entries[0]["quantity"] == "rotor speed at 8 V"
    assert entries[0]["published"] == 526.77
    assert (tmp_path / "hector.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    code, out, _ = run("hector")
    assert code == 0
    assert f"{entries[0]['ours']:.6g}" in out
    code, _, err = run("gazebo")
    assert code == 2
    assert err == "pegasus: NAME = 'gazebo': must be one of airsim, hector, rotors\n"
    code, _, err = run("hector", "--plot", tmp_path / "none" / "hector.png")
    assert code == 2
    assert "hector.png: cannot be written: No such file or directory; give a file" in err
