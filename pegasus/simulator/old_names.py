"""Old names of NVIDIA's modules, which scripts of Pegasus Simulator import and Isaac Sim 6 has renamed."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_ROOT = "omni.isaac"
_RENAMED = {"omni.isaac.core.utils": "isaacsim.core.utils", "omni.isaac.core": "isaacsim.core.api"}
"""New names of packages by their old ones, the inner ones first."""


class OldNames(MetaPathFinder, Loader):
    """Finder of renamed modules; the last one asked, so that modules of an old name come first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module with an old name; None for any other."""
        if fullname == _ROOT or _new_name(fullname) is not None:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module with the content of the renamed one."""
        if (name := _new_name(module.__name__)) is not None:
            content = vars(import_module(name))
            vars(module).update({key: value for key, value in content.items() if not key.startswith("__")})


def install() -> None:
    """Let imports find the old names; a second call has no effect."""
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.append(OldNames())


def _new_name(name: str) -> str | None:
    for old, new in _RENAMED.items():
        if f"{name}.".startswith(f"{old}."):
            return new + name.removeprefix(old)
    return None
