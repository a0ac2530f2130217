"""The air that vehicles with a downwash move past each other."""

import math
from collections.abc import Sequence

import numpy as np

from pegasus.aerodynamics import Jets
from pegasus.aerodynamics.ground_effect import hover_share
from pegasus.arrays import IntArray
from pegasus.multirotor import Multirotor
from pegasus.vehicle import Vehicle


def blow(vehicles: Sequence[Vehicle], t: float) -> None:
    """Give each vehicle the air that the jets of the others move past its rotors, where there are any.

    The jets are those of the step before, so that the order of the vehicles does not matter.

    Args:
        vehicles: All vehicles of a simulation.
        t: Simulation time [s].
    """
    flyers = [vehicle for vehicle in vehicles if isinstance(vehicle, Multirotor)]
    alone = len(flyers) == 1 and flyers[0].count == 1
    if alone or all(vehicle.downwash is None for vehicle in flyers):
        for vehicle in flyers:
            vehicle.wake = None
        return
    ends = np.cumsum([vehicle.count for vehicle in flyers])
    bodies = [np.arange(end - vehicle.count, end) for vehicle, end in zip(flyers, ends, strict=True)]
    jets = [jet for vehicle, body in zip(flyers, bodies, strict=True) if (jet := _jets(vehicle, body, t))]
    for vehicle, body in zip(flyers, bodies, strict=True):
        centers = vehicle.rotor_centers
        places, owners = centers.reshape(-1, 3), np.repeat(body, vehicle.rotor_count)
        wake = np.zeros(places.shape)
        for jet in jets:
            wake += jet.at(places, owners)
        vehicle.wake = wake.reshape(centers.shape)


def _jets(vehicle: Multirotor, body: IntArray, t: float) -> Jets | None:
    """Return the jets of a vehicle's copies, None for one without a downwash."""
    downwash, state, layout, environment = (
        vehicle.downwash,
        vehicle.state,
        vehicle.layout,
        vehicle.environment,
    )
    if downwash is None:
        return None
    force = vehicle.rotor_force
    thrust = np.sqrt((force * force).sum(axis=1, keepdims=True))
    axis = np.where(thrust > 0, -force / np.where(thrust > 0, thrust, 1.0), -state.rotation[:, :, 2])
    density = environment.air_density(state.position)[:, None]
    through_air = state.velocity - environment.wind_velocity(state.position, t)
    # All rotors together are one disc of their area.
    left = hover_share(
        thrust,
        (through_air * through_air).sum(axis=1, keepdims=True),
        air_density=density,
        radius=math.sqrt(layout.count) * vehicle.spec.propeller.diameter / 2,
    )
    return Jets(
        downwash,
        origin=vehicle.rotor_centers.mean(axis=1),
        axis=axis,
        momentum=(left * left * thrust / density)[:, 0],
        # A single rotor is as wide as its disc.
        size=max(layout.span, vehicle.spec.propeller.diameter),
        body=body,
    )
