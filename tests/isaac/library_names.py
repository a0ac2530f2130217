"""Check of the OpenUSD and Warp names that a package uses against versions of these libraries.

`python -m tests.isaac.library_names` records the names and signatures of the installed versions. Run it with
the Python of each environment that `.ci/environment` makes for Isaac Sim, such as
.ci/environments/isaac-6.2.0/bin/python.
"""

import ast
import importlib
import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pegasus
from tests.isaac.contract import is_kit, signature_of

FILE = Path(__file__).with_name("library_names.json")
PACKAGE = Path(pegasus.__file__).parent
DISTRIBUTIONS = {"pxr": "usd-core", "warp": "warp-lang"}
# By version of Isaac Sim; PyPI lacks Warp 1.8.2 and an OpenUSD 24.05 with UsdSemantics, which 5.1.0 has.
VERSIONS = {
    "5.1.0": {"pxr": "24.11", "warp": "1.8.1"},
    "6.0.1": {"pxr": "25.11", "warp": "1.13.0"},
    "6.1.0": {"pxr": "25.11", "warp": "1.16.0"},
    "6.2.0": {"pxr": "25.11", "warp": "1.17.0"},
}

Names = dict[str, str | None]
"""Names of a library with their signatures, such as `(data=..., *, copy=...)`; None if unknown.

A name that begins with a dot is a method of some class of the library.
"""


@dataclass(frozen=True)
class Use:
    """One use of a library."""

    file: str
    line: int
    name: str
    """Full name, such as pxr.Usd.Stage.Open, or .GetPrim for a method of a value."""
    call: ast.Call | None = None
    """The call; None if the name is not called."""
    conditions: tuple[tuple[str, bool], ...] = ()
    """Names that must exist (True) or be missing (False) for the line to run."""
    is_question: bool = False
    """True if hasattr only tests whether the name exists."""

    @property
    def library(self) -> str:
        """Return the library, which is pxr for methods of values."""
        return "pxr" if self.name.startswith(".") else self.name.partition(".")[0]


def uses(folder: Path) -> list[Use]:
    """Return every use of the libraries in the Python files of a folder."""
    found: list[Use] = []
    for path in sorted(folder.rglob("*.py")):
        visitor = _Uses(str(path.relative_to(folder)))
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        visitor.learn_imports(tree)
        visitor.visit(tree)
        found.extend(visitor.found)
    return found


def faults(found: Iterable[Use], library: str, names: Names) -> list[str]:
    """Return the uses of a library that a version of it does not allow.

    Args:
        found: Uses of all libraries.
        library: `pxr` or `warp`.
        names: Names and signatures of the version.
    """
    wrong = []
    for use in found:
        if use.library != library or use.is_question:
            continue
        if any((name in names) != wanted for name, wanted in use.conditions):
            continue
        if use.name not in names:
            wrong.append(f"{use.file}:{use.line}: there is no {use.name}, or it is not recorded")
        elif use.call is not None and (told := names[use.name]) is not None:
            wrong.extend(_misfits(use, told))
    return wrong


def installed(found: Iterable[Use], library: str) -> Names:
    """Return the used names that the installed version of a library has."""
    wanted = sorted({use.name for use in found if use.library == library})
    modules = [importlib.import_module(name) for name in wanted if _is_module(name) and find_spec(name)]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    # Classes of a class too, such as Usd.Notice.ObjectsChanged.
    classes += [value for each in classes for value in vars(each).values() if isinstance(value, type)]
    methods = {name for each in classes for name in dir(each)}
    names: Names = {}
    for name in wanted:
        if name.startswith("."):
            if name[1:] in methods:
                names[name] = None
            continue
        try:
            names[name] = _told(_found(name))
        except AttributeError:
            continue
    return names


def _found(name: str) -> Any:
    """Return the object of a full name.

    Raises:
        AttributeError: If the name does not exist.
    """
    library, *parts = name.split(".")
    value: Any = importlib.import_module(library)
    if name == "warp.tid":
        # A built-in function of kernels, which is not an attribute of the module.
        return importlib.import_module(value.Kernel.__module__).builtin_functions["tid"]
    for part in parts:
        value = getattr(value, part)
    return value


def recorded() -> dict[str, dict[str, Names]]:
    """Return the recorded names by library and version."""
    record: dict[str, dict[str, Names]] = json.loads(FILE.read_text(encoding="utf-8"))
    return record


