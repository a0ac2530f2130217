"""Scenes of boxes and balls, with images computed from their equations."""

from dataclasses import dataclass

import numpy as np
from mesh_shapes import box as box_mesh

from pegasus.contracts.renderer import NOTHING, Images, RenderObject, Returns, View
from pegasus.dataset import EntityTable, LabelledFrame
from pegasus.optics.lens import Pinhole
from pegasus.scene.scene import Entity, Geometry, Instance, Material, Scene

RESOLUTION = (160, 120)
FOCAL = 150.0
LENS = Pinhole(focal_length=(FOCAL, FOCAL))
CLASSES = ("ball", "box", "wall")


def pose(position=(0.0, 0.0, 0.0), rotation=None):
    """Return a pose as a transform to the world, shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, 3] = position
    if rotation is not None:
        matrix[:3, :3] = rotation
    return matrix


def turn(axis, angle):
    """Return the rotation matrix about an axis (Rodrigues' formula)."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def looking(position, heading=0.0, pitch=0.0, *, lens=LENS, resolution=RESOLUTION):
    """Return a view along +x of the world, turned left by a heading and up by a pitch [rad]."""
    level = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    rotation = turn((0, 0, 1), heading) @ turn((0, 1, 0), -pitch) @ level
    return View(lens=lens, resolution=resolution, position=np.asarray(position, float), rotation=rotation)


@dataclass
class Solid:
    """Box of given half lengths, or ball of a given radius."""

    path: str
    label: str | None
    size: tuple[float, float, float] | float
    pose: np.ndarray
    before: np.ndarray | None = None

    def meets(self, origins, directions):
        """Return distances along rays (infinite if they miss) and normals in the world frame."""
        rotation, place = self.pose[:3, :3], self.pose[:3, 3]
        o, d = (origins - place) @ rotation, directions @ rotation
        if isinstance(self.size, tuple):
            with np.errstate(divide="ignore", invalid="ignore"):
                a, b = (-np.array(self.size) - o) / d, (np.array(self.size) - o) / d
            low, high = np.fmin(a, b), np.fmax(a, b)
            near, far = low.max(axis=-1), high.min(axis=-1)
            inside = near <= 0
            at = np.where(inside, far, near)
            axis = np.where(inside, high.argmin(axis=-1), low.argmax(axis=-1))
            hit = (near <= far) & (at > 0)
            normal = -np.eye(3)[axis] * np.sign(np.take_along_axis(d, axis[..., None], -1))
        else:
            along = (o * d).sum(axis=-1)
            root = along**2 - (o * o).sum(axis=-1) + self.size**2
            half = np.sqrt(np.maximum(root, 0))
            at = np.where(-along - half > 0, -along - half, -along + half)
            hit = (root > 0) & (at > 0)
            normal = (o + at[..., None] * d) / self.size
            normal = normal * -np.sign((normal * d).sum(axis=-1))[..., None]
        return np.where(hit, at, np.inf), normal @ rotation.T

    def geometry(self):
        """Return the mesh; that of a ball is inscribed."""
        if isinstance(self.size, tuple):
            vertices, faces = box_mesh(-np.array(self.size), np.array(self.size))
        else:
            u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 97)[:-1], np.linspace(0, np.pi, 49), indexing="ij")
            vertices = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], -1).reshape(-1, 3)
            vertices = self.size * vertices
            i, j = np.meshgrid(np.arange(96), np.arange(48), indexing="ij")
            a, b = i * 49 + j, (i + 1) % 96 * 49 + j
            faces = np.concatenate(
                [np.stack(t, -1).reshape(-1, 3) for t in ((a, b, a + 1), (b, b + 1, a + 1))]
            )
        return Geometry(
            vertices=vertices.astype(np.float32),
            faces=faces.astype(np.uint32),
            normals=np.zeros(vertices.shape, np.float32),
        )

    def scene(self, place):
        """Return a scene that contains only this solid."""
        labels = {} if self.label is None else {"class": self.label}
        return Scene(
            source="test",
            geometries={"mesh": self.geometry()},
            materials={"m": Material("m")},
            instances=[Instance(self.path, "mesh", "m", place, labels, self.path)],
            entities={self.path: Entity(self.path, labels, place)},
        )


class AnalyticRenderer:
    """Analytic renderer; solids with a pose `before` are moving objects, the others belong to the world."""

    def __init__(self, *solids):
        self.solids = solids
        still = [s for s in solids if s.before is None]
        self.scene = Scene(source="test", materials={"m": Material("m")})
        for solid in still:
            part = solid.scene(solid.pose)
            self.scene.geometries[solid.path] = part.geometries["mesh"]
            self.scene.entities.update(part.entities)
            (instance,) = part.instances
            self.scene.instances.append(
                Instance(instance.path, solid.path, "m", solid.pose, instance.labels, instance.entity)
            )
        self.objects = []
        for solid in solids:
            if solid.before is not None:
                part = solid.scene(np.eye(4))
                self.objects.append(RenderObject(solid.path + "/body", part, part.entities[solid.path]))
        self.entities = [s.scene(s.pose).entities[s.path] for s in solids]
        self.table = EntityTable(self.scene)

    def cast(self, origins, directions, max_range, *, width=0):
        distance = np.full(len(origins), np.inf)
        normal = np.zeros((len(origins), 3))
        entity = np.full(len(origins), NOTHING, np.int32)
        for k, solid in enumerate(self.solids):
            at, n = solid.meets(origins, directions)
            nearer = (at < distance) & (at <= max_range)
            distance[nearer], normal[nearer], entity[nearer] = at[nearer], n[nearer], k
        return Returns(distance, normal, entity, entity)

    def render(self, view):
        width, height = view.resolution
        u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        rays = view.lens.directions(np.stack([u, v], -1), view.resolution).reshape(-1, 3) @ view.rotation.T
        returns = self.cast(np.broadcast_to(view.position, rays.shape), rays, np.inf)
        shape = (height, width)
        return Images(
            distance=returns.distance.astype(np.float32).reshape(shape),
            normal=returns.normal.astype(np.float32).reshape(*shape, 3),
            entity=returns.entity.reshape(shape),
        )

    def labelled(self):
        moving = [s for s in self.solids if s.before is not None]
        if not moving:
            return self.table.entities(self.entities)
        now, before = (np.stack([getattr(s, name) for s in moving]) for name in ("pose", "before"))
        return self.table.entities(self.entities, self.objects, now, before)

    def frame(self, view, **fields):
        images = self.render(view)
        shade = np.where(np.isfinite(images.distance), 200 - 40 * images.entity, 30).astype(np.uint8)
        given = {"camera": "camera", "stamp": 0.5, "seed": 7, "classes": CLASSES, **fields}
        return LabelledFrame(
            view=view,
            rgb=np.repeat(shade[..., None], 3, axis=2),
            images=images,
            entities=self.labelled(),
            **given,
        )


def in_camera(view, points):
    """Return world points in the optical frame."""
    return (np.asarray(points) - view.position) @ view.rotation


def seen_at(view, points):
    """Return the pixels of world points by an independent pinhole projection."""
    x, y, z = np.moveaxis(in_camera(view, points), -1, 0)
    return np.stack([FOCAL * x / z + view.resolution[0] / 2, FOCAL * y / z + view.resolution[1] / 2], -1)


def box_corners(solid):
    """Return the corners of a box in the world frame."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, -1).T
    return (signs * np.array(solid.size)) @ solid.pose[:3, :3].T + solid.pose[:3, 3]
