"""Print the speed of the standalone simulator for 1 to 1000 vehicles, and write it to speed.json.

The same as `pegasus bench`, with the figures in a file: python benchmarks/speed.py [SECONDS]
"""

import sys
from pathlib import Path

from pegasus.benchmark import report

if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    report([1, 10, 100, 1000], seconds=seconds, json=Path("speed.json"))
