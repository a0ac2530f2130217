"""Recorded messages of a mover: its states, and its frames and shapes for Foxglove."""

from collections.abc import Callable
from dataclasses import fields

import orjson

from pegasus.contracts.engine import BodyState
from pegasus.contracts.mover import Mover
from pegasus.recording.foxglove import mover_message
from pegasus.recording.messages import FrameMessages, ItemMessages, Messages
from pegasus.recording.schemas import FRAME_TRANSFORMS, SCENE_UPDATE, MessageType, item_fields, item_type


class MoverTrack:
    """Messages of a recorded mover.

    Args:
        mover: The mover.
        t: Simulation time [s].
        stamp: The same [ns].
        register: Returns the number of a channel, given its topic, type and metadata.
    """

    def __init__(
        self,
        mover: Mover,
        t: float,
        stamp: int,
        register: Callable[[str, MessageType, dict[str, str]], int],
    ) -> None:
        self.mover = mover
        motion = mover.motion(t)
        count = len(motion.position)
        recorded = item_fields(motion, [field.name for field in fields(motion)])
        layout = {field.name: [field.kind, field.shape] for field in recorded}
        metadata = {"mover": mover.name, "count": str(count), "fields": orjson.dumps(layout).decode()}
        kind = item_type(BodyState, recorded)
        self._states = ItemMessages(register(f"/{mover.name}/state", kind, metadata), recorded)
        names = [f"{mover.name}/{k}" for k in range(count)] if count > 1 else [mover.name]
        transforms = register(f"/{mover.name}/tf", FRAME_TRANSFORMS, {})
        model = Messages(register(f"/{mover.name}/model", SCENE_UPDATE, {}))
        model.waiting.append((stamp, mover_message(mover, names, stamp)))
        self.messages = [self._states, FrameMessages(transforms, names, self._states), model]
        """Messages of all topics."""

    def add(self, t: float, stamp: int) -> None:
        """Add the state at a time.

        Args:
            t: Simulation time [s].
            stamp: The same [ns].
        """
        self._states.add(stamp, self.mover.motion(t))
