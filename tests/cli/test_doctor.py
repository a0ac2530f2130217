"""Tests of `pegasus doctor`: what it finds, what it misses and the remedies it names."""

import importlib.metadata
import platform
import socket
import stat
import sys
from pathlib import Path

import pytest

from pegasus.cli import doctor
from pegasus.cli.doctor import Status, examine
from pegasus.cli.requirements import Requirement


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return the doctor's findings on a machine where a test alone installs programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(doctor, "find_spec", {}.get)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def findings(**environment):
        return {finding.subject: finding for finding in examine(environment)}

    return findings


def program(path, script="exit 0"):
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_this_machine_is_fit():
    """The packages that the tests run with would be reported as missing."""
    findings = {finding.subject: finding for finding in examine()}
    for subject in "Pegasus", "Python", "numpy", "mujoco", "usd-core", "extra [dev]":
        assert findings[subject].status is Status.OK
    assert all(finding.remedy for finding in findings.values() if finding.status is not Status.OK)


def test_packages():
    """A missing or outdated package would pass, or be reported without its remedy."""
    found = doctor._package(Requirement.parse("numpy>=1.0"))
    assert found.status is Status.OK
    old = doctor._package(Requirement.parse("numpy>=99.0"))
    assert old.status is Status.MISSING
    assert "too old" in old.found
    assert old.remedy == 'pip install "numpy>=99.0"'
    missing = doctor._package(Requirement.parse("no-such-package-as-this"))
    assert (missing.status, missing.found) == (Status.MISSING, "not installed")


def test_extras():
    """An incomplete extra would count as installed, or as an error."""
    requirements = [
        Requirement.parse(f'{name}; extra == "view"') for name in ("numpy", "no-such-package-as-this")
    ]
    found = doctor._extra("view", requirements)
    assert found.status is Status.OPTIONAL
    assert found.found == "no-such-package-as-this not installed"
    assert found.remedy == 'pip install "pegasus-multirotor[view]"'
    assert doctor._extra("view", requirements[:1]).status is Status.OK


def test_requirements():
    """Packages of an extra, or of another processor, would be required of all users, or versions misread."""
    plain, extra = Requirement.parse("numpy"), Requirement.parse('viser<2,>=1.1; extra == "view"')
    assert (plain.extra, extra.extra, extra.bounds) == (None, "view", "<2,>=1.1")
    assert [extra.allows(version) for version in ("1.0.9", "1.1", "1.10.0", "1.1.0rc1", "2.0", "2")] == [
        *(False, True, True, True, False, False)
    ]
    other = Requirement.parse('embreex>=4.4; platform_machine != "PROCESSOR" and extra == "render"')
    here = Requirement.parse(
        f'embreex>=4.4; platform_machine != "{platform.machine()}" and extra == "render"'
    )
    assert (other.applies, other.extra, here.applies) == (True, "render", False)


def test_requirements_are_those_of_pip():
    """A line of Pegasus's own metadata would be read otherwise than by pip."""
    packaging = pytest.importorskip("packaging.requirements", reason="needs packaging")
    for line in importlib.metadata.metadata("pegasus-multirotor").get_all("Requires-Dist"):
        ours, theirs = Requirement.parse(line), packaging.Requirement(line)
        assert ours.name == theirs.name
        assert str(theirs.marker is None or theirs.marker.evaluate({"extra": ours.extra or ""})) == str(
            ours.applies
        )
        for version in "0.1", "1.2.1", "4.0", "5.0", "26.11", "2024.2":
            assert ours.allows(version) == theirs.specifier.contains(version), (line, version)


def test_bare_machine(machine):
    """A machine without autopilots, ROS and GPU would be an error, or get no remedy."""
    findings = machine()
    for subject in "NVIDIA GPU", "PX4", "ArduPilot", "ROS 2":
        assert findings[subject].status is Status.OPTIONAL
        assert findings[subject].remedy


