"""Tests of the commands `pegasus make ...`."""

import io
from pathlib import Path

import numpy as np
import pytest
import yaml
from own_models import PLACES, write_model
from pxr import UsdPhysics

from pegasus import Multirotor
from tests.cli_rig import pegasus
from tests.design import gazebo_models

__all__ = ["pegasus"]

QUAD = {
    "mass": "1.5",
    "size": "0.51",
    "propeller": "10x4.7SF",
    "kv": "920",
    "cells": "3",
    "capacity": "5.1",
}


class Terminal(io.StringIO):
    """A terminal whose user answers line by line."""

    def isatty(self):
        return True


def without(option):
    return {key: value for key, value in QUAD.items() if key != option}


def test_a_vehicle_is_made(pegasus, tmp_path):
    """The vehicle file would not be at the reported path, or not load."""
    code, out, err = pegasus("make", "vehicle", "mine", **QUAD)
    assert (code, err) == (0, "")
    assert out.startswith("mine.yaml: ")
    text = (tmp_path / "mine.yaml").read_text()
    assert yaml.safe_load(text)["mass"] == 1.5
    for formula in (
        "K = 60 / (2 pi kV)",
        "0.1865 (p/D)^0.607",
        "J / (K^2 / R + 2 q w_h)",
        "UIUC",
        "m L^2",
    ):
        assert formula in text
    assert Multirotor("mine.yaml").name == "mine"
    assert pegasus("show", "vehicle", "mine.yaml")[0] == 0


def test_a_gazebo_model_is_imported(pegasus, tmp_path):
    """The vehicle of a model would have another name, not load, or hide what is not carried over."""
    model = gazebo_models.quad(tmp_path / "models")
    code, out, err = pegasus("make", "vehicle", **{"from": str(model)})
    assert (code, err) == (0, "")
    assert "plugin gz::sim::systems::MotorFailureSystem: no counterpart\n" in out
    assert out.endswith("my_quad.yaml: fly it by this path, or see `pegasus show vehicle my_quad.yaml`\n")
    assert Multirotor("my_quad.yaml").spec.mass == 1.54
    assert "MotorFailureSystem" in (tmp_path / "my_quad.yaml").read_text()
    code, _, err = pegasus("make", "vehicle", **{"from": str(model)})
    assert (code, err) == (
        2, "pegasus: my_quad.yaml: NAME = 'my_quad': already exists; choose another name, or add --force\n"
    )  # fmt: skip
    assert pegasus("make", "vehicle", "other", out="deep", **{"from": str(model / "model.sdf")})[0] == 0
    assert yaml.safe_load((tmp_path / "deep/other.yaml").read_text())["name"] == "other"
    code, _, err = pegasus("make", "vehicle", "mine", models="models", **QUAD)
    assert (code, err) == (2, "pegasus: --models = 'models': is of an import; give --from as well\n")
    code, _, err = pegasus("make", "vehicle", **QUAD)
    assert (code, err) == (
        2,
        "pegasus: NAME: is required; give it (Name of the vehicle), or use a terminal\n",
    )


def test_out_and_force(pegasus, tmp_path):
    """A file that was edited by hand would be overwritten."""
    assert pegasus("make", "vehicle", "mine", out="deep/er", **QUAD)[0] == 0
    path = tmp_path / "deep" / "er" / "mine.yaml"
    path.write_text("mended")
    code, _, err = pegasus("make", "vehicle", "mine", out="deep/er", **QUAD)
    assert (code, path.read_text()) == (2, "mended")
    assert err == (
        "pegasus: deep/er/mine.yaml: NAME = 'mine': already exists; choose another name, or add --force\n"
    )
    assert pegasus("make", "vehicle", "mine", "--force", out="deep/er", **QUAD)[0] == 0
    assert path.read_text().startswith("# Made by")


