"""Browser front end of the panel, served by viser."""

LOCAL, PORT = "127.0.0.1", 8080
"""Default address and port of the page."""
