"""Arrays, frames, random streams, components and errors: no knowledge of vehicles."""
