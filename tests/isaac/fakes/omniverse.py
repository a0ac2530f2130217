# ruff: noqa: ARG001
"""Fakes of Kit's modules: `omni.timeline`, `omni.usd`, `omni.kit.app`, `omni.ext`, `omni.physx`, `carb`."""

import math

import numpy as np
from pxr import Sdf

from tests.isaac.fakes.application import kit
from tests.isaac.fakes.stage_tools import next_free_path


def get_timeline_interface(timeline_name="", /):
    return kit().timeline


def get_context(context_name=""):
    return kit().context


def get_stage_next_free_path(stage, path, prepend_default_prim):
    if prepend_default_prim and stage.HasDefaultPrim():
        path = f"{stage.GetDefaultPrim().GetPath()}/{str(path).lstrip('/')}"
    return next_free_path(stage, str(path))


class App:
    """Stand-in of `omni.kit.app.IApp`."""

    def update(self):
        kit().update()

    async def next_update_async(self):
        kit().update()

    def is_running(self):
        return kit().quit_code is None

    def is_app_ready(self):
        return kit().frames >= kit().ready_at

    def get_app_version(self):
        return kit().version

    def get_kit_version(self):
        return {"5.1.0": "107.3.3", "6.0.1": "110.1.1", "6.1.0": "110.3.0", "6.2.0": "110.4.0"}[kit().version]

    def get_extension_manager(self):
        return ExtensionManager()


class App51(App):
    """Stand-in of `omni.kit.app.IApp` with what 6.0 deprecates."""

    def get_update_event_stream(self, runloop_name=""):
        return kit().updates


class ExtensionManager:
    """Stand-in of `omni.ext.IExtensionManager`."""

    def is_extension_enabled(self, ext_name):
        return ext_name in kit().extensions

    def set_extension_enabled_immediate(self, name, enabled, /):
        return kit().enable(name, enabled)


GLOBAL_EVENT_UPDATE = "update"


def get_app():
    return App51() if kit().version == "5.1.0" else App()


class IExt:
    """Stand-in of `omni.ext.IExt`."""

    def on_startup(self, ext_id):
        """Start."""

    def on_shutdown(self):
        """Stop."""


class AsyncTestCase:
    """Stand-in of `omni.kit.test.AsyncTestCase`, with asynchronous set-up and tear-down."""

    def __init__(self, methodName="runTest"):
        getattr(self, methodName)


class Float3:
    """Stand-in of `carb.Float3`."""

    def __init__(self, x=0.0, y=0.0, z=0.0, /):
        self.x, self.y, self.z = float(x), float(y), float(z)

    def __getitem__(self, index):
        return (self.x, self.y, self.z)[index]

    def __len__(self):
        return 3


class Float4:
    """Stand-in of `carb.Float4`."""

    def __init__(self, x=0.0, y=0.0, z=0.0, w=0.0, /):
        self.x, self.y, self.z, self.w = float(x), float(y), float(z), float(w)


class SceneQuery:
    """Stand-in of `omni.physx.PhysXSceneQuery`: ray casting against the colliders, in stage units."""

    def raycast_all(self, origin, dir, distance, reportFn, bothSides=False):
        """Report the hits, farthest first, since PhysX guarantees no order."""
        hits = [hit for hit in self._hits(origin, dir, distance) if hit["hit"]]
        for hit in reversed(hits):
            if not reportFn(RaycastHit(hit)):
                break
        return bool(hits)

    def _hits(self, origin, direction, distance):
        """Return the nearest hit of the world and of each body, nearest first."""
        physics = kit().physics
        if not physics.running:
            return [{"hit": False}]
        way = np.array([[direction[k] for k in range(3)]])
        if not math.isclose(float(np.linalg.norm(way)), 1.0, rel_tol=1e-5):
            raise AssertionError("PhysX takes directions of unit length")
        start = np.array([[origin[k] for k in range(3)]]) * physics.unit
        reach = distance * physics.unit
        names = {body.handle: path for path, body in physics.bodies.items()}
        found, met = [], set()
        hit = physics.engine.raycast(start, way, reach, skip=np.array([-1]))
        while hit.hit[0] and int(hit.body[0]) not in met:
            path = names.get(int(hit.body[0]), "/World")
            found.append(
                {
                    "hit": True,
                    "distance": float(hit.distance[0]) / physics.unit,
                    "position": Float3(*((start + way * hit.distance[0])[0] / physics.unit)),
                    "normal": Float3(*hit.normal[0]),
                    "rigidBody": path if int(hit.body[0]) in names else "",
                    "collision": path,
                    "faceIndex": 0,
                    "material": "",
                }
            )
            met.add(int(hit.body[0]))
            if int(hit.body[0]) < 0:
                break
            hit = physics.engine.raycast(start, way, reach, skip=hit.body)
        return found or [{"hit": False}]


class RaycastHit:
    """Stand-in of `omni.physx.RaycastHit`."""

    def __init__(self, hit):
        self.distance, self.position, self.normal = hit["distance"], hit["position"], hit["normal"]
        self.rigid_body, self.collision, self.face_index = (
            hit["rigidBody"],
            hit["collision"],
            hit["faceIndex"],
        )


class ContactEventHeader:
    """Stand-in of `omni.physx.ContactEventHeader`: the contacts of a pair of actors."""

    def __init__(self, actors, offset):
        self.actor0, self.actor1 = (kit().physics.path_number(path) for path in actors)
        self.collider0, self.collider1 = self.actor0, self.actor1
        self.contact_data_offset, self.num_contact_data = offset, 0


class ContactData:
    """Stand-in of `omni.physx.ContactData`."""

    def __init__(self, position, normal, impulse, separation):
        self.position, self.normal, self.impulse = Float3(*position), Float3(*normal), Float3(*impulse)
        self.separation = float(separation)


class PhysicsSimulation:
    """Stand-in of the simulation interface of `omni.physics.core`, for any active engine."""

    def flush_changes(self):
        kit().physics.sync()


class Simulation:
    """Stand-in of `omni.physx.IPhysxSimulation`."""

    def flush_changes(self):
        kit().physics.sync()

    def get_contact_report(self):
        """Return the contacts of the last step of bodies that report them.

        The normal points from the second actor to the first, and the impulse acts on the first. PhysX does
        not define the order of a pair; here it alternates.
        """
        physics = kit().physics
        headers, data, pairs = [], [], {}
        for body, other, position, normal, force, distance in physics.contacts():
            pairs.setdefault((body, other), []).append((position, normal, force * physics.last_dt, distance))
        for number, (pair, contacts) in enumerate(pairs.items()):
            swapped = number % 2 == 1
            headers.append(ContactEventHeader(pair[::-1] if swapped else pair, len(data)))
            headers[-1].num_contact_data = len(contacts)
            sign = -1.0 if swapped else 1.0
            data.extend(ContactData(p, sign * n, sign * j, d) for p, n, j, d in contacts)
        return headers, data


def get_physx_scene_query_interface():
    return SceneQuery()


def get_physics_simulation_interface():
    return PhysicsSimulation()


def get_physx_simulation_interface():
    return Simulation()


def intToSdfPath(path_id, /):  # noqa: N802
    return Sdf.Path(kit().physics.path_of_number(path_id))


def get_settings():
    return kit().settings


def get_eventdispatcher():
    return kit().dispatcher
