"""Import of Gazebo models (SDF) as vehicle files."""

from pegasus.design.gazebo.vehicle import GazeboVehicle, import_gazebo

__all__ = ["GazeboVehicle", "import_gazebo"]
