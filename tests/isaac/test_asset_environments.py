"""Tests of Isaac Sim's own environments: listed and opened in the background, and flown in by scripts."""

import time

import pytest
from pxr import Sdf, Usd, UsdGeom, UsdShade

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from tests.flyers import PLAIN_IRIS
from tests.isaac.contract import NEWEST, VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.window_user import opened, rows, section
from tests.waits import LIMIT

FILES = (
    "Hospital/hospital.usd",
    "Hospital/Props/bed.usd",
    "Simple_Warehouse/warehouse.usd",
    "Outdoor/Rivermark/rivermark.usd",
    "Outdoor/Rivermark/materials/stone.usd",
    "loose.usd",
)


@pytest.fixture
def assets(tmp_path):
    """Return a folder with the layout of the asset root."""
    folder = tmp_path / "Isaac" / "Environments"
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        stage = Usd.Stage.CreateNew(str(path))
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
        UsdGeom.Cube.Define(stage, "/Root/floor")
        stage.Save()
    thumbs = folder / "Hospital" / ".thumbs" / "256x256"
    thumbs.mkdir(parents=True)
    (thumbs / "hospital.usd.png").touch()
    (thumbs / "no_world.usd").touch()
    return tmp_path


def offered(user):
    """Return the list of environments."""
    return rows(section(user.kit.windows[0], "World"))["Isaac Sim world"][0].model


def press(user, name):
    """Press a button of the section."""
    fold = section(user.kit.windows[0], "World")
    next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == name)._press()


def waited(user, condition):
    """Let frames pass until a background task has finished."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, user.messages
        user.update()
        time.sleep(0.001)
    user.update(2)


def images(user):
    """Return the images that the section shows."""
    return [w for w in section(user.kit.windows[0], "World")._all() if isinstance(w, interface.Image)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_asset_root_has_is_listed(window, assets, version):
    """The list would differ from the environments of the asset root."""
    user = window(version)
    user.kit.assets_root = str(assets)
    opened(user)
    assert "Office" in offered(user)._names
    press(user, "List all environments")
    waited(user, lambda: "have 3 environments" in user.messages)
    assert offered(user)._names == ["(none)", "Hospital", "Outdoor/Rivermark/rivermark", "Warehouse"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_environment_is_opened_in_the_background(window, assets, version):
    """Kit would freeze until the server has sent the file."""
    user = window(version)
    user.kit.assets_root = str(assets)
    user.kit.answers_after = 0.2
    opened(user)
    began = user.kit.frames
    offered(user)._choose("Hospital")
    # The call has returned before the server answers.
    assert user.panel.world.chosen == "courtyard"
    waited(user, lambda: "Hospital is ready to be loaded" in user.messages)
    assert user.kit.frames - began > 5
    assert user.panel.world.chosen.endswith("Hospital_hospital.usda")
    (image,) = images(user)
    folder = assets / "Isaac" / "Environments" / "Hospital"
    assert image.source_url == f"{folder}/.thumbs/256x256/hospital.usd.png"
    assert offered(user)._names[offered(user).get_item_value_model().as_int] == "Hospital"
    assert user.panel.world.load(), user.messages
    user.update(2)
    assert user.kit.context.get_stage().GetRootLayer().subLayerPaths
    # Another world replaces it, with its own image.
    rows(section(user.kit.windows[0], "World"))["World"][0].model._choose("flat")
    user.update(2)
    (image,) = images(user)
    assert image.source_url.endswith("worlds/flat.jpg")


def test_without_a_thumbnail_there_is_no_picture(window, assets):
    """A missing thumbnail would leave an empty frame."""
    user = window()
    user.kit.assets_root = str(assets)
    opened(user)
    offered(user)._choose("Warehouse")
    waited(user, lambda: "Warehouse is ready to be loaded" in user.messages)
    assert images(user) == []


def test_a_server_that_does_not_answer_is_waited_for_no_longer(window, assets, monkeypatch):
    """Without a network the window would wait forever without a message."""
    user = window()
    import pegasus.isaac.environments as environments

    monkeypatch.setattr(environments, "_ANSWER", 0.05)
    user.kit.assets_root, user.kit.answers_after = str(assets), 1e6
    opened(user)
    press(user, "List all environments")
    waited(user, lambda: "cannot be listed: the asset server did not answer in time" in user.messages)
    offered(user)._choose("Hospital")
    waited(user, lambda: "Hospital cannot be opened: the asset server did not answer" in user.messages)
    assert "\n" not in user.messages


def test_what_the_server_has_not_is_one_line(window, assets):
    """An error of OpenUSD would only be in Kit's log."""
    user = window()
    user.kit.assets_root = str(assets)
    opened(user)
    offered(user)._choose("Office")
    waited(user, lambda: "office.usd cannot be opened" in user.messages)
    assert user.panel.world.chosen == "courtyard"
    (assets / "Isaac" / "Environments" / "Hospital" / "hospital.usd").write_text("no USD")
    offered(user)._choose("Hospital")
    waited(user, lambda: "hospital.usd cannot be opened" in user.messages)
    assert "\n" not in user.messages
    user.kit.assets_root = str(assets / "nowhere")
    press(user, "List all environments")
    waited(user, lambda: "cannot be listed" in user.messages)


def test_a_closed_window_waits_for_nothing(window, assets):
    """A task of a closed window would keep running."""
    user = window()
    user.kit.assets_root, user.kit.answers_after = str(assets), 5.0
    shown = opened(user)
    press(user, "List all environments")
    user.update()
    task = shown._environments
    assert task.busy
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(3)
    assert not task.busy
    assert "cannot" not in user.messages


