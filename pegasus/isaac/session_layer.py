"""Values of vehicle prims that are not saved with the stage: they are in its session layer."""

from typing import Any

from pxr import Sdf, Tf, Usd


def unsaved(stage: Usd.Stage) -> Usd.EditContext:
    """Return a context whose edits go to the session layer: they are not saved, and no unsaved changes."""
    return Usd.EditContext(stage, stage.GetSessionLayer())


class SessionValues:
    """Owner of the session layer's values at and below some prims.

    A prim that is deleted from the stage itself would live on by its values in the session layer, and no
    listener would take it for deleted. So they are removed within the notice of the deletion.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Usd.Stage) -> None:
        self._stage, self._paths = stage, set[Sdf.Path]()
        # Changes in answer to a notice of the stage are allowed: UsdStage::_ProcessPendingChanges.
        self._listener: Any = Tf.Notice.Register(Usd.Notice.ObjectsChanged, self._on_change, stage)

    def own(self, path: str) -> None:
        """Own the values at and below a prim."""
        self._paths.add(Sdf.Path(path))

    def close(self) -> None:
        """Remove all owned values, if the stage is still open; a second call has no effect."""
        self._listener = None  # It ends with its last reference.
        for path in self._paths if self._stage else ():
            self._remove(path)
        self._paths.clear()

    def _on_change(self, notice: Usd.Notice.ObjectsChanged, _: Usd.Stage) -> None:
        changed = [path for path in notice.GetResyncedPaths() if path.IsPrimPath()]
        for own in self._paths:
            if any(own.HasPrefix(path) or path.HasPrefix(own) for path in changed):
                self._remove_undefined(own)

    def _remove_undefined(self, path: Sdf.Path) -> None:
        """Remove the values of prims that only the session layer has."""
        spec = self._stage.GetSessionLayer().GetPrimAtPath(path)
        if spec is None:
            return
        prim = self._stage.GetPrimAtPath(path)
        if not prim or not prim.IsDefined():
            self._remove(path)
            return
        for child in [child.path for child in spec.nameChildren]:
            self._remove_undefined(child)

    def _remove(self, path: Sdf.Path) -> None:
        with unsaved(self._stage):
            self._stage.RemovePrim(path)
