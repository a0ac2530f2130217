"""A syntax-tree walk through a file that follows values from Isaac Sim."""

import ast

from tests.isaac.call_sites import CallSites
from tests.isaac.contract import is_kit
from tests.isaac.values import Value


class Walk(CallSites):
    """A walk through the scopes of a file, one by one."""

    def body(self, statements: list[ast.stmt], scope: dict, outer: tuple[dict, ...]) -> None:
        self._scopes = (scope, *outer)
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._import(node, alias)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                self._value(decorator)
            self._bind(node.name, Value("own", node.name, node=node, source=self._module))
            self._function(node)
        elif isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            value = self._value(node.value) if node.value else None
            self._assign(node.target, value or self._annotation(node.annotation))
        elif isinstance(node, ast.AugAssign):
            self._value(node.target)
            self._value(node.value)
        elif isinstance(node, ast.Return):
            value = self._value(node.value) if node.value else None
            if self._inside is not None:
                self._checker.learn(self._checker._returns, self._inside, value)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._assign(node.target, self._item(self._value(node.iter)))
            self._block(node.body, node.orelse)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                value = self._value(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, value)
            self._block(node.body)
        elif isinstance(node, ast.If | ast.While):
            self._value(node.test)
            self._block(node.body, node.orelse)
        elif isinstance(node, ast.Try):
            self._block(node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody)
        elif isinstance(node, ast.Match):
            self._value(node.subject)
            for case in node.cases:
                self._block(case.body)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._value(child)

    def _block(self, *blocks: list[ast.stmt]) -> None:
        for block in blocks:
            for statement in block:
                self._statement(statement)

    def _class(self, node: ast.ClassDef) -> None:
        only = self._checker._only.get(node.name)
        bases = [self._value(base) for base in node.bases]
        self._bind(node.name, Value("own_class", node.name, node=node, source=self._module))
        for base in bases:
            if base is not None and base.kind == "class":
                self._checker._classes[node] = base.name
        if only is not None and not self._contract.version.startswith(only):
            return
        walk = Walk(self._checker, self._module, node)
        walk.body(node.body, {}, self._scopes)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        scope: dict[str, Value] = {}
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            known = self._checker._parameters.get((node, argument.arg))
            if known is None and argument.annotation is not None:
                known = self._annotation(argument.annotation)
            if known is not None:
                scope[argument.arg] = known
        for default in [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]:
            self._value(default)
        walk = Walk(self._checker, self._module, self._owner)
        walk._inside = node
        static = isinstance(node, ast.FunctionDef) and any(
            isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list
        )
        if self._owner is not None and arguments.args and not isinstance(node, ast.Lambda) and not static:
            first = arguments.args[0].arg
            if self._inside is None:
                scope[first] = Value("own_object", self._owner.name, node=self._owner, source=self._module)
        if isinstance(node, ast.Lambda):
            walk._scopes = (scope, *self._scopes)
            self._checker.learn(self._checker._returns, node, walk._value(node.body))
        else:
            walk.body(node.body, scope, self._scopes)

    def _import(self, node: ast.stmt, alias: ast.alias) -> None:
        if not is_kit(alias.name):
            if alias.name in self._checker._modules and alias.asname:
                self._bind(alias.asname, Value("own_module", alias.name))
            return
        if not self._contract.has_module(alias.name):
            self._fault(node, f"module {alias.name} is not in the contract")
        if alias.asname:
            self._bind(alias.asname, Value("module", alias.name))
        else:
            self._bind(alias.name.partition(".")[0], Value("module", alias.name.partition(".")[0]))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            parts = self._module.name.split(".")
            module = ".".join([*parts[: len(parts) - node.level], *([node.module] if node.module else [])])
        for alias in node.names:
            name, full = alias.asname or alias.name, f"{module}.{alias.name}"
            if module == "pxr" and is_kit(full):
                if not self._contract.has_module(full):
                    self._fault(node, f"module {full} is not in the contract")
                self._bind(name, Value("module", full))
            elif is_kit(module):
                if (value := self._of_module(module, alias.name)) is None:
                    self._fault(node, f"{module} has no {alias.name}")
                else:
                    self._bind(name, value)
            elif full in self._checker._modules:
                self._bind(name, Value("own_module", full))
            elif module in self._checker._modules:
                found = self._checker._modules[module].scope.get(alias.name)
                if found is not None:
                    self._bind(name, found)

    def _assign(self, target: ast.expr, value: Value | None) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            for number, part in enumerate(target.elts):
                if value is not None and value.kind == "tuple":
                    item = value.items[number] if number < len(value.items) else None
                else:
                    item = self._item(value)
                self._assign(part.value if isinstance(part, ast.Starred) else part, item)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value)
            if owner is not None and owner.kind == "own_object":
                self._checker.learn(self._checker._attributes, (owner.node, target.attr), value)
        elif isinstance(target, ast.Subscript):
            self._value(target.slice)
            holder = target.value
            if value is not None:
                self._assign(holder, Value("list", items=(value,)))

    def _bind(self, name: str, value: Value | None) -> None:
        scope = self._scopes[0]
        if value is not None:
            self._checker.learn(scope, name, value)
            scope[name] = value
        elif name in scope and scope is not self._module.scope:
            # The name may keep its former value in another branch.
            pass

    def _annotation(self, node: ast.expr | None) -> Value | None:
        """Return an instance of the annotated class, if it belongs to Isaac Sim or the package."""
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(node, ast.BinOp):
            return self._annotation(node.left) or self._annotation(node.right)
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            if name in ("list", "Sequence", "Iterable", "Iterator") and (item := self._annotation(inner)):
                return Value("list", items=(item,))
            return None
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        found = self._name(node.id) if isinstance(node, ast.Name) else self._value(node)
        if found is not None and found.kind == "class":
            return Value("instance", found.name)
        if found is not None and found.kind == "own_class":
            return Value("own_object", found.name, node=found.node, source=found.source)
        return None
