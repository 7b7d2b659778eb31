"""Networks that several kinds of experiments train: alone, or many of one shape."""
