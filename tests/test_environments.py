"""Tests of the environments of `.ci/environment`: their versions against pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

CI = Path(__file__).parents[1] / ".ci"


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
