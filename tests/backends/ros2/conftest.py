"""Fixtures of ROS 2 tests: a separate domain, another process on it, and a check for leaks."""

import socket
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from dds_rig import DDSPeer

from tests.waits import wait_until

_FIRST_MARK, _DOMAINS = 4350, range(40, 100)
"""The first of the ports that runs of the tests mark their domains with, and the domains."""


@pytest.fixture(scope="session")
def domain():
    """Return a domain that no concurrent test run uses; on this machine only."""
    with socket.socket() as mark, pytest.MonkeyPatch.context() as patch:
        for number in _DOMAINS:
            # The operating system frees it however the run ends.
            with suppress(OSError):
                mark.bind(("127.0.0.1", _FIRST_MARK + number))
                break
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        for name in ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "CYCLONEDDS_URI"):
            patch.delenv(name, raising=False)
        yield number


@pytest.fixture(scope="session")
def kind():
    """Return the tested transport: rclpy where it is installed, as a process can have only one."""
    if find_spec("rclpy"):
        return "rclpy"
    pytest.importorskip("cyclonedds")
    return "cyclonedds"


@pytest.fixture(scope="session")
def peer(domain):
    """Return another process on the domain, with Cyclone DDS alone."""
    pytest.importorskip("cyclonedds")
    peer = DDSPeer(domain)
    yield peer
    peer.close()


@pytest.fixture
def nothing_stays(peer, tidy):  # noqa: ARG001
    """Assert that after the test no thread or open file of it is left; the peer stays."""
    before = _threads(), _files()
    yield
    wait_until(lambda: (_threads(), _files()) == before)


def _threads():
    return threading.active_count(), len(list(Path("/proc/self/task").iterdir()))


def _files():
    return len(list(Path("/proc/self/fd").iterdir()))
