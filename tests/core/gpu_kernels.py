"""Compiles for GPUs every kernel that a flight uses, and prints their names and numbers of lines.

NVIDIA's compiler is part of Warp, so that this needs no GPU.
"""

import tempfile
from pathlib import Path

import numpy as np
import warp as wp

from pegasus import Multirotor, Simulation
from pegasus.base.tracing import codes, launches
from pegasus.control import GeometricController, GuidedController
from pegasus.core.columns import own_columns
from pegasus.isaac.lab_kernels import lab_launches
from pegasus.recording import EnergyAudit
from pegasus.sensors import GPS, IMU, Airspeed, Barometer, Magnetometer

SENSORS = {"imu": IMU(), "gps": GPS(), "baro": Barometer(), "mag": Magnetometer(), "speed": Airspeed()}
kernels, source_of_trace = {}, codes.source_of_trace


def traced(trace, **options):
    text = source_of_trace(trace, single=False, lanes=1)
    kernels[f"{trace.title}_{trace.key}"] = launches.kernel_of_text(f"{trace.key}_gpu", text, "all_for_gpus")
    return source_of_trace(trace, **options)


codes.source_of_trace = traced
# Code that an earlier process kept is that of a CPU.
launches.kept_code = lambda make, *_: make()
with Simulation("flat", observers=[EnergyAudit()]) as sim:
    law = GeometricController([{"takeoff": {"height": 2.0}}])
    sim.add(Multirotor("iris", sensors=SENSORS, backends=[law]))
    pilot = GuidedController()
    sim.add(Multirotor("iris", sensors={}, backends=[pilot]))
    pilot.takeoff()
    sim.run(1.2)
lab = {"pose": np.zeros((1, 7)), "motion": np.zeros((1, 6)), "is_reset": np.zeros(1, np.int32)}
lab |= {"weight": np.zeros((1, 3)), "body_force": np.zeros((1, 3))}
lab_launches({**own_columns(1, 4, 4), **lab}, 1, 4, "cpu")
with tempfile.TemporaryDirectory() as folder:
    # The compiler reads its headers once per module.
    module = next(iter(kernels.values())).module
    module.options["block_dim"] = 256
    wp.compile_aot_module(module, arch=75, module_dir=folder, use_ptx=True)
    (code,) = Path(folder).glob("*.ptx")
    _, *entries = code.read_text().split(".visible .entry ")
lines = {entry.partition("(")[0]: entry.count("\n") for entry in entries}
for key, kernel in kernels.items():
    print(key, lines[f"{kernel.get_mangled_name()}_cuda_kernel_forward"])
