"""Tests of walking people, on the fakes."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

from pegasus.base.errors import ConfigError
from tests.isaac.contract import NEWEST, VERSIONS


@pytest.fixture
def assets(tmp_path):
    """Return a folder with two characters and their animation graph, laid out like the asset root."""
    make_assets(tmp_path)
    return tmp_path


def make_assets(root):
    """Make two characters and their animation graph in a folder, laid out like the asset root."""
    folder = root / "Isaac" / "People" / "Characters"
    for name in ("F_Business_02", "M_Worker_01"):
        (folder / name).mkdir(parents=True)
        stage = Usd.Stage.CreateNew(str(folder / name / f"{name}.usd"))
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
        stage.DefinePrim("/Root/ManRoot/body", "SkelRoot")
        stage.Save()
    stage = Usd.Stage.CreateNew(str(folder / "Biped_Setup.usd"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Biped").GetPrim())
    stage.DefinePrim("/Biped/CharacterAnimation/AnimationGraph", "AnimationGraph")
    stage.Save()
    (folder / "empty").mkdir()


@pytest.fixture
def street(window, assets):
    """Return a user of the extension with a flat world, and the session."""

    def open_street(version=NEWEST):
        user = window(version)
        user.kit.assets_root = str(assets)
        session = user.extension.session
        session.load_world("flat")
        return user, session

    return open_street


@pytest.mark.parametrize("version", VERSIONS)
def test_a_person_walks_along_a_path(street, version):
    """A person would stand still, walk elsewhere, or get its path before Kit has created it."""
    user, session = street(version)
    from pegasus.isaac.people import Person, characters

    assert characters() == ["F_Business_02", "M_Worker_01", "empty"]
    person = Person(session.simulation, "F_Business_02", position=(1.0, 0.0, 0.0), heading=0.5)
    assert person.path == "/World/Characters/person"
    stage = user.kit.context.get_stage()
    assert (
        UsdGeom.Imageable(stage.GetPrimAtPath("/World/Characters/Biped_Setup")).ComputeVisibility()
        == "invisible"
    )
    person.walk([(3.0, 0.0, 0.0), (3.0, 1.0, 0.0)], speed=[1.0, 2.0])
    session.play()
    user.update(60)
    np.testing.assert_allclose(person.position, (2.0, 0.0, 0.0), atol=0.05)
    np.testing.assert_allclose(person.velocity, (1.0, 0.0, 0.0), atol=0.05)
    assert person.heading == pytest.approx(0.0, abs=1e-6)
    user.update(60 + 15)
    assert person.position[1] > 0.2
    np.testing.assert_allclose(person.velocity, (0.0, 2.0, 0.0), atol=0.2)
    user.update(60)
    np.testing.assert_allclose(person.position[:2], (3.0, 1.0), atol=0.11)
    assert not person.walks
    user.update(30)
    np.testing.assert_allclose(person.velocity, 0.0, atol=1e-9)
    # The next run begins at the first position, with the same path.
    session.stop()
    user.update(2)
    np.testing.assert_array_equal(person.position, (1.0, 0.0, 0.0))
    session.play()
    user.update(60)
    np.testing.assert_allclose(person.position, (2.0, 0.0, 0.0), atol=0.05)


def test_a_path_is_walked_over_and_over_until_told_otherwise(street):
    """A patrol would end after its first round, or not stop on request."""
    user, session = street()
    from pegasus.isaac.people import Person

    person = Person(session.simulation, "M_Worker_01")
    person.walk([(1.0, 0.0, 0.0), (0.0, 0.0, 0.0)], speed=2.0, loop=True)
    session.play()
    seen = []
    for _ in range(240):
        user.update()
        seen.append(person.position[0])
    assert sum(a < 0.5 <= b for a, b in pairwise(seen)) >= 3
    person.stand()
    user.update(10)
    place = person.position
    user.update(30)
    np.testing.assert_array_equal(person.position, place)
    # If all waypoints of a loop are within reach, the person stands, and the loop ends.
    person.walk([place, place + 0.01], loop=True)
    user.update(5)
    np.testing.assert_allclose(person.position, place, atol=0.05)


def test_several_people_have_prims_of_their_own(street):
    """Two people with one name would share a prim, or closing one remove the other."""
    user, session = street()
    from pegasus.isaac.people import Person

    first, second = (Person(session.simulation, "F_Business_02", name="guard") for _ in range(2))
    assert first.path != second.path
    stage = user.kit.context.get_stage()
    first.close()
    first.close()
    assert not stage.GetPrimAtPath(first.path)
    assert stage.GetPrimAtPath(second.path)
    second.walk((1.0, 1.0, 0.0))
    session.play()
    user.update(30)
    assert second.position[0] > 0.2
    np.testing.assert_array_equal(first.position, 0.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"character": "F_Bizness"}, "no such character; pegasus.isaac.people.characters() lists them"),
        ({"character": "empty"}, "no such character"),
        ({"character": ""}, "no such character"),
        ({"position": (0.0, 0.0)}, "position"),
        ({"heading": float("nan")}, "heading"),
    ],
)
def test_a_wrong_person_is_one_line(street, arguments, said):
    """An invalid person would cause a traceback, or remain on the stage in part."""
    user, session = street()
    from pegasus.isaac.people import Person

    with pytest.raises(ConfigError, match=said.replace("(", r"\(").replace(")", r"\)")) as caught:
        Person(session.simulation, **{"character": "F_Business_02"} | arguments)
    assert "\n" not in str(caught.value)
    assert not user.kit.context.get_stage().GetPrimAtPath("/World/Characters/person")


def test_a_character_without_a_skeleton_is_one_line(street, assets):
    """A character that cannot walk would be added."""
    user, session = street()
    from pegasus.isaac.people import Person

    thing = assets / "thing.usda"
    stage = Usd.Stage.CreateNew(str(thing))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
    stage.Save()
    with pytest.raises(ConfigError, match="has no skeleton"):
        Person(session.simulation, str(thing))
    assert not user.kit.context.get_stage().GetPrimAtPath(Sdf.Path("/World/Characters/person"))


def test_without_the_extension_or_the_assets_it_is_one_line(street, monkeypatch):
    """A missing extension would cause an ImportError or no message."""
    user, session = street()
    from pegasus import Simulation
    from pegasus.isaac.people import Person, characters

    with Simulation("flat", engine="mujoco") as other, pytest.raises(ConfigError, match="need Isaac Sim"):
        Person(other, "F_Business_02")
    user.kit.assets_root = "omniverse://nowhere"
    with pytest.raises(ConfigError, match="cannot be listed; connect to the network"):
        characters()
    monkeypatch.setitem(sys.modules, "omni.anim.graph.core", None)
    with pytest.raises(
        ConfigError, match=r"need the extension omni.anim.graph.core, which is not enabled"
    ) as caught:
        Person(session.simulation, "F_Business_02")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "speed"),
    [([], 1.0), ([(0.0, 1.0)], 1.0), ([(0, 0, 0)], 0.0), ([(0, 0, 0)], 9.0), ([(0, 0, 0)], [1, 1])],
)
def test_a_wrong_path_is_one_line(street, path, speed):
    """An invalid path would be walked, or fail within a step."""
    _, session = street()
    from pegasus.isaac.people import Person

    person = Person(session.simulation, "F_Business_02")
    with pytest.raises(ConfigError) as caught:
        person.walk(path, speed=speed)
    assert "\n" not in str(caught.value)
    assert not person.walks
