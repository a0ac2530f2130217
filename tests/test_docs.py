"""Tests of the documentation: code runs, files load, tables agree with the code, links are valid."""

import ast
import dataclasses
import importlib
import math
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml
from pydantic_core import PydanticUndefined

from pegasus import Environment, Multirotor, config
from pegasus.backends import BACKENDS, PX4
from pegasus.base.components import build
from pegasus.base.system import resource
from pegasus.cameras import LENSES, SCAN_PATTERNS, Camera, DepthNoise, Imaging
from pegasus.cli.main import app
from pegasus.config.airframe_specs import JointSpec, PropulsionSpec, SurfaceMount, SurfaceShape, WheelSpec
from pegasus.config.autopilot_specs import ArduPilotSpec, OutputSpec, PX4Spec
from pegasus.config.rotor_specs import RotorRing, RotorSpec
from pegasus.config.scenario import (
    BodySpec,
    DatasetSpec,
    ExpectationSpec,
    JammerSpec,
    OriginSpec,
    PropellerSpec,
    RecordSpec,
    ScenarioSpec,
    ScenarioVehicle,
    SteelSpec,
    VehicleSpec,
    WorldSpec,
    parse,
)
from pegasus.config.settings import Settings
from pegasus.contracts.backend import Backend
from pegasus.control import Controller
from pegasus.control.trajectories import TRAJECTORIES, Gate, Trajectory, trajectory_from_spec
from pegasus.dataset.randomizers import RANDOMIZERS
from pegasus.dynamics import (
    BATTERIES,
    DOWNWASHES,
    DRAGS,
    GROUND_EFFECTS,
    MOTORS,
    SERVOS,
    THRUST_CURVES,
    Motor,
)
from pegasus.dynamics.wings import WINGS, Expansion
from pegasus.environment import ATMOSPHERES, GRAVITIES, MAGNETIC_FIELDS, WINDS, DiscreteGust
from pegasus.estimation import ESTIMATORS
from pegasus.faults import FAULTS, Fault, Region
from pegasus.movers import MOTIONS, MoverSpec
from pegasus.optics.lens import FocusedLens
from pegasus.sensors import SENSORS, Accelerometer, Gyroscope, Rtk, SkyView, Thermal, Vibration
from pegasus.worlds import GENERATORS
from tests.waits import LIMIT

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

REGISTRIES = {
    "Motor": MOTORS,
    "Servo": SERVOS,
    "Thrust curve": THRUST_CURVES,
    "Battery": BATTERIES,
    "Drag": DRAGS,
    "Wing": WINGS,
    "Ground effect": GROUND_EFFECTS,
    "Downwash": DOWNWASHES,
    "Sensor": SENSORS,
    "Estimator": ESTIMATORS,
    "Lens": LENSES,
    "Scan pattern": SCAN_PATTERNS,
    "Gravity": GRAVITIES,
    "Atmosphere": ATMOSPHERES,
    "Magnetic field": MAGNETIC_FIELDS,
    "Wind": WINDS,
    "Controller": {name: cls for name, cls in BACKENDS.items() if issubclass(cls, Controller)},
    "Trajectory": TRAJECTORIES,
    "World": GENERATORS,
    "Motion": MOTIONS,
    "Randomizer": RANDOMIZERS,
    "Fault": FAULTS,
    "Backend": {name: cls for name, cls in BACKENDS.items() if not issubclass(cls, Controller)},
}
OTHERS = {
    "Every motor": Motor,
    "Every fault": Fault,
    "Fields of `where`": Region,
    "Every controller": Controller,
    "Every lens": FocusedLens,
    "Fields of `imaging`": Imaging,
    "Fields of `depth_noise`": DepthNoise,
    "Fields of a `vehicle` file": VehicleSpec,
    "Fields of `px4`": PX4Spec,
    "Fields of `ardupilot`": ArduPilotSpec,
    "Fields of a `channel` of an autopilot": OutputSpec,
    "Fields of a `rotor`": RotorSpec,
    "Fields of a `ring` of rotors": RotorRing,
    "Fields of `body`": BodySpec,
    "Fields of `propeller`": PropellerSpec,
    "Fields of a `coefficient`": Expansion,
    "Fields of `propulsion`": PropulsionSpec,
    "Fields of a `joint`": JointSpec,
    "Fields of a `surface`": SurfaceMount,
    "Fields of a `shape`": SurfaceShape,
    "Fields of a `wheel`": WheelSpec,
    "Fields of a `world` file": WorldSpec,
    "Fields of `origin`": OriginSpec,
    "Fields of `steel`": SteelSpec,
    "Fields of a `mover`": MoverSpec,
    "Fields of `jammers`": JammerSpec,
    "Fields of `rtk`": Rtk,
    "Fields of `sky`": SkyView,
    "Fields of `gust`": DiscreteGust,
    "Fields of `gyroscope`": Gyroscope,
    "Fields of `accelerometer`": Accelerometer,
    "Fields of `thermal`": Thermal,
    "Fields of `vibration`": Vibration,
    "Fields of a `gate`": Gate,
    "Fields of a `scenario` file": ScenarioSpec,
    "Fields of a `scenario vehicle`": ScenarioVehicle,
    "Fields of an `expectation`": ExpectationSpec,
    "Fields of `record`": RecordSpec,
    "Fields of `dataset`": DatasetSpec,
}
REQUIRED = object()
# Defaults that the pages describe in words, which are not compared.
IN_WORDS = {
    "see below",
    "off",
    "Lisbon",
    "those of the generator, else one 0.1 m above the origin",
    "those of the generator",
    "the four shipped ones, under their own names",
}


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    language: str
    kind: str
    code: str

    @property
    def file(self) -> str | None:
        """File name in the first line, or None if the block is not a file."""
        found = re.match(r"# (\w+\.\w+)\n", self.code)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    found = re.finditer(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(text[: m.start(3)].count("\n"), m[1], m[2] or "", m[3]) for m in found]


