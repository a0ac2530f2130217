"""Code of traces for the compiler, kept on disk by the fingerprints of what they were made from.

A later process that flies the same machines does not trace their laws anew.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pegasus.base.system import replacing, user_cache
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.fingerprints import fingerprint
from pegasus.base.tracing.traces import Column, Trace

MOST_FILES = 1024
"""Number of files from which on the quarter of them that was not used for longest is deleted."""


@dataclass(frozen=True)
class Code:
    """Code of a trace and its columns."""

    title: str
    key: str
    """Equal for equal codes."""
    single: bool
    """Whether its numbers have single precision."""
    lanes: int
    """Number of rows side by side."""
    planar: bool
    """Whether columns have one number of all rows side by side; see `Program`."""
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    text: str
    """Body of a function in C++; see `source_of_trace`."""


def code_of(trace: Trace, *, single: bool, lanes: int, planar: bool = False) -> Code:
    """Return the code of a trace; see `source_of_trace`."""
    key = f"{trace.key}_{'f' if single else 'd'}{lanes}{'p' * planar}"
    text = source_of_trace(trace, single=single, lanes=lanes, planar=planar)
    outputs = tuple(column for column, _ in trace.outputs)
    return Code(trace.title, key, single, lanes, planar, trace.inputs, outputs, text)


def kept_code(make: Callable[[], Code], *sources: object) -> Code:
    """Return the code that was made from equal sources by this process or an earlier one, else make it.

    Files that are damaged, and folders that cannot be read or written, only take time.

    Args:
        make: Function that gives the code.
        sources: All on which it depends: functions, classes and data.
    """
    name = fingerprint(*sources)
    if name is None:
        return make()
    file = user_cache() / "traces" / name
    code = _read(file)
    if code is None:
        code = make()
        with contextlib.suppress(OSError):
            _write(file, code)
    return code


def _read(file: Path) -> Code | None:
    """Return the code of a file; None without it or if it is damaged."""
    try:
        digest, content = file.read_bytes().split(b"\n", 1)
        if hashlib.sha256(content).hexdigest().encode() != digest:
            return None
        found = json.loads(content)
        os.utime(file)
    except (OSError, ValueError):
        return None
    for name in ("inputs", "outputs"):
        found[name] = tuple(Column(**column) for column in found[name])
    return Code(**found)


def _write(file: Path, code: Code) -> None:
    content = json.dumps(asdict(code)).encode()
    with replacing(file) as part:
        part.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    _tidy(list(file.parent.iterdir()))


def _tidy(files: Sequence[Path]) -> None:
    """Delete the files that were not used for longest if there are too many."""
    if len(files) > MOST_FILES:
        times = {}
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                times[file] = file.stat().st_mtime_ns
        for file in sorted(times, key=times.__getitem__)[: len(files) // 4]:
            file.unlink(missing_ok=True)
