"""Tests of settings and custom files: search order, folders, and errors."""

from pathlib import Path

import pytest
import yaml

from pegasus.base.errors import ConfigError
from pegasus.base.system import resource, user_cache, user_config
from pegasus.config.settings import (
    Settings,
    ardupilot_directory,
    change_settings,
    find,
    names,
    places,
    px4_directory,
    set_aside_broken_settings,
    user_settings,
)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return the user's folder on a machine without settings or installed files."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in "PX4_DIR", "ARDUPILOT_DIR":
        monkeypatch.delenv(variable, raising=False)
    return folder


def made(folder):
    """Make a folder and return it."""
    folder.mkdir(parents=True)
    return folder


def test_folder_can_be_moved(config, tmp_path, monkeypatch):
    """PEGASUS_CONFIG_DIR would be ignored, read only at import, or used although it is empty."""
    assert user_config() == config
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", "~/elsewhere")
    assert user_config() == tmp_path / "home" / "elsewhere"
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert user_config().name == "pegasus"
    assert user_config().is_absolute()


@pytest.mark.parametrize(
    ("platform", "variable", "config", "cache"),
    [
        ("linux", None, "home/.config/pegasus", "home/.cache/pegasus"),
        ("linux", "XDG_{}_HOME", "xdg/pegasus", "xdg/pegasus"),
        ("darwin", None, "home/Library/Application Support/pegasus", "home/Library/Caches/pegasus"),
        ("win32", None, "home/AppData/Local/pegasus", "home/AppData/Local/pegasus/Cache"),
        ("win32", "LOCALAPPDATA", "xdg/pegasus", "xdg/pegasus/Cache"),
    ],
)
def test_folders_of_the_system(tmp_path, monkeypatch, platform, variable, config, cache):
    """Settings and generated files would lie outside the folders of the system, or elsewhere than before."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("pegasus.base.system.sys.platform", platform)
    for name in ("PEGASUS_{}_DIR", "XDG_{}_HOME", "LOCALAPPDATA"):
        for kind in "CONFIG", "CACHE":
            monkeypatch.delenv(name.format(kind), raising=False)
            if name == variable:
                monkeypatch.setenv(name.format(kind), str(tmp_path / "xdg"))
    assert user_config() == tmp_path / config
    assert user_cache() == tmp_path / cache


def test_own_files_take_precedence(config):
    """A user's vehicle would not be found, not be listed, or not replace the shipped one of its name."""
    assert find("vehicles", "iris") == resource("config", "vehicles", "iris.yaml")
    assert "mine" not in names("vehicles")
    made(config / "vehicles")
    for name in "iris", "mine":
        (config / "vehicles" / f"{name}.yaml").touch()
        assert find("vehicles", name) == config / "vehicles" / f"{name}.yaml"
    assert names("vehicles").count("iris") == 1
    assert "mine" in names("vehicles")


@pytest.mark.usefixtures("config")
def test_px4_names_of_vehicles():
    """A vehicle would be unknown under the name that PX4 gives it."""
    assert find("vehicles", "gz_x500") == find("vehicles", "x500")
    assert find("vehicles", "gz_standard_vtol").stem == "standard_vtol"
    assert find("vehicles", "gz_rc_cessna").stem == "rc_cessna"
    with pytest.raises(ConfigError, match="no such vehicle"):
        find("vehicles", "gz_lawnmower")
    with pytest.raises(ConfigError, match="no such world"):
        find("worlds", "gz_flat")


def test_unknown_name(config):
    """The error would not list the valid names, or the folder for custom files."""
    with pytest.raises(ConfigError) as caught:
        find("vehicles", "irsi")
    assert str(caught.value).startswith("vehicle = 'irsi': no such vehicle; known are ")
    assert "iris" in str(caught.value)
    assert str(caught.value).endswith(f"put one into {config / 'vehicles'}")
    with pytest.raises(ConfigError, match="no such file"):
        find("vehicles", config / "none.yaml")


@pytest.mark.parametrize("content", [None, "", "# px4:\n#   directory: ~/PX4\n", "px4: {}\n"])
def test_nothing_is_set(config, content):
    """A missing settings file, or one of comments only, would cause an error."""
    if content is not None:
        (config / "settings.yaml").write_text(content)
    assert user_settings() == Settings()


