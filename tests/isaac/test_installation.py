"""Finding Isaac Sim, however it was installed, and its apps."""

import os
import subprocess
import sys

import pytest

from pegasus.errors import ConfigError
from pegasus.isaac import installation
from pegasus.isaac.installation import find
from tests.isaac.installations import executable, packaged, unpacked
from tests.test_packaging import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts of Windows are others")


@pytest.fixture
def folder(tmp_path):
    """Return a folder that looks like Isaac Sim."""
    return unpacked(tmp_path / "isaac sim")


def test_it_is_found_where_it_is_said_to_be(folder, tmp_path):
    """The option counts before the variables, and the first variable before the second."""
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
    """Users of Isaac Lab, who install Isaac Sim by pip, would be told that there is none."""
    package = packaged(tmp_path / "env isaac")
    path = package if named == "package" else tmp_path / "env isaac" / named
    for found in find(path, environment={}), find(environment={"ISAACSIM_PATH": str(path)}):
        assert found.packaged
        assert found.place == package
        # Not what the link leads to: that Python has no Isaac Sim.
        assert found.python == (str(tmp_path / "env isaac" / "bin" / "python"),)
    assert found.window()[:3] == [*found.python, "-c", "from isaacsim import main; main()"]
    assert found.window("isaacsim.exp.full.newton.kit")[3:] == ["isaacsim.exp.full.newton"]
    (tmp_path / "own.kit").touch()
    assert found.window(str(tmp_path / "own.kit"))[3:] == [str(tmp_path / "own.kit")]


def test_a_wrapper_of_a_python(tmp_path):
    """A script that enters a conda environment or a container before it runs Python would be refused."""
    package = packaged(tmp_path / "env")
    wrapper = executable(
        tmp_path / "in_env.sh", f'#!/bin/sh\necho entering\nexec {tmp_path}/env/bin/python "$@"\n'
    )
    found = find(wrapper, environment={})
    assert (found.place, found.python) == (package, (str(wrapper),))


def test_the_package_of_this_python(tmp_path):
    """Whoever calls Pegasus within the environment of Isaac Sim would have to name it."""
    package = packaged(tmp_path / "env")
    line = "from pegasus.isaac.installation import find; i = find(environment={}); print(i.place, *i.python)"
    asked = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-c", line], capture_output=True, text=True, check=True
    )
    assert asked.stdout.split() == [str(package), str(tmp_path / "env" / "bin" / "python")]


def test_the_python_of_a_folder(folder):
    """It has no package of its own: python.sh tells it where that is, and that knows nothing of the apps."""
    python = folder / "kit" / "python" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    found = find(python, environment={})
    assert (found.place, found.python, found.packaged) == (folder, (str(folder / "python.sh"),), False)
    line = "from pegasus.isaac.installation import find; i = find(environment={}); print(i.place, i.packaged)"
    variables = {"PYTHONPATH": str(ROOT), "PYTHONHOME": sys.base_prefix}
    asked = subprocess.run([python, "-c", line], env=variables, capture_output=True, text=True, check=True)
    assert asked.stdout == f"{folder} False\n"


def test_a_folder_of_the_name_is_no_package(tmp_path, monkeypatch):
    """In the home folder, where Isaac Sim lies in `isaacsim`, Python takes that for a package."""
    (tmp_path / "isaacsim").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installation.own_package() is None


@pytest.mark.parametrize("kind", ["empty", "python without", "no program"])
def test_a_wrong_place_is_said(tmp_path, kind):
    """A misspelt variable would be passed over, and another Isaac Sim started."""
    place = tmp_path / "place"
    place.mkdir()
    if kind == "python without":
        place = executable(place / "python", f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    elif kind == "no program":
        place = place / "text"
        place.write_text("nothing")
    with pytest.raises(ConfigError, match=r"ISAACSIM_PATH = .*no Isaac Sim is there"):
        find(environment={"ISAACSIM_PATH": str(place)})


def test_none_is_said(monkeypatch):
    """A user without Isaac Sim would get a traceback."""
    monkeypatch.setattr(installation, "_USUAL", ())
    monkeypatch.setattr(installation, "_LAUNCHER_FOLDER", "/nowhere")
    with pytest.raises(ConfigError, match="set ISAACSIM_PATH"):
        find(environment={})


def test_apps_by_name_and_by_path(folder, tmp_path):
    """Only one app could be opened, or one without what its own script sets up for ROS 2."""
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
    """Isaac Sim 5.1, which has no Newton, would start another app or end in a message of Kit's."""
    with pytest.raises(ConfigError, match=r"--app = .*no such app; known are isaacsim\.exp\.base, "):
        find(folder, environment={}).window(app)
