"""The contract with Isaac Sim: modules, classes and functions of each version, with their signatures."""

import ast
import inspect
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ALL_VERSIONS = ("5.1.0", "6.0.1", "6.1.0", "6.2.0")
_HERE = os.environ.get("PEGASUS_ISAAC_SIM")
VERSIONS = (_HERE or ALL_VERSIONS[1],)
"""Versions flown on stand-ins beside `NEWEST`: that of this environment, else the oldest 6.

`.ci/run` flies 5.1.0 and 6.2.0 in environments of their own.
"""
NEWEST = _HERE if _HERE and _HERE.startswith("6.") else ALL_VERSIONS[-1]
ROOTS = ("omni", "isaacsim", "carb", "usdrt", "isaaclab", "isaaclab_newton", "isaaclab_physx")
ADDED = ("contract_extra.json", "lab_contract.json")
"""Additions to isaac_api.json; the second file is for Isaac Lab."""


@dataclass(frozen=True)
class Member:
    """A member of a module or class."""

    name: str
    signature: inspect.Signature | None = None
    """Call signature; None if not callable."""


@dataclass
class Contract:
    """Modules, classes and functions of a version of Isaac Sim."""

    version: str
    modules: dict[str, dict[str, Member]] = field(default_factory=dict)
    classes: dict[str, dict[str, Member]] = field(default_factory=dict)
    """Members of each class by module:Class."""
    bases: dict[str, list[str]] = field(default_factory=dict)

    def has_module(self, name: str) -> bool:
        """Return whether a module is in the contract, or is a parent of one."""
        return name in self.modules or any(known.startswith(name + ".") for known in self.modules)

    def member(self, owner: str, name: str) -> Member | None:
        """Return a member of a class or of one of its bases."""
        for key in (owner, *self.bases.get(owner, ())):
            if (found := self.classes.get(key, {}).get(name)) is not None:
                return found
            if key != owner and (found := self.member(key, name)) is not None:
                return found
        return None


@cache
def load(version: str) -> Contract:
    """Return the contract of a version from all files; the cached object must not be changed."""
    contract = Contract(version)
    api = json.loads((FOLDER / "isaac_api.json").read_text(encoding="utf-8"))
    # 6.0.1 is written out like 5.1.0; each later version states its changes only.
    for each in _up_to(version)[1:] or (version,):
        for key, members in api[each].items():
            _add(contract, key, members)
    for file in ADDED:
        _add_file(contract, json.loads((FOLDER / file).read_text(encoding="utf-8")))
    return contract


def _add_file(contract: Contract, extra: dict) -> None:
    version, shorthand = contract.version, extra.get("shorthand", {})
    for key, entry in extra.items():
        if key in ("about", "shorthand"):
            continue
        if version.startswith(tuple(entry.get("versions", ("5", "6")))):
            told = {name: _written_out(text, shorthand) for name, text in _members_of(entry, version)}
            _add(contract, key, told)
            contract.bases.setdefault(key, []).extend(entry.get("bases", []))


def _up_to(version: str) -> tuple[str, ...]:
    return ALL_VERSIONS[: ALL_VERSIONS.index(version) + 1]


def _members_of(entry: dict, version: str) -> Iterator[tuple[str, str]]:
    for name, text in entry["members"].items():
        # Where a member has texts by their first version, the latest of them counts.
        told = text if isinstance(text, dict) else {ALL_VERSIONS[0]: text}
        known = [told[each] for each in _up_to(version) if each in told]
        if known and known[-1] is not None:
            yield name, known[-1]


def _written_out(text: str, shorthand: dict[str, str]) -> str:
    for name, meaning in shorthand.items():
        text = text.replace(f"{{{name}}}", meaning)
    return text


def _add(contract: Contract, key: str, members: dict[str, str] | None) -> None:
    if members is None:  # This version lacks it.
        return
    module, _, name = key.partition(":")
    made = {part: _member(part, text) for part, text in members.items() if "." not in part}
    if name:
        contract.classes.setdefault(key, {}).update(made)
        contract.modules.setdefault(module, {})
        return
    contract.modules.setdefault(module, {}).update(made)
    for part, text in members.items():
        owner, _, inner = part.partition(".")
        if inner:
            contract.classes.setdefault(f"{module}:{owner}", {})[inner] = _member(inner, text)


def _member(name: str, text: str) -> Member:
    called = text.partition("  #")[0].partition(" -> ")[0]
    return Member(name, signature_of(called) if text.startswith("(") else None)


def signature_of(text: str) -> inspect.Signature:
    """Parse a signature; defaults that are not literals are kept as source text.

    Args:
        text: The parameters, such as `(path, *, scale=1.0)`.
    """
    definition = ast.parse(f"def f{text}: pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    kinds = inspect.Parameter
    made = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for number, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = kinds.POSITIONAL_ONLY if number < len(arguments.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        made.append(kinds(argument.arg, kind, default=_default(default)))
    if arguments.vararg:
        made.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        made.append(kinds(argument.arg, kinds.KEYWORD_ONLY, default=_default(default)))
    if arguments.kwarg:
        made.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(made)


def _default(node: ast.expr | None) -> object:
    if node is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)
