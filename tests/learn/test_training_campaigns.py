"""Tests of campaigns of trainings: every one has its folder and its row, and none is repeated."""

import json
import re

import pytest
from cli_rig import pegasus

from pegasus.base.errors import ConfigError

__all__ = ["pegasus"]
pytestmark = pytest.mark.learn

SIZE = ("--rows", "8", "--steps", "256")


def journal(folder):
    """Return the rows of a campaign's journal by seed and tilt, the title left out."""
    (file,) = folder.glob("trainings.*.jsonl")
    rows = [json.loads(line)["row"] for line in file.read_text().splitlines()[1:]]
    return {(row["seed"], row["tilt"]): row for row in rows}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sweep", "tlt=[1,2]"), "task.tlt: unknown field; did you mean tilt?"),
        (("--sweep", "tilt"), "--sweep = 'tilt': must be FIELD=VALUE"),
        (("--sweep", "tilt=[]"), r"tilt = \[\]: must hold at least one value"),
        (("--seeds", "0"), "seeds = 0: must be at least 1"),
        (("--seeds", "2", "--seed", "3"), "--seed = 3: goes with one training; give --seeds"),
        (("--seeds", "2", "--jobs", "0"), "jobs = 0: must be at least 1"),
    ],
)
def test_wrong_arguments_of_a_campaign(pegasus, arguments, says):
    """A wrong argument would be found by each process, or be in every row."""
    code, out, err = pegasus("train", "hover", *arguments)
    assert (code, out) == (2, "")
    assert re.search(says, err.splitlines()[-1])


@pytest.mark.train
def test_a_campaign_goes_on(pegasus, tmp_path):
    """Trainings that ended would be repeated, one that was cut begun anew, or rows lost."""
    settings = ("--sweep", "tilt=[0.1,0.2]", "--set", "duration=0.5")
    code, out, err = pegasus("train", "hover", *SIZE, *settings, "--seeds", "2", "--jobs", "1")
    assert code == 0, err
    folder = tmp_path / "train" / "hover"
    assert out.splitlines()[-1] == "train/hover/report.md"
    rows = journal(folder)
    assert rows.keys() == {(0, 0.1), (1, 0.1), (0, 0.2), (1, 0.2)}
    assert all(row["actions"] == 256 and row["failure"] is None for row in rows.values())
    assert len({row["policy"] for row in rows.values()}) == 4
    # Cut: the last training has no row, but a checkpoint at its end.
    (file,) = folder.glob("trainings.*.jsonl")
    file.write_text("".join(f"{line}\n" for line in file.read_text().splitlines()[:-1]))
    checkpoint = folder / "seed-0_tilt-0.1" / "checkpoint.zip"
    before = checkpoint.stat().st_mtime_ns
    code, _, err = pegasus("train", "hover", *SIZE, *settings, "--seeds", "3", "--jobs", "1", "--resume")
    assert code == 0, err
    assert len(journal(folder)) == 6
    assert journal(folder)[1, 0.2]["actions"] == 256
    assert checkpoint.stat().st_mtime_ns == before
    report = (folder / "report.md").read_text()
    assert "6 of 6 ended, 0 failed." in report
    assert "| 5 | 2 | 0.2 | 256 |" in report
    assert (folder / "curves.png").stat().st_size > 1000
    code, _, err = pegasus("train", "hover", *SIZE, *settings, "--seeds", "3")
    assert code == 2
    assert "exists already; resume it" in err


@pytest.mark.train
def test_processes_and_ray_train_alike(tmp_path):
    """A training would depend on where it runs."""
    pytest.importorskip("ray")
    from pegasus.learn import train_campaign

    options = {"seeds": 2, "rows": 8, "steps": 256, "fields": {"duration": 0.5}}
    here = train_campaign("hover", tmp_path / "here", jobs=2, **options)
    there = train_campaign("hover", tmp_path / "there", ray="local", **options)
    for row, other in zip(here, there, strict=True):
        assert (row["success"], row["measure"], row["failure"]) == (other["success"], other["measure"], None)


@pytest.mark.train
def test_a_training_that_fails_has_its_reason(tmp_path):
    """One bad setting would end the whole campaign, or pass as a training."""
    from pegasus.learn import train_campaign

    rows = train_campaign(
        "hover", tmp_path, settings={"tilt": [0.1, "x"]}, fields={"duration": 0.5}, rows=8, steps=256, jobs=1
    )
    assert rows[0]["failure"] is None
    assert rows[1]["failure"]
    with pytest.raises(ConfigError, match="tilt"):
        train_campaign("hover", tmp_path / "none", settings={"tilt": ["x"]}, rows=8, steps=256, jobs=1)
