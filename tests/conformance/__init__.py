"""Reference vectors, and implementations that are put through them."""
