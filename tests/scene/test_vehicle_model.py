"""A user's own model: rotors by prim in the body frame, and mass properties as they are authored."""

from pathlib import Path

import numpy as np
import pytest
from own_models import PLACES, write_model
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor
from pegasus.errors import ConfigError
from pegasus.scenario import VehicleSpec, parse
from pegasus.scene.vehicle_asset import place_rotors, rotor_of
from pegasus.scene.vehicle_model import VehicleModel

FIELDS = {
    "name": "mine",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "usd": "model.usda",
    "propeller": {"diameter": 0.25},
    "motor": {"model": "ideal", "max_speed": 800.0},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
}
BY_PRIM = [
    {"prim": f"frame/rotor_{k}", "direction": sense} for k, sense in enumerate(("ccw", "ccw", "cw", "cw"))
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": 0.01, "y_up": True},
        {"pivots": False, "count": 3},
        {"unit": 0.01, "y_up": True, "pivots": False, "count": 3},
    ],
    ids=["metres", "centimetres, y up", "no pivots, three blades", "both"],
)
def test_rotors_stand_where_their_prims_are(tmp_path: Path, options: dict[str, object]) -> None:
    """Thrust would act at another place, or along another axis, than the model's propellers have."""
    write_model(tmp_path / "model.usda", **options)
    spec = parse(FIELDS | {"rotors": BY_PRIM}, VehicleSpec)
    placed = place_rotors(spec, tmp_path / "v.yaml").rotor_list()
    np.testing.assert_allclose([rotor.position for rotor in placed], PLACES, atol=1e-6)
    np.testing.assert_allclose([rotor.axis for rotor in placed], [(0, 0, 1)] * 4, atol=1e-6)
    assert [rotor.direction for rotor in placed] == ["ccw", "ccw", "cw", "cw"]
    model = VehicleModel(tmp_path / "model.usda")
    assert model.radius(model.rotor("rotor_1")) == pytest.approx(0.12, rel=1e-3)


def test_a_prim_that_is_tilted_tilts_the_rotor(tmp_path: Path) -> None:
    """A tilted rotor of the model would push straight up; an axis that is given would not count."""
    stage = write_model(tmp_path / "model.usda")
    UsdGeom.Xformable(stage.GetPrimAtPath("/Drone/frame/rotor_0")).AddRotateXOp().Set(30.0)
    stage.Save()
    given = [BY_PRIM[0], BY_PRIM[1] | {"axis": [0, 1, 1]}, *BY_PRIM[2:]]
    placed = place_rotors(parse(FIELDS | {"rotors": given}, VehicleSpec), tmp_path / "v.yaml").rotor_list()
    np.testing.assert_allclose(placed[0].axis, (0, -0.5, np.sqrt(0.75)), atol=1e-6)
    assert placed[1].axis == (0, 1, 1)


def test_the_named_prims_turn(tmp_path: Path) -> None:
    """A renderer would turn rotor 0 with the prim that is named rotor_0, whichever rotor it is."""
    write_model(tmp_path / "model.usda")
    spec = parse(FIELDS | {"rotors": BY_PRIM[::-1]}, VehicleSpec)
    rotors = place_rotors(spec, tmp_path / "v.yaml").rotor_list()
    assert rotor_of("/Drone/frame/rotor_0/blades", rotors) == 3
    assert rotor_of("/Drone/frame/rotor_3", rotors) == 0
    assert rotor_of("/Drone/frame/rotor_30", rotors) is None
    assert rotor_of("/Drone/frame/hull", rotors) is None


def test_the_vehicle_flies_from_its_prims(tmp_path: Path) -> None:
    """The file alone would not make a vehicle."""
    write_model(tmp_path / "model.usda", pivots=False, count=3)
    vehicle = Multirotor(FIELDS | {"rotors": BY_PRIM, "usd": str(tmp_path / "model.usda")})
    np.testing.assert_allclose(vehicle.layout.position, PLACES, atol=1e-6)


@pytest.mark.parametrize(
    ("prim", "message"),
    [
        ("rotr_0", "rotors.0.prim = 'rotr_0': no such prim below /Drone in"),
        ("hull/rotor_0", "named like rotors are frame/rotor_0, frame/rotor_1, frame/rotor_2, frame/rotor_3"),
        ("blades", "several prims of"),
        ("rotor_1", "rotors.1.prim = 'frame/rotor_1': this prim is that of another rotor already"),
    ],
)
def test_prims_that_are_not_there(tmp_path: Path, prim: str, message: str) -> None:
    """A misspelt prim would be a rotor at the origin."""
    write_model(tmp_path / "model.usda")
    rotors = [{"prim": prim, "direction": "ccw"}, *BY_PRIM[1:]]
    with pytest.raises(ConfigError) as caught:
        place_rotors(parse(FIELDS | {"rotors": rotors}, VehicleSpec), tmp_path / "v.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rotor_like_names(tmp_path: Path) -> None:
    """Rotors would be missed, or their blades be taken for rotors of their own."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "m.usda"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/D").GetPrim())
    wanted = ["prop2", "left_Rotor_0", "Propeller_1", "rotor10"]
    for name in [*wanted, "rotors", "motor_1", "property3", "rotor10/rotor_3_mesh"]:
        UsdGeom.Cube.Define(stage, f"/D/{name}")
    stage.Save()
    assert VehicleModel(tmp_path / "m.usda").rotor_names == [
        "left_Rotor_0",
        "Propeller_1",
        "prop2",
        "rotor10",
    ]


def test_mass_properties_of_several_prims(tmp_path: Path) -> None:
    """Masses of a model's parts would be left out, or their places ignored."""
    stage = write_model(tmp_path / "model.usda", unit=0.01)
    assert VehicleModel(tmp_path / "model.usda").mass_properties() is None
    hull = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Drone/frame/hull"))
    hull.CreateMassAttr(1.0)
    hull.CreateCenterOfMassAttr(Gf.Vec3f(1.0, 0.0, 0.0))
    hull.CreateDiagonalInertiaAttr(Gf.Vec3f(20.0, 30.0, 40.0))
    quarter = Gf.Quatf(float(np.sqrt(0.5)), 0.0, 0.0, float(np.sqrt(0.5)))
    hull.CreatePrincipalAxesAttr(quarter)
    rotor = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Drone/frame/rotor_0"))
    rotor.CreateMassAttr(0.25)
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    assert properties.mass == pytest.approx(1.25)
    first, second = np.array([0.01, 0, 0]), np.array(PLACES[0])
    np.testing.assert_allclose(properties.center_of_mass, (first + 0.25 * second) / 1.25, atol=1e-8)
    assert properties.inertia is None
    rotor.CreateDiagonalInertiaAttr(Gf.Vec3f(1e-6, 1e-6, 1e-6))
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    d = second - first
    apart = 1.0 * 0.25 / 1.25 * ((d @ d) * np.eye(3) - np.outer(d, d))
    np.testing.assert_allclose(properties.inertia, np.diag([3e-3, 2e-3, 4e-3]) + apart, atol=1e-8)


def test_the_bodys_own_mass_stands_for_all(tmp_path: Path) -> None:
    """The mass of parts would be counted on top of that of the whole."""
    stage = write_model(tmp_path / "model.usda")
    for path, mass in (("/Drone", 2.0), ("/Drone/frame/hull", 1.0)):
        UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath(path)).CreateMassAttr(mass)
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    assert (properties.mass, properties.inertia) == (2.0, None)
    np.testing.assert_allclose(properties.center_of_mass, 0.0, atol=1e-12)
