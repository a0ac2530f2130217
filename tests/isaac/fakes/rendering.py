"""Fake of `isaacsim.core.rendering_manager`: rendering a frame without physics."""

from tests.isaac.fakes.application import PLAY_SIMULATIONS, kit


class RenderingManager:
    @classmethod
    def render(cls):
        settings = kit().settings
        before = settings.get_as_bool(PLAY_SIMULATIONS)
        settings.set_bool(PLAY_SIMULATIONS, False)
        kit().update()
        settings.set_bool(PLAY_SIMULATIONS, before)

    @classmethod
    def get_dt(cls):
        return kit().frame_dt

    @classmethod
    def set_dt(cls, dt):
        if dt <= 0:
            raise ValueError(f"Rendering dt must be positive, got {dt}")
        kit().frame_dt = dt
        kit().timeline.set_time_codes_per_second(1.0 / dt)
