"""Embree's own functions, out of the library that the package embreex brings along.

The functions of embreex cast one ray at a time; Embree casts several at once, which is three times as fast
for neighbours. Kernels call it by the addresses that stand here.
"""

import ctypes
import weakref
from ctypes import c_char_p, c_int, c_size_t, c_ssize_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import embreex.rtcore_scene
import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.errors import ConfigError
from pegasus.render import packet_kernels as kernels

Floats = npt.NDArray[np.float32]

# Numbers of Embree 4's headers.
_TRIANGLES, _INDICES, _VERTICES = 0, 0, 1
_FLOAT3, _UINT3 = 0x9003, 0x5003
_ROBUST = 4
_VERSION, _NATIVE_RAY8 = 0, 33

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "rtcNewDevice": (c_void_p, c_char_p),
    "rtcReleaseDevice": (None, c_void_p),
    "rtcGetDeviceProperty": (c_ssize_t, c_void_p, c_int),
    "rtcGetDeviceError": (c_int, c_void_p),
    "rtcNewScene": (c_void_p, c_void_p),
    "rtcReleaseScene": (None, c_void_p),
    "rtcSetSceneFlags": (None, c_void_p, c_int),
    "rtcNewGeometry": (c_void_p, c_void_p, c_int),
    "rtcReleaseGeometry": (None, c_void_p),
    "rtcSetNewGeometryBuffer": (c_void_p, c_void_p, c_int, c_uint, c_int, c_size_t, c_size_t),
    "rtcCommitGeometry": (None, c_void_p),
    "rtcAttachGeometry": (c_uint, c_void_p, c_void_p),
    "rtcCommitScene": (None, c_void_p),
}
_CASTERS = ("rtcIntersect1", "rtcIntersect8", "rtcOccluded1", "rtcOccluded8")


class Embree:
    """A device of Embree.

    Raises:
        ConfigError: If the library is not there, or another one than Embree 4.
    """

    def __init__(self) -> None:
        library = _library()
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self._library = library
        self._device = library.rtcNewDevice(None)
        weakref.finalize(self, library.rtcReleaseDevice, self._device)
        version = library.rtcGetDeviceProperty(self._device, _VERSION)
        if version // 10_000 != 4:
            raise _unusable(f"Embree {version} is none of version 4")
        self.packets = bool(library.rtcGetDeviceProperty(self._device, _NATIVE_RAY8))
        """Whether this processor casts eight rays at once."""
        self.addresses = {name: ctypes.cast(getattr(library, name), c_void_p).value or 0 for name in _CASTERS}
        """Where its functions that cast rays are."""

    def mesh(self, points: npt.NDArray[np.float32], faces: npt.NDArray[np.int32]) -> "EmbreeMesh":
        """Return triangles that rays can be cast into.

        Args:
            points: Corners [m], shape (V, 3).
            faces: Indices of the corners of each triangle, shape (T, 3).

        Raises:
            MemoryError: If there is no memory left.
        """
        library = self._library
        scene = library.rtcNewScene(self._device)
        library.rtcSetSceneFlags(scene, _ROBUST)
        geometry = library.rtcNewGeometry(self._device, _TRIANGLES)
        buffers: list[tuple[int, int, npt.NDArray[Any]]] = [
            (_VERTICES, _FLOAT3, np.ascontiguousarray(points)),
            (_INDICES, _UINT3, np.ascontiguousarray(faces)),
        ]
        for kind, form, rows in buffers:
            buffer = library.rtcSetNewGeometryBuffer(geometry, kind, 0, form, 12, len(rows))
            if not buffer:
                raise MemoryError(f"no room for {len(rows)} rows of triangles")
            ctypes.memmove(buffer, rows.ctypes.data, rows.nbytes)
        library.rtcCommitGeometry(geometry)
        library.rtcAttachGeometry(scene, geometry)
        library.rtcReleaseGeometry(geometry)
        library.rtcCommitScene(scene)
        made = EmbreeMesh(self, scene)
        weakref.finalize(made, library.rtcReleaseScene, scene)
        if error := library.rtcGetDeviceError(self._device):
            raise MemoryError(f"Embree cannot hold {len(faces)} triangles (error {error})")
        return made


