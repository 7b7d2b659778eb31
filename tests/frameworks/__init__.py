"""Recipes and adapters for other libraries, run against these libraries."""
