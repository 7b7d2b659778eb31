"""The development tables: our regressor and its peers, with labels and gaps."""
