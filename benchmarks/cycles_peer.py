"""Times of Cycles in a Python of its own, started by photo_peers.py.

    PYTHON benchmarks/cycles_peer.py SCENE.npz OUT.exr

Cycles comes with the package bpy: `python3.11 -m venv DIR && DIR/bin/pip install bpy`.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

# Radiant power of Blender's area lamps over area times radiance.
_POWER = 4.0


def add_meshes(given: Any) -> None:
    """Add the triangles of each colour, with a Lambertian material."""
    for number, color in enumerate(given["colors"]):
        corners = given[f"corners{number}"].reshape(-1, 3)
        mesh = bpy.data.meshes.new(f"mesh{number}")
        mesh.vertices.add(len(corners))
        mesh.vertices.foreach_set("co", corners.ravel())
        mesh.loops.add(len(corners))
        mesh.loops.foreach_set("vertex_index", np.arange(len(corners), dtype=np.int32))
        mesh.polygons.add(len(corners) // 3)
        mesh.polygons.foreach_set("loop_start", np.arange(0, len(corners), 3, dtype=np.int32))
        mesh.update()
        material = bpy.data.materials.new(f"material{number}")
        material.use_nodes = True
        nodes = material.node_tree.nodes
        nodes.clear()
        surface, out = nodes.new("ShaderNodeBsdfDiffuse"), nodes.new("ShaderNodeOutputMaterial")
        surface.inputs["Color"].default_value = (*color, 1.0)
        material.node_tree.links.new(surface.outputs[0], out.inputs["Surface"])
        mesh.materials.append(material)
        bpy.context.collection.objects.link(bpy.data.objects.new(f"mesh{number}", mesh))


def add_lights(given: Any) -> None:
    """Add sun, rectangular lamps and sky."""
    for number, (pose, irradiance) in enumerate(zip(given["suns"], given["irradiances"], strict=True)):
        lamp = bpy.data.lights.new(f"sun{number}", "SUN")
        lamp.energy, lamp.angle = float(irradiance.max()), 0.0
        lamp.color = irradiance / irradiance.max()
        add_object(f"sun{number}", lamp, pose)
    for number, (pose, size, radiance) in enumerate(
        zip(given["lamps"], given["sizes"], given["radiances"], strict=True)
    ):
        lamp = bpy.data.lights.new(f"lamp{number}", "AREA")
        lamp.shape, lamp.size, lamp.size_y = "RECTANGLE", *(float(part) for part in size)
        lamp.energy = _POWER * float(size.prod() * radiance.max())
        lamp.color = radiance / radiance.max()
        add_object(f"lamp{number}", lamp, pose)
    # The first column is north here and west in Blender, whose rows begin at the bottom.
    sky = np.roll(given["sky"], given["sky"].shape[1] // 4, axis=1)[::-1]
    height, width = sky.shape[:2]
    image = bpy.data.images.new("sky", width, height, float_buffer=True)
    image.colorspace_settings.name = "Linear Rec.709"
    image.pixels.foreach_set(np.dstack([sky, np.ones((height, width))]).astype(np.float32).ravel())
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    texture = world.node_tree.nodes.new("ShaderNodeTexEnvironment")
    texture.image = image
    world.node_tree.links.new(texture.outputs[0], world.node_tree.nodes["Background"].inputs[0])
    bpy.context.scene.world = world


def add_object(name: str, data: Any, pose: np.ndarray) -> Any:
    """Add a lamp or camera at a pose, and return it."""
    item = bpy.data.objects.new(name, data)
    item.matrix_world = Matrix(pose.tolist())
    bpy.context.collection.objects.link(item)
    return item


def prepare(given: Any, out: Path) -> None:
    """Set camera and renderer: unidirectional paths and Open Image Denoise as in photo mode."""
    scene, camera = bpy.context.scene, bpy.data.cameras.new("camera")
    camera.sensor_fit, camera.angle = "VERTICAL", float(given["fov"])
    camera.clip_start, camera.clip_end = (float(part) for part in given["range"])
    scene.camera = add_object("camera", camera, given["camera"])
    render, cycles = scene.render, scene.cycles
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y = (int(part) for part in given["resolution"])
    render.use_persistent_data = True
    render.threads_mode, render.threads = "FIXED", int(given["threads"])
    render.filepath, render.image_settings.file_format = str(out), "OPEN_EXR"
    cycles.device, cycles.samples = "CPU", int(given["samples"])
    cycles.use_adaptive_sampling = False
    cycles.max_bounces = cycles.diffuse_bounces = int(given["bounces"])
    cycles.sample_clamp_indirect = 0.0
    cycles.use_denoising, cycles.denoiser = True, "OPENIMAGEDENOISE"
    cycles.denoising_input_passes, cycles.denoising_prefilter = "RGB_ALBEDO_NORMAL", "NONE"
    cycles.denoising_quality = "HIGH"


def main(scene_file: Path, out: Path) -> None:
    """Time images of a scene, and write the last one."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    given = np.load(scene_file)
    add_meshes(given)
    add_lights(given)
    prepare(given, out)
    times = []
    for number in range(int(given["repeats"]) + 1):
        started, used = time.perf_counter(), time.process_time()
        bpy.ops.render.render(write_still=number == int(given["repeats"]))
        times.append((time.perf_counter() - started, time.process_time() - used))
    print(json.dumps({"version": bpy.app.version_string, "times": times}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
