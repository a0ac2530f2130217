"""Tests of finding Isaac Sim's installations and apps."""

import os
import subprocess
import sys
from unittest import mock

import pytest

from pegasus.base.errors import ConfigError
from pegasus.isaac import installation
from tests.isaac.installations import executable, packaged, unpacked
from tests.test_packaging import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts of Windows are others")


NAMES = ("ISAACSIM_PATH", "ISAAC_SIM_PATH")
CLEARED = f"import os; [os.environ.pop(name, None) for name in {NAMES}]"


def find(option=None, *, environment):
    """Return the installation found with these environment variables alone."""
    others = {name: value for name, value in os.environ.items() if name not in NAMES}
    with mock.patch.dict(os.environ, others | environment, clear=True):
        return installation.find(option)


@pytest.fixture
def folder(tmp_path):
    """Return a folder like Isaac Sim."""
    return unpacked(tmp_path / "isaac sim")


def test_it_is_found_where_it_is_said_to_be(folder, tmp_path):
    """The option would not precede the variables, or the first variable not the second."""
    other = unpacked(tmp_path / "other")
    both = {"ISAACSIM_PATH": str(folder), "ISAAC_SIM_PATH": str(other)}
    assert find(other, environment=both).place == other
    found = find(environment=both)
    assert found.python == (str(folder / "python.sh"),)
    assert not found.packaged
    assert find(environment={"ISAAC_SIM_PATH": str(other)}).place == other
    assert find(folder / "python.sh", environment={}).place == folder


@pytest.mark.parametrize("named", ["", "bin/python", "package"])
def test_a_python_environment_that_has_it(tmp_path, named):
    """An Isaac Sim installed by pip would not be found."""
    package = packaged(tmp_path / "env isaac")
    path = package if named == "package" else tmp_path / "env isaac" / named
    for found in find(path, environment={}), find(environment={"ISAACSIM_PATH": str(path)}):
        assert found.packaged
        assert found.place == package
        # Not the link's target: that Python has no Isaac Sim.
        assert found.python == (str(tmp_path / "env isaac" / "bin" / "python"),)
    assert found.window()[:3] == [*found.python, "-c", "from isaacsim import main; main()"]
    assert found.window("isaacsim.exp.full.newton.kit")[3:] == ["isaacsim.exp.full.newton"]
    (tmp_path / "own.kit").touch()
    assert found.window(str(tmp_path / "own.kit"))[3:] == [str(tmp_path / "own.kit")]


def test_a_wrapper_of_a_python(tmp_path):
    """A wrapper script of a conda environment or a container would be rejected."""
    package = packaged(tmp_path / "env")
    wrapper = executable(
        tmp_path / "in_env.sh", f'#!/bin/sh\necho entering\nexec {tmp_path}/env/bin/python "$@"\n'
    )
    found = find(wrapper, environment={})
    assert (found.place, found.python) == (package, (str(wrapper),))


def test_the_package_of_this_python(tmp_path):
    """Within Isaac Sim's Python environment the installation would have to be named."""
    package = packaged(tmp_path / "env")
    line = f"{CLEARED}; from pegasus.isaac.installation import find; i = find(); print(i.place, *i.python)"
    asked = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-c", line], capture_output=True, text=True, check=True
    )
    assert asked.stdout.split() == [str(package), str(tmp_path / "env" / "bin" / "python")]


def test_the_python_of_a_folder(folder):
    """The Python of a folder, which has no isaacsim package, would be rejected."""
    python = folder / "kit" / "python" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    found = find(python, environment={})
    assert (found.place, found.python, found.packaged) == (folder, (str(folder / "python.sh"),), False)
    line = f"{CLEARED}; from pegasus.isaac.installation import find; i = find(); print(i.place, i.packaged)"
    variables = {"PYTHONPATH": str(ROOT), "PYTHONHOME": sys.base_prefix}
    asked = subprocess.run([python, "-c", line], env=variables, capture_output=True, text=True, check=True)
    assert asked.stdout == f"{folder} False\n"


def test_a_folder_of_the_name_is_no_package(tmp_path, monkeypatch):
    """A folder `isaacsim` in the current directory would be taken for the package."""
    (tmp_path / "isaacsim").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installation.own_package() is None


@pytest.mark.parametrize("kind", ["empty", "python without", "no program"])
def test_a_wrong_place_is_said(tmp_path, kind):
    """A wrong variable would be ignored, and another Isaac Sim started."""
    place = tmp_path / "place"
    place.mkdir()
    if kind == "python without":
        place = executable(place / "python", f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    elif kind == "no program":
        place = place / "text"
        place.write_text("nothing")
    with pytest.raises(ConfigError, match=r"ISAACSIM_PATH = .*is not an Isaac Sim"):
        find(environment={"ISAACSIM_PATH": str(place)})


def test_none_is_said(monkeypatch):
    """Without Isaac Sim a user would get a traceback."""
    monkeypatch.setattr(installation, "_USUAL", ())
    monkeypatch.setattr(installation, "_LAUNCHER_FOLDER", "/nowhere")
    with pytest.raises(ConfigError, match="set ISAACSIM_PATH"):
        find(environment={})


def test_apps_by_name_and_by_path(folder, tmp_path):
    """Only one app could be opened, or an app without its ROS 2 set-up script."""
    found = find(folder, environment={})
    assert found.window() == [str(folder / "isaac-sim.sh")]
    assert found.window("isaacsim.exp.full.newton") == [str(folder / "isaac-sim.newton.sh")]
    # Without a script of its own.
    base = "isaacsim.exp.base"
    assert found.window(base) == [str(folder / "kit" / "kit"), str(folder / "apps" / f"{base}.kit")]
    assert found.window(f"{base}.kit") == found.window(base)
    own = tmp_path / "own.kit"
    own.touch()
    assert found.window(str(own)) == [str(folder / "kit" / "kit"), str(own)]


@pytest.mark.parametrize("app", ["isaacsim.exp.ful", "missing.kit", "apps/isaacsim.exp.base"])
def test_an_app_that_is_not_there(folder, app):
    """A missing app, such as Newton's in 5.1, would start another one or a message of Kit."""
    with pytest.raises(ConfigError, match=r"--app = .*no such app; there are isaacsim\.exp\.base, "):
        find(folder, environment={}).window(app)
