"""Faults: rotors, battery, sensors, GPS, airframe and links; see `pegasus.contracts.fault`."""

from pegasus.contracts.condition import QUANTITIES, Region
from pegasus.contracts.fault import FAULTS, Fault, Injection, SensorFault, build_fault
from pegasus.core.injection import FaultEvent
from pegasus.faults.battery_faults import BatteryCold, BatteryEmpty, CellFailure
from pegasus.faults.body_faults import BirdStrike, WindShock
from pegasus.faults.channel_faults import CommandDelay, ServoStuck
from pegasus.faults.field_faults import (
    FieldFault,
    SensorBias,
    SensorDrift,
    SensorNoise,
    SensorScale,
    SensorSpikes,
    SensorWrongAxis,
)
from pegasus.faults.gps_faults import GpsJamming, GpsJump, GpsLoss, GpsSpoofing
from pegasus.faults.link_faults import LinkDelay, LinkDuplicate, LinkFault, LinkLoss
from pegasus.faults.payload_faults import PayloadLoss, PayloadShift
from pegasus.faults.propeller_faults import BladeLoss, PropellerImbalance
from pegasus.faults.rotor_faults import (
    MotorLoss,
    MotorSeized,
    MotorStuck,
    RotorFault,
    ThrustLoss,
    VoltageDrop,
)
from pegasus.faults.sensor_faults import SensorDelay, SensorDropouts, SensorOff, SensorStuck

__all__ = [
    "FAULTS",
    "QUANTITIES",
    "BatteryCold",
    "BatteryEmpty",
    "BirdStrike",
    "BladeLoss",
    "CellFailure",
    "CommandDelay",
    "Fault",
    "FaultEvent",
    "FieldFault",
    "GpsJamming",
    "GpsJump",
    "GpsLoss",
    "GpsSpoofing",
    "Injection",
    "LinkDelay",
    "LinkDuplicate",
    "LinkFault",
    "LinkLoss",
    "MotorLoss",
    "MotorSeized",
    "MotorStuck",
    "PayloadLoss",
    "PayloadShift",
    "PropellerImbalance",
    "Region",
    "RotorFault",
    "SensorBias",
    "SensorDelay",
    "SensorDrift",
    "SensorDropouts",
    "SensorFault",
    "SensorNoise",
    "SensorOff",
    "SensorScale",
    "SensorSpikes",
    "SensorStuck",
    "SensorWrongAxis",
    "ServoStuck",
    "ThrustLoss",
    "VoltageDrop",
    "WindShock",
    "build_fault",
]