def test_photo_without_its_llvm(machine, monkeypatch):
    """The extra would count as installed where an old LLVM ends photo mode at its start."""
    mitsuba, drjit = pytest.importorskip("mitsuba"), pytest.importorskip("drjit")
    monkeypatch.setattr(mitsuba, "variant", lambda: "scalar_rgb")
    monkeypatch.setattr(mitsuba, "set_variant", lambda _: None)
    monkeypatch.setattr(drjit.detail, "llvm_version", lambda: (19, 1, 7))
    found = machine()["extra [photo]"]
    assert found.status is Status.OK
    assert found.found == "installed, LLVM 19.1.7"
    monkeypatch.setattr(drjit.detail, "llvm_version", lambda: (15, 0, 7))
    found = machine()["extra [photo]"]
    assert found.status is Status.OPTIONAL
    assert found.found == "needs the library libLLVM of version 17 or later; Dr.Jit found LLVM 15.0.7"
    assert found.remedy.startswith("install it, such as `apt install libllvm19`")


def test_gpu(machine, tmp_path):
    """A GPU would not be found, or a broken driver would end the whole check."""
    query = tmp_path / "bin" / "nvidia-smi"
    program(query, 'echo "NVIDIA H200, 570.1"')
    assert machine()["NVIDIA GPU"].found == "NVIDIA H200, 570.1"
    program(query, "exit 9")
    broken = machine()["NVIDIA GPU"]
    assert broken.status is Status.OPTIONAL
    assert "failed" in broken.found


@pytest.mark.parametrize(
    ("subject", "variable", "folder", "inner"),
    [
        ("PX4", "PX4_DIR", "PX4-Autopilot", "build/px4_sitl_default/bin/px4"),
        ("ArduPilot", "ARDUPILOT_DIR", "ardupilot", "build/sitl/bin/arducopter"),
    ],
)
def test_autopilots(machine, tmp_path, subject, variable, folder, inner):
    """A built autopilot would not be found at home, beside the current folder, or in the user's path."""
    given = tmp_path / "far" / "away"
    program(given / inner)
    assert machine()[subject].status is Status.OPTIONAL
    assert machine(**{variable: str(given)})[subject].found == str(given / inner)
    program(tmp_path / folder / inner)
    assert machine()[subject].found == str(tmp_path / folder / inner)


def test_px4_that_is_not_built(machine, tmp_path):
    """The remedy for a cloned PX4 that is not built would be to clone it."""
    (tmp_path / "PX4-Autopilot").mkdir()
    found = machine()["PX4"]
    assert (found.status, found.remedy) == (
        Status.OPTIONAL,
        f"make -C {tmp_path / 'PX4-Autopilot'} px4_sitl_default",
    )


def test_ros2(tmp_path, monkeypatch):
    """A ROS 2 that is not sourced, or for another Python, would count as ready or as missing."""
    monkeypatch.setattr(doctor, "find_spec", {}.get)
    assert doctor._ros2({}, tmp_path).found == "not found"
    (tmp_path / "jazzy").mkdir()
    setup = tmp_path / "jazzy" / "setup.bash"
    setup.touch()
    assert doctor._ros2({}, tmp_path).remedy == f"source {setup}"
    assert "no rclpy" in doctor._ros2({"ROS_DISTRO": "jazzy"}, tmp_path).found
    monkeypatch.setattr(doctor, "find_spec", {"rclpy": object(), "rosbags": object()}.get)
    monkeypatch.setattr("pegasus.backends.ros2.transport.find_driver", lambda _: object)
    assert doctor._ros2({"ROS_DISTRO": "jazzy"}, tmp_path).status is Status.OK


def test_ros2_that_cannot_be_imported(tmp_path, monkeypatch):
    """An rclpy of another Python, whose import fails, would count as ready."""
    broken = tmp_path / "rclpy"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('built for another Python')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "rclpy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "pegasus.backends.ros2.rclpy_transport", raising=False)
    finding = doctor._ros2({"ROS_DISTRO": "humble"}, tmp_path / "none")
    assert finding.status is Status.OPTIONAL
    assert "humble sourced, but rclpy cannot be used (rclpy: built for another Python)" in finding.found


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_ports(kind):
    """A port in use would count as free."""
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if kind is socket.SOCK_STREAM:
            holder.listen()
        port = holder.getsockname()[1]
        taken = doctor._port("link", kind, port, "end it")
        assert (taken.status, taken.remedy) == (Status.OPTIONAL, "end it")
        assert taken.found.startswith("not free")
    assert doctor._port("link", kind, port, "end it").status is Status.OK