@pytest.fixture
def script(isaac, assets):
    """Return a function that starts the fakes with the asset root."""

    def start(version=NEWEST):
        kit = isaac(version)
        kit.assets_root = str(assets)
        return kit

    return start


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("world", ["Warehouse", "isaac://Isaac/Environments/Simple_Warehouse/warehouse.usd"])
def test_a_script_flies_in_an_environment(script, version, world):
    """A script would end in `no such world`, or `no such file: '/cwd/isaac:/...'`."""
    kit = script(version)
    with Simulation(world) as simulation:
        assert simulation.world_name.lower() == "warehouse"
        assert kit.context.get_stage().GetPrimAtPath("/Root/floor")
        vehicle = simulation.add(Multirotor(PLAIN_IRIS, position=(0.0, 0.0, 5.0)))
        simulation.step(25)
        assert vehicle.state.position[0, 2] < 5.0


@pytest.mark.parametrize(
    "world",
    [
        "Hospital",
        "{extends: Hospital, wind: {mean_velocity: [1, 0, 0]}}",
        "{name: mine, usd: 'isaac://Isaac/Environments/Hospital/hospital.usd'}",
    ],
)
def test_a_scenario_in_an_environment(script, tmp_path, world):
    """A scenario could only name world files."""
    kit = script()
    from pegasus.backends.scenario import scenario_simulation
    from pegasus.config import load_scenario

    (tmp_path / "s.yaml").write_text(f"name: s\nworld: {world}\nduration: 1.0\nvehicles: [{{model: iris}}]\n")
    with scenario_simulation(*load_scenario(tmp_path / "s.yaml")) as simulation:
        simulation.step()
        assert kit.context.get_stage().GetPrimAtPath("/Root/floor")
        assert simulation.world.wind["model"] == ("constant" if "extends" in world else "none")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_loads_an_environment(window, assets, version):
    """`session.load_world` could only load files."""
    user = window(version)
    user.kit.assets_root = str(assets)
    import pegasus.isaac

    session = pegasus.isaac.session()
    assert session.load_world("Hospital").world_name == "Hospital"
    assert user.kit.context.get_stage().GetPrimAtPath("/Root/floor")
    assert (
        session.load_world("isaac://Isaac/Environments/Simple_Warehouse/warehouse.usd").world_name
        == "warehouse"
    )
    assert user.panel.world.choose("Hospital"), user.messages
    assert user.panel.world.load(), user.messages


@pytest.mark.parametrize(
    "address", ["https://example.invalid/a.usd", "omniverse://localhost/b.usd", "Office"]
)
def test_an_address_out_of_reach_is_one_line(script, assets, address):
    """The line would name a file below the current folder."""
    script()
    with pytest.raises(ConfigError, match="cannot be opened; connect to the network") as error:
        Simulation(address)
    text = str(error.value)
    assert "\n" not in text
    assert (address if "://" in address else f"{assets}/Isaac/Environments/Office/office.usd") in text


@pytest.mark.parametrize(
    ("world", "named"),
    [
        ("Curved Gridroom", "isaac://Isaac/Environments/Grid/gridroom_curved.usd"),
        ("https://example.invalid/a.usd", "https://example.invalid/a.usd"),
        ({"extends": "Office"}, "isaac://Isaac/Environments/Office/office.usd"),
    ],
)
def test_without_isaac_sim_it_says_who_opens_it(world, named):
    """A standalone run would search a file `/cwd/https:/...`."""
    with pytest.raises(
        ConfigError, match=f"world = '{named}': only Isaac Sim opens it; run it there"
    ) as error:
        Simulation(world)
    assert "\n" not in str(error.value)


def test_an_environment_without_its_parts_is_flown_in(script, assets, caplog):
    """An environment would be refused because of one texture or payload that the server lacks."""
    kit = script()
    path = assets / "Isaac" / "Environments" / "Hospital" / "hospital.usd"
    stage = Usd.Stage.Open(str(path))
    part = UsdGeom.Xform.Define(stage, "/Root/bed").GetPrim()
    part.GetPayloads().AddPayload("https://example.invalid/bed.usd")
    material = UsdShade.Material.Define(stage, "/Root/paint")
    shader = UsdShade.Shader.Define(stage, "/Root/paint/shader")
    shader.CreateIdAttr("UsdPreviewSurface")
    image = UsdShade.Shader.Define(stage, "/Root/paint/image")
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", Sdf.ValueTypeNames.Asset).Set("https://example.invalid/paint.png")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).ConnectToSource(
        image.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    )
    material.CreateSurfaceOutput().ConnectToSource(shader.CreateOutput("surface", Sdf.ValueTypeNames.Token))
    UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath("/Root/floor")).Bind(material)
    stage.Save()
    with Simulation("Hospital") as simulation:
        simulation.step()
        assert len(simulation.scene.instances) == 1
        assert kit.context.get_stage().GetPrimAtPath("/Root/floor")
    assert "example.invalid/bed.usd" in caplog.text
    assert "texture at a remote address left out" in caplog.text


def test_the_asset_root_without_isaac_sim():
    """A script of Pegasus Simulator run by another Python would end in a traceback at its environment."""
    from pegasus.simulator.params import SIMULATION_ENVIRONMENTS

    with pytest.raises(ConfigError, match="only Isaac Sim knows where NVIDIA's assets are"):
        SIMULATION_ENVIRONMENTS["Curved Gridroom"]
