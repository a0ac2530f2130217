"""What compiled paths of light meet, found by Embree, which asks of see-through triangles on the way."""

import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.render.embree_library import Embree, EmbreeMeshes
from pegasus.render.known import processor_count
from pegasus.render.material_table import MaterialTable
from pegasus.render.mitsuba_hits import Hits, Place, is_clear
from pegasus.render.mitsuba_shapes import Tables
from pegasus.render.mitsuba_surfaces import Met
from pegasus.render.surface_tables import SeeThrough, device_array
from pegasus.render.surface_tables import Tables as KernelTables
from pegasus.scene.scene import Material

Floats = npt.NDArray[np.float32]

_CHUNK = 1 << 16
_DARK = 1e-3


class EmbreeVisibility:
    """Casts rays into meshes of its own, and into the lamps of Mitsuba's scene.

    Args:
        mitsuba: The module, a vectorized variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self._embree, self._materials = Embree(), MaterialTable()
        self._meshes: dict[int, tuple[Any, EmbreeMeshes, int]] = {}
        self._numbers: list[npt.NDArray[np.uint32]] = []
        self._rows: list[Any] = []
        self._face_count = self._row_count = 0
        self._pool = ThreadPoolExecutor(processor_count(), "embree")
        weakref.finalize(self, self._pool.shutdown, wait=False)

    def update(
        self, places: Sequence[Place], hits: Hits, tables: Tables, materials: Sequence[Material]
    ) -> None:
        """Take over what there is now.

        Args:
            places: Shapes of the scene.
            hits: How they are numbered.
            tables: What their faces are.
            materials: The materials by number.
        """
        mi = self._mi
        for place in places:
            if place.group is not None and id(place.group) not in self._meshes:
                mesh, first = self._mesh(place, tables, materials)
                # The group is kept: it is known by its identity.
                self._meshes[id(place.group)] = place.group, mesh, first
        self._tables: Any = KernelTables()
        self._tables.see_through = device_array(np.concatenate(self._rows), SeeThrough)
        self._materials.fill(self._tables)
        self._face_of = mi.UInt32(np.concatenate(self._numbers or [np.zeros(1, np.uint32)]))
        grouped = [number for number, place in enumerate(places) if place.group is not None]
        self._place_of = mi.UInt32(np.array(grouped, np.uint32))
        self._hits = hits
        self.move(places)

    def move(self, places: Sequence[Place]) -> None:
        """Take over where things are now.

        Args:
            places: The same places, their transforms changed.
        """
        grouped = [place for place in places if place.group is not None]
        known = [self._meshes[id(place.group)] for place in grouped]
        self._instances = self._embree.instances(
            [mesh for _, mesh, _ in known],
            [first for _, _, first in known],
            np.array([place.transform for place in grouped]).reshape(-1, 4, 4),
        )
        lamps = {f"lamp{k:05d}": place.shape for k, place in enumerate(places) if place.group is None}
        self._lamps = self._mi.load_dict({"type": "scene", **lamps}) if lamps else None
        own = [place.first_faces[0] if place.first_faces else 0 for place in places]
        self._own_faces = self._mi.UInt32(np.array(own, np.uint32))
        self._registered = self._mi.UInt32(self._hits.place_of.astype(np.uint32))

    def meet(self, ray: Any, random: Any, active: Any, *, coherent: bool) -> Met:
        """Return what rays meet that is not passed through.

        Args:
            ray: The rays.
            random: Random numbers of theirs, which decide what in part is transparent.
            active: Which of them are cast.
            coherent: Whether neighbours go nearly the same way.
        """
        mi, dr = self._mi, self._dr
        origins, directions, limits = self._handed(ray, active)
        count = len(limits)
        faces, instances = np.empty(count, np.int32), np.empty(count, np.int32)
        u, v = np.empty(count, np.float32), np.empty(count, np.float32)
        seed = int(dr.slice(random.state, 0)) & 0xFFFFFFFF | 1 if self._materials.blends else 0

        def cast(rows: slice) -> None:
            met = self._instances.nearest(
                self._tables,
                origins[rows],
                directions[rows],
                limits[rows],
                coherent=coherent,
                seed=(seed * (2 * rows.start + 1)) & 0xFFFFFFFF,
                instanced=True,
            )
            faces[rows], instances[rows], u[rows], v[rows] = met.faces, met.instances, met.u, met.v

        self._share(cast, count)
        hit = mi.Bool(faces >= 0)
        face = dr.gather(mi.UInt32, self._face_of, mi.UInt32(np.maximum(faces, 0).view(np.uint32)), hit)
        place = dr.gather(mi.UInt32, self._place_of, mi.UInt32(instances.view(np.uint32)), hit)
        met = Met(dr.select(hit, mi.Float(limits), dr.inf), mi.Float(u), mi.Float(v), face, place)
        if self._lamps is not None:
            met = self._with_lamps(self._lamps, met, ray, active)
        dr.eval(*met)
        return met

    def shine(self, ray: Any, random: Any, active: Any) -> Any:
        """Return how much light comes along rays, from 0 to 1.

        Args:
            ray: The rays.
            random: Random numbers of theirs.
            active: Which of them are cast; 0 for the others.
        """
        mi, dr = self._mi, self._dr
        origins, directions, limits = self._handed(ray, active)
        light = np.empty(len(limits), np.float32)

        def cast(rows: slice) -> None:
            light[rows] = self._instances.shine(
                self._tables,
                origins[rows],
                directions[rows],
                limits[rows],
                coherent=False,
                dark=_DARK,
            )

        self._share(cast, len(limits))
        free = active & ~self._lamps.ray_test(ray, active) if self._lamps is not None else active
        return dr.select(free, mi.Float(light), 0.0)

    def _mesh(self, place: Place, tables: Tables, materials: Sequence[Material]) -> tuple[EmbreeMeshes, int]:
        """Return the triangles of a group, and the number of the first of them."""
        rows = np.concatenate([np.arange(*tables.meshes[first]) for first in place.first_faces])
        clear = np.array([is_clear(material) for material in materials])[tables.material[rows]]
        opaque, thin = rows[~clear], rows[clear]
        thin = thin[np.argsort(tables.material[thin], kind="stable")]
        rows = np.concatenate([opaque, thin])
        first, first_row = self._face_count, self._row_count
        for number in np.unique(tables.material[thin]).tolist():
            alike = tables.faces[thin[tables.material[thin] == number]]
            opacity = self._materials.add(_opacity_of(materials[number]))
            uvs, corners = tables.uvs[alike], tables.vertices[alike]
            self._rows.append(self._materials.see_through_rows(opacity, uvs, corners))
        faces = tables.faces[rows].astype(np.int32)
        low, high = int(faces.min()), int(faces.max()) + 1
        self._numbers.append(rows.astype(np.uint32))
        self._face_count += len(rows)
        self._row_count += len(thin)
        mesh = self._embree.mesh(
            tables.vertices[low:high], faces - low, opaque_count=len(opaque), first_see_through=first_row
        )
        return mesh, first

    def _with_lamps(self, lamps: Any, met: Met, ray: Any, active: Any) -> Met:
        """Return what rays meet, lamps included."""
        mi, dr = self._mi, self._dr
        ray = mi.Ray3f(ray)
        ray.maxt = dr.minimum(ray.maxt, met.t)
        lamp = lamps.ray_intersect_preliminary(ray, False, active)
        nearer = active & dr.isfinite(lamp.t)
        place = dr.gather(mi.UInt32, self._registered, dr.reinterpret_array(mi.UInt32, lamp.shape), nearer)
        face = dr.gather(mi.UInt32, self._own_faces, place, nearer) + lamp.prim_index
        parts = (lamp.t, lamp.prim_uv.x, lamp.prim_uv.y, face, place)
        return Met(*(dr.select(nearer, new, old) for new, old in zip(parts, met, strict=True)))

    def _handed(self, ray: Any, active: Any) -> tuple[Floats, Floats, Floats]:
        """Return rays as Embree takes them: origins, directions and lengths."""
        mi, dr = self._mi, self._dr
        count = dr.width(active)
        zero = dr.zeros(mi.Float, count)
        limits = dr.select(active, ray.maxt, -1.0) + zero
        flat = [dr.ravel(mi.Vector3f(part) + zero) for part in (ray.o, ray.d)]
        dr.eval(limits, *flat)
        return np.array(flat[0]).reshape(-1, 3), np.array(flat[1]).reshape(-1, 3), np.array(limits)

    def _share(self, cast: Callable[[slice], None], count: int) -> None:
        """Have all processors cast parts of some rays."""
        for _ in self._pool.map(cast, (slice(first, first + _CHUNK) for first in range(0, count, _CHUNK))):
            pass


def _opacity_of(material: Material) -> Material:
    """Return a material of which only the opacity is kept, so that no other image is read."""
    return Material(
        path=material.path, opacity=material.opacity, opacity_threshold=material.opacity_threshold
    )
