"""Dataset of drones in images of a drone's camera: labels in COCO's layout, and an overview image.

Sun, sky, colours and flights differ in each scene, some have fog or clouds; the scenario `drone_dataset`
defines the randomisation. The boxes in the overview are those of the labels.

Run it with `python examples/drone_dataset.py`. It needs the extra `render` and writes
`runs/drone_dataset/`, ready for training, and `runs/drone_dataset.png`.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib.image as mpimg
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from rich.console import Console
from rich.progress import Progress

from pegasus.dataset import make_dataset

COLUMNS, ROWS = 4, 3


def draw(folder: Path, labels: dict[str, Any], picture: Path) -> None:
    """Write an overview of frames from the whole dataset, with the boxes of all drones."""
    (category,) = (item["id"] for item in labels["categories"] if item["name"] == "multirotor")
    count = min(COLUMNS * ROWS, len(labels["images"]))
    chosen = [labels["images"][k * len(labels["images"]) // count] for k in range(count)]
    figure, axes = plt.subplots(ROWS, COLUMNS, figsize=(16, 9), layout="constrained")
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, image in zip(axes.flat, chosen, strict=False):
        axis.imshow(mpimg.imread(folder / "images" / image["file_name"]))
        for item in labels["annotations"]:
            if item["image_id"] == image["id"] and item["category_id"] == category:
                x, y, width, height = item["bbox"]
                axis.add_patch(
                    Rectangle(
                        (x - 3.5, y - 3.5), width + 6, height + 6, fill=False, color="orangered", lw=1.5
                    )
                )
    figure.savefig(picture, dpi=80)
    plt.close(figure)


def main(
    scenario: str | Path = "drone_dataset",
    folder: Path = Path("runs/drone_dataset"),
    frames: int = 120,
    picture: Path = Path("runs/drone_dataset.png"),
    workers: int | None = None,
) -> dict[str, Any]:
    """Make the dataset, or resume it, and return the content of its labels."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("making frames", total=frames)
        made = make_dataset(
            scenario,
            folder,
            frames=frames,
            writer="coco",
            workers=workers,
            resume=folder.exists(),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    labels: dict[str, Any] = json.loads((folder / "annotations" / "instances.json").read_text())
    draw(folder, labels, picture)
    names = {item["id"]: item["name"] for item in labels["categories"]}
    drones = [item for item in labels["annotations"] if names[item["category_id"]] == "multirotor"]
    print(f"{made.frame_count} frames in {made.folder}, {len(drones)} drones in them; see {picture}")
    return labels


if __name__ == "__main__":
    main()
