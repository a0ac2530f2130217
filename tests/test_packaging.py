"""Pegasus as it is installed: what a wheel carries, what an import loads, and the script of a clone."""

import os
import pkgutil
import shutil
import site
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import pegasus
from pegasus.version import __version__

ROOT = Path(__file__).parents[1]
# Stands for Python in `pegasus.sh`: notes what it is asked for, and is the Python of what it makes.
STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$PWD"): $*" >>"$CALLS"
if [ "$(wc -l <"$CALLS")" = "${INTERRUPT_AT:-}" ]; then
    kill -INT -- "-$(ps -o sid= -p $$ | tr -d ' ')"
    sleep 60
fi
case "$*" in
-c*version_info*) echo "$FITS" ;;
*"-m venv"*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python" ;;
*"pip install"*)
    echo "Collecting numpy"
    while [ -e "${PIP_WAITS_FOR:-}" ]; do sleep 0.05; done
    exit "${PIP_FAILS:-0}"
    ;;
esac
"""


HEAVY = (
    "mujoco",
    "omni",
    "isaacsim",
    "carb",
    "rclpy",
    "cyclonedds",
    "viser",
    "embreex",
    "mitsuba",
    "matplotlib",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    # Without the build tool at hand, pip fetches it.
    here = ["--no-build-isolation"] if find_spec("hatchling") else []
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", *here]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel(wheel):
    """An installed Pegasus would lack a module, a shipped file, its licence or its types."""
    assert wheel.name == f"pegasus_multirotor-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "pegasus").rglob("*.py")} <= names
    for folder in "config", "data":
        shipped = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert shipped
        assert {f"pegasus/_resources/{path.as_posix()}" for path in shipped} <= names
    assert "pegasus/py.typed" in names
    assert f"pegasus_multirotor-{__version__}.dist-info/licenses/LICENSE" in names
    assert not [
        name for name in names if name.startswith(("tests", "docs", "examples")) or "__pycache__" in name
    ]


def test_installed_command(wheel, tmp_path):
    """The installed command would be missing, or look for worlds and vehicles in a clone."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
    ]
    subprocess.run([*install, wheel], check=True, capture_output=True, timeout=60)
    # The dependencies are those of this process; a link to the clone is no package, and is not followed.
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(
        "\n".join([*site.getsitepackages(), site.getusersitepackages()])
    )
    # Nor does a path of the caller's lead there.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def installed(*line):
        ended = subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert ended.stderr == ""
        return ended.stdout

    command = python.with_name("pegasus")
    assert "courtyard" in installed(command, "list", "worlds")
    assert "courtyard" in installed(command, "run", "--duration", "0.1", "--out", "out")
    assert len(list(tmp_path.glob("out/*/flight.mcap"))) == 1
    where = installed(python, "-c", "from pegasus.folders import resource; print(resource('config'))")
    assert Path(where.strip()) == packages / "pegasus" / "_resources" / "config"


@pytest.mark.parametrize("line", ["from pegasus import *", "import pegasus.cli"])
def test_import_is_light(line):
    """An import would load an engine, a renderer, a simulator or a plotter that it may never need."""
    code = f"import sys; {line}; print(*[name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert loaded.stdout.split() == []


