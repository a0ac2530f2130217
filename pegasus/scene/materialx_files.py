"""MaterialX documents (.mtlx) as layers of OpenUSD, whose packages on PyPI lack the plugin for them."""

import hashlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

from pxr import Sdf, Usd, UsdShade

from pegasus.base.errors import ConfigError
from pegasus.base.system import replacing, user_cache

SOURCE = "source"
"""Key of the path of the original in the data of a converted layer."""

_TYPES = {
    "float": Sdf.ValueTypeNames.Float,
    "integer": Sdf.ValueTypeNames.Int,
    "boolean": Sdf.ValueTypeNames.Bool,
    "color3": Sdf.ValueTypeNames.Color3f,
    "color4": Sdf.ValueTypeNames.Color4f,
    "vector2": Sdf.ValueTypeNames.Float2,
    "vector3": Sdf.ValueTypeNames.Float3,
    "vector4": Sdf.ValueTypeNames.Float4,
    "filename": Sdf.ValueTypeNames.Asset,
    "string": Sdf.ValueTypeNames.String,
}


def materialx_layer(document: Path) -> Path:
    """Return the layer of a MaterialX document, kept in the user's cache.

    Args:
        document: The document.

    Raises:
        ConfigError: If it is not valid.
    """
    try:
        return _converted(document)
    except (ElementTree.ParseError, ValueError, TypeError) as error:
        raise ConfigError(
            f"is not valid MaterialX: {error}", file=document, remedy="export it again"
        ) from None


def _converted(document: Path) -> Path:
    content = document.read_bytes()
    digest = hashlib.sha256(str(document).encode() + b"\0" + content).hexdigest()[:24]
    path = user_cache() / "materialx" / f"{digest}.usda"
    if not path.is_file():
        stage = Usd.Stage.CreateInMemory()
        _Document(stage, ElementTree.fromstring(content), document).write()
        stage.GetRootLayer().customLayerData = {SOURCE: str(document)}
        with replacing(path) as part:
            stage.GetRootLayer().Export(str(part))
    return path


class _Document:
    """Conversion of one document, with prims at the paths where OpenUSD's plugin has them."""

    def __init__(self, stage: Usd.Stage, root: ElementTree.Element, file: Path) -> None:
        self._stage, self._root, self._file = stage, root, file
        if root.tag != "materialx":
            raise ValueError(f"its root is {root.tag!r}")
        self._color_space = root.get("colorspace", "")
        self._prefix = root.get("fileprefix", "")

    def write(self) -> None:
        for element in self._root.iter("surfacematerial"):
            name = element.get("name", "")
            material = UsdShade.Material.Define(self._stage, f"/MaterialX/Materials/{name}")
            for source in element.iter("input"):
                if source.get("name") == "surfaceshader":
                    output = self._connected(material, source, self._root)
                    if output is not None:
                        material.CreateSurfaceOutput("mtlx").ConnectToSource(output)

    def _connected(
        self, material: UsdShade.Material, source: ElementTree.Element, scope: ElementTree.Element
    ) -> UsdShade.Output | None:
        """Return the output that an input is connected to, its node written; None for a constant."""
        output = source.get("output", "out")
        if (graph := source.get("nodegraph")) is not None:
            scope = self._named(self._root, graph)
            found = self._named(scope, output)
            return self._connected(material, found, scope)
        if (name := source.get("nodename")) is None:
            return None
        element = self._named(scope, name)
        graph = "" if scope is self._root else f"{scope.get('name')}_"
        path = material.GetPath().AppendChild(f"{graph}{name}")
        node = UsdShade.Shader.Get(self._stage, path)
        if not node:
            node = UsdShade.Shader.Define(self._stage, path)
            node.CreateIdAttr(f"ND_{element.tag}_{element.get('type', '')}")
            for inner in element.iter("input"):
                self._input(material, node, inner, scope)
        return node.CreateOutput(output, Sdf.ValueTypeNames.Token)

    def _input(
        self,
        material: UsdShade.Material,
        node: UsdShade.Shader,
        source: ElementTree.Element,
        scope: ElementTree.Element,
    ) -> None:
        if (interface := source.get("interfacename")) is not None:
            source = self._named(scope, interface, source)
        kind = _TYPES.get(source.get("type", ""))
        name = source.get("name", "")
        if kind is None or not name:
            return
        if (output := self._connected(material, source, scope)) is not None:
            node.CreateInput(name, kind).ConnectToSource(output)
            return
        if (text := source.get("value")) is None:
            return
        created = node.CreateInput(name, kind)
        if kind == Sdf.ValueTypeNames.Asset:
            # Some documents have the prefix in the names of their files too.
            places = [self._file.parent / (prefix + text) for prefix in (self._prefix, "")]
            created.Set(Sdf.AssetPath(str(next((p for p in places if p.is_file()), places[0]))))
            if space := source.get("colorspace", self._color_space):
                created.GetAttr().SetColorSpace(space)
        elif kind == Sdf.ValueTypeNames.String:
            created.Set(text)
        elif kind == Sdf.ValueTypeNames.Bool:
            created.Set(text.strip().lower() == "true")
        else:
            parts = list(_numbers(text))
            if kind == Sdf.ValueTypeNames.Int:
                created.Set(int(parts[0]))
            else:
                created.Set(kind.type.pythonClass(*parts) if len(parts) > 1 else parts[0])

    def _named(
        self, scope: ElementTree.Element, name: str, default: ElementTree.Element | None = None
    ) -> ElementTree.Element:
        for element in scope:
            if element.get("name") == name:
                return element
        if default is None:
            raise ValueError(f"it has no element {name!r}")
        return default


def _numbers(text: str) -> Iterator[float]:
    for part in text.replace(",", " ").split():
        yield float(part)
