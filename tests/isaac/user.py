"""A user at the window of the extension."""

import tomllib
from pathlib import Path

import numpy as np

import pegasus

MANIFEST = Path(pegasus.__file__).parent.parent / "config" / "extension.toml"


def apply_settings(kit):
    """Apply the settings of the manifest as Kit does: existing values are kept."""

    def apply(path, value):
        if isinstance(value, dict):
            for name, part in value.items():
                apply(f"{path}/{name}", part)
        else:
            kit.settings.set_default(path, value)

    apply("", tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["settings"])


class User:
    """A user of the extension, its window and the timeline.

    Args:
        kit: The running Kit.
    """

    def __init__(self, kit):
        from pegasus.isaac.extension import PegasusExtension

        self.kit = kit
        apply_settings(kit)
        self.extension = PegasusExtension()
        self.extension.on_startup("pegasus-1.0.0")
        self.panel = self.extension.panel
        self.update()

    @property
    def messages(self):
        """Joined messages of the panel."""
        return " | ".join(message.text for message in self.panel.messages)

    def update(self, frames=1):
        for _ in range(frames):
            self.kit.update()

    def fly_square(self):
        """Load a world, and add a vehicle that will fly a square."""
        panel = self.panel
        assert panel.world.choose("flat")
        assert panel.world.load(), panel.messages
        assert panel.backend.set_flight("square", size=1.5, height=1.0, speed=2.0)
        assert panel.vehicle.set_position(0.0, 0.0, 0.1)
        assert panel.vehicle.add(), panel.messages
        self.update()
        return self.simulation

    @property
    def simulation(self):
        return self.extension.session._simulation

    @property
    def vehicle(self):
        return next(iter(self.simulation.vehicles))

    def seen(self, seconds):
        """Return the step count and the vehicle's position after each frame, of shape (N, 4)."""
        path = []
        for _ in range(round(seconds * 60)):
            self.kit.update()
            path.append(np.concatenate([[self.simulation.step_count], self.vehicle.state.position[0]]))
        return np.array(path)
