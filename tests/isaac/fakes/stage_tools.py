# ruff: noqa: ARG001
"""Fakes of `isaacsim.core.experimental.utils.{app,stage,prim,semantics}` and `isaacsim.storage.native`."""

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdSemantics, UsdUtils

from tests.isaac.fakes.application import kit

# --- app: 6.0 only ----------------------------------------------------------------------------------------


def update_app(*, steps=1, callback=None):
    for number in range(steps):
        kit().update()
        if callback is not None and callback(number + 1, steps) is False:
            break


def play(*, commit=True):
    kit().timeline.play()
    _settle(commit)


def pause(*, commit=True):
    kit().timeline.pause()
    _settle(commit)


def stop(*, commit=True):
    kit().timeline.stop()
    _settle(commit)


def is_playing():
    return kit().timeline.is_playing()


def is_paused():
    return not (kit().timeline.is_playing() or kit().timeline.is_stopped())


def is_stopped():
    return kit().timeline.is_stopped()


def enable_extension(name, *, enabled=True):
    return kit().enable(name, enabled)


def is_extension_enabled(name):
    return name in kit().extensions


def _settle(commit):
    if commit is None:
        kit().timeline.commit_silently()
    elif commit:
        kit().timeline.commit()


# --- stage ------------------------------------------------------------------------------------------------


def get_current_stage(*, backend=None):
    stage = kit().context.get_stage()
    if stage is None:
        raise ValueError("No stage found. Create a stage first (see `create_new_stage`).")
    return stage


def get_stage_id(stage):
    cache = UsdUtils.StageCache.Get()
    found = cache.GetId(stage).ToLongInt()
    return found if found >= 0 else cache.Insert(stage).ToLongInt()


def create_new_stage(*, template=None):
    kit().context.new_stage()
    return kit().context.get_stage()


def open_stage(usd_path):
    if not Usd.Stage.IsSupportedFile(usd_path):
        raise ValueError(f"The file ({usd_path}) is not USD open-able")
    return kit().context.open_stage(usd_path), kit().context.get_stage()


def close_stage():
    return kit().context.close_stage()


def save_stage(usd_path):
    layer = Sdf.Layer.CreateNew(usd_path)
    layer.TransferContent(get_current_stage().GetRootLayer())
    return layer.Save()


def add_reference_to_stage_60(usd_path, path, *, prim_type="Xform", variants=None):
    return _add_reference(usd_path, path, prim_type, variants or [])


def add_reference_to_stage_51(usd_path, path, *, prim_type="Xform", variants=[]):  # noqa: B006
    return _add_reference(usd_path, path, prim_type, variants)


def _add_reference(usd_path, path, prim_type, variants):
    if not Sdf.Layer.FindOrOpen(usd_path):
        raise Exception(f"Unable to get Sdf layer. The USD file ({usd_path}) might not exist")
    stage = get_current_stage()
    prim = stage.GetPrimAtPath(path) or stage.DefinePrim(path, prim_type)
    prim.GetReferences().AddReference(Sdf.Reference(usd_path))
    for name, choice in variants:
        prim.GetVariantSets().GetVariantSet(name).SetVariantSelection(choice)
    return prim


def define_prim(path, type_name="Xform"):
    if not Sdf.Path.IsValidPathString(path) or not Sdf.Path(path).IsAbsolutePath():
        raise ValueError(f"Prim path ({path}) is not a valid or absolute path string")
    return get_current_stage().DefinePrim(path, type_name)


def delete_prim(prim):
    path = prim if isinstance(prim, str) else prim.GetPath().pathString
    if not get_current_stage().GetPrimAtPath(path):
        raise ValueError(f"Prim at path '{path}' is not a valid prim")
    return get_current_stage().RemovePrim(path)


def generate_next_free_path(path=None, *, prepend_default_prim=True):
    stage = get_current_stage()
    path = path or "Prim"
    if prepend_default_prim and stage.HasDefaultPrim():
        path = f"{stage.GetDefaultPrim().GetPath()}/{path.lstrip('/')}"
    return next_free_path(stage, path)


def next_free_path(stage, path):
    path = path if path.startswith("/") else f"/{path}"
    if not stage.GetPrimAtPath(path):
        return path
    number = 1
    while stage.GetPrimAtPath(f"{path}_{number:02d}"):
        number += 1
    return f"{path}_{number:02d}"


def get_stage_units():
    stage = get_current_stage()
    return UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)


def set_stage_units(*, meters_per_unit=None, kilograms_per_unit=None):
    if meters_per_unit is not None:
        UsdGeom.SetStageMetersPerUnit(get_current_stage(), meters_per_unit)
    if kilograms_per_unit is not None:
        UsdPhysics.SetStageKilogramsPerUnit(get_current_stage(), kilograms_per_unit)


def get_stage_up_axis():
    return UsdGeom.GetStageUpAxis(get_current_stage())


def set_stage_up_axis(up_axis):
    UsdGeom.SetStageUpAxis(get_current_stage(), up_axis)


def is_stage_loading():
    return False


# --- prim, semantics, storage -----------------------------------------------------------------------------


def get_prim_at_path(path):
    return path if isinstance(path, Usd.Prim) else get_current_stage().GetPrimAtPath(path)


def get_prim_path(prim):
    return prim if isinstance(prim, str) else prim.GetPath().pathString


def ensure_api(prim, api, *args, **kwargs):
    prim = get_prim_at_path(prim)
    return api(prim, *args, **kwargs) if prim.HasAPI(api) else api.Apply(prim, *args, **kwargs)


def add_labels(prim, *, labels, taxonomy="class"):
    attribute = UsdSemantics.LabelsAPI.Apply(get_prim_at_path(prim), taxonomy).CreateLabelsAttr()
    known = list(attribute.Get() or [])
    wanted = [labels] if isinstance(labels, str) else labels
    attribute.Set(known + [label for label in wanted if label not in known])


def get_labels(prim, *, include_descendants=False):
    found = {}
    for name in get_prim_at_path(prim).GetAppliedSchemas():
        if name.startswith("SemanticsLabelsAPI:"):
            taxonomy = name.split(":", 1)[1]
            found[taxonomy] = list(
                UsdSemantics.LabelsAPI(get_prim_at_path(prim), taxonomy).GetLabelsAttr().Get()
            )
    return found


def get_assets_root_path(*, skip_check=False, accept_unsupported=True):
    if kit().assets_root is None:
        raise RuntimeError("Could not find assets root folder")
    return kit().assets_root


def get_assets_root_path_60(*, skip_check=False):
    return get_assets_root_path()
