"""The documentation: its code runs, its files load, its tables agree with the code, its links lead on."""

import dataclasses
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

from pegasus import Environment, Multirotor
from pegasus.aerodynamics import DOWNWASHES, DRAGS, GROUND_EFFECTS
from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.cameras import LENSES, SCAN_PATTERNS, Camera, DepthNoise, Imaging
from pegasus.cameras.lens import FocusedLens
from pegasus.cli import app
from pegasus.components import build
from pegasus.control import CONTROLLERS, Controller
from pegasus.control.trajectories import TRAJECTORIES, Gate, Trajectory, trajectory_from_spec
from pegasus.dataset.randomizers import RANDOMIZERS
from pegasus.dataset_spec import DatasetSpec
from pegasus.environment import ATMOSPHERES, GRAVITIES, MAGNETIC_FIELDS, WINDS, DiscreteGust
from pegasus.folders import resource
from pegasus.propulsion import BATTERIES, MOTORS, THRUST_CURVES, Motor
from pegasus.rotor_specs import RotorRing, RotorSpec
from pegasus.scenario import (
    ArduPilotSpec,
    BodySpec,
    OriginSpec,
    PropellerSpec,
    PX4Spec,
    RecordSpec,
    ScenarioSpec,
    ScenarioVehicle,
    VehicleSpec,
    WorldSpec,
    parse,
)
from pegasus.scene.worlds import GENERATORS
from pegasus.sensors import Accelerometer, Gyroscope, Vibration
from pegasus.sensors.registry import SENSORS
from pegasus.settings import Settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

REGISTRIES = {
    "Motor": MOTORS,
    "Thrust curve": THRUST_CURVES,
    "Battery": BATTERIES,
    "Drag": DRAGS,
    "Ground effect": GROUND_EFFECTS,
    "Downwash": DOWNWASHES,
    "Sensor": SENSORS,
    "Lens": LENSES,
    "Scan pattern": SCAN_PATTERNS,
    "Gravity": GRAVITIES,
    "Atmosphere": ATMOSPHERES,
    "Magnetic field": MAGNETIC_FIELDS,
    "Wind": WINDS,
    "Controller": CONTROLLERS,
    "Trajectory": TRAJECTORIES,
    "World": GENERATORS,
    "Randomizer": RANDOMIZERS,
    "Backend": {name: cls for name, cls in BACKENDS.items() if name not in CONTROLLERS},
}
OTHERS = {
    "Every motor": Motor,
    "Every controller": Controller,
    "Every lens": FocusedLens,
    "Fields of `imaging`": Imaging,
    "Fields of `depth_noise`": DepthNoise,
    "Fields of a `vehicle` file": VehicleSpec,
    "Fields of `px4`": PX4Spec,
    "Fields of `ardupilot`": ArduPilotSpec,
    "Fields of a `rotor`": RotorSpec,
    "Fields of a `ring` of rotors": RotorRing,
    "Fields of `body`": BodySpec,
    "Fields of `propeller`": PropellerSpec,
    "Fields of a `world` file": WorldSpec,
    "Fields of `origin`": OriginSpec,
    "Fields of `gust`": DiscreteGust,
    "Fields of `gyroscope`": Gyroscope,
    "Fields of `accelerometer`": Accelerometer,
    "Fields of `vibration`": Vibration,
    "Fields of a `gate`": Gate,
    "Fields of a `scenario` file": ScenarioSpec,
    "Fields of a `scenario vehicle`": ScenarioVehicle,
    "Fields of `record`": RecordSpec,
    "Fields of `dataset`": DatasetSpec,
}
REQUIRED = object()
# Defaults that are told in words and not compared.
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
        """Name that the first line gives, where the block is a file."""
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
    """Work in a temporary folder that Python imports from; forget afterwards what was imported."""
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
    """A reader who copies the blocks of a page, one after the other, would meet an error."""
    write_files(page, folder)
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python" and not block.file:
            exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", with_language("yaml"))
def test_yaml_blocks_load(page, folder):
    """A reader who copies a file, or a part of one, would have it refused."""
    write_files(page, folder)
    for block in blocks(page):
        if block.language == "yaml":
            LOADERS[block.kind](yaml.safe_load(block.code))


def load_vehicle(content):
    iris = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
    Multirotor(content if "name" in content else iris | content)


def load_scenario(content):
    for vehicle in parse(content, ScenarioSpec).vehicles:
        for backend in vehicle.backends:
            load_backend(backend)


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
    """Return each table of fields by its heading: the default of each field as it is written."""
    found: dict[str, dict[str, str]] = {}
    for line in chain.from_iterable(page.read_text().splitlines() for page in PAGES):
        if line.startswith("#"):
            heading = line.lstrip("# ")
            found.setdefault(heading, {})
        elif row := re.match(r"\| `(\w+)` \| ([^|]*?) \|.*\|$", line):
            found[heading][row[1]] = row[2].strip("`")
    return found


def fields(cls: type) -> dict[str, Any]:
    """Return the default of each parameter of a dataclass or model that is its own."""
    if not dataclasses.is_dataclass(cls):
        return {
            name: REQUIRED if info.default is PydanticUndefined else info.default
            for name, info in cls.model_fields.items()
        }
    shared = {
        item.name
        for base in (Motor, Controller, Camera, FocusedLens)
        if cls is not base and issubclass(cls, base)
        for item in dataclasses.fields(base)
    }
    return {
        item.name: default_of(item)
        for item in dataclasses.fields(cls)
        # Sequences fill in where a trajectory starts; it is not for users.
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
    """Return a default so that what is written and what is in the code compare."""
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
    """A parameter would be missing, misspelt or gone, or have another default than its page says."""
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
            # Some defaults have more digits than a page wants.
            assert value == pytest.approx(default, rel=1e-4), name
        else:
            assert value == default, name


def test_every_command_and_option_is_described():
    """A command or option would be left for its user to find out."""
    text = "".join(
        (ROOT / "docs" / f"{page}.md").read_text() for page in ("scenarios", "make_vehicle", "panel")
    )
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
    """A reader would follow a link to nothing."""
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
    """Editors would not complete a reading's fields, and mypy --strict refuse what the pages show."""
    files = []
    for page in PAGES:
        code = [block.code for block in blocks(page) if block.language == "python" and not block.file]
        reads = [number for number, block in enumerate(code) if re.search(r"\breadings?\b", block)]
        if reads:
            # A block goes on from those before it.
            files.append(tmp_path / f"{page.stem}.py")
            files[-1].write_text("\n".join(code[: reads[-1] + 1]))
    assert len(files) >= 5
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert checked.returncode == 0, checked.stdout
