"""Sines of growing frequency: runs and what is read from them."""
