"""The last message of a panel and a machine without ROS 2, for its tests."""

from pegasus.base.errors import ConfigError


def last_error(panel):
    """Return the last message, which must be an error."""
    assert panel.messages, "nothing was reported"
    assert panel.messages[-1].error, panel.messages[-1].text
    return panel.messages[-1].text


def no_driver():
    """Refuse as on a machine without a driver of ROS 2."""
    raise ConfigError("no driver", field="transport", remedy="install one")
