"""The last message of a panel, for its tests."""


def last_error(panel):
    """Return the last message, which must be an error."""
    assert panel.messages, "nothing was reported"
    assert panel.messages[-1].error, panel.messages[-1].text
    return panel.messages[-1].text
