"""Tests of the GitHub Action: its steps run as a runner runs them, but for actions of others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_verdicts_of_runs import HOP

ROOT = Path(__file__).parents[2]


def steps(inputs):
    """Return command and environment of the steps in Bash, with the inputs put in as a runner does."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    known = {name: each["default"] for name, each in action["inputs"].items()}
    assert inputs.keys() <= known.keys()
    values = known | inputs

    def filled(text):
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)

    assert action["runs"]["using"] == "composite"
    ran = [step for step in action["runs"]["steps"] if "run" in step]
    assert all(step["shell"] == "bash" for step in ran)
    return [(step["run"], {name: filled(value) for name, value in step["env"].items()}) for step in ran]


def run(folder, inputs):
    """Run the steps in a folder with a pip that only notes what it installs; return code and output."""
    # A module named pip in the folder of a runner's Python.
    shadow = folder / "shadow"
    shadow.mkdir(exist_ok=True)
    (shadow / "pip.py").write_text("import sys\nprint('pip', *sys.argv[1:])\n")
    (shadow / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (shadow / "python").chmod(0o755)
    paths = os.pathsep.join([str(shadow), str(ROOT)])
    environment = os.environ | {"PATH": f"{shadow}:{os.environ['PATH']}", "PYTHONPATH": paths}
    output = ""
    for command, own in steps(inputs):
        # As a runner starts Bash.
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
        done = subprocess.run(
            shell, cwd=folder, env=environment | own, capture_output=True, text=True, timeout=600
        )
        output += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, output
    return 0, output


@pytest.mark.parametrize(("bound", "code"), [(2.0, 0), (0.5, 1)])
def test_the_steps_of_the_action(tmp_path, bound, code):
    """The action would pass although an expectation fails, or split paths and options wrongly."""
    folder = tmp_path / "my scenarios"
    folder.mkdir()
    (folder / "hop.yaml").write_text(yaml.safe_dump({**HOP, "expect": [f"height < {bound}"]}))
    (tmp_path / "short").symlink_to(folder)
    inputs = {"scenarios": "short", "package": "x[a]==1", "out": "results here", "arguments": "--jobs 1"}
    found, output = run(tmp_path, inputs)
    assert found == code, output
    assert "pip install x[a]==1" in output
    assert (tmp_path / "results here" / "junit.xml").exists()
