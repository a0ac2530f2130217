"""Tests of the commands `train` and `evaluate`, and of training."""

import csv
import re

import numpy as np
import pytest
from cli_rig import pegasus
from test_policies import linear_policy

from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.tasks import Hover

__all__ = ["pegasus"]
pytestmark = pytest.mark.learn


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train", "hvoer"), "task.model = 'hvoer': must be one of .*did you mean hover?"),
        (("train", "hover", "--set", "tlt=1"), "task.tlt: unknown field; did you mean tilt?"),
        (("train", "hover", "--set", "tilt=x"), "task.tilt = 'x': must be a number"),
        (("train", "hover", "--set", "tilt"), "--set = 'tilt': must be FIELD=VALUE"),
        (
            ("train", "hover", "--resume"),
            "--out = 'train/hover': holds no checkpoint.zip; leave out --resume",
        ),
        (("evaluate", "none.onnx"), "policy = 'none.onnx': there is no such file"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(pegasus, arguments, says):
    """A wrong argument would be told by a traceback, or after minutes of training."""
    code, out, err = pegasus(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(says, err)


def test_a_policy_is_compared_in_fleet_and_core(pegasus, tmp_path):
    """The command would fly another task than that of the file, or leave out a place."""
    linear_policy(tmp_path / "policy.onnx")
    settings = "tilt=0.2", "speed=0.2", "turn_rate=0.2", "duration=3.0"
    chosen = [part for setting in settings for part in ("--set", setting)]
    given = "--seeds", "8", "--mass", "0.1", "--picture", "p.png"
    code, out, err = pegasus("evaluate", "policy.onnx", *chosen, *given)
    assert (code, err) == (0, "")
    assert "the fleet" in out
    assert "the core with mass +-10 %" in out
    assert "gap, core to fleet" in out
    assert out.count("%") == 5
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.train
def test_training_is_resumed(pegasus, tmp_path):
    """A checkpoint that is not taken up would begin anew; a policy file that differs would fly otherwise."""
    from pegasus.learn import Training

    code, out, err = pegasus("train", "hover", "--rows", "32", "--steps", "1024")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["steps", "time", "reward", "success", "error"]
    folder = tmp_path / "train" / "hover"
    assert {"checkpoint.zip", "policy.onnx", "progress.csv", "curves.png"} <= {
        p.name for p in folder.iterdir()
    }
    code, _, err = pegasus("train", "hover", "--rows", "32")
    assert code == 2
    assert "holds a training; add --resume" in err
    code, _, _ = pegasus("train", "hover", "--rows", "32", "--steps", "1024", "--resume")
    assert code == 0
    with (folder / "progress.csv").open(newline="") as stream:
        assert [row["steps"] for row in csv.DictReader(stream)] == ["1024", "2048"]
    training = Training(Hover(), folder, rows=32, resume=True)
    seen = training.environment.reset()
    mean = np.clip(PolicyFile(folder / "policy.onnx")(seen), -1.0, 1.0)
    np.testing.assert_allclose(mean, training.act(seen), atol=1e-5)
