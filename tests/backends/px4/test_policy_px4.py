"""Tests of policies as offboard pilots: bytes that a stand-in PX4 gets."""

import socket
from dataclasses import replace

import numpy as np
import pytest
from px4_rig import Elsewhere, fly_until, free_instance, iris

from pegasus import ConfigError, Simulation
from pegasus.backends.mavlink.messages import Decoder
from pegasus.backends.px4.program import PAYLOAD_PORT
from pegasus.learn import Layer, PolicyPX4, write_policy
from pegasus.learn.policy_file import PolicyFile
from tests.example_rig import EXAMPLES, load_example

pytestmark = [pytest.mark.learn, pytest.mark.usefixtures("nothing_left")]
ALONG = {"trajectory": [{"hold": {"height": 1.5, "duration": 1.0}}], "height": 1.5}


@pytest.fixture(scope="module")
def example():
    """Return the module of the example."""
    with pytest.MonkeyPatch.context() as patch:
        yield load_example(EXAMPLES / "policy_beside_px4.py", patch)


@pytest.fixture(scope="module")
def policy(example, tmp_path_factory):
    """Return the file of a linear policy of body rates."""
    folder = tmp_path_factory.mktemp("policy")
    file = example.linear_policy(folder / "linear.onnx")
    with pytest.MonkeyPatch.context() as patch:
        # The first session of onnxruntime leaves a database open there.
        patch.setenv("HOME", str(folder))
        PolicyFile(file)
    return file


def expected(state, place):
    """Return thrust [N] and body rates [rad/s] of the linear policy that is to be at a place."""
    error = place - state.position[0]
    vx, vy, vz = state.velocity[0]
    lean = state.rotation[0]
    acceleration = 1.5 * error[:2] - 2.0 * np.array([vx, vy])
    about_y, about_x = 4.0 * (acceleration / 9.81 - lean[:2, 2])
    thrust = 1.5 * (9.81 + 3.0 * error[2] - 2.5 * vz)
    return thrust, np.clip([-about_x, about_y, -lean[1, 0]], [-3, -3, -1], [3, 3, 1])


def test_the_bytes_of_a_policy(policy, tmp_path):
    """PX4 would get other rates, signs or thrusts than the policy commands, or at another interval."""
    number = free_instance()
    backend = PolicyPX4(policy=policy, observes="truth", launch=False, instance=number, **ALONG)
    sent, wanted = [], []
    with socket.socket(type=socket.SOCK_DGRAM) as ear, Simulation("flat", seed=2) as sim:
        ear.bind(("127.0.0.1", PAYLOAD_PORT + number))
        ear.setblocking(False)
        vehicle, decoder = sim.add(iris(backend)), Decoder("SET_ATTITUDE_TARGET", "COMMAND_LONG")
        mission = ("--mission", "hover", "--height", "1.5", "--ready", "2", "--hover-time", "100")
        with Elsewhere(tmp_path, number, *mission):
            fly_until(sim, lambda: backend.by_policy.any(), limit=40.0)
            # What it sent before the test noticed.
            heard(ear, decoder)
            place, flown = backend.reference.position[0].copy(), 0
            while backend.by_policy.any():
                before = expected(vehicle.state, place)
                sim.step()
                came = heard(ear, decoder)
                for message in came:
                    sent.append((sim.time, message))
                    wanted.append(before)
                flown += 1
    # 50 actions in a second; before the first step after the hand-over one had been sent.
    assert 240 <= flown <= 252
    targets = [
        (t, m, w) for (t, m), w in zip(sent, wanted, strict=True) if m.msgname == "SET_ATTITUDE_TARGET"
    ]
    assert 48 <= len(targets) <= 51
    np.testing.assert_allclose(np.diff([t for t, *_ in targets]), 0.02, atol=1e-9)
    scale, offset = np.mean(backend._outputs.scale), np.mean(backend._outputs.offset)
    for _, message, (thrust, rates) in targets:
        assert (message.type_mask, message.target_system, message.target_component) == (128, number + 1, 1)
        # Body rates about forward, right and down.
        got = message.body_roll_rate, -message.body_pitch_rate, -message.body_yaw_rate
        np.testing.assert_allclose(got, rates, atol=1e-5)
        speed = np.full((1, 4), message.thrust * scale + offset)
        density = vehicle.environment.air_density(vehicle.state.position)[:, None]
        lift, _ = vehicle.thrust_curve.thrust(speed, np.zeros((1, 4)), density)
        assert float(lift.sum()) == pytest.approx(thrust, rel=2e-3)
    # At the end of the trajectory PX4 is to land.
    asked = [m for _, m in sent if m.msgname == "COMMAND_LONG"]
    assert [(m.command, m.param2, m.param3) for m in asked][-1] == (176, 4.0, 6.0)


def heard(ear, decoder):
    """Return the messages that wait in a socket."""
    messages = []
    try:
        while True:
            messages += decoder.feed(ear.recv(65536))
    except BlockingIOError:
        return messages


def test_what_px4_does_not_take(policy, tmp_path):
    """Motor commands would be sent as body rates, or a word that is not known be taken for the truth."""
    about = PolicyFile(policy).description
    motors = tmp_path / "motors.onnx"
    names = tuple(f"rotor_{k}" for k in range(4))
    write_policy(motors, [Layer(np.zeros((4, 15)), np.zeros(4), None)], replace(about, channels=names))
    with Simulation("flat") as sim, pytest.raises(ConfigError, match="PX4 takes thrust, rate_x") as caught:
        sim.add(iris(PolicyPX4(policy=motors, launch=False)))
    assert "level=rates" in str(caught.value)
    with pytest.raises(ConfigError, match="must be estimate or truth"):
        PolicyPX4(policy=policy, observes="gps")