def with_language(language: str) -> list[Any]:
    pages = [page for page in PAGES if any(block.language == language for block in blocks(page))]
    return [pytest.param(page, id=page.stem) for page in pages]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a temporary folder on sys.path, and remove its modules from sys.modules afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def write_files(page: Path, folder: Path) -> None:
    """Write the blocks of a page that are files."""
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.code)


@pytest.mark.parametrize("page", with_language("python"))
def test_python_blocks_run(page, folder):
    """The Python blocks of a page, run in order, would fail for a reader who copies them."""
    write_files(page, folder)
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python" and not block.file:
            exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)


def imported(code: str) -> set[tuple[str, str]]:
    """Return modules of pegasus and the names that code imports from them."""
    nodes = ast.walk(ast.parse(code))
    return {
        (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pegasus"
        for alias in node.names
    }


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "examples").rglob("*.py")), *with_language("python")], ids=str
)
def test_only_public_names_are_imported(page):
    """A page or example would import a private name, which may move without notice (see concepts.md)."""
    code = (
        [b.code for b in blocks(page) if b.language == "python"]
        if page.suffix == ".md"
        else [page.read_text()]
    )
    for module, name in sorted(set().union(*map(imported, code))):
        if module.startswith(("pegasus.base.", "pegasus.isaac.")):
            continue
        room = importlib.import_module(module)
        assert hasattr(room, "__path__"), f"{page.name}: {module} is a private module"
        assert name in room.__all__, f"{page.name}: {module} does not export {name}"


@pytest.mark.parametrize("page", with_language("yaml"))
def test_yaml_blocks_load(page, folder):
    """A file, or part of one, that a reader copies from a page would be rejected."""
    write_files(page, folder)
    for block in blocks(page):
        if block.language == "yaml":
            LOADERS[block.kind](yaml.safe_load(block.code))


def load_vehicle(content):
    iris = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
    Multirotor(written(content if content.keys() & {"name", "extends"} else iris | content))


def load_scenario(content):
    for vehicle in config.load_scenario(written(content))[0].vehicles:
        for backend in vehicle.backends:
            load_backend(backend)


