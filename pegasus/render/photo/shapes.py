"""Scene geometry as few Mitsuba shapes, and tables that map hits to entities and materials.

Meshes with equal appearance are merged: hundreds of shapes cost more time than millions of triangles.
Geometry that repeats so often that copies would fill the memory is instanced.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.render.photo.materials import emitter, shines
from pegasus.scene.scene import Geometry, Material, Scene

OWN_ENTITY = -2
"""Entity of faces that belong to their moving object."""

_MERGED_TRIANGLES = 6_000_000
_ROUNDING = 5


class Piece(NamedTuple):
    """Geometry with a material and a pose."""

    geometry: Geometry
    material: Material
    transform: Array
    entity: int


class Repeated(NamedTuple):
    """Repeated pieces in their own frame, and their poses."""

    pieces: list[Piece]
    transforms: list[Array]
    entities: list[int]


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of the faces of all meshes, one mesh after the other."""

    faces: npt.NDArray[np.uint32]
    """Vertices of each face, shape (F, 3)."""
    vertices: npt.NDArray[np.float32]
    """Vertices in the frame of their group [m], shape (V, 3)."""
    normals: npt.NDArray[np.float32]
    """Unit normals, shape (V, 3)."""
    uvs: npt.NDArray[np.float32]
    """Texture coordinates, shape (V, 2)."""
    entity: npt.NDArray[np.int32]
    """Number of the entity, or `OWN_ENTITY`, shape (F,)."""
    material: npt.NDArray[np.int32]
    """Number of the material, shape (F,)."""
    colors: npt.NDArray[np.float32] | None = None
    """Linear vertex colours, shape (V, 3); None if no mesh has any."""


@dataclass(frozen=True, eq=False)
class Group:
    """Meshes that move as a whole."""

    shape: Any
    """Mitsuba shape group; None if all meshes are single."""
    first_faces: list[int]
    """Number of the first face of each of its meshes."""
    single: list[tuple[Any, int]] = field(default_factory=list)
    """Meshes outside of the Mitsuba group, such as emissive ones, and their first faces."""


class ShapeStore:
    """Store of meshes and of their tables.

    Args:
        mitsuba: The module mitsuba, its variant set.
    """

    def __init__(self, mitsuba: Any) -> None:
        self._mi = mitsuba
        self.materials: list[Material] = []
        """The materials by number."""
        self._material_numbers: dict[Material, int] = {}
        self._blocks: dict[str, list[Any]] = defaultdict(list)
        self._face_count = self._vertex_count = 0
        self._colors: list[tuple[int, Any]] = []
        self._tables: Tables | None = None

    def group(self, pieces: Iterable[Piece], *, placed: bool = False) -> Group:
        """Return pieces as a group of meshes.

        Args:
            pieces: The pieces.
            placed: Whether the group stays where it is, alone: rays are faster without an instance. Emissive
                meshes are single in any case, because Mitsuba has none in groups.
        """
        looks: dict[tuple[bool, Material | None], list[Piece]] = defaultdict(list)
        for piece in pieces:
            if len(piece.geometry.faces):
                glow = piece.material if shines(piece.material) else None
                looks[piece.geometry.colors is not None, glow].append(piece)
        shapes: dict[str, Any] = {"type": "shapegroup"}
        first_faces: list[int] = []
        single: list[tuple[Any, int]] = []
        for (_, glow), alike in looks.items():
            first = self._face_count
            mesh = self._mesh(alike, glow)
            if placed or glow is not None:
                single.append((mesh, first))
            else:
                shapes[f"mesh{len(first_faces):05d}"] = mesh
                first_faces.append(first)
        return Group(self._mi.load_dict(shapes) if first_faces else None, first_faces, single)

    def tables(self) -> Tables:
        """Return the tables of all meshes."""
        if self._tables is None:
            for name, blocks in self._blocks.items():
                self._blocks[name] = [np.concatenate(blocks)]
            colors = np.ones((self._vertex_count, 3), np.float32) if self._colors else None
            for first, part in self._colors:
                assert colors is not None
                colors[first : first + len(part)] = part
            self._tables = Tables(**{name: blocks[0] for name, blocks in self._blocks.items()}, colors=colors)
        return self._tables

    def number(self, material: Material) -> int:
        """Return the index of a material; equal ones share it."""
        if material not in self._material_numbers:
            self._material_numbers[material] = len(self.materials)
            self.materials.append(material)
        return self._material_numbers[material]

    def _mesh(self, pieces: Sequence[Piece], glow: Material | None) -> Any:
        """Return pieces of equal appearance as a mesh, and add it to the tables."""
        vertices, normals = zip(*(_placed(piece) for piece in pieces), strict=True)
        uvs = [_uvs(piece.geometry) for piece in pieces]
        counts = np.cumsum([0, *(len(part) for part in vertices)])
        faces = [piece.geometry.faces + np.uint32(n) for piece, n in zip(pieces, counts, strict=False)]
        lengths = [len(part) for part in faces]
        block = {
            "vertices": np.concatenate(vertices),
            "normals": np.concatenate(normals),
            "uvs": np.concatenate(uvs),
            "faces": np.concatenate(faces),
            "entity": np.repeat(np.array([piece.entity for piece in pieces], np.int32), lengths),
            "material": np.repeat(
                np.array([self.number(piece.material) for piece in pieces], np.int32), lengths
            ),
        }
        colors = [part for piece in pieces if (part := piece.geometry.colors) is not None]
        mesh = self._make(block, glow)
        if colors:
            self._colors.append((self._vertex_count, np.concatenate(colors)))
        block["faces"] = block["faces"] + np.uint32(self._vertex_count)
        for name, values in block.items():
            self._blocks[name].append(values)
        self._face_count += len(block["faces"])
        self._vertex_count += len(block["vertices"])
        self._tables = None
        return mesh

    def _make(self, block: dict[str, Any], glow: Material | None) -> Any:
        mi = self._mi
        properties = mi.Properties()
        if glow is not None:
            properties["emitter"] = mi.load_dict(emitter(mi, glow))
        mesh = mi.Mesh(
            f"mesh{self._face_count}",
            len(block["vertices"]),
            len(block["faces"]),
            has_vertex_normals=True,
            has_vertex_texcoords=True,
            props=properties,
        )
        parameters = mi.traverse(mesh)
        parameters["vertex_positions"] = block["vertices"].ravel()
        parameters["vertex_normals"] = block["normals"].ravel()
        parameters["vertex_texcoords"] = block["uvs"].ravel()
        parameters["faces"] = block["faces"].ravel()
        parameters.update()
        return mesh


