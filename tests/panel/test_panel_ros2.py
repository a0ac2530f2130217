"""Tests of the panel's ROS 2 fields, without sending anything."""

import pytest

from pegasus.backends import ROS2
from pegasus.panel.steering import SteeredGeometricController
from tests.panel.panel_rig import last_error, no_driver


@pytest.fixture
def backend(flat, monkeypatch):
    """The panel's backend part, on a machine with a ROS 2 transport."""
    monkeypatch.setattr("pegasus.panel.choices.find_driver", lambda: object)
    assert flat.backend.refresh()
    return flat.backend


def test_ros2_flies(backend):
    """If this fails, a vehicle has a wrong namespace or domain, or ignores ROS 2 commands."""
    assert backend.choose("ros2")
    (plain,) = backend.make()
    assert (plain.namespace, plain.domain_id, plain.on_timeout, plain.drives) == (None, None, "stop", True)
    assert backend.set_ros2(namespace=" fleet/drone0 ", domain_id="7", on_timeout="hold")
    (made,) = backend.make()
    assert isinstance(made, ROS2)
    assert (made.namespace, made.domain_id, made.on_timeout) == ("fleet/drone0", 7, "hold")
    assert made.drives
    assert backend.set_ros2(namespace="", domain_id="")
    assert (backend.namespace, backend.domain_id, backend.on_timeout) == ("", None, "hold")


def test_ros2_listens_beside_who_flies(backend):
    """If this fails, two backends command one vehicle, or the vehicle is not published on ROS 2."""
    assert len(backend.make()) == 1
    assert backend.set_ros2(too=True, namespace="drone0")
    flies, listens = backend.make()
    assert isinstance(flies, SteeredGeometricController)
    assert isinstance(listens, ROS2)
    assert not listens.drives
    assert listens.namespace == "drone0"


def test_a_namespace_is_for_one_vehicle(flat):
    """If this fails, a second vehicle is refused because the first one uses its namespace."""
    assert flat.backend.set_ros2(namespace="drone0")
    assert flat.vehicle.add(), last_error(flat)
    assert flat.backend.namespace == ""


def test_without_a_way_onto_the_graph(flat, monkeypatch):
    """If this fails, a vehicle flies without being published on ROS 2, and no message says so."""
    monkeypatch.setattr("pegasus.panel.choices.find_driver", no_driver)
    assert flat.backend.refresh()
    assert flat.backend.set_ros2(too=True)
    assert flat.vehicle.add() is False
    assert "no driver" in last_error(flat)
    assert flat.snapshot.vehicles == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"namespace": "0drone"}, "namespace = '0drone': must be"),
        ({"domain_id": "233"}, "domain_id = '233': must be a whole number from 0 to 232"),
        ({"domain_id": "-1"}, "domain_id = '-1': must be a whole number from 0 to 232"),
        ({"domain_id": "1.5"}, "domain_id = '1.5': must be a whole number from 0 to 232"),
        ({"on_timeout": "land"}, "on_timeout = 'land': must be one of stop, hold"),
    ],
)
def test_wrong_options_change_nothing(backend, flat, options, problem):
    """If this fails, some of the options are applied although another one is wrong."""
    before = (backend.namespace, backend.domain_id, backend.on_timeout, backend.ros2_too)
    assert backend.set_ros2(too=True, **options) is False
    assert last_error(flat).startswith(problem)
    assert (backend.namespace, backend.domain_id, backend.on_timeout, backend.ros2_too) == before