@pytest.mark.parametrize("option", list(QUAD))
def test_what_is_missing_is_said_where_nobody_can_be_asked(pegasus, tmp_path, option):
    """A script would block on a prompt, or a missing figure be invented."""
    code, _, err = pegasus("make", "vehicle", "mine", **without(option))
    assert code == 2
    assert err.startswith(f"pegasus: --{option}: is required; give it (")
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_what_is_missing_is_asked_on_a_terminal(pegasus, tmp_path, monkeypatch):
    """Missing options would not be asked for on a terminal."""
    monkeypatch.setattr("sys.stdin", Terminal("1.5\n0.51\n10x4.7SF\nmany\n920\n3\n5.1\n"))
    assert pegasus("make", "vehicle", "mine")[0] == 0
    asked = (tmp_path / "mine.yaml").read_text()
    assert pegasus("make", "vehicle", "mine", "--force", **QUAD)[0] == 0
    assert (tmp_path / "mine.yaml").read_text() == asked


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": "15"}, "pegasus: --mass = 15.0: cannot hover: thrust 41.9 N against weight 147.1 N, "),
        ({"size": "0.3"}, "pegasus: --size = 0.3: neighbouring propellers overlap by "),
        ({"usd": "no.usda"}, "pegasus: no.usda: no such USD file"),
    ],
)
def test_what_cannot_fly_leaves_nothing(pegasus, tmp_path, change, message):
    """An invalid vehicle would leave a file that does not load."""
    code, out, err = pegasus("make", "vehicle", "mine", **(QUAD | change))
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", " x"])
def test_names_that_are_no_file(pegasus, name):
    """A name with a path or a leading dot would write the file elsewhere, or hide it."""
    code, _, err = pegasus("make", "vehicle", name, **QUAD)
    assert code == 2
    assert "must be a plain name" in err


def test_little_thrust_is_warned_of(pegasus, caplog):
    """A vehicle with hardly enough thrust to climb would cause no warning."""
    assert pegasus("make", "vehicle", "heavy", **(QUAD | {"mass": "2.9"}))[0] == 0
    assert "thrust to weight is 1.47" in caplog.text
    caplog.clear()
    assert pegasus("make", "vehicle", "light", **QUAD)[0] == 0
    assert caplog.text == ""


def test_a_model_of_ones_own(pegasus, tmp_path):
    """A model's rotors or mass would be ignored, or its file not found from another folder."""
    (tmp_path / "models").mkdir()
    stage = write_model(tmp_path / "models" / "mine.usda", unit=0.01, y_up=True)
    mass = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Drone"))
    mass.CreateMassAttr(1.25)
    mass.CreateDiagonalInertiaAttr((100.0, 180.0, 110.0))
    stage.Save()
    options = without("mass") | {"usd": "models/mine.usda", "out": "vehicles", "propeller": "9.5x5"}
    options.pop("size")
    code, out, err = pegasus("make", "vehicle", "mine", **options)
    assert (code, err) == (0, "")
    assert "frame/rotor_0: (0.200, -0.200, 0.050) m, ccw\n" in out
    assert "frame/rotor_2: (0.200, 0.200, 0.050) m, cw\n" in out
    assert "mass and inertia of the model: 1.25 kg" in out
    vehicle = Multirotor(Path("vehicles") / "mine.yaml")
    assert vehicle.mass == 1.25
    # The stage's y is up: its x, y, z are the body's x, z, -y.
    assert vehicle.inertia.diagonal() == pytest.approx([0.01, 0.011, 0.018], rel=1e-4)
    assert vehicle.layout.position == pytest.approx(np.array(PLACES), abs=1e-6)


def test_a_model_without_rotors_or_mass(pegasus, tmp_path):
    """The error would not name a remedy."""
    write_model(tmp_path / "model.usda")
    options = without("mass") | {"usd": "model.usda", "propeller": "9.5x5"}
    code, _, err = pegasus("make", "vehicle", "mine", **options)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("pegasus: --mass: is required: model.usda authors no mass")
    (tmp_path / "bare.usda").write_text(
        '#usda 1.0\n( metersPerUnit = 1\n  upAxis = "Z"\n  defaultPrim = "D" )\n'
        'def Xform "D"\n{\n    def Cube "motor_1"\n    {\n    }\n}\n'
    )
    code, _, err = pegasus("make", "vehicle", "mine", **(options | {"usd": "bare.usda"}))
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("pegasus: --usd = 'bare.usda': no prim below the default prim")
