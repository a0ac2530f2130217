"""A scene that is read from its stage when something of it is asked for."""

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
    """A scene whose fields are read when they are first asked for.

    Geometries and colliders take a whole translation of the stage; all other fields a look at its prims,
    which leaves the arrays of meshes alone. Any thread may ask; one of them reads, and the others wait.

    Args:
        source: Where it comes from, as `Scene.source` says it.
        stage: Returns the stage or its file. It is called in the thread that asks, before anything is read.
    """

    def __init__(self, source: str, stage: Callable[[], Usd.Stage | Path]) -> None:
        # The fields of a scene are frozen, and those that are missing come by __getattr__.
        self.__dict__.update(source=source, _stage=stage, _lock=threading.RLock(), _thread=None)
        self.__dict__.update(_outline=None, _whole=None, _progress=None, _said=set())

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._read(whole=name in _OF_GEOMETRY), name)

    @property
    def has_outline(self) -> bool:
        """Whether all but geometries and colliders can be had without waiting."""
        return self._outline is not None or self._whole is not None

    @property
    def is_whole(self) -> bool:
        """Whether all of it can be had without waiting."""
        return self._whole is not None

    @property
    def progress(self) -> float | None:
        """Share that has been read, from 0 to 1; None while nothing is being read."""
        progress: float | None = self._progress
        return progress

    def whole(self) -> Scene:
        """Return all of it, read now where it is not yet."""
        return self._read(whole=True)

    def begin(self, *, whole: bool = False) -> None:
        """Begin to read in a thread of its own, unless that is done or under way.

        Args:
            whole: Whether geometries and colliders are read too.
        """
        if self.is_whole or (self.has_outline and not whole) or self._progress is not None:
            return
        source = self._stage()
        self.__dict__["_progress"] = 0.0
        # Daemon thread: it writes nothing, and must not keep a program from ending.
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
        except Exception as error:  # Whoever asks next reads again, and is told.
            _log.warning("%s: %s", self.source, error)
        finally:
            self.__dict__["_progress"] = None

    def _read(self, *, whole: bool, source: Usd.Stage | Path | None = None) -> Scene:
        with self._lock:
            known: Scene | None = self._whole or (None if whole else self._outline)
            if known is not None:
                return known
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
