"""Estimates for a multirotor that is yet to be measured: propeller, motor, battery, mass properties."""

from pegasus.sizing.drive import Battery, Motor
from pegasus.sizing.mass_properties import Part, box, combined, disc, point, rod
from pegasus.sizing.propeller import Propeller

__all__ = ["Battery", "Motor", "Part", "Propeller", "box", "combined", "disc", "point", "rod"]
