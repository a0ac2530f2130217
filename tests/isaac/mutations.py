"""Mutations of pegasus/isaac: likely faults, each with the trial that must detect it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.isaac import trials, window_trials
from tests.isaac.contract import NEWEST

STEPS = """            _manager().register_callback(
                lambda dt, _context: before(dt), SimulationEvent.PHYSICS_PRE_STEP, order=0
            ),
"""


@dataclass(frozen=True)
class Mutation:
    """A fault to plant in a module."""

    name: str
    module: str
    """Module of pegasus.isaac to change."""
    before: str
    """Source text to replace, which occurs once in the module."""
    after: str
    trial: Callable | None
    """Trial on the fakes; None for the contract test."""
    version: str = NEWEST


MUTATIONS = [
    Mutation("wrong keyword", "compat", "_manager().step(steps=1)", "_manager().step(count=1)", None),
    Mutation("wrong keyword, flown", "compat", "step(steps=1)", "step(count=1)", trials.flies_as_in_mujoco),
    Mutation(
        "keyword of the other version",
        "compat",
        "_manager().step()",
        "_manager().step(steps=1)",
        None,
        "5.1.0",
    ),
    Mutation("unknown call", "kit", "timeline.pause()", "timeline.hold()", None),
    Mutation(
        "wrong quaternion order, read",
        "body_view",
        "known.orientation[rows] = pose[:, 3:]",
        "known.orientation[rows] = pose[:, [6, 3, 4, 5]]",
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "wrong quaternion order, written",
        "body_view",
        "pose[places, 3:] = known.position[rows], known.orientation[rows]",
        "pose[places, 3:] = known.position[rows], known.orientation[rows][:, [3, 0, 1, 2]]",
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "no registration for a second stage",
        "engine",
        "        # Opening a stage has cleared every callback, so they are registered for each stage anew.\n",
        "        if IsaacEngine.__dict__.get('_known'):\n            return\n"
        "        IsaacEngine._known = True\n",
        trials.flies_on_stage_after_stage,
    ),
    Mutation(
        "a subscription that is not kept",
        "kit_session",
        "self._subscriptions: list[Any] = [\n            isaac_sim().on_frame(self.frame)",
        "_ = [\n            isaac_sim().on_frame(self.frame)",
        trials.flies_by_the_window,
    ),
    Mutation(
        "callbacks of the other version",
        "compat",
        STEPS,
        STEPS.replace("lambda dt, _context", "lambda dt"),
        trials.flies_by_the_window,
    ),
    Mutation(
        "forces in the frame of the body",
        "body_view",
        "is_global=True",
        "is_global=False",
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "tensors of a GPU that are read before they have come",
        "body_view",
        "        self._velocity.wait()\n        rows, pose",
        "        rows, pose",
        trials.flies_on_a_gpu_as_in_mujoco,
    ),
    Mutation(
        "wrenches that have not come to the GPU",
        "body_view",
        "        self._wrench.send()\n        self._wrench.wait()\n",
        "        self._wrench.send()\n",
        trials.flies_on_a_gpu_as_in_mujoco,
    ),
    Mutation(
        "Isaac Sim's own simulation view, which ends with a body",
        "body_view",
        "isaac.simulation_view()",
        "__import__('tests').isaac.fakes.kit().manager.view",
        trials.loses_a_vehicle_in_flight,
    ),
    Mutation(
        "a simulation view that is not kept",
        "body_view",
        "        self._simulation = isaac.simulation_view()\n        self._bodies = self._simulation.create",
        "        self._bodies = isaac.simulation_view().create",
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "torques that are not turned into the world",
        "body_view",
        "wrench[1] = rotate(rotation[rows], torque[rows])",
        "wrench[1] = torque[rows]",
        trials.tumbles_as_in_mujoco,
    ),
    Mutation(
        "velocities of the centre of mass taken for the origin's",
        "body_view",
        "        if self._has_offset:\n",
        "        if False:\n",
        trials.tumbles_as_in_mujoco,
    ),
    Mutation(
        "poses of the warm-up that are kept",
        "engine",
        "        self._push(np.arange(len(self._bodies)))\n",
        "",
        trials.forgets_the_warm_up,
    ),
    Mutation(
        "int(1 / dt) steps per second",
        "world_stage",
        "(Sdf.ValueTypeNames.UInt, varying, rate)",
        "(Sdf.ValueTypeNames.UInt, varying, int(1.0 / (1.0 / rate)))",
        trials.keeps_its_rate,
    ),
    Mutation(
        "a physics scene that Isaac Sim does not know of",
        "engine",
        "            set_default_scene(path)\n",
        "            pass\n",
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "a physics scene that Isaac Sim 5.1 does not know of",
        "engine",
        "            set_default_scene(path)\n",
        "            pass\n",
        trials.flies_as_in_mujoco,
        "5.1.0",
    ),
    Mutation(
        "damping that PhysX adds",
        "bodies",
        '"physxRigidBody:angularDamping": (Sdf.ValueTypeNames.Float, 0.0)',
        '"physxRigidBody:angularDamping": (Sdf.ValueTypeNames.Float, 0.05)',
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "gravity that PhysX adds",
        "bodies",
        '"physxRigidBody:disableGravity": (Sdf.ValueTypeNames.Bool, True)',
        '"physxRigidBody:disableGravity": (Sdf.ValueTypeNames.Bool, False)',
        trials.flies_as_in_mujoco,
    ),
    Mutation(
        "frames that step",
        "compat",
        "        RenderingManager.render()\n",
        "        import omni.kit.app\n\n        omni.kit.app.get_app().update()\n",
        trials.draws_without_stepping,
    ),
    Mutation(
        "wrong keyword of the viewport",
        "compat",
        "set_camera_view(camera, eye=list(eye)",
        "set_camera_view(camera, position=list(eye)",
        None,
    ),
    Mutation("wrong keyword of a lidar", "rtx_lidar", "aux_output_level=", "auxiliary_level=", None),
    Mutation("unknown call of a writer", "replicator", "writer.initialize(", "writer.begin(", None),
    Mutation("unknown key of a graph", "camera_graph", "keys.SET_VALUES", "keys.SET_VALUE", None),
    Mutation(
        "wrong keyword of the viewport in the other version",
        "compat",
        "camera_prim_path=camera",
        "camera_path=camera",
        None,
        "5.1.0",
    ),
    Mutation(
        "eye and target the wrong way round",
        "compat",
        "eye=list(eye), target=list(target)",
        "eye=list(target), target=list(eye)",
        window_trials.looks_where_it_is_told_to,
    ),
    Mutation(
        "height before width",
        "fields",
        "[width, height])",
        "[height, width])",
        window_trials.shows_pixels,
    ),
    Mutation(
        "sticks the wrong way round",
        "window_run",
        "(GamepadInput.RIGHT_STICK_DOWN, GamepadInput.RIGHT_STICK_UP)",
        "(GamepadInput.RIGHT_STICK_UP, GamepadInput.RIGHT_STICK_DOWN)",
        window_trials.feels_the_sticks,
    ),
    Mutation(
        "keys that stay held when the window closes",
        "window",
        "        self._hands.enable(False)\n",
        "",
        window_trials.lets_go_when_closed,
    ),
    Mutation(
        "a menu entry and no window",
        "extension",
        "        self._show()\n",
        "",
        window_trials.is_shown_at_the_start,
    ),
    Mutation(
        "a tab behind another one",
        "window",
        "DockPolicy.CURRENT_WINDOW_IS_ACTIVE",
        "DockPolicy.DO_NOTHING",
        window_trials.is_shown_at_the_start,
    ),
]
