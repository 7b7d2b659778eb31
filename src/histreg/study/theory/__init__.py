"""Checks of the theory, without training."""