def without(*modules, line):
    """Run a line of Python where some modules are not installed."""
    absent = f"import sys; sys.modules.update(dict.fromkeys({modules}))"
    return subprocess.run(
        [sys.executable, "-c", f"{absent}; {line}"], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(("module", "package"), [("pxr", "usd-core"), ("mujoco", "mujoco")])
def test_without_the_standalone_simulator(module, package):
    """Who installs Pegasus without the extra would see a traceback at the first flight."""
    fly = "from pegasus import Simulation; Simulation('flat')"
    ended = without(module, line=fly)
    assert f"needs the package {package}, which is not installed" in ended.stderr.splitlines()[-1]
    command = "sys.argv = ['pegasus', 'run']; from pegasus.__main__ import main; main()"
    ended = without(module, line=command)
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert package in said
    assert "pip install 'pegasus-multirotor[standalone]'" in said
    # Everything else works.
    assert without(module, line=command.replace("run", "doctor")).returncode in (0, 1)


def test_a_module_that_is_wrong_keeps_its_traceback():
    """A module of the user's own that is missing would be told in place of where it was asked for."""
    wrong = (
        "from pegasus.errors import standalone_error; standalone_error(ModuleNotFoundError(name='no_such'))"
    )
    ended = without(line=wrong)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


@pytest.fixture
def clone(tmp_path):
    """Return how to call the script of a clone whose path has a space; it gives the process and its calls."""
    root = tmp_path / "my clone"
    root.mkdir()
    for name in "pegasus.sh", "pyproject.toml", "constraints.txt":
        shutil.copy(ROOT / name, root)
    python, calls = tmp_path / "a python", tmp_path / "calls"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    (tmp_path / "elsewhere").mkdir()

    def call(*arguments, at=root, **environment):
        calls.write_text("")
        settings = {"PATH": "/usr/bin:/bin", "CALLS": str(calls), "FITS": "True", "PYTHON": str(python)}
        ended = subprocess.run(
            [at / "pegasus.sh", *arguments],
            cwd=tmp_path / "elsewhere",
            env=settings | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return ended, calls.read_text().splitlines()

    call.root = root
    return call


def test_script_installs_once(clone):
    """The script of a clone would install at every call, or not when the dependencies have changed."""
    ended, calls = clone("run", "a b", "--seed", "1")
    assert ended.returncode == 0
    install = f"--constraint {clone.root}/constraints.txt --editable {clone.root}[standalone]"
    assert [line for line in calls if "pip install" in line] == [
        "elsewhere: -m pip install --disable-pip-version-check --no-input --no-color --progress-bar off "
        + install
    ]
    assert calls[-1] == "elsewhere: -P -m pegasus run a b --seed 1"
    assert clone("list", "worlds")[1] == ["elsewhere: -P -m pegasus list worlds"]
    with (clone.root / "constraints.txt").open("a") as constraints:
        constraints.write("# changed\n")
    assert any("pip install" in line for line in clone("list", "worlds")[1])


def test_script_tests(clone):
    """The tests would run elsewhere or without their tools, or a run install again what they have."""
    _, calls = clone("test", "tests/test_x.py", "-k", "a b")
    assert any(line.endswith(f"--editable {clone.root}[standalone,dev]") for line in calls)
    assert calls[-1] == "my clone: -m pytest tests/test_x.py -k a b"
    assert clone("run")[1] == ["elsewhere: -P -m pegasus run"]


def test_script_of_a_moved_clone(clone, tmp_path):
    """A clone that is moved would run the code at its old place, or none."""
    clone("run")
    moved = clone.root.rename(tmp_path / "moved")
    ended, calls = clone("run", at=moved)
    assert ended.returncode == 0
    assert any(line.endswith(f"--editable {moved}[standalone]") for line in calls)
    assert clone("run", at=moved)[1] == ["elsewhere: -P -m pegasus run"]


def test_script_without_python(clone):
    """Who lacks a Python that fits would not be told so, or be left with half an environment."""
    ended, _ = clone("run", FITS="False")
    assert ended.returncode == 2
    assert "3.11" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    ended, _ = clone("run", PYTHON="/no/such/python")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "PYTHON=/no/such/python" in ended.stderr
    assert not (clone.root / ".venv").exists()


def test_script_after_a_failed_installation(clone):
    """An installation that failed, as without a network, would count as done."""
    ended, calls = clone("run", PIP_FAILS="1")
    assert ended.returncode == 1
    assert "failed" in ended.stderr
    assert not any("-m pegasus" in line for line in calls)
    ended, calls = clone("run")
    assert any("pip install" in line for line in calls)
    assert ended.returncode == 0


PACKAGES = sorted(
    f"pegasus.{module.name}"
    for module in pkgutil.iter_modules(pegasus.__path__)
    if module.ispkg and module.name != "isaac"
)


@pytest.mark.parametrize("package", PACKAGES)
def test_any_package_can_be_imported_first(package):
    """Packages that import each other in a circle would fail for a script that starts with one of them."""
    subprocess.run([sys.executable, "-c", f"import {package}"], check=True, timeout=60)
