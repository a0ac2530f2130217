"""Propellers in the window turn as they do in every other picture."""

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor
from pegasus.isaac.bodies import add_bodies
from pegasus.isaac.propellers import prepare_propellers, turn_propellers
from pegasus.render.drawn_vehicle import DrawnVehicle


def test_they_stand_where_renderers_draw_them():
    """They would turn the wrong way, about another axis, or at another speed; tilted rotors show it."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    vehicle = Multirotor("tilted_hexarotor", count=2)
    paths = add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    prepare_propellers(stage, vehicle)
    vehicle.state.rotor_speed[...] = np.linspace(300.0, 900.0, 12).reshape(2, 6)
    turn_propellers(stage, [vehicle], 1.234)
    drawn = DrawnVehicle(vehicle)
    poses = drawn.poses(
        vehicle.start_position, vehicle.start_orientation, vehicle.state.rotor_speed, 1.234
    ).reshape(2, 7, 4, 4)
    cache = UsdGeom.XformCache()
    for copy, path in enumerate(paths):
        for rotor in range(6):
            prim = stage.GetPrimAtPath(f"{path}/looks/rotor{rotor}")
            place = np.array(cache.GetLocalToWorldTransform(prim)).T
            expected = poses[copy, 1 + rotor]
            np.testing.assert_allclose(place[:3, 3], expected[:3, 3], atol=1e-6)
            # The renderers' frame may be turned about the axis; what both turn by is the same.
            rest = (
                DrawnVehicle(vehicle)
                .poses(vehicle.start_position, vehicle.start_orientation, np.zeros((2, 6)), 1.234)
                .reshape(2, 7, 4, 4)[copy, 1 + rotor]
            )
            turned = expected[:3, :3] @ rest[:3, :3].T
            turn_propellers(stage, [vehicle], 0.0)
            cache.Clear()
            still = np.array(cache.GetLocalToWorldTransform(prim)).T
            np.testing.assert_allclose(place[:3, :3] @ still[:3, :3].T, turned, atol=1e-5)
            turn_propellers(stage, [vehicle], 1.234)
            cache.Clear()