class EmbreeMesh:
    """Triangles that rays can be cast into.

    Args:
        embree: The device that holds them.
        scene: Address of Embree's scene.
    """

    def __init__(self, embree: Embree, scene: int) -> None:
        self._embree, self._scene = embree, scene

    @property
    def handles(self) -> tuple[int, int]:
        """Addresses of Embree's function that casts one ray, and of the scene."""
        return self._embree.addresses["rtcIntersect1"], self._scene

    def nearest(
        self, origins: Floats, directions: Floats, limits: Floats, *, coherent: bool, width: int = 0
    ) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
        """Return the triangle that each ray meets first, -1 for none, and where on it.

        The limits become the distances.

        Args:
            origins: Where rays start [m], shape (K, 3).
            directions: Their directions, shape (K, 3).
            limits: How long they are, in units of the directions; negative for no ray, shape (K,).
            coherent: Whether neighbours go nearly the same way.
            width: Width of the image that they are rows of; 0 for none.
        """
        count = len(limits)
        faces, u, v = np.empty(count, np.int32), np.empty(count, np.float32), np.empty(count, np.float32)
        found = [wp_array(faces, wp.int32), wp_array(u, wp.float32), wp_array(v, wp.float32)]
        self._cast(kernels.find_nearest, "rtcIntersect", origins, directions, limits, found, coherent, width)
        return faces, u, v

    def blocked(
        self, origins: Floats, directions: Floats, limits: Floats, *, coherent: bool
    ) -> npt.NDArray[np.int32]:
        """Return 0 for rays that meet something and -1 for others, shape (K,).

        Args:
            origins: Where rays start [m], shape (K, 3).
            directions: Their directions, shape (K, 3).
            limits: How long they are, in units of the directions; negative for no ray, shape (K,).
            coherent: Whether neighbours go nearly the same way.
        """
        found = np.empty(len(limits), np.int32)
        outputs = [wp_array(found, wp.int32)]
        self._cast(kernels.find_any, "rtcOccluded", origins, directions, limits, outputs, coherent, 0)
        return found

    def _cast(
        self,
        kernel: Any,
        function: str,
        origins: Floats,
        directions: Floats,
        limits: Floats,
        outputs: list[Any],
        coherent: bool,
        width: int,
    ) -> None:
        embree, count = self._embree, len(limits)
        tiled = width if width % 4 == 0 else 0
        packets = -(-count // tiled // 2) * (tiled // 4) if tiled else -(-count // kernels.LANES)
        inputs = [
            embree.addresses[f"{function}8"] if embree.packets else 0,
            embree.addresses[f"{function}1"],
            self._scene,
            kernels.COHERENT if coherent else 0,
            tiled,
            wp_array(origins, wp.vec3f),
            wp_array(directions, wp.vec3f),
            wp_array(limits, wp.float32),
            *outputs,
        ]
        wp.launch(kernel, packets, inputs=inputs, device="cpu")


def wp_array(values: npt.NDArray[Any], kind: Any) -> Any:
    """Return an array as kernels take it; the memory is shared.

    Args:
        values: Numbers, contiguous.
        kind: Warp type of an element.
    """
    return wp.array(values, dtype=kind, device="cpu", copy=False)


def _library() -> ctypes.CDLL:
    """Return the library with Embree's functions, by the module that is linked to it or from beside that."""
    module = Path(embreex.rtcore_scene.__file__)
    package = module.parent
    beside = [*package.with_name("embreex.libs").glob("*embree4*"), *package.rglob("*embree4*")]
    for path in (module, *beside):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "rtcIntersect8"):
            return library
    raise _unusable("Embree's library is not in it")


def _unusable(problem: str) -> ConfigError:
    return ConfigError(
        f"the package embreex cannot be used: {problem}",
        field="renderer",
        value="embree",
        remedy='pip install --force-reinstall "embreex>=4.4"',
    )
