"""Tests of packaging: contents of the wheel, modules loaded by an import, and the script of a clone."""

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
from pegasus.config.files import load_world
from pegasus.core.assembly import placed_world
from pegasus.version import __version__
from tests.waits import LIMIT

ROOT = Path(__file__).parents[1]
# Stand-in for Python in `pegasus.sh`: it logs its arguments, and copies itself into new environments.
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
    "pymavlink",
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
    # pip downloads the build backend only if it is not installed.
    here = ["--no-build-isolation"] if find_spec("hatchling") else []
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", *here]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True, capture_output=True, timeout=LIMIT)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel(wheel):
    """An installed Pegasus would lack a module, a shipped file, its licence or its types."""
    assert wheel.name == f"pegasus_multirotor-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = [path for pattern in ("*.py", "*.h") for path in (ROOT / "pegasus").rglob(pattern)]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= names
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
    # A world that takes long to make would be announced.
    placed_world(*load_world("courtyard"))
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
    subprocess.run([*install, wheel], check=True, capture_output=True, timeout=LIMIT)
    # Use the dependencies of this process. Links to the clone among them (.pth files) are not followed.
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(
        "\n".join([*site.getsitepackages(), site.getusersitepackages()])
    )
    # PYTHONPATH must not lead to the clone either.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def installed(*line):
        ended = subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=LIMIT
        )
        assert ended.stderr == ""
        return ended.stdout

    command = python.with_name("pegasus")
    assert "courtyard" in installed(command, "list", "worlds")
    assert "courtyard" in installed(command, "run", "--duration", "0.1", "--out", "out")
    assert len(list(tmp_path.glob("out/*/flight.mcap"))) == 1
    where = installed(python, "-c", "from pegasus.base.system import resource; print(resource('config'))")
    assert Path(where.strip()) == packages / "pegasus" / "_resources" / "config"


@pytest.mark.parametrize("line", ["from pegasus import *", "import pegasus.cli.main"])
def test_import_is_light(line):
    """An import would load an engine, a renderer, a simulator or a plotting library without need."""
    code = f"import sys; {line}; print(*[name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert loaded.stdout.split() == []


def without(*modules, line):
    """Run a line of Python as if some modules were not installed."""
    absent = f"import sys; sys.modules.update(dict.fromkeys({modules}))"
    return subprocess.run(
        [sys.executable, "-c", f"{absent}; {line}"], capture_output=True, text=True, timeout=LIMIT
    )


@pytest.mark.parametrize(("module", "package"), [("pxr", "usd-core"), ("mujoco", "mujoco")])
def test_without_the_standalone_simulator(module, package):
    """Without the extra `standalone`, the first flight would cause a traceback instead of a remedy."""
    fly = "from pegasus import Simulation; Simulation('flat')"
    ended = without(module, line=fly)
    assert f"needs the package {package}, which is not installed" in ended.stderr.splitlines()[-1]
    command = "sys.argv = ['pegasus', 'run']; from pegasus.__main__ import main; main()"
    ended = without(module, line=command)
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert package in said
    assert "pip install 'pegasus-multirotor[standalone]'" in said
    # Commands without a simulation still work.
    assert without(module, line=command.replace("run", "doctor")).returncode in (0, 1)


