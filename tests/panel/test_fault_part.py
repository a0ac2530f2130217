"""Tests of the panel's part for faults."""

import pytest
import yaml
from panel_rig import last_error

from pegasus.faults import FAULTS, build_fault
from pegasus.panel import Panel
from pegasus.panel.fault_part import parameters_text
from tests.waits import wait_until


def test_faults_are_injected_listed_and_healed(session):
    """A fault of another copy, or one that is not listed or healed, would mislead its user."""
    panel = Panel(session)
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.vehicle.set_count(2)
    assert panel.vehicle.add()
    panel.view.follow("iris", 1)
    assert panel.faults.choose("motor_loss")
    assert panel.faults.set_parameters("rotor: 2, name: lost")
    assert panel.faults.inject()
    assert panel.simulation.step()
    wait_until(lambda: panel.faults.listed == [("lost", True)], "the fault of the followed copy")
    injection = session.call(lambda sim: sim.vehicles["iris"].faults.injections[0])
    assert injection.active.tolist() == [False, True]
    assert panel.faults.heal("lost")
    assert panel.simulation.step()
    wait_until(lambda: not injection.active.any(), "the end of the fault")


def test_wrong_faults_are_reported_in_one_line(session):
    """A typing error must neither inject anything nor end the panel."""
    panel = Panel(session)
    assert panel.faults.inject() is False
    assert "there is no vehicle" in last_error(panel)
    assert panel.faults.set_parameters("rotor: [") is False
    assert "must be parameters such as rotor: 0" in last_error(panel)
    assert panel.faults.choose("motor_los") is False
    assert "must be one of" in last_error(panel)


@pytest.mark.parametrize("model", sorted(FAULTS))
def test_the_shown_parameters_build_the_fault(model):
    """Parameters that do not build the fault would make its button useless."""
    fault = build_fault({"model": model, **yaml.safe_load("{" + parameters_text(model) + "}")})
    assert FAULTS.name_of(type(fault)) == model
