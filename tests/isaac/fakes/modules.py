"""Module names of the fakes in each version, and their installation in `sys.modules`."""

import importlib
import sys
from types import ModuleType

import pxr

from tests.isaac.fakes import (
    action_graph,
    application,
    client,
    events,
    gpu,
    interface,
    omniverse,
    people,
    physics_scene,
    plots,
    rendering,
    replicator,
    rtx_sensors,
    scene_view,
    simulation_manager,
    stage_tools,
    tensors,
    viewport,
    writers,
)
from tests.isaac.fakes.simulation_manager import ManagerState

ROOTS = ("omni", "isaacsim", "carb", "usdrt")


def _picked(module, *names, **renamed):
    members = {name: getattr(module, name) for name in names}
    return members | {name: getattr(module, source) for name, source in renamed.items()}


_WIDGETS = (
    "Button",
    "CheckBox",
    "CollapsableFrame",
    "ComboBox",
    "DockPolicy",
    "FloatField",
    "Frame",
    "HStack",
    "Image",
    "Label",
    "ScrollingFrame",
    "StringField",
    "VStack",
    "Window",
    "WindowHandle",
    "Workspace",
    "ZStack",
)


def members(version):
    """Return {module name: {name: object}} of a version."""
    new, from_6_1 = version != "5.1.0", version >= "6.1.0"
    suffix = "60" if new else "51"
    table = {
        "carb": _picked(
            omniverse,
            "Float3",
            "Float4",
        ),
        "carb.settings": _picked(omniverse, "get_settings"),
        "carb.eventdispatcher": _picked(omniverse, "get_eventdispatcher"),
        "omni.client": _picked(client, "ItemFlags", "Result", "list", "list_async", "stat_async"),
        "omni.anim.graph.core": _picked(people, "get_character"),
        "omni.kit.commands": _picked(people, "execute"),
        "omni.ext": _picked(omniverse, "IExt"),
        "omni.kit.app": _picked(omniverse, "get_app"),
        "omni.kit.test": _picked(omniverse, "AsyncTestCase"),
        "omni.physx": _picked(omniverse, "get_physx_scene_query_interface", "get_physx_simulation_interface"),
        "omni.ui": _picked(interface, *_WIDGETS)
        | _picked(plots, "ByteImageProvider", "ImageWithProvider", "IwpFillPolicy", "Plot", "Type"),
        "omni.appwindow": _picked(viewport, "get_default_app_window"),
        "omni.kit.viewport.utility": _picked(viewport, "capture_viewport_to_file", "get_active_viewport")
        | _picked(scene_view, "disable_selection", "get_active_viewport_window"),
        "omni.ui.scene": _picked(scene_view, "AspectRatioPolicy", "ClickGesture", "SceneView", "Screen"),
        "isaacsim.util.debug_draw._debug_draw": _picked(viewport, "acquire_debug_draw_interface"),
        "carb.input": _picked(viewport, "GamepadInput", "KeyboardInput", "acquire_input_interface"),
        "omni.kit.menu.utils": _picked(interface, "MenuHelperExtensionFull", "MenuHelperWindow"),
        "omni.physxfabric": _picked(replicator, "get_physx_fabric_interface"),
        "omni.graph.core": _picked(action_graph, "Controller"),
        "omni.replicator.core": _picked(replicator, "AnnotatorRegistry")
        | _picked(writers, "Writer", "WriterRegistry"),
        "omni.replicator.core.create": _picked(replicator, "render_product"),
        "omni.replicator.core.trigger": _picked(writers, "on_frame"),
        "omni.timeline": _picked(omniverse, "get_timeline_interface")
        | _picked(application, "TimelineEventType"),
        "omni.usd": _picked(omniverse, "get_context", "get_stage_next_free_path")
        | _picked(application, "StageEventType"),
        "isaacsim.core.simulation_manager": _picked(
            simulation_manager, "IsaacEvents", SimulationManager=f"SimulationManager{suffix}"
        ),
        "omni.physics.tensors": _picked(tensors, create_simulation_view=f"create_simulation_view_{suffix}"),
        "isaacsim.core.experimental.utils.stage": _picked(stage_tools, "create_new_stage"),
        "isaacsim.storage.native": _picked(
            stage_tools,
            get_assets_root_path="get_assets_root_path" if from_6_1 else "get_assets_root_path_60",
        ),
        "pxr.PhysicsSchemaTools": _picked(omniverse, "intToSdfPath"),
    }
    if new:
        table["isaacsim.core.simulation_manager"] |= _picked(simulation_manager, "SimulationEvent")
        table["isaacsim.core.simulation_manager"] |= _picked(physics_scene, "PhysicsScene", "PhysxScene")
        table["omni.kit.app"] |= _picked(omniverse, "GLOBAL_EVENT_UPDATE")
        table["omni.physics.core"] = _picked(omniverse, "get_physics_simulation_interface")
        table["isaacsim.core.rendering_manager"] = _picked(
            rendering,
            "RenderingManager",
        ) | _picked(viewport, "ViewportManager")
        table["isaacsim.sensors.experimental.rtx"] = _picked(
            rtx_sensors,
            "Lidar",
            "parse_generic_model_output_data",
            "parse_object_ids",
            "parse_stable_id_map_data",
            LidarSensor="LidarSensor" if from_6_1 else "LidarSensor60",
        )
    else:
        table["isaacsim.core.utils.viewports"] = _picked(viewport, "set_camera_view")
    return table