def test_settings_are_read_when_asked_for(config):
    """What the file says would be lost, or a change not be seen until the next start."""
    file = config / "settings.yaml"
    file.write_text("px4: {directory: ~/px4, airframe: gazebo-classic_iris, instance: 3}\n")
    assert user_settings().px4.model_dump() == {
        "directory": Path("~/px4"),
        "airframe": "gazebo-classic_iris",
        "instance": 3,
    }
    file.write_text("ardupilot: {directory: /opt/ardupilot, instance: 0}\n")
    assert user_settings().px4.airframe is None
    assert user_settings().ardupilot.model_dump() == {"directory": Path("/opt/ardupilot"), "instance": 0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("px4: {folder: /x}", "px4.folder: unknown field; allowed here: airframe, directory, instance"),
        ("px5: {}", "px5: unknown field; did you mean px4? allowed here: ardupilot, panel, px4, version"),
        (
            "panel: {backend: ros}",
            "panel.backend = 'ros': must be one of built-in, px4, ardupilot, ros2; did you mean ros2?",
        ),
        ("panel: {origin: {latitude: 91}}", "panel.origin.latitude = 91: must be at most 90"),
        ("version: 0", "version = 0: must be 1"),
        ("version: 2", "version = 2: is of a later Pegasus; this one reads version 1; update Pegasus"),
        ("px4: {instance: 250}", "px4.instance = 250: must be below 250"),
        ("px4: {airframe: 10016}", "px4.airframe = 10016: must be text"),
        ("px4: [", "is not valid YAML: "),
        ("- px4", "must hold a mapping of fields"),
    ],
)
def test_wrong_settings(config, content, message):
    """An error in the settings file would be ignored, or reported without file and field."""
    file = config / "settings.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        user_settings()
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


def test_unreadable_settings(config):
    """An unreadable settings file would be ignored."""
    made(config / "settings.yaml")
    with pytest.raises(ConfigError, match=r"settings.yaml: cannot be read: Is a directory"):
        user_settings()


AUTOPILOTS = [
    pytest.param(px4_directory, "px4", "PX4_DIR", "PX4-Autopilot", id="px4"),
    pytest.param(ardupilot_directory, "ardupilot", "ARDUPILOT_DIR", "ardupilot", id="ardupilot"),
]


@pytest.mark.parametrize(("directory", "section", "variable", "folder"), AUTOPILOTS)
def test_order_of_directories(config, tmp_path, monkeypatch, directory, section, variable, folder):
    """A location of lower precedence would win over one of higher precedence."""
    home, named, option = (made(tmp_path / name) for name in (f"home/{folder}", "named", "option"))
    assert directory() == home
    assert directory(environment={variable: str(named)}) == named
    monkeypatch.setenv(variable, str(named))
    assert directory() == named
    assert directory(environment={}) == home
    (config / "settings.yaml").write_text(f"{section}: {{directory: beside}}\n")
    assert made(config / "beside") == directory()
    assert directory(option) == option
    assert directory(str(option)) == option


@pytest.mark.parametrize(
    ("directory", "section"), [(px4_directory, "px4"), (ardupilot_directory, "ardupilot")]
)
def test_directory_of_the_users_home(config, tmp_path, monkeypatch, directory, section):
    """A path with ~ or one relative to the current folder would not be found, or change with that folder."""
    there = made(tmp_path / "home" / "there")
    assert directory("~/there") == there
    (config / "settings.yaml").write_text(f"{section}: {{directory: ~/there}}\n")
    assert directory() == there
    monkeypatch.chdir(tmp_path)
    assert directory("home/there") == there


@pytest.mark.parametrize(("directory", "section", "variable", "folder"), AUTOPILOTS)
def test_missing_directories(config, tmp_path, monkeypatch, directory, section, variable, folder):
    """A wrong directory would be passed over for the next place, or its error not name all places."""
    file, home = config / "settings.yaml", tmp_path / "home" / folder
    remedy = (
        f"set the backend's option directory, {section}.directory in {file}, or {variable}, "
        f"or put it into {home}"
    )

    def error(*option):
        with pytest.raises(ConfigError) as caught:
            directory(*option)
        return str(caught.value)

    assert error() == f"{folder} not found; {remedy}"
    made(home)
    monkeypatch.setenv(variable, "/none/1")
    assert error() == f"{variable} = '/none/1': no such directory; {remedy}"
    file.write_text(f"{section}: {{directory: /none/2}}\n")
    assert error() == f"{file}: {section}.directory = '/none/2': no such directory; {remedy}"
    assert error("/none/3") == f"directory = '/none/3': no such directory; {remedy}"
    assert error("~nobody-of-this-name/x").startswith("directory = '~nobody-of-this-name/x': no such")