def main() -> None:
    """Record the used names of the installed versions."""
    record = recorded() if FILE.exists() else {}
    found = uses(PACKAGE)
    for library, distribution in DISTRIBUTIONS.items():
        kept = {each[library] for each in VERSIONS.values()}
        if (here := version(distribution)) not in kept:
            raise SystemExit(f"{distribution} {here} is of no Isaac Sim: run this by .ci/environment")
        versions = {key: names for key, names in record.get(library, {}).items() if key in kept}
        versions[here] = installed(found, library)
        record[library] = dict(sorted(versions.items()))
    FILE.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


class _Uses(ast.NodeVisitor):
    """Collect the uses of the libraries in one file."""

    def __init__(self, file: str) -> None:
        self.found: list[Use] = []
        self._file = file
        self._libraries: dict[str, str] = {}
        self._imported: set[str] = set()
        self._conditions: tuple[tuple[str, bool], ...] = ()

    def learn_imports(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._imported.add(alias.asname or alias.name.partition(".")[0])
                    self._import(node, alias.name, alias.asname or alias.name, aliased=bool(alias.asname))
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._imported.add(alias.asname or alias.name)
                    if not node.level:
                        full = f"{node.module}.{alias.name}"
                        self._import(node, full, alias.asname or alias.name, aliased=True)

    def _import(self, node: ast.stmt, full: str, name: str, *, aliased: bool) -> None:
        library = full.partition(".")[0]
        if library in DISTRIBUTIONS and not is_kit(full):
            self._libraries[name if aliased else library] = full if aliased else library
            if full != library:
                self.found.append(Use(self._file, node.lineno, full))

    def visit_If(self, node: ast.If) -> None:
        asked = self._question(node.test)
        self.visit(node.test)
        before = self._conditions
        for branch, wanted in ((node.body, True), (node.orelse, False)):
            if asked is not None:
                self._conditions = (*before, (asked, wanted))
            for statement in branch:
                self.visit(statement)
            self._conditions = before

    def visit_Call(self, node: ast.Call) -> None:
        if (asked := self._question(node)) is not None:
            self.found.append(Use(self._file, node.lineno, asked, is_question=True))
            return
        if isinstance(node.func, ast.Attribute):
            self._attribute(node.func, node)
        else:
            self.visit(node.func)
        for child in (*node.args, *node.keywords):
            self.visit(child)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._attribute(node, None)

    def _attribute(self, node: ast.Attribute, call: ast.Call | None) -> None:
        name = self._dotted(node)
        if name is None:
            root = _root(node)
            # CamelCase methods are OpenUSD's, with few exceptions.
            is_method = call is not None and node.attr[0].isupper() and root not in self._imported
            if is_method and self._uses_openusd():
                self.found.append(Use(self._file, node.lineno, f".{node.attr}", None, self._conditions))
            self.visit(node.value)
            return
        self.found.append(Use(self._file, node.lineno, name, call, self._conditions))

    def _question(self, node: ast.expr) -> str | None:
        """Return the full library name that a hasattr call tests."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"):
            return None
        owner, name = self._dotted(node.args[0]), node.args[1]
        if owner is None or not isinstance(name, ast.Constant):
            return None
        return f"{owner}.{name.value}"

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the full name of an expression that accesses a library."""
        if isinstance(node, ast.Name):
            return self._libraries.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self._dotted(node.value)) is not None:
            return f"{owner}.{node.attr}"
        return None

    def _uses_openusd(self) -> bool:
        return any(name.startswith("pxr") for name in self._libraries.values())


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_module(name: str) -> bool:
    """Return whether a name is a module of OpenUSD, such as pxr.Usd, or Warp itself."""
    return name == "warp" or (name.startswith("pxr.") and name.count(".") == 1)


def _told(value: Any) -> str | None:
    """Return the signature as text; None if unknown or not callable."""
    try:
        signature = inspect.signature(value.__init__ if isinstance(value, type) else value)
    except (TypeError, ValueError):
        return None
    parameters = list(signature.parameters.values())[isinstance(value, type) :]
    plain = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default=parameter.default if parameter.default is inspect.Parameter.empty else _ANY,
        )
        for parameter in parameters
    ]
    return str(inspect.Signature(plain))


class _Any:
    def __repr__(self) -> str:
        return "..."


_ANY = _Any()


def _misfits(use: Use, told: str) -> list[str]:
    """Return the faults of a call."""
    assert use.call is not None
    if any(isinstance(each, ast.Starred) for each in use.call.args) or any(
        keyword.arg is None for keyword in use.call.keywords
    ):
        return []
    try:
        signature_of(told).bind(*use.call.args, **{k.arg: k.value for k in use.call.keywords if k.arg})
    except TypeError as error:
        return [f"{use.file}:{use.line}: {use.name}{told}: {error}"]
    return []


if __name__ == "__main__":
    main()
