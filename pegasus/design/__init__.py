"""Design of multirotors: estimates of propellers, motors, batteries and mass properties."""

from pegasus.design.mass_properties import Part, box, combined, disc, point, rod
from pegasus.design.propulsion import Battery, Motor, Propeller

__all__ = ["Battery", "Motor", "Part", "Propeller", "box", "combined", "disc", "point", "rod"]
