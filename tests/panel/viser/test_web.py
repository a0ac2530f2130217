"""Tests for the server of the panel: real sockets, several clients, one-line errors."""

import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

viser = pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

from pegasus import Multirotor, Simulation  # noqa: E402
from pegasus.base.errors import ConfigError  # noqa: E402
from pegasus.cameras import Camera  # noqa: E402
from pegasus.cli.main import app  # noqa: E402
from pegasus.control import GeometricController, trajectories  # noqa: E402
from pegasus.panel.viser.controls import WebControls  # noqa: E402
from pegasus.panel.viser.view import WebView  # noqa: E402
from tests.panel.client import Client  # noqa: E402
from tests.waits import LIMIT, wait_until  # noqa: E402

TICK = 1 / 30


@pytest.fixture
def view(panel):
    """The server of a panel's page, at a free port."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        yield view


def free_port():
    """Return a port that has just been free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fleet(count):
    """Build a world with vehicles of one kind, each with its own pilot."""

    def make():
        simulation = Simulation("flat")
        for index in range(count):
            pilot = GeometricController(trajectories.lemniscate(radius=2, height=3))
            simulation.add(Multirotor("iris", position=(2.0 * index, 0, 0.1), backends=[pilot]))
        return simulation

    return make


def test_the_page_is_served_to_this_machine_only(view):
    """If this fails, the page is missing, or is open to other machines."""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/", view.address)
    with urllib.request.urlopen(view.address, timeout=LIMIT) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read()[:2000].lower()
    listening = view.server._websock_server
    assert listening._host == "127.0.0.1"


def test_no_page_can_make_the_server_public(view):
    """If this fails, one click in any browser opens the simulation to the internet."""
    assert view.server.request_share_url() is None


