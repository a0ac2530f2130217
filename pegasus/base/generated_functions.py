"""Functions from generated source, and hashes of step functions."""

import hashlib
import inspect
import linecache
from collections.abc import Callable, Mapping
from typing import Any

from pegasus.base.step_types import BUILTINS


def digest(*functions: Callable[..., Any]) -> str:
    """Return a short hash of step functions, of all that they call and of the constants that they use.

    Args:
        functions: The step functions.
    """
    parts: dict[Any, str] = {}
    pending: list[Any] = list(functions)
    while pending:
        function = pending.pop()
        if function in parts or function in BUILTINS:
            continue
        code = function.__code__
        used = {name: function.__globals__.get(name) for name in code.co_names}
        constants = sorted(
            (name, value) for name, value in used.items() if isinstance(value, int | float | tuple)
        )
        title = f"{function.__module__}.{function.__qualname__}"
        parts[function] = f"{title}{code.co_code!r}{code.co_consts}{code.co_names}{constants}"
        pending += [value for value in used.values() if inspect.isfunction(value)]
    return hashlib.sha256("\n".join(sorted(parts.values())).encode()).hexdigest()[:12]


def written(name: str, text: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function from generated source, which tracebacks and Warp can read.

    Args:
        name: Name of the function in the source.
        text: The source.
        names: Global names that it uses.
    """
    file = f"<pegasus {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**names, "__name__": f"pegasus.generated.{name}"}
    exec(compile(text, file, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made
