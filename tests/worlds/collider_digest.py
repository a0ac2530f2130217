"""Print a digest of colliders and physics models of worlds, for `test_world_bits`."""

import hashlib
import sys

import numpy as np

from pegasus import Multirotor, Simulation

for name in sys.argv[1:]:
    with Simulation(name) as sim:
        vehicle = sim.add(Multirotor("pegasus", sensors={}))
        found = hashlib.sha256(vehicle.state.position.tobytes())
        for item in sim.scene.colliders:
            for values in (item.position, item.orientation, item.size, item.vertices):
                found.update(b"none" if values is None else np.ascontiguousarray(values).tobytes())
        model = sim.engine._model
        for values in (model.geom_pos, model.geom_quat, model.geom_size, model.mesh_vert, model.hfield_data):
            found.update(np.ascontiguousarray(values).tobytes())
        print(name, found.hexdigest())