def objects(version):
    """Return {module:Class: fake} of the classes that calls return and no module exports."""
    later = {"omni.physics.core:IPhysicsSimulation": omniverse.PhysicsSimulation}
    return (later if version != "5.1.0" else {}) | {
        "carb.eventdispatcher:IEventDispatcher": events.Dispatcher,
        "carb.events:IEventStream": events.EventStream,
        "carb.input:IInput": viewport.IInput,
        "carb.settings:ISettings": application.Settings,
        "omni.appwindow:IAppWindow": viewport.IAppWindow,
        "omni.ext:ExtensionManager": omniverse.ExtensionManager,
        "omni.kit.app:IApp": omniverse.App51 if version == "5.1.0" else omniverse.App,
        "omni.kit.widget.viewport.api:ViewportAPI": application.ViewportAPI,
        "isaacsim.util.debug_draw._debug_draw:DebugDraw": viewport.DebugDraw,
        "omni.anim.graph.core:Character": people.Character,
        "omni.client:ListEntry": client.ListEntry,
        "omni.graph.core:Keys": action_graph.Keys,
        "omni.physics.tensors:RigidBodyView": tensors.RigidBodyView,
        "omni.physics.tensors:SimulationView": tensors.SimulationView,
        "omni.physx:ContactData": omniverse.ContactData,
        "omni.physx:ContactEventHeader": omniverse.ContactEventHeader,
        "omni.physx:IPhysxSimulation": omniverse.Simulation,
        "omni.physx:PhysXSceneQuery": omniverse.SceneQuery,
        "omni.physx:RaycastHit": omniverse.RaycastHit,
        "omni.physxfabric:PhysXFabric": replicator.PhysXFabric,
        "omni.replicator.core:Annotator": replicator.Annotator,
        "omni.replicator.core:HydraTexture": replicator.HydraTexture,
        "omni.timeline:Timeline": application.Timeline,
        "omni.kit.viewport.window:ViewportWindow": scene_view.ViewportWindow,
        "omni.ui.scene:Scene": scene_view.Scene,
        "omni.ui.scene:ScreenGesturePayload": scene_view.ScreenGesturePayload,
        "omni.ui:AbstractItemModel": interface.ItemModel,
        "omni.ui:AbstractValueModel": interface.SimpleModel,
        "omni.usd:UsdContext": application.Context,
    }


def install(version, **options):
    """Install the fakes of a version in `sys.modules` and return the running Kit.

    Args:
        version: One of `contract.ALL_VERSIONS`.
        **options: Keyword arguments of `Kit`.
    """
    assert not application._running, "a Kit runs already"
    running = application.Kit(version, **options)
    application._running.append(running)
    try:
        gpu.install()
        running.manager = ManagerState(running)
        for name, content in members(version).items():
            module = ModuleType(name)
            module.__dict__.update(content)
            _put(name, module)
        running.viewport_window = scene_view.ViewportWindow()
        running.docks["Property"] = interface.WindowHandle("Property")
        running.at_frame += [
            people.walk,
            replicator.draw_products,
            writers.run_writers,
            action_graph.run_graphs,
        ]
        running.context.new_stage()
    except BaseException:
        uninstall()
        raise
    return running


def uninstall():
    """Remove the fakes and all modules of `pegasus.isaac` from `sys.modules`."""
    running = application.kit()
    running.end_tasks()
    if running.context.get_stage() is not None:
        running.context.close_stage()
    for name in list(sys.modules):
        inside = name.partition(".")[0] in ROOTS or name == "pxr.PhysicsSchemaTools"
        if inside or name == "pegasus.isaac" or name.startswith("pegasus.isaac."):
            del sys.modules[name]
    if hasattr(pxr, "PhysicsSchemaTools"):
        del pxr.PhysicsSchemaTools
    if "pegasus" in sys.modules and hasattr(sys.modules["pegasus"], "isaac"):
        del sys.modules["pegasus"].isaac
    application._running.clear()
    gpu.uninstall()
    importlib.invalidate_caches()


def _put(name, module):
    """Add a module and its missing parent packages to `sys.modules`."""
    above, _, last = name.rpartition(".")
    if name in sys.modules and not name.startswith("pxr."):
        sys.modules[name].__dict__.update(module.__dict__ | {"__name__": name})
        return
    module.__path__ = []
    sys.modules[name] = module
    if above:
        if above not in sys.modules:
            _put(above, ModuleType(above))
        setattr(sys.modules[above], last, module)
