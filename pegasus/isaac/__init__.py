"""Isaac Sim: everything that needs Kit, loaded by those only who ask for it."""
