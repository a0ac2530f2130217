"""Browser front end of the panel, served by viser."""
