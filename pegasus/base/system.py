"""Folders of shipped and user files and of the cache, suffixes, addresses, processors."""

import functools
import os
import re
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
"""Suffixes of OpenUSD files, in lower case."""
GLTF_SUFFIXES = (".gltf", ".glb")
SCENE_SUFFIXES = (*USD_SUFFIXES, *GLTF_SUFFIXES)
"""Suffixes of glTF files, and of all files that hold a scene."""
REMOTE = re.compile(r"[a-zA-Z][\w+.-]+://(?!/)")
"""Beginning of a path that is an address, such as https:// or omniverse://."""

LOCAL, PORT = "127.0.0.1", 8080
"""Default address and port of the panel's page."""

_LOW_PRIORITY = 10
"""Niceness of threads that work beside others."""

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "_resources"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
_CONFIG_VARIABLE = "PEGASUS_CONFIG_DIR"
_CACHE_VARIABLE = "PEGASUS_CACHE_DIR"


def resource(*parts: str) -> Path:
    """Return the path of a shipped file or folder.

    Args:
        parts: Path below the repository root, such as "config", "vehicles", "iris.yaml".
    """
    return _ROOT.joinpath(*parts)


def user_config() -> Path:
    """Return the folder of the user's `settings.yaml` and own `vehicles`, `worlds` and `scenarios`.

    The environment variable PEGASUS_CONFIG_DIR takes precedence over the folder of the system, such as
    ~/.config/pegasus.
    """
    mac = "~/Library/Application Support/pegasus"
    xdg = "XDG_CONFIG_HOME", "~/.config"
    return _user_folder(_CONFIG_VARIABLE, windows="pegasus", mac=mac, xdg=xdg)


def user_cache() -> Path:
    """Return the cache folder: generated worlds, unpacked textures, decomposed meshes.

    The environment variable PEGASUS_CACHE_DIR takes precedence over the folder of the system, such as
    ~/.cache/pegasus.
    """
    mac = "~/Library/Caches/pegasus"
    xdg = "XDG_CACHE_HOME", "~/.cache"
    return _user_folder(_CACHE_VARIABLE, windows="pegasus/Cache", mac=mac, xdg=xdg)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that becomes a file at the end, or is deleted after an error.

    Its folder is made, its suffix is that of the file, and its name is unique among threads, processes and
    computers that share the folder, so that nobody reads half a file.

    Args:
        path: The file.

    Raises:
        OSError: If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def at_home(path: Path) -> Path:
    """Return a path with ~ expanded to the user's home; unchanged if the user is unknown."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _user_folder(variable: str, *, windows: str, mac: str, xdg: tuple[str, str]) -> Path:
    """Return the folder named by an environment variable, else that of the system."""
    if moved := os.environ.get(variable):
        return at_home(Path(moved))
    if sys.platform == "win32":
        return at_home(Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")) / windows
    if sys.platform == "darwin":
        return at_home(Path(mac))
    return at_home(Path(os.environ.get(xdg[0]) or xdg[1])) / "pegasus"


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    # Not every system has affinities.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def has_wide_registers() -> bool:
    """Return whether the processor is known to have registers of 512 bits, those of AVX-512."""
    with suppress(OSError):
        return " avx512f " in Path("/proc/cpuinfo").read_text()
    return False


def yield_to_others() -> None:
    """Let the scheduler prefer other threads to the calling one for good; only Linux can.

    A thread that renders beside the simulation then does not hold up its steps.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            niceness = max(os.getpriority(os.PRIO_PROCESS, thread), _LOW_PRIORITY)
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


def free_memory() -> float:
    """Return the memory that new data may take [bytes]."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
