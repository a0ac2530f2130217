"""Tests of the command `pegasus isaac`: the processes that it starts and their arguments."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pegasus.cli.main import app
from pegasus.isaac import command, packages
from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from tests.isaac.installations import packaged, unpacked
from tests.test_packaging import ROOT
from tests.waits import LIMIT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts of Windows are others")


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """Return a folder like Isaac Sim whose Python records its arguments."""
    folder = unpacked(tmp_path / "isaac sim")
    monkeypatch.setenv("ISAACSIM_PATH", str(folder))
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def shown(capsys, *line):
    """Return the words of the command to be run."""
    assert command.main(["--dry-run", *line]) == 0
    return shlex.split(capsys.readouterr().out)


def test_a_scenario_is_flown_by_its_python(installation):
    """Isaac Sim's Python would not import this Pegasus, or miss an option."""
    assert command.main(["first_flight", "--headless", "--duration", "3"]) == 0
    called = (installation / "called").read_text().splitlines()
    assert called[:-1] == ["-m", "pegasus.cli.isaac_flight", "first_flight", "--duration", "3", "--headless"]
    assert called[-1].startswith(f"PYTHONPATH={ROOT}")


@pytest.mark.usefixtures("installation")
def test_its_failure_is_ours(monkeypatch):
    """A failed flight would exit with the code of success."""
    monkeypatch.setenv("ENDS", "7")
    assert command.main([]) == 7


def test_options_without_a_scenario(installation, capsys):
    """The value of an option would be taken for the name of a scenario."""
    assert shown(capsys, "--duration", "3", "--seed", "2") == [
        str(installation / "python.sh"),
        *("-m", "pegasus.cli.isaac_flight", "--duration", "3", "--seed", "2"),
    ]


