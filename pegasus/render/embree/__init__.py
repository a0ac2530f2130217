"""Images by ray casting on the processor."""
