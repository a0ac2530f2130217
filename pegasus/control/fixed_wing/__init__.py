"""Controller of vehicles with wings and control surfaces."""
