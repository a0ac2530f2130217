"""Stand-ins of Isaac Sim's installations: an unpacked archive, and packages of pip or conda."""

import os
import sys
from pathlib import Path
from shlex import quote

APPS = ("isaacsim.exp.full", "isaacsim.exp.full.newton", "isaacsim.exp.full.streaming", "isaacsim.exp.base")
# As NVIDIA's: Python is a child of the script, and each of its exit codes but 0 becomes 1.
PYTHON_SH = """#!/bin/bash
set -e
error_exit()
{{
    echo "There was an error running python"
    exit 1
}}
python_exe=${{PYTHONEXE:-{python}}}
"$python_exe" "$@" || error_exit
"""
# Records its arguments; answers queries by -c.
NOTES = """#!/bin/sh
if [ "$1" = "-c" ] && [ "$2" != "from isaacsim import main; main()" ]; then exec {python} "$@"; fi
printf "%s\\n" "$@" PYTHONPATH="$PYTHONPATH" >"{folder}/called"
exit ${{ENDS:-0}}
"""


def executable(path: Path, text: str) -> Path:
    """Write an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def unpacked(folder: Path, *, python: str | None = None) -> Path:
    """Create a folder like Isaac Sim; its programs record their arguments, or run a Python."""
    for name in APPS:
        (folder / "apps").mkdir(parents=True, exist_ok=True)
        (folder / "apps" / f"{name}.kit").write_text("[package]\n")
    notes = NOTES.format(folder=folder, python=quote(sys.executable))
    executable(folder / "python.sh", notes if python is None else PYTHON_SH.format(python=quote(python)))
    for name in "isaac-sim.sh", "isaac-sim.newton.sh", "isaac-sim.streaming.sh", "kit/kit":
        executable(folder / name, notes)
    return folder


def packaged(environment: Path) -> Path:
    """Create an environment whose Python has a package `isaacsim`, and return the package folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    package = environment / "lib" / version / "site-packages" / "isaacsim"
    (package / "apps").mkdir(parents=True)
    for name in APPS:
        (package / "apps" / f"{name}.kit").write_text("[package]\n")
    (package / "__init__.py").write_text("raise RuntimeError('Kit is started only when it is needed')\n")
    (environment / "bin").mkdir()
    # A link to this interpreter beside this file makes it a virtual environment.
    (environment / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    (environment / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    return package
