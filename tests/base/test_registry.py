"""Tests of tables of named classes: lookup without imports, user code, and entry points."""

import logging
import sys

import pytest

from pegasus.base.components import build, describe
from pegasus.base.errors import ConfigError
from pegasus.base.registry import Registry
from pegasus.contracts.backend import BACKENDS
from pegasus.contracts.engine import ENGINES
from pegasus.contracts.renderer import RENDERERS
from pegasus.contracts.sensor import SENSORS
from pegasus.environment import ConstantWind, Wind
from pegasus.worlds import GENERATORS

PART = """
from dataclasses import dataclass

@dataclass
class Part:
    size: float = 1.0
"""


@pytest.fixture
def add_module(tmp_path, monkeypatch):
    """Return a function that writes a module and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def add(name, text=PART):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    yield add
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def install(tmp_path, add_module):
    """Return a function that installs a package with one entry point."""

    def installed(package, name, module, text=PART):
        add_module(module, text)
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[pegasus.parts]\n{name} = {module}:Part\n")

    return installed


def registry(**shipped):
    return Registry("part", group="pegasus.parts", shipped=shipped)


def test_only_the_class_that_is_looked_up_is_imported(add_module):
    """Listing the names of sensors must not import cameras."""
    add_module("parts_one"), add_module("parts_two")
    parts = registry(one="parts_one:Part", two="parts_two:Part")
    assert list(parts) == ["one", "two"]
    assert len(parts) == 2
    assert "two" in parts
    made = build(object, parts, {"model": "one", "size": 2}, field="part")
    assert type(made) is parts["one"]
    assert "parts_one" in sys.modules
    assert "parts_two" not in sys.modules
    assert parts.name_of(type(made)) == "one"
    assert describe(object, parts, made) == {"model": "one", "size": 2}
    assert "parts_two" not in sys.modules


def test_user_code_registers_a_class():
    """A registered class must be found by its name, and no class may take the name of another one."""
    parts = registry(int=int)
    parts.register("float", float)
    assert parts["float"] is float
    assert parts.name_of(float) == "float"
    assert parts.name_of(str) is None
    parts.register("int", int)
    with pytest.raises(ConfigError, match=r"name = 'int': is the name of another part; choose another name"):
        parts.register("int", float)
    with pytest.raises(ConfigError, match=r"kind = 5: must be the class of a part, not an instance"):
        parts.register("five", 5)


def test_a_class_defined_anew_replaces_itself(add_module):
    """Running a cell of a notebook for the second time would end in an error."""
    parts = registry()
    for _ in range(2):
        sys.modules.pop("parts_cell", None)
        add_module("parts_cell")
        import parts_cell

        parts.register("cell", parts_cell.Part)
    assert parts["cell"] is parts_cell.Part


def test_a_component_is_described_by_the_registered_name():
    """A saved scenario would name the module of a registered class, which another machine may lack."""
    winds = Registry("wind", group="pegasus.none", shipped={"steady": ConstantWind})
    assert describe(Wind, winds, ConstantWind((1.0, 0.0, 0.0))) == {
        "model": "steady",
        "mean_velocity": [1.0, 0.0, 0.0],
    }


def test_a_package_adds_a_class_by_an_entry_point(install):
    """An installed package must be usable from YAML without code."""
    install("sonde", "sonde", "sonde_parts")
    parts = registry(int=int)
    assert parts["int"] is int
    assert list(parts) == ["int", "sonde"]
    assert "sonde_parts" not in sys.modules
    assert type(build(object, parts, {"model": "sonde"}, field="part")) is parts["sonde"]
    assert parts.name_of(parts["sonde"]) == "sonde"
    with pytest.raises(ConfigError, match=r"part.model = 'sond': must be one of int, sonde;"):
        build(object, parts, {"model": "sond"}, field="part")


def test_two_packages_with_one_name(install):
    """Which of two packages flies would depend on the order of the search path."""
    install("sonde", "sonde", "sonde_parts")
    install("probe", "sonde", "probe_parts")
    install("other", "other", "other_parts")
    parts = registry()
    problem = r"^part.model = 'sonde': is a part of the packages probe and sonde; uninstall one of them$"
    with pytest.raises(ConfigError, match=problem):
        build(object, parts, {"model": "sonde"}, field="part")
    assert parts["other"].__module__ == "other_parts"


@pytest.mark.parametrize("text", ["import no_such_module", "Other = 1", "raise OSError('no device')"])
def test_a_broken_package_is_named(install, text):
    """A traceback from within a package would not tell which one to update."""
    install("sonde", "sonde", "sonde_parts", text)
    parts = registry(int=int)
    with pytest.raises(
        ConfigError,
        match=r"^part.model = 'sonde': the part of the package sonde cannot be imported: .*; update",
    ) as raised:
        build(object, parts, {"model": "sonde"}, field="part")
    assert "\n" not in str(raised.value)
    # All others work.
    assert list(parts) == ["int", "sonde"]
    assert parts["int"] is int


def test_a_package_cannot_replace_a_shipped_class(install, caplog):
    """Installing a package must not change flights that do not name it."""
    install("sonde", "int", "sonde_parts")
    parts = registry(int=int)
    with caplog.at_level(logging.WARNING):
        assert list(parts) == ["int"]
    assert parts["int"] is int
    assert "'int' of the package sonde is not used: the name is taken" in caplog.text


def test_a_missing_extra_is_named(monkeypatch):
    """A traceback would not tell which extra to install."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    parts = registry(mine="no_such_package:Part", physics="mujoco:Part")
    with pytest.raises(
        ConfigError, match=r"needs the package mujoco, .* pip install 'pegasus-multirotor\[stand"
    ):
        parts["physics"]
    # A missing module of the package itself is a fault of the package.
    with pytest.raises(ModuleNotFoundError):
        parts["mine"]
    with pytest.raises(KeyError):
        parts["absent"]
    assert parts.get("absent") is None


@pytest.mark.parametrize("table", [ENGINES, RENDERERS, BACKENDS, SENSORS, GENERATORS])
def test_every_shipped_path_leads_to_its_class(table):
    """A module that was moved would be missed at the first flight that names it."""
    for name, kind in table.items():
        assert isinstance(kind, type)
        assert table.name_of(kind) == name