def test_it_ends(panel):
    """If this fails, a closed panel keeps its port or its threads."""
    port = free_port()
    for _ in range(2):
        with WebView(lambda: panel.session.snapshot, panel.view, port=port) as view:
            assert f":{port}/" in view.address
        view.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_port_in_use_is_one_line(panel):
    """If this fails, the panel opens at another port than asked for, or ends in a traceback."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match="is in use by another program; end that program"):
            WebView(lambda: panel.session.snapshot, panel.view, port=port)


@pytest.mark.parametrize(
    ("given", "problem"),
    [({"port": 70000}, "must be from 0 to 65535"), ({"host": "192.0.2.1"}, "is not a local address")],
)
def test_a_bad_address_is_one_line(panel, given, problem):
    """If this fails, a typing error ends in a traceback."""
    with pytest.raises(ConfigError, match=problem) as caught:
        WebView(lambda: panel.session.snapshot, panel.view, **{"port": 0, **given})
    assert "\n" not in str(caught.value)


def test_equal_vehicles_are_one_batch_for_each_part(panel, view):
    """If this fails, a hundred vehicles are a thousand objects to a browser."""
    panel.session.exchange(fleet(7))
    client = Client(view.address)
    wait_until(lambda: len(view._scene._moving) == 5, "the batches")
    sizes = sorted(len(moving._rows) for moving in view._scene._moving)
    # The bodies, then the first to fourth propellers.
    assert sizes == [7, 7, 7, 7, 7]
    client.close()


def test_movers_are_shown_where_they_are(panel, view):
    """If this fails, the page lacks a platform, or leaves it where it started."""
    motion = {"model": "oscillation", "position": [5, 0, 1], "amplitude": [2, 0, 0], "period": 4.0}
    platform = {"name": "platform", "box": [2, 2, 0.2], "motion": motion}
    panel.session.exchange(lambda: Simulation({"extends": "flat", "movers": [platform]}))
    client = Client(view.address)
    wait_until(lambda: len(view._scene._moving) == 1, "the platform")
    panel.session.step(250)
    wait_until(
        lambda: np.allclose(view._scene._moving[0]._handle.batched_positions, [[7, 0, 1]], atol=1e-5),
        "the platform's way",
    )
    client.close()


def test_shown_poses_are_those_of_the_simulation(panel, view):
    """If this fails, vehicles are shown at wrong poses."""
    panel.session.exchange(fleet(3))
    client = Client(view.address)
    wait_until(lambda: len(view._scene._moving) == 5, "the batches")
    bodies = next(m for m in view._scene._moving if m._rows[0] == 0)
    panel.session.step(900)
    snapshot = panel.session.snapshot
    wanted = np.concatenate([vehicle.position for vehicle in snapshot.vehicles])
    assert wanted[:, 2].min() > 0.15

    def shown():
        return np.allclose(bodies._handle.batched_positions, wanted, atol=1e-5)

    wait_until(shown, "the poses")
    quaternion = np.concatenate([vehicle.orientation for vehicle in snapshot.vehicles])[:, [3, 0, 1, 2]]
    dot = (bodies._handle.batched_wxyzs * quaternion).sum(axis=1)
    np.testing.assert_allclose(np.abs(dot), 1.0, atol=1e-5)
    client.close()


def test_two_browsers_come_and_go_and_the_flight_goes_on(panel, view):
    """If this fails, closing or reloading a page affects the simulation or another browser."""
    WebControls(view, panel)
    panel.session.exchange(fleet(2))
    panel.simulation.play()
    first, second = Client(view.address), Client(view.address)
    wait_until(lambda: len(view.server.get_clients()) == 2, "both browsers")
    for client in first, second:
        client.take(100_000)
    first.close()
    wait_until(lambda: len(view.server.get_clients()) == 1, "the first one to leave")
    third = Client(view.address)
    wait_until(lambda: len(view.server.get_clients()) == 2, "a reloaded page")
    third.take(100_000)
    before = panel.snapshot.time
    second.close()
    third.close()
    wait_until(lambda: not view.has_clients, "all to leave")
    wait_until(lambda: panel.snapshot.time > before + 0.2, "the flight to go on")
    assert [vehicle.name for vehicle in panel.snapshot.vehicles] == ["iris", "iris1"]
    assert not any(message.error for message in panel.messages)


def test_nothing_is_sent_while_nobody_watches(panel, view):
    """If this fails, a simulation spends time on a page that is not open."""
    panel.session.exchange(fleet(2))
    panel.simulation.play()
    wait_until(lambda: view._scene.world is not None, "the world")
    fresh = view._marks._count
    start = panel.snapshot.time
    wait_until(lambda: panel.snapshot.time > start + 10 * TICK, "some flight")
    assert view._marks._count <= fresh + 1


def test_pages_open_at_the_world_and_move_to_vehicles(panel, view):
    """If this fails, a page opens at the sky or in a wall, or far from the added vehicle."""

    def shown(camera):
        place = panel.snapshot.suggested_viewpoint
        near = np.allclose(camera.position, place.position) and np.allclose(camera.look_at, place.target)
        return near and panel.view.viewpoint is place

    first = view.server.initial_camera
    assert panel.world.choose("box_room")
    assert panel.world.load()
    wait_until(lambda: shown(first), "the opening view, also while nobody watches")
    with Client(view.address):
        wait_until(lambda: view.server.get_clients(), "the browser")
        [client] = view.server.get_clients().values()
        assert panel.vehicle.add()
        target = panel.snapshot.vehicles[0].position[0]
        np.testing.assert_allclose(panel.snapshot.suggested_viewpoint.target, target, atol=0.01)
        wait_until(lambda: shown(client.camera) and shown(first), "the vehicle")
        assert panel.view.set_viewpoint((1, 2, 3), (0, 0, 0))
        wait_until(lambda: np.allclose(client.camera.position, (1, 2, 3)), "where the user looks from")
        assert panel.simulation.step(50)
        count = view._marks._count
        wait_until(lambda: view._marks._count > count + 5, "some pictures")
        assert np.allclose(client.camera.position, (1, 2, 3))
        assert panel.world.choose("flat")
        assert panel.world.load()
        wait_until(lambda: shown(client.camera) and shown(first), "the next world")


def test_camera_images_come_when_they_are_asked_for(panel, view):
    """If this fails, camera images are missing, or are rendered for pages that do not show them."""
    pytest.importorskip("embreex", reason="pip install pegasus-multirotor[render]")
    controls = WebControls(view, panel)
    images = controls.sections["Cameras"].handles
    panel.session.exchange(lambda: Simulation("flat"))
    panel.session.add(
        Multirotor(
            "iris",
            position=(0, 0, 2),
            extra_sensors={"front": Camera(rate_hz=10.0, resolution=(64, 48), hide_vehicle=True)},
        )
    )
    panel.session.step(30)
    # The first image may have to wait for a compiler.
    panel.session.call(lambda simulation: simulation.vehicles["iris"].readings["front"].rgb)
    client = Client(view.address)
    shown = view._marks._count
    wait_until(lambda: view._marks._count > shown + 15, "some pictures of the view")
    assert "front" not in images
    client.write(images["Show camera images"], True)
    wait_until(lambda: "front" in images, "the image")
    image = images["front"].image
    assert image.shape == (48, 64, 3)
    assert image.std() > 10.0
    client.write(images["Show camera images"], False)
    wait_until(lambda: "front" not in images, "the image to go")
    client.close()


def test_closing_the_view_leaves_the_world(panel):
    """If this fails, closing the panel clears the world."""
    panel.session.exchange(fleet(1))
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        WebControls(view, panel).close()
    assert [vehicle.name for vehicle in panel.snapshot.vehicles] == ["iris"]


def test_a_missing_extra_is_one_line(monkeypatch):
    """If this fails, a missing extra causes a traceback in place of its remedy."""
    monkeypatch.setattr("pegasus.cli.view.find_spec", lambda _: None)
    for command in ["view"], ["run", "--view", "--no-record"]:
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, ConfigError)
        assert str(result.exception) == (
            "the view requires the missing package viser; pip install 'pegasus-multirotor[view]'"
        )


def test_the_command_prints_the_address_and_ends_by_interrupt():
    """If this fails, no address is printed, or Ctrl-C leaves processes running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pegasus", "view", "first_flight", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    overdue = threading.Timer(LIMIT, process.kill)
    overdue.start()
    try:
        process.stdout.readline()
        address = process.stdout.readline()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/\n", address), address + process.stderr.read()
        with urllib.request.urlopen(address.strip(), timeout=LIMIT) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=LIMIT)
    finally:
        overdue.cancel()
        process.kill()
    assert (process.returncode, rest, errors) == (0, "", "")


def test_a_run_can_be_watched():
    """If this fails, a run with --view shows no page, or does not end by itself."""
    result = CliRunner().invoke(
        app, ["run", "--view", "--port", "0", "--no-record", "--duration", "0.2", "--speed", "max"]
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"(?m)^http://127\.0\.0\.1:\d+/[\w-]+/$", result.output)


def test_contacts_are_told_to_the_right_vehicles():
    """If this fails, the panel reports a contact for the wrong vehicle."""
    with fleet(4)() as simulation:
        simulation.add(Multirotor("iris", count=3, position=[(0, 9, 0.1), (3, 9, 5.0), (6, 9, 0.1)]))
        simulation.step(150)
        told = simulation.vehicles.touching(simulation.engine.contacts())
        assert told["iris4"].tolist() == [True, False, True]
        for vehicle in simulation.vehicles:
            np.testing.assert_array_equal(told[vehicle.name], vehicle.in_contact)
