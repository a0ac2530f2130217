"""USD stages: opening with one-line errors, their files and units, and notices of a translation."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pxr import Sdf, Tf, Usd, UsdGeom, UsdUtils

from pegasus.base.arrays import Array, sum_along
from pegasus.base.errors import ConfigError
from pegasus.base.file_kinds import refuse_other_kinds
from pegasus.base.system import GLTF_SUFFIXES, REMOTE, SCENE_SUFFIXES, replacing, user_cache
from pegasus.scene.gltf import NOTICES, PARTS, usd_file
from pegasus.scene.materialx_files import SOURCE, materialx_layer


class Notices:
    """Deviations found in a translation; equal messages about several prims become one line."""

    def __init__(self) -> None:
        self._paths: dict[str, list[str]] = {}

    def add(self, message: str, path: object = None) -> None:
        """Add a message.

        Args:
            message: The replacement of an authored value.
            path: The prim concerned.
        """
        paths = self._paths.setdefault(message, [])
        if path is not None and (name := str(path)) not in paths:
            paths.append(name)

    def lines(self) -> list[str]:
        """Return one line per message, in order of first occurrence."""
        return [_line(message, paths) for message, paths in self._paths.items()]


def _line(message: str, paths: list[str]) -> str:
    if not paths:
        return message
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}: {message}"


TIME = Usd.TimeCode.EarliestTime()
"""Time at which attributes are read: default value, or first sample of animated ones."""

_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class StageFrame:
    """Conversion of a stage's coordinates to metres with z up."""

    meters_per_unit: float
    rotation: Array
    """Rotation from the stage's axes to z up, shape (3, 3)."""

    def convert(self, transform: Array) -> Array:
        """Return a local-to-stage transform as local to world, both sides in metres.

        The linear part keeps its scale: vertices are converted to metres separately.

        Args:
            transform: Matrix that acts on column vectors, shape (..., 4, 4).
        """
        world = np.zeros(transform.shape)
        world[..., 3, 3] = 1.0
        world[..., :3, :] = product(self.rotation, transform[..., :3, :])
        world[..., :3, 3] *= self.meters_per_unit
        return world


def product(a: Array, b: Array) -> Array:
    """Return the product of matrices A B with sums in the order of their terms, on every processor alike.

    Args:
        a: Matrix A, shape (I, K), with K up to 7.
        b: Matrices B, shape (..., K, J).
    """
    return sum_along(a[:, :, None] * b[..., None, :, :], -2)


def open_stage(path: str | Path) -> Usd.Stage:
    """Return the stage of a USD file, or of a glTF file (see `usd_file`), fully loaded.

    Unresolved references are not errors: `translate` lists them in the scene's warnings. So a stage whose
    remote parts are out of reach may be empty.

    Args:
        path: A .usd, .usda, .usdc, .usdz, .gltf or .glb file.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry, or if a MaterialX
            document that it refers to is not valid.
    """
    file = Path(path)
    if not file.is_file():
        kind = "glTF" if file.suffix.lower() in GLTF_SUFFIXES else "USD"
        raise ConfigError(f"no such {kind} file", file=file, remedy="check the path")
    refuse_other_kinds(file, "a USD or glTF file", {"usd", "gltf"})
    if file.suffix.lower() not in SCENE_SUFFIXES:
        raise ConfigError(
            f"is not a USD or glTF file: its name must end in {', '.join(SCENE_SUFFIXES)}", file=file
        )
    try:
        with quiet(Notices()):
            file = usd_file(file)
            stage = Usd.Stage.Open(str(file))
            _resolve_documents(stage)
    except Tf.ErrorException as error:
        raise ConfigError(
            f"is not valid USD: {_reason(error, file)}",
            file=file,
            remedy="open it in usdview, or export it again",
        ) from None
    predicate = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
    if not any(
        prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.PointInstancer)
        for prim in Usd.PrimRange(stage.GetPseudoRoot(), predicate)
    ) and not _has_remote_parts(stage):
        raise ConfigError(
            "holds no geometry",
            file=file,
            remedy="check that its references resolve and that its prims are active",
        )
    return stage


def _has_remote_parts(stage: Usd.Stage) -> bool:
    """Return whether layers, references or payloads are at remote addresses, which may be out of reach."""
    return any(
        REMOTE.match(path)
        for layer in stage.GetUsedLayers()
        for path in (layer.identifier, *layer.GetCompositionAssetDependencies())
    )


def _resolve_documents(stage: Usd.Stage) -> None:
    """Replace references to files that OpenUSD lacks plugins for by converted layers, in memory."""
    converters = {".mtlx": materialx_layer, **dict.fromkeys(GLTF_SUFFIXES, usd_file)}
    for suffix in list(converters):
        if Sdf.FileFormat.FindByExtension(suffix[1:]) is not None:
            del converters[suffix]
    for layer in stage.GetUsedLayers():
        for path in sorted(layer.GetCompositionAssetDependencies()):
            document = Path(layer.ComputeAbsolutePath(path))
            convert = converters.get(document.suffix.lower())
            if convert is not None and document.is_file() and layer.permissionToEdit:
                layer.UpdateCompositionAssetDependency(path, str(convert(document)))


