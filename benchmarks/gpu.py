"""Print the speed of a fleet on a GPU, or on the CPU without one, in millions of vehicle-steps per second.

python benchmarks/gpu.py [ROWS]    RK4 at 500 Hz, float32, by the clock; 2^20 rows on a GPU, 4096 on the CPU

`stepwise` is one step a launch, `fused` 100 steps a launch with the state in registers. On a GPU the end is
compared with that of the same rows on the CPU.
"""

import sys
import time

import numpy as np
import warp as wp

from pegasus.base.compiler import start_warp
from pegasus.fleet import Fleet

FUSED, SECONDS, COMPARED = 100, 1.0, 64


def started(name: str, rows: int, device: str) -> Fleet:
    """Return a fleet whose rows fly apart."""
    fleet = Fleet(name, rows, device=device)
    rng = np.random.default_rng(0)
    highest = max(channel.high for channel in fleet.inputs)
    speeds = highest * rng.uniform(0.7, 0.8, (COMPARED, len(fleet.inputs)))
    speeds = np.resize(speeds, (rows, speeds.shape[1]))
    fleet.reset(rotor_speed=speeds)
    fleet.step(speeds)
    return fleet


def speed(fleet: Fleet, steps: int) -> float:
    """Return the vehicle-steps by second of launches of some steps."""
    kept, launches, start = fleet.snapshot(), 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        # From the same states again, before the rows have left the lower air.
        fleet.restore(kept)
        for _ in range(5):
            fleet.step(None, steps)
        launches += 5
        wp.synchronize()
    return fleet.count * steps * launches / (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    start_warp()
    on_gpu = wp.is_cuda_available()
    device = "cuda" if on_gpu else "cpu"
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else (1 << 20 if on_gpu else 4096)
    print(f"{wp.get_device(device).name or device}, {rows} rows" if on_gpu else f"no GPU: cpu, {rows} rows")
    for name in ("crazyflie", "iris"):
        fleet = started(name, rows, device)
        found = {"stepwise": speed(fleet, 1), "fused": speed(fleet, FUSED)}
        line = ", ".join(f"{title} {1e-6 * value:.1f} M/s" for title, value in found.items())
        apart = ""
        if on_gpu:
            ends = [started(name, COMPARED, where) for where in ("cpu", "cuda")]
            for each in ends:
                each.step(None, 500)
            places = [np.array(ends[0].state.position), ends[1].state.position.numpy()]
            apart = f"; after 1 s {np.abs(places[0] - places[1]).max():.1e} m from the CPU"
        print(f"{name:12} {line}{apart}", flush=True)


if __name__ == "__main__":
    main()
