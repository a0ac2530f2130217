"""Lazy scene: read from its stage on first access."""

import logging
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from pxr import Usd

from pegasus.scene.scene import Scene
from pegasus.scene.translation import translate

_log = logging.getLogger(__name__)

_FIELDS = frozenset(field.name for field in fields(Scene))
_OF_GEOMETRY = frozenset({"geometries", "colliders"})


class DeferredScene(Scene):
    """A scene whose fields are read on first access.

    Geometries and colliders need a full translation of the stage; all other fields need its prims only, not
    the arrays of meshes. Access is thread-safe: one thread reads, the others wait.

    Args:
        source: Value of `Scene.source`.
        stage: Function that returns the stage or its file, called in the accessing thread.
    """

    def __init__(self, source: str, stage: Callable[[], Usd.Stage | Path]) -> None:
        # The dataclass is frozen; missing fields come through __getattr__.
        self.__dict__.update(source=source, _stage=stage, _lock=threading.RLock(), _thread=None)
        self.__dict__.update(_outline=None, _whole=None, _progress=None, _said=set())

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._read(whole=name in _OF_GEOMETRY), name)

    @property
    def has_outline(self) -> bool:
        """Whether all fields but geometries and colliders are available without waiting."""
        return self._outline is not None or self._whole is not None

    @property
    def is_whole(self) -> bool:
        """Whether all fields are available without waiting."""
        return self._whole is not None

    @property
    def progress(self) -> float | None:
        """Progress of reading, 0 to 1; None if no reading is under way."""
        progress: float | None = self._progress
        return progress

    def whole(self) -> Scene:
        """Return the complete scene, read now if necessary."""
        return self._read(whole=True)

    def begin(self, *, whole: bool = False) -> None:
        """Start reading in a background thread, unless done or under way.

        Args:
            whole: Whether to read geometries and colliders too.
        """
        if self.is_whole or (self.has_outline and not whole) or self._progress is not None:
            return
        source = self._stage()
        self.__dict__["_progress"] = 0.0
        # Daemon thread: it writes nothing and exits with the interpreter.
        thread = threading.Thread(
            target=self._try_to_read,
            args=(source,),
            kwargs={"whole": whole},
            name="pegasus-scene",
            daemon=True,
        )
        self.__dict__["_thread"] = thread
        thread.start()

    def _try_to_read(self, source: Usd.Stage | Path, *, whole: bool) -> None:
        try:
            self._read(whole=whole, source=source)
        except Exception as error:  # The next access reads again and raises.
            _log.warning("%s: %s", self.source, error)
        finally:
            self.__dict__["_progress"] = None

    def _read(self, *, whole: bool, source: Usd.Stage | Path | None = None) -> Scene:
        with self._lock:
            scene: Scene | None = self._whole or (None if whole else self._outline)
            if scene is not None:
                return scene
            try:
                stage = self._stage() if source is None else source
                scene = translate(stage, geometry=whole, progress=self._note)
            finally:
                self.__dict__["_progress"] = None
            self.__dict__["_whole" if whole else "_outline"] = scene
            for line in scene.warnings:
                if line not in self._said:
                    self._said.add(line)
                    _log.warning(line)
            return scene

    def _note(self, share: float) -> None:
        self.__dict__["_progress"] = share
