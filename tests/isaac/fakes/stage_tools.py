# ruff: noqa: ARG001
"""Fakes of `isaacsim.core.experimental.utils.stage` and `isaacsim.storage.native`."""

from tests.isaac.fakes.application import kit


def create_new_stage(*, template=None):
    kit().context.new_stage()
    return kit().context.get_stage()


def next_free_path(stage, path):
    path = path if path.startswith("/") else f"/{path}"
    if not stage.GetPrimAtPath(path):
        return path
    number = 1
    while stage.GetPrimAtPath(f"{path}_{number:02d}"):
        number += 1
    return f"{path}_{number:02d}"


def get_assets_root_path(*, skip_check=False, accept_unsupported=True):
    if kit().assets_root is None:
        raise RuntimeError("Could not find assets root folder")
    return kit().assets_root


def get_assets_root_path_60(*, skip_check=False):
    return get_assets_root_path()
