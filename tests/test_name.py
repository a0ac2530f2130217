"""Conflict with another package called `pegasus`, such as that of Pegasus Simulator."""

import os
import subprocess
import sys

import pytest

import pegasus_multirotor
from pegasus.cli import doctor
from tests.test_packaging import ROOT
from tests.waits import LIMIT


@pytest.fixture
def theirs(tmp_path):
    """Return a folder for sys.path with the package of Pegasus Simulator, which has no __init__.py."""
    package = tmp_path / "pegasus.simulator" / "pegasus" / "simulator"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return package.parents[1]


@pytest.fixture
def installed(tmp_path):
    """Return a folder for sys.path with links to this Pegasus, like an installed extension of Kit."""
    folder = tmp_path / "extensions" / "pegasus"
    folder.mkdir(parents=True)
    for name in "pegasus", "pegasus_multirotor.py":
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_alone_nothing_is_said():
    """A name conflict would be reported on a machine without Pegasus Simulator."""
    assert pegasus_multirotor.other_package() is None
    assert not any(finding.subject == "package name" for finding in doctor.examine({}))


def test_one_beside_this_is_found(theirs, monkeypatch):
    """Pegasus Simulator's extension would fail, and neither the conflict nor its remedy be reported."""
    monkeypatch.syspath_prepend(str(theirs))
    said = pegasus_multirotor.other_package()
    assert f"is at {theirs / 'pegasus'} and at {ROOT / 'pegasus'}" in said
    assert (
        "pegasus.simulator of the first cannot be imported; disable the extension pegasus.simulator" in said
    )
    (finding,) = [finding for finding in doctor.examine({}) if finding.subject == "package name"]
    assert finding.status is doctor.Status.MISSING
    assert finding.remedy.startswith("disable the extension pegasus.simulator")


def test_another_copy_of_this_is_no_other(tmp_path, installed, monkeypatch):
    """A clone beside the installed package would be reported as Pegasus Simulator."""
    monkeypatch.syspath_prepend(str(installed))
    (tmp_path / "clone" / "pegasus" / "isaac").mkdir(parents=True)
    (tmp_path / "clone" / "pegasus" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "clone"))
    assert pegasus_multirotor.other_package() is None


# Like Kit: each extension is put on sys.path, then its modules are imported, before the next one.
KIT = """
import logging, sys
sys.path[:] = [path for path in sys.path if path not in ("", {root!r})]
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
logging.basicConfig(format="%(message)s")
sys.modules["omni.kit.app"] = sys
sys.path.insert(0, {theirs!r})
import pegasus.simulator
sys.path.insert(0, {own!r})
import pegasus_multirotor
import pegasus.isaac.extension
"""


def test_an_extension_that_comes_second_says_so(theirs, installed):
    """Kit would report a missing module pegasus.isaac without the name conflict that causes it."""
    code = KIT.format(root=str(ROOT), theirs=str(theirs), own=str(installed))
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=theirs.parent, capture_output=True, text=True, timeout=LIMIT
    )
    said = done.stderr.splitlines()
    assert said[0].startswith(
        f"the Python package pegasus is at {theirs / 'pegasus'} and at {ROOT / 'pegasus'}"
    )
    assert "this Pegasus, the second, cannot be imported; disable the extension pegasus.simulator" in said[0]
    assert said[-1].startswith("ModuleNotFoundError: No module named 'pegasus.isaac'")


def test_the_command_says_so(theirs, installed, tmp_path):
    """The command would end in a traceback if another package `pegasus` comes first on sys.path."""
    (theirs / "pegasus" / "__init__.py").touch()
    line = "from pegasus_multirotor import main; main()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", line],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(theirs), str(installed)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"pegasus: the Python package pegasus is at {theirs / 'pegasus'}")