def test_places(config):
    """An error about an airframe would not name the three places where it can be set."""
    assert places("airframe", "px4.airframe", "px4.airframe of the vehicle file") == (
        f"set the backend's option airframe, px4.airframe in {config / 'settings.yaml'}, "
        "or px4.airframe of the vehicle file"
    )


def test_change(config):
    """A value that is made the default would not be kept, or others be lost by it."""
    file = config / "settings.yaml"
    assert change_settings("px4", {"directory": Path("/opt/px4"), "airframe": "iris"}) == file
    assert yaml.safe_load(file.read_text()) == {
        "version": 1,
        "px4": {"directory": "/opt/px4", "airframe": "iris"},
    }
    change_settings("panel.origin", {"latitude": 1.5})
    change_settings("px4", {"airframe": None, "instance": 3})
    settings = user_settings()
    assert settings.px4.model_dump() == {"directory": Path("/opt/px4"), "airframe": None, "instance": 3}
    assert settings.panel.origin.latitude == 1.5
    assert [path.name for path in config.iterdir()] == ["settings.yaml"]


def test_change_keeps_what_a_user_wrote(config):
    """The user's comments in a settings file would be lost."""
    config.mkdir(exist_ok=True)
    file = config / "settings.yaml"
    file.write_text("# My PX4 is here.\npx4: {directory: ~/px4}\n")
    change_settings("ardupilot", {"instance": 1})
    change_settings("ardupilot", {"instance": 2})
    assert (config / "settings.yaml.bak").read_text() == "# My PX4 is here.\npx4: {directory: ~/px4}\n"
    assert user_settings().px4.directory == Path("~/px4")


@pytest.mark.parametrize(
    ("section", "changes", "message"),
    [
        ("px4", {"instance": 999}, "px4.instance = 999: must be below 250"),
        ("px4", {"folder": "x"}, "px4.folder: unknown field"),
        ("panel.origin", {"latitude": "x"}, "panel.origin.latitude = 'x': must be a number"),
    ],
)
def test_wrong_change(config, section, changes, message):
    """An invalid value would be written to the file, and every later start would fail."""
    change_settings("px4", {"airframe": "iris"})
    before = (config / "settings.yaml").read_text()
    with pytest.raises(ConfigError) as caught:
        change_settings(section, changes)
    assert str(caught.value).startswith(f"{config / 'settings.yaml'}: {message}")
    assert (config / "settings.yaml").read_text() == before


def test_change_of_a_broken_file(config):
    """A file with an error would be overwritten, and its content be lost."""
    (config / "settings.yaml").write_text("px4: [")
    with pytest.raises(ConfigError, match="is not valid YAML"):
        change_settings("px4", {"airframe": "iris"})
    assert (config / "settings.yaml").read_text() == "px4: ["


def test_change_that_cannot_be_written(config, monkeypatch):
    """A full disk would leave an incomplete file, or end in a traceback."""
    change_settings("px4", {"airframe": "iris"})
    before = (config / "settings.yaml").read_text()

    def full(path, text, **options):
        with path.open("w", **options) as file:
            file.write(text[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ConfigError, match=r"settings.yaml: cannot be written: No space left on device"):
        change_settings("px4", {"airframe": "other"})
    assert (config / "settings.yaml").read_text() == before
    assert [path.name for path in config.iterdir()] == ["settings.yaml"]


def test_setting_aside(config):
    """A file that is fine or not there would be moved away, or one set aside replace an earlier one."""
    assert set_aside_broken_settings() is None
    change_settings("px4", {"airframe": "iris"})
    assert set_aside_broken_settings() is None
    file = config / "settings.yaml"
    for number in 1, 2:
        file.write_text(f"px{number}: [")
        said = set_aside_broken_settings()
        assert "is not valid YAML" in said
        assert said.endswith(f"it is set aside as {file}.broken-{number}, and the defaults are used")
        assert (config / f"settings.yaml.broken-{number}").read_text() == f"px{number}: ["
        assert not file.exists()
    file.write_text("version: 7")
    with pytest.raises(ConfigError, match="is of a later Pegasus"):
        set_aside_broken_settings()
    assert file.exists()
