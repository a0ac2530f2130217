"""Kernel table of materials and textures."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.render.embree.surface_tables import SeeThrough, SurfaceMaterial, TextureUse, empty_rows
from pegasus.render.textures import TextureAtlas, decoding_table, diffuse_transmission
from pegasus.scene.scene import Geometry, Material, Texture

_CHANNELS = {"rgb": -1, "r": 0, "g": 1, "b": 2, "a": 3}
_WRAPS = {"repeat": 0, "clamp": 1, "mirror": 2, "black": 3}
_LINEAR_CODES = 256
_LEAST_AREA = 1e-20
_CLASS_MARGIN = 1e-3


class MaterialTable:
    """Distinct materials in order of addition."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        """Path of each material."""
        self.blends = False
        """Whether any material is partly transparent, not only cut out."""
        self.atlas = TextureAtlas()
        self._numbers: dict[Material, int] = {}
        self._rows: list[Any] = []
        self._through: list[bool] = []
        self._uses: list[Any] = []
        self._layouts: dict[tuple[Any, ...], int] = {}
        self._cells: list[npt.NDArray[np.uint8]] = []
        self._cell_rows: dict[tuple[Any, ...], int] = {}

    def add(self, material: Material) -> int:
        """Return the index of a material; equal ones share it.

        Raises:
            ConfigError: If one of its images cannot be read.
        """
        if material not in self._numbers:
            row = self._row(material)
            self._numbers[material] = len(self.paths)
            self._rows.append(row)
            self.paths.append(material.path)
        return self._numbers[material]

    def transmits(self, number: int) -> bool:
        """Return whether a material is transparent or cut out."""
        return self._through[number]

    def see_through_rows(self, number: int, geometry: Geometry, corners: npt.NDArray[np.float32]) -> Any:
        """Return the texture coordinates of triangles in the opacity texture, structured, shape (T,).

        Args:
            number: The material.
            geometry: Geometry of the triangles.
            corners: Corners of the triangles at the rendered scale [m], shape (T, 3, 3).
        """
        rows: Any = empty_rows(SeeThrough, len(geometry.faces))
        rows["material"] = number
        use_number = int(self._rows[number]["opacity_map"][0])
        if use_number < 0 or geometry.uvs is None:
            return rows
        use = self._uses[use_number]
        uvs = np.asarray(geometry.uvs, np.float32)[geometry.faces]
        u, v = (uvs @ use[name][0][:2] + use[name][0][2] for name in ("u_row", "v_row"))
        place = np.stack([u, v], axis=-1)
        rows["a"], rows["one"], rows["two"] = (
            place[:, 0],
            place[:, 1] - place[:, 0],
            place[:, 2] - place[:, 0],
        )
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.maximum(np.sqrt((across * across).sum(axis=1)), _LEAST_AREA)
        covered = rows["one"][:, 0] * rows["two"][:, 1] - rows["one"][:, 1] * rows["two"][:, 0]
        rows["density"] = np.sqrt(np.abs(covered) / area)
        return rows

    def rows(self) -> Any:
        """Return the materials as a structured array, shape (M,)."""
        return np.concatenate(self._rows)

    def uses(self) -> Any:
        """Return the texture uses as a structured array, shape (U,)."""
        return np.concatenate(self._uses or [empty_rows(TextureUse, 1)])

    def cells(self) -> npt.NDArray[np.uint8]:
        """Return the classes of all cut-outs, see `cut_out_cells`."""
        return np.concatenate(self._cells or [np.zeros(0, np.uint8)])

    def _row(self, material: Material) -> Any:
        row: Any = empty_rows(SurfaceMaterial, 1)
        cut = material.opacity_threshold if material.opacity_threshold > 0 else None
        for name, value in (
            ("diffuse", material.diffuse_color),
            ("emissive", material.emissive_color),
            ("specular", material.specular_color or (0.0, 0.0, 0.0)),
            ("metallic", material.metallic),
            ("roughness", material.roughness),
            ("opacity", material.opacity),
        ):
            if isinstance(value, Texture):
                row[f"{name}_map"] = self._use(value, cut if name == "opacity" else None)
            else:
                row[name], row[f"{name}_map"] = value, -1
        for name in ("metallic", "roughness"):
            if row[f"{name}_map"] >= 0:
                row[name] = self._mean(int(row[f"{name}_map"][0]))
        row["has_specular"] = material.specular_color is not None
        row["clearcoat"] = 1.0 if isinstance(material.clearcoat, Texture) else material.clearcoat
        coat = material.clearcoat_roughness
        row["clearcoat_roughness"] = 0.05 if isinstance(coat, Texture) else coat
        row["threshold"] = material.opacity_threshold
        row["reflectance"] = ((material.ior - 1.0) / (material.ior + 1.0)) ** 2
        row["normal_map"] = -1 if material.normal is None else self._use(material.normal, None)
        through = isinstance(material.opacity, Texture) or material.opacity < 1.0
        row["blends"] = through and cut is None
        self.blends |= through and cut is None
        row["passes"] = diffuse_transmission(material)
        self._through.append(through)
        return row

    def _mean(self, use_number: int) -> float:
        """Return the mean of a texture use with one channel."""
        use = self._uses[use_number]
        channel = max(int(use["channel"][0]), 0)
        codes = self.atlas.levels(int(use["image"][0]))[-1] >> np.uint32(8 * channel) & np.uint32(255)
        decoded = decoding_table()[int(use["decoding"][0]) :][codes].mean()
        return float(decoded * use["scale"][0, channel] + use["bias"][0, channel])

    def _use(self, texture: Texture, threshold: float | None) -> int:
        """Return the index of a new texture use."""
        channel = _CHANNELS[texture.channel]
        cut = None
        if threshold is not None and texture.scale[channel] > 0:
            cut = (channel, (threshold - texture.bias[channel]) / texture.scale[channel])
        use: Any = empty_rows(TextureUse, 1)
        use["image"] = self.atlas.add(texture.path, srgb=texture.srgb, cut=cut)
        use["decoding"] = 0 if texture.srgb else _LINEAR_CODES
        use["channel"] = channel
        use["wrap_s"], use["wrap_t"] = (_WRAPS[mode] for mode in texture.wrap)
        use["scale"], use["bias"] = texture.scale, texture.bias
        (s, t), (x, y) = texture.uv_scale, texture.uv_translation
        cosine, sine = math.cos(texture.uv_rotation), math.sin(texture.uv_rotation)
        use["u_row"], use["v_row"] = (s * cosine, -t * sine, x), (s * sine, t * cosine, y)
        use["stretch"] = math.sqrt(abs(s * t))
        layout = self.atlas.size(int(use["image"][0])), texture.wrap, texture.uv_scale, texture.uv_translation
        use["layout"] = self._layouts.setdefault((*layout, texture.uv_rotation), len(self._layouts))
        use["cells"] = -1 if threshold is None else self._add_cells(use, channel, threshold, texture)
        self._uses.append(use)
        return len(self._uses) - 1

    def _add_cells(self, use: Any, channel: int, threshold: float, texture: Texture) -> int:
        """Return the first of the cells of a cut-out, shared by equal ones."""
        image = int(use["image"][0])
        channel = max(channel, 0)
        scale, bias = texture.scale[channel], texture.bias[channel]
        key = image, texture.srgb, texture.wrap, channel, scale, bias, threshold
        if key not in self._cell_rows:
            self._cell_rows[key] = sum(len(cells) for cells in self._cells)
            linear = decoding_table()[256:] if channel == 3 or not texture.srgb else decoding_table()[:256]
            for level in self.atlas.levels(image):
                opacity = linear[level >> np.uint32(8 * channel) & np.uint32(255)] * scale + bias
                self._cells.append(cut_out_cells(opacity, threshold, texture.wrap).ravel())
        return self._cell_rows[key]


def cut_out_cells(
    opacity: npt.NDArray[np.float32], threshold: float, wrap: tuple[str, str]
) -> npt.NDArray[np.uint8]:
    """Return which cells between four pixels are wholly cut out (0) or opaque (1); 2 for all others.

    The cell of a pixel lies between it and its right and lower neighbours.

    Args:
        opacity: Opacity of each pixel, shape (H, W).
        threshold: Opacity below which a point is cut out.
        wrap: Wrap modes across and down.
    """
    low, high = opacity, opacity
    for axis, mode in ((1, wrap[0]), (0, wrap[1])):
        following = np.roll(np.arange(opacity.shape[axis]), -1)
        if mode != "repeat":
            following[-1] = len(following) - 1
        low = np.minimum(low, low.take(following, axis))
        high = np.maximum(high, high.take(following, axis))
    cells = np.full(opacity.shape, 2, np.uint8)
    cells[high < threshold - _CLASS_MARGIN] = 0
    cells[low > threshold + _CLASS_MARGIN] = 1
    # The colour beyond a border is not in the image.
    if wrap[0] == "black":
        cells[:, -1] = 2
    if wrap[1] == "black":
        cells[-1] = 2
    return cells
