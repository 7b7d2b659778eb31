"""Pages and pictures of what was found. Never trains, never reads a data set."""
