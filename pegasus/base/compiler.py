"""Compilation of step functions by NVIDIA Warp, and the rows that they run over."""

import contextlib
import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import warp as wp

from pegasus.base.components import annotations_of
from pegasus.base.errors import ConfigError
from pegasus.base.launches import Launch
from pegasus.base.step_math import Table
from pegasus.base.system import user_cache
from pegasus.base.warp_translation import NUMBERS, filled_struct, kernel_of, rows_struct, struct_of

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


class Kernel:
    """Step function of rows, compiled: `function(i, rows, ...)` is called for each row i.

    Args:
        function: The function; its arguments after `i` are the dataclass of columns and plain numbers.
    """

    saved_as = "code"

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._kernel: Any = None

    def launch(self, rows: "Rows", count: int, *values: float, apart: bool = False) -> "Launch":
        """Return a prepared launch over rows 0 to count - 1.

        Args:
            rows: The rows.
            count: Number of rows.
            values: Arguments after the rows.
            apart: Whether no row reads what another writes: several threads may then run many rows.
        """
        with _LOCK:
            if self._kernel is None:
                self._kernel = _loaded(self._function, rows.device)
        return Launch(self._kernel, rows, count, values, apart=apart)


@functools.cache
def shared_kernel(function: Callable[..., None]) -> Kernel:
    """Return the kernel of a step function, the same one at each call.

    Args:
        function: The step function.
    """
    return Kernel(function)


class Rows:
    """Columns of rows: in memory shared with NumPy, or copies of it on a GPU.

    Args:
        kind: Dataclass whose fields are annotated as `Column[...]` and `Table[...]`.
        arrays: C-contiguous arrays by field: float64 (int32 for `int`, uint64 for `Word`), or sequences of
            parameter structures; also arrays of `device_arrays`, which are used without a copy.
        device: `cpu`, or a GPU such as `cuda:0`, on which `upload` and `download` copy the columns.

    Raises:
        ConfigError: If there is no such device.
    """

    saved_as = "nothing"

    def __init__(self, kind: type, arrays: Mapping[str, Any], *, device: str = "cpu") -> None:
        start_warp()
        self.device = device_named(device)
        self._kind, self._arrays = kind, dict(arrays)
        self._kept: list[Any] = []
        self._copies: list[tuple[Any, Any]] = []
        self.structure = rows_struct(kind)()
        for name, (element, dimensions) in _columns_of(kind).items():
            values = arrays[name]
            if isinstance(values, wp.array):
                self._kept.append(values)
                setattr(self.structure, name, values)
                continue
            if device == "cpu" and element in NUMBERS:
                _share(getattr(self.structure._ctype, name), values, dimensions)
                self._kept.append(values)
                continue
            made, structures = _array(values, element, dimensions, device)
            self._kept += [values, made, structures]
            setattr(self.structure, name, made)
            if device != "cpu" and not structures:
                self._copies.append((values, made))

    def exchange(self, arrays: Mapping[str, Any]) -> None:
        """Read and write other arrays of numbers of the same types, on the CPU; the caller keeps them."""
        self._arrays, self._kept = {}, []
        for name, (_, dimensions) in _columns_of(self._kind).items():
            _share(getattr(self.structure._ctype, name), arrays[name], dimensions)

    @functools.cached_property
    def python(self) -> Any:
        """The same rows for plain Python."""
        made: Any = object.__new__(self._kind)
        for name, hint in annotations_of(self._kind).items():
            made.__dict__[name] = get_origin(hint)(self._arrays[name], *get_args(hint))
        return made

    def upload(self) -> None:
        """Copy the columns from NumPy's arrays to the GPU; nothing to do on the CPU."""
        for values, made in self._copies:
            made.assign(values)

    def download(self) -> None:
        """Copy the columns from the GPU into NumPy's arrays, when its launches are done."""
        for values, made in self._copies:
            values[...] = made.numpy().reshape(values.shape)


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


@functools.cache
def _columns_of(kind: Any) -> dict[str, tuple[Any, int]]:
    """Return the element and the number of dimensions of each column or table of a dataclass."""
    return {
        name: (get_args(hint)[0], 2 if get_origin(hint) is Table else 1)
        for name, hint in annotations_of(kind).items()
    }


def _share(place: Any, values: Any, dimensions: int) -> None:
    """Let an array of a structure of Warp be the memory of NumPy's; an array object costs five times as much.

    Args:
        place: Descriptor of the array in the structure: address, shape and strides.
        values: Numbers, contiguous.
        dimensions: Number of dimensions.
    """
    assert isinstance(values, np.ndarray)
    assert values.flags.c_contiguous
    place.data, place.grad, place.ndim = values.__array_interface__["data"][0], 0, dimensions
    for k in range(dimensions):
        place.shape[k], place.strides[k] = values.shape[k], values.strides[k]


def _array(values: Any, element: type, dimensions: int, device: str) -> tuple[Any, list[Any]]:
    """Return an array of Warp, and its structures if it is made of them."""
    if element not in NUMBERS:
        structures = [filled_struct(element, value, device) for value in values]
        kind = struct_of(element)
        return wp.array(structures, dtype=kind, device=device), structures
    assert isinstance(values, np.ndarray)
    assert values.flags.c_contiguous
    kind = NUMBERS[element]
    made: Any = wp.array(
        values,
        dtype=kind,
        ndim=dimensions,
        device=device,
        copy=device != "cpu",
    )
    return made, []


def _loaded(function: Callable[..., None], device: str) -> Any:
    """Return the kernel of a function, compiled for a device or from the cache.

    Raises:
        ConfigError: If it cannot be compiled or cached.
    """
    start_warp()
    try:
        kernel = kernel_of(function)
        announce_compilation(kernel.module.name)
        if device == "cpu":
            with compiled_once(kernel.module.name):
                kernel.module.load("cpu")
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"{function.__name__} cannot be compiled: {reason}",
            field="step",
            remedy=f"make {wp.config.kernel_cache_dir} writable, or reinstall warp-lang",
        ) from error
    return kernel


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