def test_options_of_isaac_sim_reach_it(installation, capsys):
    """App, renderer, GPU and settings would be ignored."""
    kit = ["--newton", "--renderer", "PathTracing", "--/app/x=1"]
    further = ["--", "--enable", "e"]
    assert shown(capsys, "first_flight", *kit, "--seed", "2", *further)[3:] == [
        *("first_flight", "--seed", "2", "--newton", "--renderer", "PathTracing"),
        *("--", "--/app/x=1", "--enable", "e"),
    ]
    window = shown(capsys, "first_flight", "--gui", *kit, *further)
    assert window[0] == str(installation / "isaac-sim.newton.sh")
    assert window[-4:] == ["--/rtx/rendermode=PathTracing", "--/app/x=1", "--enable", "e"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["first_flight", "--gui", "--duration", "3"], "--duration: is for flights"),
        (["--gui", "--seed", "3"], "--seed: is for flights"),
        (["--gui", "--headless"], "--headless: means no window"),
        (["--play"], "--play: is for the panel"),
        (["--app", "isaacsim.exp.fll"], "--app = 'isaacsim.exp.fll': no such app; there are"),
        (["--resolution", "big"], "'big' is not a resolution"),
        (["--isaac-python", "/no/where"], "--isaac-python = '/no/where': is not an Isaac Sim"),
    ],
)
@pytest.mark.usefixtures("installation")
def test_what_would_not_count_is_refused(capsys, line, said):
    """An option without effect, such as a duration in the window, would be accepted."""
    assert command.main([*line, "--dry-run"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert said in error


def test_the_window_gets_the_extension(installation, tmp_path, capsys):
    """Kit, which names an extension by its folder, would not find it in a clone."""
    scenario = tmp_path / "mine.yaml"
    scenario.touch()
    for _ in range(2):
        words = shown(capsys, str(scenario), "--gui", "--play")
    folder = tmp_path / "cache" / "isaac_sim" / "extensions"
    assert words == [
        str(installation / "isaac-sim.sh"),
        *("--ext-folder", str(folder), "--enable", packages.EXTENSION_NAME),
        # Not into the folder of Isaac Sim, which another user may own.
        f"--{OUT_SETTING}={Path.cwd() / 'runs'}",
        f"--{SCENARIO_SETTING}={scenario}",
        f"--{PLAY_SETTING}=true",
    ]
    extension = folder / packages.EXTENSION_NAME
    for file in "config/extension.toml", "pegasus/isaac/extension.py", "pegasus_multirotor.py":
        assert (extension / file).is_file()


def test_the_extension_has_one_name():
    """Kit would enable two extensions, or none: it names each by its folder, which the pages name."""
    named = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        named |= set(re.findall(r"--enable (pegasus\S*)|git clone URL (\S+)|in your cache, `([\w.]+)`", text))
    assert {name for found in named for name in found if name} == {packages.EXTENSION_NAME}


# Only the standard library: neither site-packages nor the user's packages.
BARE = [sys.executable, "-S", "-E", "-m", "pegasus"]


def test_the_standard_library_is_enough(installation):
    """In Isaac Sim's Python without packages the command would end in a traceback."""
    done = subprocess.run(
        [*BARE, "isaac", "--dry-run"], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shlex.split(done.stdout) == [str(installation / "python.sh"), "-m", "pegasus.cli.isaac_flight"]


def test_within_the_environment_of_isaac_sim(tmp_path):
    """Users of Isaac Lab would have to name the Python that they run."""
    packaged(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    cache = str(tmp_path / "cache")
    variables = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PEGASUS_CACHE_DIR": cache}

    def ask(*line):
        return subprocess.run(
            line, env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT
        )

    line = [python, "-m", "pegasus", "isaac", "--dry-run"]
    done = ask(*line)
    assert shlex.split(done.stdout) == [str(python), "-m", "pegasus.cli.isaac_flight"]
    done = ask(*line[:-1])
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert "the Python of Isaac Sim lacks" in said
    window = ask(*line, "--gui")
    assert shlex.split(window.stdout)[:4] == [
        *(str(python), "-c", "from isaacsim import main; main()"),
        "isaacsim.exp.full",
    ]


@pytest.mark.usefixtures("installation")
def test_it_is_listed_with_the_other_commands():
    """`pegasus --help` would not list the command."""
    assert "isaac" in CliRunner().invoke(app, ["--help"]).output
    done = CliRunner().invoke(app, ["isaac", "first_flight", "--seed", "3", "--dry-run"])
    assert done.output.endswith("-m pegasus.cli.isaac_flight first_flight --seed 3\n")


def test_nothing_beside_pegasus_gets_into_its_python(monkeypatch, tmp_path):
    """Packages of another Python would precede those of Isaac Sim."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert packages.python_path() == str(ROOT)
    # As installed by pip.
    place = tmp_path / "site-packages"
    shutil.copytree(ROOT / "pegasus", place / "pegasus", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(ROOT / "pegasus_multirotor.py", place)
    for name in "config", "data":
        (place / "pegasus" / "_resources" / name).mkdir(parents=True)
    (place / "pxr.py").touch()
    code = "from pegasus.isaac.packages import python_path; print(python_path())"
    environment = os.environ | {"PYTHONPATH": str(place), "PEGASUS_CACHE_DIR": str(tmp_path / "cache")}
    asked = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    own, rest = asked.stdout.strip().split(os.pathsep)
    assert rest == str(place)
    assert not (Path(own) / "pxr.py").exists()
    for file in "pegasus/cli/isaac_flight.py", "pegasus_multirotor.py":
        assert (Path(own) / file).is_file()


ENDS = """
import atexit, os, sys
from pegasus.cli import isaac_flight as begin

def start(headless, **options):
    # When Isaac Sim is closed, the process ends with 0, whatever the program's code.
    atexit.register(lambda: os._exit(0))
    print(sys.argv, headless, options["renderer"], flush=True)

begin.start = start
begin.main(%r)
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["irsi", "--headless"], 2, "scenario = 'irsi'"),
        (["own.yaml", "--renderer", "PathTracing"], 1, "ZeroDivisionError"),
        (["flat.yaml", "--no-record"], 0, ""),
        (["flat.yaml", "--renderer", "Fast"], 2, "invalid choice"),
    ],
)
def test_its_exit_code_outlives_isaac_sim(tmp_path, arguments, code, said):
    """The process would end with 0 in spite of a failed flight."""
    scenario = {"name": "flat", "world": "flat", "duration": 0.1, "vehicles": [{"model": "iris"}]}
    (tmp_path / "flat.yaml").write_text(json.dumps(scenario))
    (tmp_path / "own.py").write_text("1 / 0")
    faulty = {"model": "iris", "backends": [{"model": "own:Backend"}]}
    (tmp_path / "own.yaml").write_text(json.dumps(scenario | {"vehicles": [faulty]}))
    handed_over = tmp_path / "code"
    ended = subprocess.run(
        [sys.executable, "-c", ENDS % arguments],
        cwd=tmp_path,
        env=os.environ | {"PEGASUS_EXIT_CODE_FILE": str(handed_over), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert ended.returncode == code, ended.stderr
    assert handed_over.read_text() == str(code)
    assert said in ended.stderr
    if "Fast" not in arguments:
        # Pegasus options are not passed on to Kit.
        renderer = "PathTracing" if "PathTracing" in arguments else None
        assert ended.stdout.splitlines()[0] == f"['-c'] {'--headless' in arguments} {renderer}"
