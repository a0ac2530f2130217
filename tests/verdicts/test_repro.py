"""Tests of bundles of failed flights, and of their repetition."""

import json
import re
import zipfile

import pytest
from cli_rig import pegasus
from test_verdicts_of_runs import HOP, scenario

from pegasus.experiments.bundle import BUNDLE, read_bundle

__all__ = ["pegasus"]

GUSTS = {"model": "gusts", "mean_velocity": [2.0, 0.0, 0.0]}


@pytest.fixture
def run(pegasus, tmp_path):
    """Folder of a run that failed at a height of 0.7 m, in gusts and with noisy sensors."""
    world = {"extends": "flat", "wind": GUSTS}
    vehicles = [HOP["vehicles"][0] | {"estimator": {"model": "ekf"}, "count": 2}]
    changes = {"world": world, "vehicles": vehicles, "seed": 7, "duration": 8.0}
    scenario(tmp_path, [{"always": "height < 0.7"}, "speed < 50"], **changes)
    assert pegasus("run", "hop.yaml")[0] == 1
    (folder,) = (tmp_path / "runs").iterdir()
    (tmp_path / "hop.yaml").unlink()
    return folder


def test_a_failure_is_repeated_bit_for_bit(pegasus, run):
    """Another seed, default or time would give another flight."""
    bundle = read_bundle(run)
    assert max(height for _, _, height in bundle.failure.state["iris"]["position"]) >= 0.7
    code, out, err = pegasus("repro", run)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("iris: always height < 0.7: failed at ")
    assert lines[-1] == f"repeated bit for bit: the failure at {bundle.failure.time:.3f} s"


def test_a_flight_that_differs_is_told(pegasus, run):
    """One bit of difference would pass as the same."""
    file = run / BUNDLE
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(files["bundle.json"])
    content["failure"]["state"]["iris"]["velocity"][1][2] *= 1 + 2**-52
    content["versions"]["numpy"] = "1.0"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("scenario.yaml", files["scenario.yaml"])
        archive.writestr("bundle.json", json.dumps(content))
    code, out, err = pegasus("repro", file)
    assert code == 1
    assert re.search(r"iris.velocity: differs by up to \d\.?\d*e-1[67]", err)
    assert "numpy was 1.0, is" in err
    assert out.splitlines()[-1].startswith("not repeated")


def test_a_run_that_passes_has_no_bundle(pegasus, tmp_path):
    scenario(tmp_path, ["height < 5"])
    assert pegasus("run", "hop.yaml")[0] == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert not (folder / BUNDLE).exists()
    code, _, err = pegasus("repro", folder)
    assert code == 2
    assert "cannot be read: No such file" in err


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 100])
def test_files_that_are_no_bundles(pegasus, tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    code, out, err = pegasus("repro", "x.zip")
    assert (code, out) == (2, "")
    assert "x.zip: is not a bundle of a failed run; give repro.zip" in err