def pieces_of(scene: Scene, entities: dict[str, int] | None) -> list[Piece]:
    """Return all visible pieces of a scene.

    Args:
        scene: The scene.
        entities: Number of each of its entities; None for something that moves as a whole.
    """
    return [
        Piece(
            scene.geometries[item.geometry],
            scene.materials[item.material],
            np.asarray(item.transform, dtype=np.float64),
            OWN_ENTITY if entities is None else entities[item.entity],
        )
        for item in scene.instances
    ]


def repeated_pieces(
    pieces: list[Piece], *, limit: int = _MERGED_TRIANGLES
) -> tuple[list[Piece], list[Repeated]]:
    """Return pieces to merge, up to a number of triangles, and pieces to instance.

    Entities with equal parts and relative poses are copies. Those that save most triangles are instanced
    first.
    """
    total = sum(len(piece.geometry.faces) for piece in pieces)
    if total <= limit:
        return pieces, []
    by_entity: dict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        by_entity[piece.entity].append(piece)
    copies: dict[Any, list[list[Piece]]] = defaultdict(list)
    for parts in by_entity.values():
        copies[_form(parts)].append(parts)
    merged: list[Piece] = []
    repeated: list[Repeated] = []
    for form, alike in sorted(copies.items(), key=lambda item: -_saved(item[1])):
        if total > limit and form is not None and _saved(alike) > 0:
            inverse = np.linalg.inv(alike[0][0].transform)
            own = [p._replace(transform=inverse @ p.transform, entity=OWN_ENTITY) for p in alike[0]]
            transforms, entities = [p[0].transform for p in alike], [p[0].entity for p in alike]
            repeated.append(Repeated(own, transforms, entities))
            total -= _saved(alike)
        else:
            merged += [piece for parts in alike for piece in parts]
    return merged, repeated


def _form(parts: list[Piece]) -> Any:
    """Return a key of identical entities; None if they cannot be instanced."""
    first = parts[0].transform
    if any(shines(part.material) for part in parts) or abs(np.linalg.det(first[:3, :3])) < 1e-9:
        return None
    inverse = np.linalg.inv(first)
    return tuple(
        (id(p.geometry), p.material, np.round(inverse @ p.transform, _ROUNDING).tobytes()) for p in parts
    )


def _saved(copies: list[list[Piece]]) -> int:
    return (len(copies) - 1) * sum(len(part.geometry.faces) for part in copies[0])


def _placed(piece: Piece) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return vertices and normals in the frame of the group."""
    matrix = piece.transform
    vertices = piece.geometry.vertices @ matrix[:3, :3].T + matrix[:3, 3]
    # Normals take the inverse transpose, which the cofactors are but for the determinant.
    cofactors = np.cross(matrix[:3, [1, 2, 0]].T, matrix[:3, [2, 0, 1]].T)
    normals = piece.geometry.normals @ (cofactors * np.sign(np.linalg.det(matrix[:3, :3])))
    length = np.sqrt((normals * normals).sum(axis=1, keepdims=True))
    normals = normals / np.maximum(length, 1e-30)
    return vertices.astype(np.float32), normals.astype(np.float32)


def _uvs(geometry: Geometry) -> npt.NDArray[np.float32]:
    return np.zeros((len(geometry.vertices), 2), np.float32) if geometry.uvs is None else geometry.uvs
