"""Find every call into Isaac Sim in a package, and hold it against the contract.

Values are followed as far as they are assigned: through names, attributes of `self`, what functions of the
package return and what they are given. What comes from Isaac Sim and cannot be followed is a fault too, so
that nothing is called that the contract does not know.
"""

import ast
from pathlib import Path

from tests.isaac.contract import Contract
from tests.isaac.values import Fault, Module, Value
from tests.isaac.walk import Walk


class Checker:
    """Check a package against the contract of one version.

    Args:
        folder: Folder of the package.
        package: Its name.
        contract: What the version has.
        only: Versions that a class is for, by its name; all else is for every version.
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
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            self._modules[name] = Module(name, str(path), tree)

    def faults(self, *, passes: int = 8) -> list[Fault]:
        """Return what the contract does not allow, in the order of the files.

        Args:
            passes: How often the files are walked at most, to follow values from one function to the next.
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
        """Note a fault."""
        if not self._quiet:
            self._faults.add(Fault(module.file, getattr(node, "lineno", 0), text))

    def count(self, module: Module, node: ast.Call) -> None:
        """Count a call that was held against the contract."""
        self._calls.add((module.file, node.lineno, node.col_offset))
        self.call_count = len(self._calls)

    def learn(self, table: dict, key: object, value: Value | None) -> None:
        """Remember what something stands for; nothing is forgotten."""
        if value is not None and table.get(key) != value and (key not in table or table[key] is None):
            table[key] = value
            self._changed = True
