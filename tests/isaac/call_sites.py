"""Checks of calls into Isaac Sim against the contract."""

import ast
import inspect

from tests.isaac.contract import Member, is_kit
from tests.isaac.values import Expressions, Value

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class CallSites(Expressions):
    """Evaluation of call expressions, with a check of each call."""

    def _call(self, node: ast.Call) -> Value | None:
        if isinstance(node.func, ast.Name) and self._name(node.func.id) is None:
            return self._builtin(node, node.func.id)
        function = self._value(node.func)
        given = [self._value(argument) for argument in node.args]
        named = {keyword.arg: self._value(keyword.value) for keyword in node.keywords}
        if function is None:
            self._dynamic_import(node)
            return None
        if function.kind == "member":
            assert function.member is not None
            self._bind_call(node, function.member, function.name)
            self._tell(node, function.member, given, named)
            return self._typed(function.member.returns, function.member.home, of=f"{function.name}()")
        if function.kind == "class":
            start = self._contract.member(function.name, "__init__")
            if start is not None:
                self._bind_call(node, start, function.name)
            elif node.args or node.keywords:
                self._fault(node, f"the contract does not say how a {function.name} is made")
            return Value("instance", function.name)
        if function.kind == "own_class":
            self._enter(Value("own", node=_start(function.node), items=(function,)), given, named)
            return Value("own_object", function.name, node=function.node, source=function.source)
        if function.kind == "own":
            self._enter(function, given, named)
            return self._checker._returns.get(function.node) if function.node else None
        if function.kind in ("open", "instance", "module", "list", "tuple"):
            self._fault(node, f"{function.name or ast.unparse(node.func)} cannot be called by the contract")
        return None

    def _builtin(self, node: ast.Call, name: str) -> Value | None:
        given = [self._value(argument) for argument in node.args]
        for keyword in node.keywords:
            self._value(keyword.value)
        if name == "super" and not node.args and self._owner in self._checker._classes:
            return Value("instance", self._checker._classes[self._owner])
        if name in ("getattr", "hasattr", "setattr") and given and given[0] is not None:
            return self._reflect(node, name, given[0])
        if name == "__import__":
            self._fault(node, "__import__ hides from the contract what it imports")
        if name in ("list", "tuple", "sorted", "reversed", "set", "iter"):
            return given[0] if given else None
        if name == "enumerate" and given:
            return Value("list", items=(Value("tuple", items=(None, self._item(given[0]))),))
        if name == "zip":
            return Value("list", items=(Value("tuple", items=tuple(self._item(g) for g in given)),))
        if name == "next" and given:
            return self._item(given[0])
        return None

    def _reflect(self, node: ast.Call, name: str, owner: Value) -> Value | None:
        if owner.kind not in ("module", "class", "instance", "member", "open"):
            return None
        wanted = node.args[1]
        if not (isinstance(wanted, ast.Constant) and isinstance(wanted.value, str)):
            self._fault(node, f"{name} with a name that is worked out hides a call from the contract")
            return None
        if name == "hasattr":
            return None
        return self._get(node, owner, wanted.value)

    def _dynamic_import(self, node: ast.Call) -> None:
        """Report `import_module` calls that hide an import from the contract."""
        text = ast.unparse(node.func)
        if text.rpartition(".")[2] != "import_module":
            return
        wanted = node.args[0] if node.args else None
        literal = wanted.value if isinstance(wanted, ast.Constant) else None
        if not isinstance(literal, str) or is_kit(literal):
            self._fault(node, "import_module hides from the contract what it imports")

    def _enter(
        self, function: Value, given: list[Value | None], named: dict[str | None, Value | None]
    ) -> None:
        """Record the values of the arguments of a call to a function of the package."""
        node = function.node
        if not isinstance(node, _FUNCTIONS):
            return
        names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
        if function.items and names and names[0] in ("self", "cls"):
            names = names[1:]
        for name, value in zip(names, given, strict=False):
            self._checker.learn(self._checker._parameters, (node, name), value)
        for key, value in named.items():
            if key is not None:
                self._checker.learn(self._checker._parameters, (node, key), value)

    def _tell(
        self, node: ast.Call, member: Member, given: list[Value | None], named: dict[str | None, Value | None]
    ) -> None:
        """Record the argument types of callbacks that are passed to Isaac Sim."""
        assert member.signature is not None
        try:
            bound = member.signature.bind(*given, **{key: value for key, value in named.items() if key})
        except TypeError:
            return
        for name, value in bound.arguments.items():
            note = member.signature.parameters[name].annotation
            if isinstance(note, str) and isinstance(value, Value) and value.kind == "own":
                told = [self._typed(part, member.home) for part in note.split(",")]
                self._enter(value, told, {})

    def _bind_call(self, node: ast.Call, member: Member, name: str) -> None:
        """Check a call against a signature."""
        self._checker.count(self._module, node)
        assert member.signature is not None
        kinds = {p.kind for p in member.signature.parameters.values()}
        given = list(node.args)
        if any(isinstance(a, ast.Starred) for a in given):
            if inspect.Parameter.VAR_POSITIONAL not in kinds:
                self._fault(node, f"{name}: arguments by * cannot be held against the contract")
                return
            given = [a for a in given if not isinstance(a, ast.Starred)]
        if any(k.arg is None for k in node.keywords) and inspect.Parameter.VAR_KEYWORD not in kinds:
            self._fault(node, f"{name}: arguments by ** cannot be held against the contract")
            return
        try:
            member.signature.bind(*given, **{k.arg: k for k in node.keywords if k.arg})
        except TypeError as error:
            self._fault(node, f"{name}{member.signature}: {error}")

    def _fault(self, node: ast.AST, text: str) -> None:
        self._checker.fault(self._module, node, f"{text} [{self._contract.version}]")


def _start(node: ast.AST | None) -> ast.AST | None:
    assert isinstance(node, ast.ClassDef)
    methods = (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__")
    return next(methods, None)
