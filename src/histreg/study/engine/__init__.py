"""Runs as data, the store, the runner: knows no experiment."""
