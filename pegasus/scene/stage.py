"""Open a USD file, and tell what is wrong with it in one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pxr import Tf, Usd, UsdGeom, UsdUtils

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.scene.notices import Notices

TIME = Usd.TimeCode.EarliestTime()
"""Time that attributes are read at: their default, or the first sample where they are animated."""

_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class StageFrame:
    """How a stage's coordinates become metres with z up."""

    meters_per_unit: float
    rotation: Array
    """Rotation from the stage's axes to z up, shape (3, 3)."""

    def convert(self, transform: Array) -> Array:
        """Return a local-to-stage transform as local to world, both sides in metres.

        The linear part keeps its scale: vertices are converted to metres on their own.

        Args:
            transform: Matrix that acts on column vectors, shape (..., 4, 4).
        """
        world = np.zeros(transform.shape)
        world[..., 3, 3] = 1.0
        world[..., :3, :] = self.rotation @ transform[..., :3, :]
        world[..., :3, 3] *= self.meters_per_unit
        return world


def open_stage(path: str | Path) -> Usd.Stage:
    """Return the stage of a USD file, fully loaded.

    References that cannot be resolved are no error: `translate` lists them in the scene's warnings.

    Args:
        path: A .usd, .usda, .usdc or .usdz file.

    Raises:
        ConfigError: If the file does not exist, does not parse, or holds no geometry.
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigError("no such USD file", file=file, remedy="check the path")
    if file.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"is no USD file: its name must end in {', '.join(_SUFFIXES)}", file=file)
    try:
        with quiet(Notices()):
            stage = Usd.Stage.Open(str(file))
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
    ):
        raise ConfigError(
            "holds no geometry",
            file=file,
            remedy="check that its references resolve and that its prims are active",
        )
    return stage


def stage_source(stage: Usd.Stage) -> str:
    """Return the file of a stage, or its root layer's identifier when it is in memory only.

    Args:
        stage: A stage.
    """
    layer = stage.GetRootLayer()
    return str(layer.realPath or layer.identifier)


def stage_frame(stage: Usd.Stage, notices: Notices) -> StageFrame:
    """Return how a stage's coordinates become metres with z up.

    Args:
        stage: A stage; what it does not author is what OpenUSD falls back to: centimetres, y up.
        notices: Where a missing unit or up axis is noted.
    """
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        notices.add(
            "authors no metersPerUnit: taken in centimetres, the fallback of OpenUSD", stage_source(stage)
        )
    if not stage.HasAuthoredMetadata("upAxis"):
        notices.add("authors no upAxis: taken as Y up, the fallback of OpenUSD", stage_source(stage))
    rotation = _Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else np.eye(3)
    return StageFrame(float(UsdGeom.GetStageMetersPerUnit(stage)), rotation)


def note_unresolved(stage: Usd.Stage, notices: Notices) -> None:
    """Note every reference, payload and sublayer that does not resolve.

    Args:
        stage: A stage.
        notices: Where they are noted.
    """
    for problem in sorted({str(error) for error in stage.GetCompositionErrors()}):
        notices.add(" ".join(problem.split()))


@contextmanager
def quiet(notices: Notices) -> Iterator[None]:
    """Keep OpenUSD from printing; its warnings become notices, those of other threads included.

    Args:
        notices: Where the warnings are noted.
    """
    # Tf.DiagnosticTrap would do the same for one thread, but exists only from OpenUSD 26.5.
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        for warning in delegate.TakeUncoalescedDiagnostics():
            notices.add(" ".join(warning.commentary.split()))
        # OpenUSD prints again once the delegate is gone.
        del delegate


def _reason(error: Tf.ErrorException, file: Path) -> str:
    """Return what OpenUSD says about a file, without the file's own path and without text of the file."""
    comments = [str(part.commentary).strip() for part in error.args]
    telling = [comment for comment in comments if not comment.startswith("Failed to open layer")]
    if not telling:
        return "the file is damaged"
    # The parser calls the end of the file by the full name of a C++ class.
    reason = telling[0].removeprefix(f"{file.resolve()}:").removeprefix(f"<{file.resolve()}> ")
    reason = re.sub(r"pxrInternal\w*::[\w:]*\beof\b", "the end of the file", reason)
    # What it quotes stands at the end.
    return re.split(r"(?:\s+(?:at|in))?\s*['\"<@]", reason, maxsplit=1)[0] or "the file is damaged"
