"""Print digests of lidar scans as JSON, for `test_lidar_processors`."""

import hashlib
import json

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.cameras import Lidar
from pegasus.cameras.lidar_scan import PoseHistory, ScanCapture

STEPS = 26


def history() -> PoseHistory:
    """Return poses of a turning and climbing vehicle, made without sines."""
    stamps = np.arange(STEPS) / 250
    turn = np.stack([0.1 * stamps, 0.3 * stamps, 2.0 * stamps, 1.0 - stamps], axis=1)
    turn /= np.sqrt(turn[:, 0] ** 2 + turn[:, 1] ** 2 + turn[:, 2] ** 2 + turn[:, 3] ** 2)[:, None]
    place = np.stack([3.0 * stamps, -stamps, 2.0 + stamps], axis=1)
    return PoseHistory(stamps, place[:, None], turn[:, None])


def main() -> None:
    """Print a digest for each array of each scan."""
    lidars = {
        "vlp16": Lidar(pattern="vlp16", position=(0.1, 0.0, 0.2), orientation=(0.1, -0.2, 2.0), dropout=0.1),
        "mid40": Lidar(pattern="mid40", orientation=(0.0, 0.3, 0.0)),
        "raster": Lidar(pattern={"model": "raster", "column_count": 100, "row_count": 30}),
    }
    with Simulation("courtyard", seed=1) as sim:
        sim.add(Multirotor("iris", position=(0, 0, 2.0), extra_sensors=lidars))
        found = {}
        for name, lidar in lidars.items():
            snapshot = sim.visuals.snapshot((STEPS - 1) / 250)
            capture = ScanCapture(lidar, sim.visuals, "iris", snapshot, history(), [7])
            arrays = vars(capture.scan(0)) | vars(capture.cloud(0))
            found |= {f"{name} {key}": hashlib.sha256(a.tobytes()).hexdigest() for key, a in arrays.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
