"""Tests of the environments of `.ci/environment`: versions against pyproject.toml, and creation."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.waits import LIMIT

CI = Path(__file__).parents[1] / ".ci"
# Stand-in for Python: it logs its arguments, and copies itself into the environments that it makes.
STAND_IN = """#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case "$*" in
-c*) echo "$VERSION" ;;
*"-m venv"*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python" ;;
--version) echo "Python $VERSION.0" ;;
esac
"""


def requirements(*, dev):
    """Return the requirements in pyproject.toml by name, with or without those of the extra `dev`."""
    project = tomllib.loads((CI.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [
        *project["dependencies"],
        *(line for name in extras if dev or name != "dev" for line in extras[name]),
    ]
    found = {canonicalize_name(each.name): each for each in map(Requirement, lines)}
    found.pop("pegasus-multirotor", None)
    return found


def test_the_tests_of_an_environment_exist():
    """An environment would name a test file that has moved, and pytest would end with a usage error."""
    named = re.findall(r"tests/[\w/*.]+", (CI / "environment").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not list(CI.parent.glob(path))] == []


def pins(name):
    """Return the versions of an environment, by name of the package."""
    lines = (CI / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"# Python 3\.\d+", lines[0])
    split = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(package): Version(version) for package, version in split}


def test_the_oldest_versions_are_those_that_pyproject_allows():
    """The oldest versions that pyproject.toml allows would not be tested, and could fail for a user."""
    floors = {
        name: Version(specifier.version)
        for name, each in requirements(dev=False).items()
        for specifier in each.specifier
        if specifier.operator == ">="
    }
    assert floors.keys() == requirements(dev=False).keys()
    oldest = pins("oldest")
    assert {name: oldest.get(name) for name in floors} == floors


@pytest.mark.parametrize("name", sorted(path.stem for path in CI.glob("isaac-*.txt")))
def test_pyproject_allows_what_isaac_sim_ships(name):
    """A minimum version above what Isaac Sim ships would make pip replace packages of Kit."""
    allowed = requirements(dev=True)
    for package, version in pins(name).items():
        assert package not in allowed or version in allowed[package].specifier, package


@pytest.fixture
def environment(tmp_path):
    """Return a function that runs the script in a separate folder, with a stand-in for Python."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(CI / "environment", tmp_path / ".ci")
    (tmp_path / ".ci" / "isaac-0.txt").write_text("# Python 3.12\nPillow==1.0\n")
    (tmp_path / "constraints.txt").write_text("pillow==2.0\nnumpy==3.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    for name in ("python3", "python3.12"):
        (tmp_path / "bin" / name).write_text(STAND_IN)
        (tmp_path / "bin" / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(*arguments, version="3.12"):
        calls.write_text("")
        ended = subprocess.run(
            [tmp_path / ".ci" / "environment", *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={
                "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "CALLS": str(calls),
                "VERSION": version,
            },
        )
        return ended, calls.read_text().splitlines()

    run.root = tmp_path
    return run


def test_an_environment_is_made_once(environment):
    """Each run would install everything again, or keep versions that are no longer required."""
    ended, calls = environment("isaac-0", "tests/test_x.py")
    assert ended.returncode == 0
    assert "NOTE" not in ended.stderr
    assert any("pip install" in call for call in calls)
    assert calls[-1] == "-m pytest tests/test_x.py"
    folder = environment.root / ".ci" / "environments" / "isaac-0"
    wanted = [
        line for line in (folder / "constraints.txt").read_text().splitlines() if not line.startswith("#")
    ]
    assert wanted == ["Pillow==1.0", "numpy==3.0"]
    assert not any("pip install" in call for call in environment("isaac-0", "tests/test_x.py")[1])
    with (environment.root / ".ci" / "isaac-0.txt").open("a") as versions:
        versions.write("numpy==2.0\n")
    assert any("pip install" in call for call in environment("isaac-0")[1])


def test_another_python_is_said_in_every_run(environment):
    """Without a note, tests on another Python would be taken for tests on Isaac Sim's Python."""
    for _ in range(2):
        ended, calls = environment("isaac-0", version="3.11")
        assert ended.returncode == 0
        assert "NOTE: there is no Python 3.12" in ended.stderr
        assert "isaac-0 runs on Python 3.11.0" in ended.stderr
        assert "-m pytest" in calls[-1]


def test_an_unknown_environment_is_refused(environment):
    """A misspelt name would make an empty environment."""
    ended, calls = environment("isaac-1")
    assert (ended.returncode, calls) == (2, [])
    assert ended.stderr.startswith("usage: ")
