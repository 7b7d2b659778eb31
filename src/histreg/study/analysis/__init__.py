"""Statistics over seeds, comparisons, and the numbers of the paper."""
