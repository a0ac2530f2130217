"""Static values of names and expressions that come from Isaac Sim or from the package itself."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.isaac.contract import Member


@dataclass(frozen=True)
class Value:
    """The static value of a name: an object of Isaac Sim or of the package."""

    kind: str
    """`module`, `member`, `class`, `instance`, `list`, `tuple`, `open`; `own`, `own_class`, `own_object`."""
    name: str = ""
    member: Member | None = None
    items: tuple["Value | None", ...] = ()
    node: ast.AST | None = None
    source: "Module | None" = None


@dataclass(frozen=True, order=True)
class Fault:
    """A call that the contract does not allow."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass
class Module:
    """A file of the package."""

    name: str
    file: str
    tree: ast.Module
    scope: dict[str, Value] = field(default_factory=dict)


class Expressions:
    """Evaluation of the expressions of a file in the scopes of a walk."""

    def __init__(self, checker: Any, module: Module, owner: ast.ClassDef | None) -> None:
        self._checker, self._module, self._owner = checker, module, owner
        self._contract = checker.contract

    _inside: ast.AST | None = None

    def _value(self, node: ast.expr | None) -> Value | None:
        """Return the value of an expression after checking its parts."""
        if node is None:
            return None
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node)
        for child in _expressions(node):
            self._value(child)
        return None

    def _name(self, name: "str | ast.Name") -> Value | None:
        key = name.id if isinstance(name, ast.Name) else name
        return next((scope[key] for scope in self._scopes if key in scope), None)

    def _attribute(self, node: ast.Attribute) -> Value | None:
        owner = self._value(node.value)
        return None if owner is None else self._get(node, owner, node.attr)

    def _get(self, node: ast.AST, owner: Value, name: str) -> Value | None:
        if owner.kind == "module":
            found = self._of_module(owner.name, name)
            if found is None and name not in self._contract.modules.get(owner.name, {}):
                self._fault(node, f"{owner.name} has no {name}")
            return found
        if owner.kind in ("class", "instance"):
            member = self._contract.member(owner.name, name)
            if member is None and name == "__init__":
                return None
            if member is None:
                if not (owner.kind == "class" and name in ("__name__", "name", "value")):
                    self._fault(node, f"{owner.name} has no {name}")
                return None
            if member.signature is None:
                return self._typed(member.returns, member.home)
            return Value("member", f"{owner.name}.{name}", member)
        if owner.kind == "own_module":
            return self._checker._modules[owner.name].scope.get(name)
        if owner.kind == "own_object":
            return self._of_object(node, owner, name)
        if owner.kind == "own_class":
            return self._method(owner, name)
        if owner.kind == "open":
            self._fault(node, f"{name} of {owner.name}: the contract does not say what that is")
        elif owner.kind == "member":
            self._fault(node, f"{owner.name} is a function; it has no {name}")
        return None

    def _of_object(self, node: ast.AST, owner: Value, name: str) -> Value | None:
        found = self._checker._attributes.get((owner.node, name)) or self._method(owner, name)
        if found is not None:
            return found
        assert owner.node is not None
        for inherited in self._bases(owner.node):
            if self._contract.member(inherited, name):
                return self._get(node, Value("instance", inherited), name)
        return None

    def _bases(self, node: ast.AST) -> Iterator[str]:
        if node in self._checker._classes:
            yield self._checker._classes[node]

    def _method(self, owner: Value, name: str) -> Value | None:
        assert isinstance(owner.node, ast.ClassDef)
        for statement in owner.node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
                if any(isinstance(d, ast.Name) and d.id == "property" for d in statement.decorator_list):
                    return self._checker._returns.get(statement)
                return Value("own", name, node=statement, source=owner.source, items=(owner,))
        return None

    def _of_module(self, module: str, name: str) -> Value | None:
        full = f"{module}.{name}"
        if f"{module}:{name}" in self._contract.classes:
            return Value("class", f"{module}:{name}")
        if (member := self._contract.modules.get(module, {}).get(name)) is not None:
            if member.signature is None:
                return self._typed(member.returns, member.home)
            return Value("member", full, member)
        return Value("module", full) if self._contract.has_module(full) else None

    def _typed(self, text: str, home: str, *, of: str = "") -> Value | None:
        """Return a value of a type of the contract."""
        found = self._contract.type_of(text, home)
        if found is None:
            return None
        if found == "?":
            return Value("open", of or text)
        if isinstance(found, tuple):
            kind, *parts = found
            return Value(kind, items=tuple(self._typed(part, home, of=of) for part in parts))
        return Value("instance", found)

    def _item(self, value: Value | None) -> Value | None:
        """Return the value that iterating over or indexing a value gives."""
        if value is None:
            return None
        if value.kind == "list":
            return value.items[0]
        if value.kind == "tuple":
            return next((item for item in value.items if item is not None), None)
        return value if value.kind == "open" else None

    def _subscript(self, node: ast.Subscript) -> Value | None:
        value = self._value(node.value)
        self._value(node.slice)
        if value is None or isinstance(node.slice, ast.Slice):
            return value
        if value.kind == "tuple" and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            return value.items[index] if isinstance(index, int) and index < len(value.items) else None
        return self._item(value)

    def _ifexp(self, node: ast.IfExp) -> Value | None:
        self._value(node.test)
        return self._value(node.body) or self._value(node.orelse)

    def _boolop(self, node: ast.BoolOp) -> Value | None:
        return next((v for v in [self._value(part) for part in node.values] if v is not None), None)

    def _await(self, node: ast.Await) -> Value | None:
        return self._value(node.value)

    def _starred(self, node: ast.Starred) -> Value | None:
        return self._item(self._value(node.value))

    def _namedexpr(self, node: ast.NamedExpr) -> Value | None:
        value = self._value(node.value)
        self._assign(node.target, value)
        return value

    def _lambda(self, node: ast.Lambda) -> Value | None:
        self._function(node)
        return Value("own", "lambda", node=node, source=self._module)

    def _tuple(self, node: ast.Tuple) -> Value | None:
        items = tuple(self._value(part) for part in node.elts)
        return Value("tuple", items=items) if any(items) else None

    def _list(self, node: ast.List) -> Value | None:
        found = [item for item in [self._value(part) for part in node.elts] if item is not None]
        return Value("list", items=(found[0],)) if found else None

    _set = _list

    def _dict(self, node: ast.Dict) -> Value | None:
        for key in node.keys:
            self._value(key)
        found = [item for item in [self._value(part) for part in node.values] if item is not None]
        return Value("list", items=(found[0],)) if found else None

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Value | None:
        walk = type(self)(self._checker, self._module, self._owner)
        walk._inside, walk._scopes = self._inside, ({}, *self._scopes)
        for generator in node.generators:
            walk._assign(generator.target, walk._item(walk._value(generator.iter)))
            for condition in generator.ifs:
                walk._value(condition)
        if isinstance(node, ast.DictComp):
            walk._value(node.key)
            item = walk._value(node.value)
        else:
            item = walk._value(node.elt)
        return Value("list", items=(item,)) if item is not None else None

    _listcomp = _setcomp = _generatorexp = _dictcomp = _comprehension


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension | ast.keyword | ast.FormattedValue):
            yield from _expressions(child)
