"""NVIDIA Warp as the compiler: its start, its devices, and its cache of compiled code."""

import contextlib
import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import warp as wp

from pegasus.base.errors import ConfigError
from pegasus.base.shared_headers import share_headers
from pegasus.base.system import user_cache

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)
_LOCK = threading.RLock()
_PATIENCE, _POLL = 120.0, 0.02
"""Longest wait for another process that compiles the same module, and interval of looking [s]."""


def start_warp() -> None:
    """Initialize Warp without its messages; compiled code is kept in the user's cache."""
    with _LOCK:
        if hasattr(wp.config, "log_level"):
            wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
        else:
            # Before Warp 1.14.
            wp.config.quiet = True  # type: ignore[attr-defined]
        if wp.config.kernel_cache_dir is None:
            wp.config.kernel_cache_dir = str(user_cache() / "kernels")
        _initialize()


@functools.cache
def _initialize() -> None:
    """Initialize Warp once: even a second time takes 100 microseconds."""
    with _without_gpu_messages():
        wp.init()  # type: ignore[no-untyped-call]
    share_headers(wp)


def optimization() -> dict[str, int]:
    """Return Warp's option for the optimization of traced code: none by default.

    The environment variable PEGASUS_COMPILE_QUICKLY=1 turns optimizations off: code with the same bits is
    compiled in less than half the time, and runs two to three times longer. Old versions of Warp ignore it.
    """
    return {"optimization_level": 0} if os.environ.get("PEGASUS_COMPILE_QUICKLY") == "1" else {}


def device_named(name: str) -> str:
    """Return the full name of a device: `cpu`, or that of a GPU.

    Args:
        name: `cpu`, or a GPU such as `cuda:0`.

    Raises:
        ConfigError: If there is no such device.
    """
    start_warp()
    if name == "cpu":
        return name
    names = [str(device) for device in wp.get_cuda_devices()]
    if name == "cuda" and names:
        return str(wp.get_device("cuda"))
    if name in names:
        return name
    raise ConfigError(
        f"is not on this machine, which has {', '.join(['cpu', *names])}",
        field="device",
        value=name,
        remedy="choose one of these; a GPU needs the driver of NVIDIA",
    )


@contextlib.contextmanager
def compiled_once(name: str) -> Iterator[None]:
    """Load a module while no other process does, so that only the first one compiles it.

    Where files cannot be locked, and after a long wait, each process compiles it, which only takes longer.

    Args:
        name: Name of the module of Warp.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path = Path(str(wp.config.kernel_cache_dir), f".{name}.lock")
            file = stack.enter_context(path.open("a"))
            end = time.monotonic() + _PATIENCE
            while fcntl is not None and time.monotonic() < end:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # Closing the file would not unlock it while a fork of this process has it open.
                    stack.callback(fcntl.flock, file, fcntl.LOCK_UN)
                    break
                except BlockingIOError:
                    time.sleep(_POLL)
        yield


def announce_compilation(module: str) -> None:
    """Say once that something is compiled, unless the cache holds a version of a module.

    Args:
        module: Name of the module of Warp.
    """
    if not _cached(module):
        _announce()


@functools.cache
def _announce() -> None:
    """Say once that something is compiled: it takes some seconds."""
    text = "compiling the step, once per installation ..."
    _log.info(text)
    if not _log.isEnabledFor(logging.INFO) and sys.stderr.isatty():
        print(f"pegasus: {text}", file=sys.stderr)


def _cached(name: str) -> bool:
    """Return whether the cache holds a version of a module."""
    folder = Path(str(wp.config.kernel_cache_dir))
    return any(folder.glob(f"wp_{name}_*"))


@contextlib.contextmanager
def _without_gpu_messages() -> Iterator[None]:
    """Suppress Warp's messages about a missing GPU: on standard error, in old versions also by a warning.

    Standard output is left alone, because other threads may print meanwhile.
    """
    kept, nothing, utils = os.dup(2), os.open(os.devnull, os.O_WRONLY), vars(wp.utils)
    warn = utils.get("warn")
    try:
        os.dup2(nothing, 2)
        utils["warn"] = lambda *_, **__: None
        yield
    finally:
        os.dup2(kept, 2)
        utils["warn"] = warn
        os.close(kept)
        os.close(nothing)
