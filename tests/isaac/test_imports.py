"""Tests of imports: modules free of Kit, and modules that Kit loads according to the manifest."""

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pegasus
from tests.isaac.contract import ALL_VERSIONS, ROOTS
from tests.isaac.fakes import lab
from tests.waits import LIMIT

PACKAGE = Path(pegasus.__file__).parent / "isaac"
ROOT = PACKAGE.parent.parent
STANDALONE = """
import pkgutil, sys
import pegasus
from pegasus import Multirotor, Simulation
with Simulation("flat") as simulation:
    simulation.add(Multirotor("iris"))
    simulation.step(2)
for module in pkgutil.iter_modules(pegasus.__path__):
    if module.name not in ("isaac", "__main__"):
        __import__(f"pegasus.{module.name}")
loaded = [name for name in sys.modules if name.partition(".")[0] in %r]
print(loaded)
print([name for name in sys.modules if name.startswith("pegasus.isaac") and name.count(".") == 2])
"""


def test_pegasus_loads_nothing_of_kit():
    """Without Isaac Sim pegasus could not be imported, or with it a start would take half a minute."""
    done = subprocess.run(
        [sys.executable, "-c", STANDALONE % (ROOTS,)], capture_output=True, text=True, timeout=LIMIT, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    loaded, own = (ast.literal_eval(line) for line in done.stdout.splitlines()[-2:])
    assert loaded == []
    # Only the modules that find and start Isaac Sim.
    rooms = ("command", "host", "installation", "launch", "packages", "process")
    assert set(own) <= {f"pegasus.isaac.{room}" for room in rooms}


def test_this_suite_has_loaded_nothing_of_kit():
    """A fake left by a test would make another test run in an Isaac Sim that does not exist."""
    assert [name for name in sys.modules if name.partition(".")[0] in ROOTS] == []
    assert "omni.usd" not in sys.modules


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_every_module_imports_in_each_version(isaac, version):
    """A top-level import of a name that one version lacks would break the extension there."""
    isaac(version)
    lab.install()  # One module is for Isaac Lab only.
    try:
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            name = ".".join(("pegasus.isaac", *(part for part in parts if part != "__init__")))
            importlib.import_module(name)
    finally:
        lab.uninstall()


@pytest.fixture(scope="module")
def manifest():
    """Return the manifest of the extension."""
    return tomllib.loads((ROOT / "config" / "extension.toml").read_text(encoding="utf-8"))


def test_the_manifest_stands_where_kit_looks(manifest):
    """Kit would not recognise the folder as an extension."""
    # Kit knows both places. A link would become a text file in a clone on Windows.
    copy = ROOT / "extension.toml"
    assert not copy.is_symlink()
    assert copy.read_bytes() == (ROOT / "config" / "extension.toml").read_bytes()
    package = manifest["package"]
    order = list(package)
    assert order[:4] == ["version", "category", "title", "description"]
    for field in ("changelog", "readme", "icon", "preview_image"):
        assert (ROOT / package[field]).is_file(), f"{field} = {package[field]}"
    for page in manifest.get("documentation", {}).get("pages", []):
        assert (ROOT / page).is_file(), page


def test_the_manifest_names_modules_that_are_there(manifest):
    """Kit would fail to import the extension."""
    for entry in manifest["python"]["module"]:
        parts = entry["name"].split(".")
        file = Path(pegasus.__file__).parent.parent.joinpath(*parts)
        assert file.with_suffix(".py").is_file() or (file / "__init__.py").is_file(), entry["name"]


def test_the_manifest_asks_for_what_is_imported(manifest):
    """A module of an extension that is not enabled would be missing."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    # Kit always has these; the presence of fabric is checked before its use.
    always = ("omni.ext", "omni.kit.app", "omni.physxfabric", "isaacsim.SimulationApp")
    dependencies = manifest["dependencies"]
    assert list(dependencies) == sorted(dependencies)
    assert "omni.kit.uiapp" in dependencies
    for name in names:
        if name.partition(".")[0] not in ("omni", "isaacsim") or name.startswith(always):
            continue
        assert any(f"{name}.".startswith(f"{known}.") for known in dependencies), name


def test_the_manifest_has_its_packages_installed(manifest):
    """An extension loaded before its package installer would fail to import."""
    # Which packages: see test_packages.py.
    assert manifest["python"]["pipapi"]["requirements"]
    assert "omni.kit.pipapi" in manifest["dependencies"]
