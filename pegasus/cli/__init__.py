"""The `pegasus` command; each subcommand imports what it needs itself, so that all start quickly."""