def stage_files(stage: Usd.Stage) -> list[str]:
    """Return the files that a stage is read from."""
    files = []
    for layer in stage.GetUsedLayers():
        if not layer.anonymous:
            data = layer.customLayerData
            files += [data.get(SOURCE, layer.realPath), *data.get(PARTS, "").splitlines()]
    return files


def scene_files(path: Path) -> list[Path]:
    """Return the files that a scene consists of: its own first, then layers, buffers and images by name.

    Files inside a .usdz package are not listed.

    Args:
        path: A USD or glTF file.

    Raises:
        ConfigError: See `open_stage`.
    """
    stage = open_stage(path)
    files, root = set(stage_files(stage)), stage.GetRootLayer()
    for layer in stage.GetUsedLayers():
        # Images of a converted glTF file are parts of it; those of other converted layers are found here.
        if PARTS not in layer.customLayerData and (layer == root or SOURCE in layer.customLayerData):
            with quiet(Notices()):
                files.update(UsdUtils.ComputeAllDependencies(layer.identifier)[1])
    others = {Path(file).resolve() for file in files} - {path.resolve()}
    return [path, *sorted(file for file in others if file.is_file())]


def stage_source(stage: Usd.Stage) -> str:
    """Return the file of a stage, or its root layer's identifier if it is in memory."""
    layer = stage.GetRootLayer()
    return str(layer.customLayerData.get(SOURCE) or layer.realPath or layer.identifier)


def stage_frame(stage: Usd.Stage, notices: Notices) -> StageFrame:
    """Return the conversion of a stage's coordinates to metres with z up.

    Args:
        stage: A stage; OpenUSD's fallbacks are centimetres and y up.
        notices: Receives a missing unit or up axis, and a rate of time codes that is not above 0.
    """
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        notices.add(
            "metersPerUnit is not authored: read in centimetres, the fallback of OpenUSD", stage_source(stage)
        )
    if not stage.HasAuthoredMetadata("upAxis"):
        notices.add("upAxis is not authored: read as Y up, the fallback of OpenUSD", stage_source(stage))
    if not stage.GetTimeCodesPerSecond() > 0.0:
        rate = f"timeCodesPerSecond is {stage.GetTimeCodesPerSecond():g}, not above 0"
        notices.add(f"{rate}: animated values may be those of another time", stage_source(stage))
    rotation = _Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else np.eye(3)
    return StageFrame(float(UsdGeom.GetStageMetersPerUnit(stage)), rotation)


def note_unresolved(stage: Usd.Stage, notices: Notices) -> None:
    """Add a notice for every unresolved reference, payload and sublayer, and what a conversion left out."""
    for layer in stage.GetUsedLayers():
        data = layer.customLayerData
        for line in data.get(NOTICES, "").splitlines():
            notices.add(line, data[SOURCE])
        if NOTICES in data and layer != stage.GetRootLayer():
            mismatched = UsdGeom.GetStageUpAxis(stage) != UsdGeom.Tokens.y
            if mismatched or UsdGeom.GetStageMetersPerUnit(stage) != 1.0:
                notices.add(
                    "glTF file referenced as it is, in metres with y up: turn and scale it", data[SOURCE]
                )
    for problem in sorted({str(error) for error in stage.GetCompositionErrors()}):
        notices.add(*_grouped(problem))


def _grouped(problem: str) -> tuple[str, str | None]:
    """Return a diagnostic of OpenUSD without the prim at its end, and that prim."""
    text = " ".join(problem.split())
    found = re.fullmatch(r"(.*?)\s?<(/[^<>]*)>\.?", text)
    return (found[1], found[2]) if found else (text, None)


@contextmanager
def quiet(notices: Notices) -> Iterator[None]:
    """Redirect OpenUSD's warnings of all threads from the terminal to notices."""
    # Tf.DiagnosticTrap would do the same for one thread, but exists only from OpenUSD 26.5.
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        for warning in delegate.TakeUncoalescedDiagnostics():
            notices.add(*_grouped(warning.commentary))
        # OpenUSD prints again once the delegate is gone.
        del delegate


def _reason(error: Tf.ErrorException, file: Path) -> str:
    """Return OpenUSD's error for a file, without the path and without quotes from the file."""
    comments = [str(part.commentary).strip() for part in error.args]
    telling = [comment for comment in comments if not comment.startswith("Failed to open layer")]
    if not telling:
        return "the file is damaged"
    # The parser calls the end of the file by the full name of a C++ class.
    reason = telling[0].removeprefix(f"{file.resolve()}:").removeprefix(f"<{file.resolve()}> ")
    reason = re.sub(r"pxrInternal\w*::[\w:]*\beof\b", "the end of the file", reason)
    # Quotes are at the end.
    return re.split(r"(?:\s+(?:at|in))?\s*['\"<@]", reason, maxsplit=1)[0] or "the file is damaged"


def cached_file(stage: Usd.Stage, *folders: str, prefix: str = "") -> Path:
    """Return a USD file in the user's cache with the root layer of a stage, named by the hash of its content.

    Args:
        stage: The stage.
        folders: Folders below the cache.
        prefix: Beginning of its name.

    Raises:
        ConfigError: If the cache cannot be written.
    """
    content = stage.GetRootLayer().ExportToString()
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    path = user_cache().joinpath(*folders, f"{prefix}{digest}.usda")
    if not path.is_file():
        try:
            with replacing(path) as part:
                part.write_text(content, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
    return path
