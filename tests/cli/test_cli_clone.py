"""Tests of installing extras by the launcher script of a clone."""

import re
import tomllib

import pytest

from tests.test_packaging import ROOT, clone

__all__ = ["clone"]


def installed(calls):
    """Return the extras passed to pip in addition to the standalone simulator, in order."""
    return [
        found[1] or ""
        for line in calls
        if (found := re.search(r"--editable .*?clone\[standalone,plot(?:,(\w+))?\]$", line))
    ]


def test_a_part_is_installed_by_its_name(clone):
    """Extras such as the panel or cameras could not be installed in a clone."""
    ended, calls = clone("install", "render", "view")
    assert ended.returncode == 0, ended.stderr
    assert installed(calls) == ["render", "view"]
    assert not any("-m pegasus" in line for line in calls)
    # The extras are installed now, and so is the core.
    assert installed(clone("view")[1]) == []
    assert installed(clone("run")[1]) == []
    assert installed(clone("install", "view", "photo")[1]) == ["photo"]


@pytest.mark.parametrize("names", [[], ["veiw"], ["render", "scripts"], ["dynamic"], ["isaac"], [""]])
def test_a_part_that_there_is_not(clone, names):
    """A misspelt extra would be ignored by pip without a message."""
    ended, calls = clone("install", *names)
    assert ended.returncode == 2
    assert installed(calls) == []
    (line,) = ended.stderr.splitlines()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    offered = [extra for extra in extras if extra not in ("standalone", "isaac", "plot")]
    assert line.endswith(f"name one or more of: {' '.join(offered)} ")


@pytest.mark.parametrize(
    ("arguments", "extras"),
    [
        (["view"], ["view"]),
        (["run", "view"], [""]),
        (["run", "first_flight", "--view"], ["view"]),
        (["run", "--view", "--ros2"], ["view", "ros2"]),
        (["dataset", "eyes", "--out", "d", "--photo"], ["render", "photo"]),
        (["list", "worlds"], [""]),
    ],
)
def test_a_command_brings_what_it_cannot_do_without(clone, arguments, extras):
    """The first start of the panel in a clone would end with an error."""
    ended, calls = clone(*arguments)
    assert ended.returncode == 0, ended.stderr
    assert installed(calls) == extras
    assert calls[-1] == f"elsewhere: -P -m pegasus {' '.join(arguments)}"
    assert installed(clone(*arguments)[1]) == []


def test_a_sourced_ros_2_is_used(clone):
    """A second ROS 2 would be installed although one is sourced."""
    assert installed(clone("run", "--ros2", ROS_DISTRO="jazzy")[1]) == ["rosbags"]
