"""Tests of installing the packages that Isaac Sim's Python lacks."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from shlex import quote

import pytest
from packaging.requirements import Requirement

from pegasus.base.errors import ConfigError
from pegasus.base.system import resource
from pegasus.isaac import packages
from pegasus.isaac.installation import Installation
from tests.isaac.installations import executable
from tests.test_packaging import ROOT
from tests.waits import LIMIT

# A stand-in for pip: records its arguments; installs only from a folder that contains wheels.
PIP = """#!/bin/sh
if [ "$1" = "-c" ]; then PYTHONPATH={theirs} exec {python} -S "$@"; fi
echo "$@" >>{calls}
case "$*" in
*" download "*)
    {download}
    touch {wheels}/filled ;;
*" install "*)
    if [ ! -e {wheels}/filled ]; then echo "ERROR: No matching distribution found for mcap" >&2; exit 1; fi ;;
esac
"""


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Return a function that makes an Isaac Sim without packages, and the calls of its pip."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))

    def make(download=":"):
        calls = tmp_path / "calls"
        for name in packages._OF_ISAAC_SIM:
            (tmp_path / "theirs" / name).mkdir(parents=True)
        text = PIP.format(
            theirs=quote(str(tmp_path / "theirs")),
            python=quote(sys.executable),
            calls=quote(str(calls)),
            wheels=packages.wheels(),
            download=download,
        )
        script = executable(tmp_path / "python.sh", text)
        return Installation(tmp_path, (str(script),)), lambda: calls.read_text().splitlines()

    return make


def test_missing_packages_are_named(bare):
    """A missing package would end the flight in a traceback."""
    installation, _ = bare()
    with pytest.raises(ConfigError, match=r"lacks apsw==.*typer==.*; pegasus isaac --prepare"):
        packages.require_packages(installation)


def test_an_isaac_sim_that_is_not_whole(tmp_path):
    """A partial installation by pip would cause a traceback."""
    script = executable(tmp_path / "python.sh", f'#!/bin/sh\nexec {quote(sys.executable)} -S -E -I "$@"\n')
    with pytest.raises(ConfigError, match=r"lacks PIL, numpy, .*pip install 'pegasus-multirotor\[isaac\]'"):
        packages.require_packages(Installation(tmp_path, (str(script),)))


def test_present_packages_are_fine(caplog):
    """A complete Python would be rejected, or a second OpenUSD be accepted."""
    packages.require_packages(Installation(ROOT, (sys.executable,)))
    assert "usd-core next to Isaac Sim's own OpenUSD" in caplog.text


def test_a_python_that_does_not_run(tmp_path):
    """A broken installation would count as complete."""
    script = executable(tmp_path / "python.sh", "#!/bin/sh\necho no driver >&2\nexit 3\n")
    with pytest.raises(ConfigError, match="does not run: no driver"):
        packages.require_packages(Installation(tmp_path, (str(script),)))


def test_they_are_fetched_once_and_kept(bare):
    """A machine without network could not use copied wheels."""
    installation, calls = bare()
    said = packages.prepare(installation, environment={"PATH": "/usr/bin:/bin"})
    assert "installed apsw==" in said
    assert str(packages.wheels()) in said
    first, download, last = calls()
    assert first == last
    assert "--no-index --find-links" in first
    assert "--only-binary :all: --dest" in download
    packages.prepare(installation, environment={"PATH": "/usr/bin:/bin"})
    # From the folder alone.
    assert calls()[3:] == [first]


def test_without_a_network_the_reason_is_said(bare):
    """A failure of pip would be a traceback, or count as success."""
    installation, _ = bare(download="echo 'ERROR: no route to host' >&2; exit 1")
    with pytest.raises(ConfigError, match="ERROR: no route to host"):
        packages.prepare(installation, environment={"PATH": "/usr/bin:/bin"})


def test_nothing_is_done_where_nothing_is_missing():
    """Packages of Isaac Sim would be replaced at each call."""
    said = packages.prepare(Installation(ROOT, (sys.executable,)), environment={})
    assert said == f"{ROOT}: nothing is missing"


def with_what_they_need(names):
    """Return the names of packages and of their dependencies, except pydantic's."""
    found, open_ = set(), {name.lower() for name in names}
    while open_:
        found |= open_
        lines = [line for name in open_ - {"pydantic"} for line in importlib.metadata.requires(name) or ()]
        asked = [Requirement(line) for line in lines]
        here = {one.name.lower() for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})}
        open_ = here - found
    return found


def test_the_manifest_asks_for_what_isaac_sim_lacks():
    """Kit would replace packages that it has, or not find those that it has installed."""
    pipapi = tomllib.loads(resource("config", "extension.toml").read_text(encoding="utf-8"))["python"][
        "pipapi"
    ]
    # Kit uses the requirement as the module name unless the manifest names another module.
    assert len(pipapi["modules"]) == len(pipapi["requirements"])
    assert pipapi["use_online_index"] is True
    assert pipapi["archiveDirs"] == [packages.wheels().name]
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    command = list(packages._OF_THE_COMMAND.values())
    assert set(pipapi["requirements"] + command) <= set(pinned)
    # Packages that 6.0.1 and 5.1.0 ship; all other dependencies must be listed.
    theirs = {"numpy", "pillow", "pydantic", "pyyaml", "typing_extensions"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + project["optional-dependencies"]["isaac"]
    needed = with_what_they_need({Requirement(line).name for line in lines} - theirs) - theirs
    assert {Requirement(line).name.lower() for line in pipapi["requirements"] + command} == needed
    for module in pipapi["modules"]:
        __import__(module)


def test_the_container_installs_them():
    """The container would lack a listed package, or fail to build."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (line,) = re.findall(r'python3 -c "(.*)"\)', dockerfile)
    said = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout
    assert said.split() == list(packages.own_packages().values())
    assert "-m pegasus isaac" in dockerfile


def test_the_window_does_without_the_packages_of_the_command():
    """The extension would import packages that only `pegasus run` installs."""
    line = (
        "import sys; sys.modules.update(dict.fromkeys(('rich', 'typer', 'coacd')));"
        "from tests.isaac import fakes; kit = fakes.install('6.2.0');"
        "from tests.isaac.user import User; user = User(kit); user.fly_square(); kit.timeline.play();"
        "user.update(20); print(user.simulation.step_count > 10, user.messages); user.extension.on_shutdown()"
    )
    done = subprocess.run(
        [sys.executable, "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stdout.splitlines()[-1].startswith("True"), done.stdout + done.stderr