def written(content):
    """Return a file in the current folder with some content."""
    path = Path("block.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


def load_backend(content):
    build(Backend, BACKENDS, content, field="backend")


LOADERS = {
    "vehicle": load_vehicle,
    "world": lambda content: Environment.from_spec(parse(content, WorldSpec)),
    "scenario": load_scenario,
    "backend": load_backend,
    "trajectory": trajectory_from_spec,
    "settings": Settings.model_validate,
}


def tables() -> dict[str, dict[str, str]]:
    """Return the written defaults of the fields of each table, by the table's heading."""
    found: dict[str, dict[str, str]] = {}
    for line in chain.from_iterable(page.read_text().splitlines() for page in PAGES):
        if line.startswith("#"):
            heading = line.lstrip("# ")
            found.setdefault(heading, {})
        elif row := re.match(r"\| `(\w+)` \| ([^|]*?) \|.*\|$", line):
            found[heading][row[1]] = row[2].strip("`")
    return found


def fields(cls: type) -> dict[str, Any]:
    """Return the defaults of the parameters of a dataclass or model, without those of shared base classes."""
    if not dataclasses.is_dataclass(cls):
        return {
            name: REQUIRED if info.default is PydanticUndefined else info.default
            for name, info in cls.model_fields.items()
        }
    shared = {
        item.name
        for base in (Motor, Controller, Camera, FocusedLens, Fault, PX4)
        if cls is not base and issubclass(cls, base)
        for item in dataclasses.fields(base)
    }
    return {
        item.name: default_of(item)
        for item in dataclasses.fields(cls)
        # `start` is set by trajectory sequences, not by users.
        if item.init
        and item.name not in shared
        and not (issubclass(cls, Trajectory) and item.name == "start")
    }


def default_of(item: dataclasses.Field[Any]) -> Any:
    """Return the default of a field of a dataclass."""
    if item.default is not dataclasses.MISSING:
        return item.default
    return REQUIRED if item.default_factory is dataclasses.MISSING else item.default_factory()


def plain(value: Any) -> Any:
    """Convert a default to a form in which a page and the code can be compared."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None or value is REQUIRED:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def described() -> list[Any]:
    """Return each class whose parameters are documented, and the heading of its table."""
    headings = list(tables())
    pairs = list(OTHERS.items())
    for kind, registry in REGISTRIES.items():
        for name, cls in registry.items():
            place = next((h for h in headings if f"{kind} `{name}`".lower() in h.lower()), f"{kind} `{name}`")
            pairs.append((place, cls))
    return [pytest.param(heading, cls, id=cls.__name__) for heading, cls in pairs]


@pytest.mark.parametrize(("heading", "cls"), described())
def test_tables_are_those_of_the_code(heading, cls):
    """A table would lack a parameter, name one that does not exist, or state a wrong default."""
    assert heading in tables()
    written, defaults = tables()[heading], fields(cls)
    assert written.keys() == defaults.keys()
    words = {"required": REQUIRED, "none": None, "unlimited": math.inf}
    for name, text in written.items():
        default = plain(defaults[name])
        if text in IN_WORDS:
            assert default is not REQUIRED, name
            continue
        value = words[text] if text in words else plain(yaml.safe_load(text))
        if isinstance(default, float):
            # Pages round some defaults.
            assert value == pytest.approx(default, rel=1e-4), name
        else:
            assert value == default, name


def test_every_command_and_option_is_described():
    """A command or option would be missing from the documentation."""
    pages = "scenarios", "make_vehicle", "panel", "learning", "verdicts", "fleets"
    text = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in pages)
    group = typer.main.get_command(app)
    commands = dict(group.commands)
    for first in "show", "make", "check":
        commands |= {f"{first} {name}": command for name, command in commands.pop(first).commands.items()}
    for name, command in commands.items():
        assert f"`pegasus {name}" in text
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert not option.startswith("--") or option == "--help" or option in text, option


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_links_lead_somewhere(page):
    """A link would lead to a file or heading that does not exist."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, target


def test_readings_are_typed(tmp_path):
    """Editors could not complete the fields of readings, and mypy --strict would reject the pages' code."""
    files = []
    for page in PAGES:
        code = [block.code for block in blocks(page) if block.language == "python" and not block.file]
        reads = [number for number, block in enumerate(code) if re.search(r"\breadings?\b", block)]
        if reads:
            # Each block continues the blocks before it.
            files.append(tmp_path / f"{page.stem}.py")
            files[-1].write_text("\n".join(code[: reads[-1] + 1]))
    assert len(files) >= 5
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert checked.returncode == 0, checked.stdout
