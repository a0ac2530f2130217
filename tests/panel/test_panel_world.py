"""Tests of the panel's world part: lists, files by path, origin on Earth, scenarios and saved settings."""

import pytest
import yaml
from panel_rig import last_error

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec, parse
from pegasus.config.settings import user_settings
from pegasus.environment.geodesy import Geodetic
from pegasus.panel import Panel


def test_list(config, session):
    """A user's own world or its image would not be listed, or an invalid one would hide the others."""
    folder = config / "worlds"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("name: mine\ndescription: My own.\nusd: mine.usd\n")
    (folder / "mine.jpg").touch()
    (folder / "broken.yaml").write_text("nam: broken\n")
    panel = Panel(session)
    choices = {choice.name: choice for choice in panel.world.choices}
    assert choices["mine"].description == "My own."
    assert choices["mine"].thumbnail == folder / "mine.jpg"
    assert choices["broken"].available is False
    assert choices["broken"].reason.startswith(f"{folder / 'broken.yaml'}: unknown field")
    assert {"courtyard", "flat", "town"} <= choices.keys()
    assert choices["flat"].available
    assert panel.world.choose("broken") is False
    assert last_error(panel) == choices["broken"].reason
    (folder / "later.yaml").write_text("name: later\nusd: x.usd\n")
    assert panel.world.refresh()
    assert "later" in [choice.name for choice in panel.world.choices]


def test_unknown_worlds(flat, tmp_path):
    """A world that does not exist would be chosen, or remove the present one."""
    assert flat.world.choose("nowhere") is False
    assert last_error(flat).startswith("world = 'nowhere': no such world; known are airfield, ")
    assert flat.world.choose("/none/world.usd") is False
    assert last_error(flat) == "world = '/none/world.usd': no such file; check the path"
    assert flat.world.choose("/none/world.yaml") is False
    assert last_error(flat) == "world = '/none/world.yaml': no such file; check the path"
    assert flat.world.chosen == "flat"
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nusd: none.usd\n")
    assert flat.world.choose(file)
    assert flat.world.load() is False
    assert last_error(flat).startswith(f"{file}: usd: no such file")
    assert flat.world.loaded == "flat"


def test_file_by_path(panel, tmp_path):
    """A user's own USD or YAML file could not be loaded."""
    stage = tmp_path / "box.usda"
    stage.write_text(
        '#usda 1.0\n(\ndefaultPrim = "World"\nupAxis = "Z"\nmetersPerUnit = 1\n)\n'
        'def Xform "World"\n{\ndef Cube "box" (\nprepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n}\n}\n'
    )
    assert panel.world.choose(stage)
    assert panel.world.choice is None
    assert panel.world.load()
    assert panel.world.loaded == "box"
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nusd: box.usda\norigin: {latitude: 10.0, longitude: 20.0, altitude: 30.0}\n")
    assert panel.world.choose(file)
    assert panel.world.load()
    assert panel.snapshot.origin == Geodetic(10.0, 20.0, 30.0)


def test_origin(panel):
    """The world would have another origin on Earth than the one set."""
    panel.world.choose("flat")
    own = panel.world.origin
    assert panel.world.set_origin("47.5", 8.0, -3)
    assert panel.world.load()
    assert panel.snapshot.origin == Geodetic(47.5, 8.0, -3.0)
    assert panel.world.reset_origin()
    assert panel.world.origin == own
    assert panel.snapshot.origin == Geodetic(47.5, 8.0, -3.0)


def test_another_origin_keeps_the_ellipsoid(panel, tmp_path):
    """A place set in the panel would turn a world on WGS84 into one on the sphere."""
    file = tmp_path / "world.yaml"
    file.write_text("{name: mine, generator: {model: room}, origin: {ellipsoid: wgs84}}")
    assert panel.world.choose(file)
    assert panel.world.set_origin(47.5, 8.0, -3)
    assert panel.world.origin.ellipsoid == "wgs84"


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ((90.1, 0, 0), "latitude"),
        ((0, -181, 0), "longitude"),
        ((0, 0, 1e6), "altitude"),
    ],
)
def test_origin_that_is_not_on_earth(panel, place, field):
    """An impossible origin would be accepted, or its error differ from that of a file."""
    before = panel.world.origin
    assert panel.world.set_origin(*place) is False
    with pytest.raises(ConfigError) as caught:
        parse(
            {
                "name": "x",
                "usd": "x.usd",
                "origin": dict(zip(("latitude", "longitude", "altitude"), map(float, place), strict=True)),
            },
            WorldSpec,
        )
    assert str(caught.value) == f"origin.{last_error(panel)}"
    assert last_error(panel).startswith(f"{field} = ")
    assert panel.world.origin == before


