"""Check of all calls of a package into Isaac Sim against the contract.

Values are followed through names, attributes of `self`, and the arguments and return values of functions of
the package. A value from Isaac Sim that cannot be followed is reported too, so that every call is in the
contract.
"""

import ast
from functools import cache
from pathlib import Path

from tests.isaac.contract import Contract
from tests.isaac.values import Fault, Module, Value
from tests.isaac.walk import Walk


@cache
def _parsed(text: str) -> ast.Module:
    """Parse a file once for all versions and mutations; the tree must not be changed."""
    return ast.parse(text)


class Checker:
    """Check a package against the contract of one version.

    Args:
        folder: Folder of the package.
        package: Name of the package.
        contract: Contract of the version.
        only: First digit of the version of each class that is for it only; all other code must fit all.
    """

    def __init__(
        self, folder: Path, package: str, contract: Contract, *, only: dict[str, str] | None = None
    ) -> None:
        self.contract, self._only = contract, only or {}
        self._faults: set[Fault] = set()
        self.call_count = 0
        self._calls: set[tuple[str, int, int]] = set()
        self._modules: dict[str, Module] = {}
        self._attributes: dict[tuple[ast.AST | None, str], Value] = {}
        self._parameters: dict[tuple[ast.AST, str], Value] = {}
        self._returns: dict[ast.AST, Value | None] = {}
        self._classes: dict[ast.AST, str] = {}
        self._changed = False
        self._quiet = True
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *(p for p in parts if p != "__init__")))
            self._modules[name] = Module(name, str(path), _parsed(path.read_text(encoding="utf-8")))

    def faults(self, *, passes: int = 8) -> list[Fault]:
        """Return the faults in order of file and line.

        Args:
            passes: Maximum number of walks over the files, which follow values from function to function.
        """
        for _ in range(passes):
            self._changed = False
            self._pass()
            if not self._changed:
                break
        self._quiet = False
        self._pass()
        return sorted(self._faults)

    def _pass(self) -> None:
        for module in self._modules.values():
            self._module = module
            Walk(self, module, None).body(module.tree.body, module.scope, ())

    def fault(self, module: Module, node: ast.AST, text: str) -> None:
        """Record a fault."""
        if not self._quiet:
            self._faults.add(Fault(module.file, getattr(node, "lineno", 0), text))

    def count(self, module: Module, node: ast.Call) -> None:
        """Count a call that was checked against the contract."""
        self._calls.add((module.file, node.lineno, node.col_offset))
        self.call_count = len(self._calls)

    def learn(self, table: dict, key: object, value: Value | None) -> None:
        """Record the value of a key; a known value is never replaced."""
        if value is not None and table.get(key) != value and (key not in table or table[key] is None):
            table[key] = value
            self._changed = True
