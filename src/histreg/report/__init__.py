"""Tables, figures and pages. Never trains, never reads a data set."""
