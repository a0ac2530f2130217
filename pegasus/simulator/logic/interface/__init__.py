"""Interface of scripts."""
