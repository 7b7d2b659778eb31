"""Sines of growing frequency: runs and their results."""
