"""Bindings of the Embree library that the package embreex contains.

embreex casts one ray per call; Embree casts packets, three times as fast for neighbouring rays. Kernels call
its functions by address.
"""

import ctypes
import weakref
from ctypes import c_bool, c_char_p, c_int, c_size_t, c_ssize_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import embreex.rtcore_scene
import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.errors import ConfigError
from pegasus.render.embree import packet_kernels as kernels

Floats = npt.NDArray[np.float32]

# Numbers of Embree 4's headers.
_TRIANGLES, _INDICES, _VERTICES = 0, 0, 1
_FLOAT3, _UINT3 = 0x9003, 0x5003
_ROBUST, _FILTERS = 4, 8
_OPAQUE, _SEE_THROUGH = 0, 1
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
    "rtcSetGeometryEnableFilterFunctionFromArguments": (None, c_void_p, c_bool),
    "rtcAttachGeometryByID": (None, c_void_p, c_void_p, c_uint),
    "rtcCommitScene": (None, c_void_p),
}
_NONE = np.zeros(0, np.float32)
_CASTERS = ("rtcIntersect1", "rtcIntersect8", "rtcOccluded1", "rtcOccluded8")


class Embree:
    """Embree device.

    Raises:
        ConfigError: If the library is missing, or its version is not 4.
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
            raise _unusable(f"Embree {version} is not version 4")
        self.packets = bool(library.rtcGetDeviceProperty(self._device, _NATIVE_RAY8))
        """Support of packets of eight rays by this processor."""
        self.addresses = {name: ctypes.cast(getattr(library, name), c_void_p).value or 0 for name in _CASTERS}
        """Addresses of the functions that cast rays."""

    def mesh(
        self,
        points: npt.NDArray[np.float32],
        faces: npt.NDArray[np.int32],
        *,
        opaque_count: int,
        first_see_through: int,
    ) -> "EmbreeMesh":
        """Return a mesh for ray casts.

        Args:
            points: Corners [m], shape (V, 3).
            faces: Indices of the corners of each triangle, the opaque ones first, shape (T, 3).
            opaque_count: Number of opaque triangles.
            first_see_through: Row of the first of the others in the table of see-through triangles.

        Raises:
            MemoryError: If the memory is exhausted.
        """
        library = self._library
        scene = library.rtcNewScene(self._device)
        made = EmbreeMesh(self, scene, opaque_count, first_see_through)
        weakref.finalize(made, library.rtcReleaseScene, scene)
        library.rtcSetSceneFlags(scene, _ROBUST | _FILTERS)
        for number, rows in ((_OPAQUE, faces[:opaque_count]), (_SEE_THROUGH, faces[opaque_count:])):
            if len(rows):
                self._attach(scene, number, points, rows)
        library.rtcCommitScene(scene)
        if error := library.rtcGetDeviceError(self._device):
            raise MemoryError(f"Embree cannot hold {len(faces)} triangles (error {error})")
        return made

    def _attach(
        self, scene: int, number: int, points: npt.NDArray[np.float32], faces: npt.NDArray[np.int32]
    ) -> None:
        library = self._library
        geometry = library.rtcNewGeometry(self._device, _TRIANGLES)
        low, high = int(faces.min()), int(faces.max()) + 1
        buffers: list[tuple[int, int, npt.NDArray[Any]]] = [
            (_VERTICES, _FLOAT3, np.ascontiguousarray(points[low:high])),
            (_INDICES, _UINT3, np.ascontiguousarray(faces - low)),
        ]
        for kind, form, rows in buffers:
            buffer = library.rtcSetNewGeometryBuffer(geometry, kind, 0, form, 12, len(rows))
            if not buffer:
                library.rtcReleaseGeometry(geometry)
                raise MemoryError(f"no room for {len(rows)} rows of triangles")
            ctypes.memmove(buffer, rows.ctypes.data, rows.nbytes)
        library.rtcSetGeometryEnableFilterFunctionFromArguments(geometry, number == _SEE_THROUGH)
        library.rtcCommitGeometry(geometry)
        library.rtcAttachGeometryByID(scene, geometry, number)
        library.rtcReleaseGeometry(geometry)


class EmbreeMesh:
    """Mesh for ray casts.

    Args:
        embree: The device of the mesh.
        scene: Address of Embree's scene.
        opaque_count: Number of opaque triangles; the others follow these.
        first_see_through: Row of the first of the others in the table of see-through triangles.
    """

    def __init__(self, embree: Embree, scene: int, opaque_count: int, first_see_through: int) -> None:
        self._embree, self._scene = embree, scene
        self._opaque_count, self._first_see_through = opaque_count, first_see_through

    def nearest(
        self,
        tables: Any,
        origins: Floats,
        directions: Floats,
        limits: Floats,
        *,
        coherent: bool,
        width: int = 0,
        tile: int = 4,
        passed: Floats = _NONE,
        start: float = 0.0,
        cone: float = 0.0,
    ) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
        """Return the nearest triangle of each ray, -1 without a hit, and the barycentric coordinates.

        Cut-outs are skipped. `limits` is overwritten with the distances.

        Args:
            tables: Kernel tables of triangles and materials.
            origins: Origins [m], shape (K, 3).
            directions: Directions, shape (K, 3).
            limits: Lengths in units of the directions; negative for no ray, shape (K,).
            coherent: Whether neighbouring rays are nearly parallel.
            width: Width of the image if the rays are its rows, else 0.
            tile: Width of a packet's part of the image: 1, 2, 4 or 8 pixels.
            passed: Path length of each ray before its origin, in addition to `start` [m], shape (K,) or (0,).
            start: Path length of all rays before that [m].
            cone: Angle between neighbouring rays [rad].
        """
        count = len(limits)
        faces, u, v = np.empty(count, np.int32), np.empty(count, np.float32), np.empty(count, np.float32)
        tiled = width if width % tile == 0 else 0
        rows = kernels.LANES // tile
        packets = -(-count // tiled // rows) * (tiled // tile) if tiled else -(-count // kernels.LANES)
        inputs = [
            tables,
            *self.intersector(coherent=coherent),
            tiled,
            tile,
            wp_array(origins, wp.vec3f),
            wp_array(directions, wp.vec3f),
            wp_array(passed, wp.float32),
            start,
            cone,
            wp_array(limits, wp.float32),
            wp_array(faces, wp.int32),
            wp_array(u, wp.float32),
            wp_array(v, wp.float32),
        ]
        wp.launch(kernels.find_nearest, -(-packets // kernels.PACKETS), inputs=inputs, device="cpu")
        return faces, u, v

    def intersector(self, *, coherent: bool) -> tuple[int, ...]:
        """Return what kernels need to cast rays at the mesh, in the order of their arguments.

        Args:
            coherent: Whether neighbouring rays are nearly parallel.
        """
        handles = self._handles("rtcIntersect", coherent=coherent)
        return (*handles, self._opaque_count, self._first_see_through)

    def shine(
        self,
        tables: Any,
        origins: Floats,
        directions: Floats,
        limits: Floats,
        *,
        coherent: bool,
        dark: float,
    ) -> Floats:
        """Return the transmittance along rays, shape (K,).

        Args:
            tables: Kernel tables of triangles and materials.
            origins: Origins [m], shape (K, 3).
            directions: Directions, shape (K, 3).
            limits: Lengths in units of the directions; negative for no ray, shape (K,).
            coherent: Whether neighbouring rays are nearly parallel.
            dark: Transmittance that counts as 0.
        """
        light = np.empty(len(limits), np.float32)
        inputs = [
            tables,
            *self._handles("rtcOccluded", coherent=coherent),
            self._first_see_through,
            dark,
            wp_array(origins, wp.vec3f),
            wp_array(directions, wp.vec3f),
            wp_array(_NONE, wp.float32),
            wp_array(limits, wp.float32),
            wp_array(light, wp.float32),
        ]
        threads = -(-len(limits) // (kernels.LANES * kernels.PACKETS))
        wp.launch(kernels.shine, threads, inputs=inputs, device="cpu")
        return light

    def _handles(self, function: str, *, coherent: bool) -> tuple[int, int, int, int]:
        """Return the addresses of the functions for eight rays and one, that of the scene, and flags."""
        embree = self._embree
        eight = embree.addresses[f"{function}8"] if embree.packets else 0
        return eight, embree.addresses[f"{function}1"], self._scene, kernels.COHERENT if coherent else 0


def wp_array(values: npt.NDArray[Any], kind: Any) -> Any:
    """Return an array for kernels that shares its memory.

    Args:
        values: Numbers, contiguous.
        kind: Warp type of an element.
    """
    return wp.array(values, dtype=kind, device="cpu", copy=False)


def _library() -> ctypes.CDLL:
    """Return the Embree library, through the module linked to it or from its folder."""
    module = Path(embreex.rtcore_scene.__file__)
    package = module.parent
    beside = [*package.with_name("embreex.libs").glob("*embree4*"), *package.rglob("*embree4*")]
    for path in (module, *beside):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "rtcIntersect8"):
            return library
    raise _unusable("it does not contain Embree's library")


def _unusable(problem: str) -> ConfigError:
    return ConfigError(
        f"the package embreex cannot be used: {problem}",
        field="renderer",
        value="embree",
        remedy='pip install --force-reinstall "embreex>=4.4"',
    )
