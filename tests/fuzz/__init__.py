"""Hostile tests from random cases: see `docs/reliability.md`, run by `make fuzz`."""
