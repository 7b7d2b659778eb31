"""From a table to a distribution."""