@pytest.mark.parametrize("rate", [0, -250, 1e6, "fast", "nan"])
def test_wrong_rate(panel, rate):
    """An invalid physics rate would be accepted until the world is loaded."""
    assert panel.world.set_rate(rate) is False
    assert last_error(panel).startswith("rate = ")
    assert panel.world.rate == 250.0


def test_rate(panel):
    """A world would be loaded at another rate than the one set, or change its rate while it runs."""
    panel.world.choose("flat")
    assert panel.world.set_rate("800")
    assert panel.world.load()
    assert panel.session.call(lambda simulation: simulation.rate) == 800.0
    assert panel.world.set_rate(500)
    assert panel.messages[-1].text == "the rate applies when the world is loaded again"
    assert panel.session.call(lambda simulation: simulation.rate) == 800.0


@pytest.mark.parametrize("typed", ["", "north", "nan", "inf", None])
def test_origin_that_is_no_number(panel, typed):
    """A typing error in the origin would end in a traceback."""
    assert panel.world.set_origin(typed, 0, 0) is False
    assert last_error(panel).startswith("latitude")
    assert "must be a finite number" in last_error(panel)


def test_default_origin(panel, session, config):
    """The default origin would be lost on exit, or could not be removed."""
    panel.world.set_origin(1.0, 2.0, 3.0)
    assert panel.world.make_origin_default()
    assert user_settings().panel.origin.model_dump() == {"latitude": 1.0, "longitude": 2.0, "altitude": 3.0}
    other = Panel(session)
    assert other.world.choose("flat")
    assert other.world.origin.latitude == 1.0
    other.world.set_origin(4, 5, 6)
    other.world.reset_origin()
    assert other.world.origin.altitude == 3.0
    assert other.world.clear_origin_default()
    assert other.world.origin.latitude == pytest.approx(38.736832)
    assert yaml.safe_load((config / "settings.yaml").read_text()) == {"version": 1, "panel": {"origin": {}}}


def test_scenario(panel, tmp_path):
    """A scenario's world, vehicles, rate or speed would not be those of its file."""
    file = tmp_path / "two.yaml"
    file.write_text(
        "name: two\nworld: flat\nrate: 500\nspeed: 0.5\nvehicles:\n"
        "- {model: iris, name: a, position: [1, 2, 0.1]}\n"
        "- {model: x500, count: 2, position: [5, 5, 0.4]}\n"
    )
    assert panel.world.load_scenario(file)
    assert [(v.name, v.model, v.count) for v in panel.snapshot.vehicles] == [
        ("a", "iris", 1),
        ("x500", "x500", 2),
    ]
    assert panel.world.chosen == "flat"
    assert panel.simulation.speed == 0.5
    assert panel.simulation.step()
    assert panel.snapshot.time == 1 / 500
    file.write_text("name: two\nworld: flat\nvehicles:\n- {model: irsi}\n")
    assert panel.world.load_scenario(file) is False
    assert last_error(panel).startswith(f"{file}: vehicles.0.model: no such vehicle")
    assert len(panel.snapshot.vehicles) == 2
    assert panel.world.load_scenario("first_flight")
    assert panel.simulation.speed == 0.5
    assert panel.world.load_scenario("none") is False
    assert last_error(panel).startswith("scenario = 'none': no such scenario")


def test_broken_settings_are_set_aside(config, session):
    """An invalid settings file would keep the panel from opening, or be overwritten and lost."""
    config.mkdir()
    file = config / "settings.yaml"
    file.write_text("px4: {folder: /x}  # mine\n")
    panel = Panel(session)
    assert last_error(panel).startswith(f"{file}: px4.folder: unknown field")
    assert last_error(panel).endswith(f"set aside as {file}.broken-1, and the defaults are used")
    assert (config / "settings.yaml.broken-1").read_text() == "px4: {folder: /x}  # mine\n"
    assert not file.exists()
    assert panel.world.make_origin_default()
    assert panel.backend.make_default()


def test_settings_of_a_later_version(config, session):
    """A downgrade would spoil the settings of the newer version."""
    config.mkdir()
    file = config / "settings.yaml"
    file.write_text("version: 2\nnew: things\n")
    panel = Panel(session)
    assert panel.messages[0].text == (
        f"{file}: version: is of a later Pegasus; this one reads version 1; "
        "update Pegasus, or move the file away"
    )
    assert panel.world.make_origin_default() is False
    assert panel.backend.make_default() is False
    assert file.read_text() == "version: 2\nnew: things\n"
    assert panel.world.choose("flat")
    assert panel.world.load()