@pytest.mark.parametrize("missing", ["pymavlink", "fastcrc"])
@pytest.mark.parametrize("scenario", ["px4_square", "ardupilot_square"])
def test_without_mavlink(missing, scenario, tmp_path):
    """A flight with an autopilot would end in a traceback, or only when its first message is sent."""
    command = "from pegasus.__main__ import main; main()"
    out = str(tmp_path / "out")
    ended = without(missing, line=f"sys.argv = ['pegasus', 'run', {scenario!r}, '--out', {out!r}]; {command}")
    assert ended.returncode == 2
    assert "pip install 'pegasus-multirotor[px4]'" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_without_what_a_flight_does_not_need(tmp_path):
    """A flight would fail for lack of a plotting library, or leave out its plot without a word."""
    flown = f"sys.argv = ['pegasus', 'run', '--duration', '0.1', '--out', {str(tmp_path / 'out')!r}]; "
    main = "from pegasus.__main__ import main; main()"
    ended = without("matplotlib", "coacd", "packaging", line=flown + main)
    assert (ended.returncode, ended.stderr) == (0, "")
    folder, remedy = ended.stdout.splitlines()[-2:]
    assert folder.endswith(": flight.mcap, summary.json")
    assert remedy == "no plot, for lack of matplotlib: pip install 'pegasus-multirotor[plot]'"
    (run,) = (tmp_path / "out").iterdir()
    ended = without("matplotlib", line=f"sys.argv = ['pegasus', 'plot', {str(run)!r}]; {main}")
    assert ended.returncode == 2
    assert ended.stderr.endswith("which is not installed; pip install 'pegasus-multirotor[plot]'\n")
    ended = without("packaging", line=f"sys.argv = ['pegasus', 'doctor', '--json']; {main}")
    assert ended.returncode == 0, ended.stdout


def test_without_the_decomposition_of_meshes():
    """A world with a mesh to decompose would end in a traceback without CoACD."""
    decompose = (
        "import numpy as np; from pegasus.scene.decomposition import _solve;"
        "_solve(np.eye(3), np.array([[0, 1, 2]]), 'mesh')"
    )
    said = without("coacd", line=decompose).stderr.splitlines()[-1]
    assert said.endswith(
        "needs the package coacd, which is not installed; pip install 'pegasus-multirotor[meshes]'"
    )


def test_a_module_that_is_wrong_keeps_its_traceback():
    """A missing module of the user's own code would be reported without a traceback."""
    wrong = "from pegasus.base.errors import package_error as fail; fail(ModuleNotFoundError(name='no_such'))"
    ended = without(line=wrong)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


@pytest.fixture
def clone(tmp_path):
    """Return a function that runs a clone's script, at a path with a space: ended process, Python calls."""
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
            timeout=LIMIT,
        )
        return ended, calls.read_text().splitlines()

    call.root = root
    return call


def test_script_installs_once(clone):
    """The script would install at every call, or would not install after the dependencies have changed."""
    ended, calls = clone("run", "a b", "--seed", "1")
    assert ended.returncode == 0
    install = f"--constraint {clone.root}/constraints.txt --editable {clone.root}[standalone,plot]"
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
    """Tests would run in another folder or without their tools, or the next command would install again."""
    _, calls = clone("test", "tests/test_x.py", "-k", "a b")
    assert any(line.endswith(f"--editable {clone.root}[standalone,plot,dev]") for line in calls)
    assert calls[-1] == "my clone: -m pytest tests/test_x.py -k a b"
    assert clone("run")[1] == ["elsewhere: -P -m pegasus run"]


def test_script_of_a_moved_clone(clone, tmp_path):
    """A clone that was moved would run the code at its old path, or fail."""
    clone("run")
    moved = clone.root.rename(tmp_path / "moved")
    ended, calls = clone("run", at=moved)
    assert ended.returncode == 0
    assert any(line.endswith(f"--editable {moved}[standalone,plot]") for line in calls)
    assert clone("run", at=moved)[1] == ["elsewhere: -P -m pegasus run"]


def test_script_without_python(clone):
    """Without a suitable Python, the script would give no reason, or leave an incomplete environment."""
    ended, _ = clone("run", FITS="False")
    assert ended.returncode == 2
    assert "3.11" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    ended, _ = clone("run", PYTHON="/no/such/python")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "PYTHON=/no/such/python" in ended.stderr
    assert not (clone.root / ".venv").exists()


def test_script_after_a_failed_installation(clone):
    """A failed installation, as without a network, would count as complete."""
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


def test_any_package_can_be_imported_first():
    """A circular import would fail in a script that imports one of the packages first."""
    assert len(PACKAGES) > 20
    # Libraries stay loaded, but each package finds none of Pegasus.
    code = f"""
import importlib, sys
for package in {PACKAGES}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pegasus"]:
        del sys.modules[name]
    importlib.import_module(package)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT)
    assert ended.returncode == 0, ended.stderr
