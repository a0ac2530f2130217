"""Comparison of the contract with the Python sources and stubs of Isaac Sim's packages.

`python -m tests.isaac.package_sources FOLDER VERSION` prints every member of the contract that they have
otherwise. FOLDER holds unpacked packages, such as those of `pip download --no-deps isaacsim-core==6.2.0.0`
(-kernel, -sensor, -storage, -extscache-physics); their .py and .pyi files are enough.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.isaac.contract import Contract, Member, load, signature_of

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Sources:
    """Definitions of a module in the sources."""

    functions: dict[str, list[Function]] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    def members(self, name: str) -> dict[str, list[ast.stmt]]:
        """Return the definitions of a class and of its bases in this module, by name."""
        found: dict[str, list[ast.stmt]] = {}
        for base in self.classes[name].bases:
            if (inherited := ast.unparse(base).rpartition(".")[2]) in self.classes:
                found |= self.members(inherited)
        own: dict[str, list[ast.stmt]] = {}
        for node in self.classes[name].body:
            for each in _names(node):
                own.setdefault(each, []).append(node)
        return found | own


def faults(contract: Contract, folder: Path) -> Iterator[str]:
    """Return what the sources lack or have otherwise; modules without sources are left out."""
    files = [
        path
        for path in folder.rglob("*.py*")
        if path.suffix in (".py", ".pyi") and "tests" not in path.relative_to(folder).parts
    ]
    read: dict[str, Sources] = {}

    def of(module: str) -> Sources:
        if module not in read:
            read[module] = _read(module, files)
        return read[module]

    for module, members in contract.modules.items():
        sources = of(module)
        for name, member in members.items():
            if name in sources.functions:
                yield from _differences(f"{module}.{name}", member, sources.functions[name])
            elif (sources.functions or sources.classes) and name not in sources.classes and member.signature:
                yield f"{module} has no {name}"
    for key, members in contract.classes.items():
        module, _, name = key.partition(":")
        if name not in of(module).classes:
            continue
        known = of(module).members(name)
        for part, member in members.items():
            if part in known:
                made = [node for node in known[part] if isinstance(node, Function)]
                yield from _differences(f"{key}.{part}", member, made)
            elif part != "__init__":
                yield f"{key} has no {part}"


def _read(module: str, files: list[Path]) -> Sources:
    within = "/" + module.replace(".", "/")
    parent, _, last = within.rpartition("/")
    single = tuple(
        f"{place}{suffix}" for place in (within, f"{parent}/impl/{last}") for suffix in (".py", ".pyi")
    )
    sources = Sources()
    for path in files:
        if f"{within}/" not in path.as_posix() and not path.as_posix().endswith(single):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError:  # a template, or a file for a later Python
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                sources.classes.setdefault(node.name, node)
            elif isinstance(node, Function):
                sources.functions.setdefault(node.name, []).append(node)
    return sources


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, Function):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _differences(name: str, member: Member, made: list[Function]) -> Iterator[str]:
    """Return that none of the definitions, which are overloads, has the parameters of the contract."""
    told, found = member.signature, [_signature(node) for node in made]
    # A stub has (*args, **kwargs) for what it does not know.
    if (
        told is not None
        and found
        and not any(_fits(told, each) or str(each) == "(*args, **kwargs)" for each in found)
    ):
        yield f"{name}{told} is {' or '.join(map(str, found))}"


def _signature(node: Function) -> inspect.Signature:
    for each in ast.walk(node.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    signature = signature_of(f"({ast.unparse(node.args)})")
    first, *others = list(signature.parameters.values()) or [None]
    return signature.replace(parameters=others) if first and first.name in ("self", "cls") else signature


def _fits(told: inspect.Signature, found: inspect.Signature) -> bool:
    """Return whether a caller that keeps to the contract may call what was found."""
    ours, theirs = told.parameters.values(), found.parameters.values()
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(told: inspect.Parameter, found: inspect.Parameter) -> bool:
    if (told.default is told.empty) != (found.default is found.empty):
        return False
    if told.kind is told.POSITIONAL_ONLY:
        return found.kind in (found.POSITIONAL_ONLY, found.POSITIONAL_OR_KEYWORD)
    return (told.name, told.kind) == (found.name, found.kind)


if __name__ == "__main__":
    place, release = sys.argv[1:]
    print("\n".join(faults(load(release), Path(place))) or "no difference")
